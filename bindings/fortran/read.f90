!> Prints a variable's numbers, a line for each row:
!>     gfortran nc3z.f90 read.f90 -lnc3z -o read && ./read tas.nc.nc3z VARIABLE
program read_variable
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use nc3z
  implicit none
  character(4096) :: path, name
  character(32) :: text
  type(nc3z_file) :: file
  integer :: id, type, rank
  integer(c_int64_t) :: i, all, row
  integer(c_int64_t), allocatable :: shape(:), start(:)
  real(c_double), allocatable :: values(:)

  call get_command_argument(1, path)
  call get_command_argument(2, name)
  call check(nc3z_open(trim(path), file))
  call check(nc3z_variable_id(file, trim(name), id))
  call check(nc3z_type(file, id, type))
  call check(nc3z_rank(file, id, rank))
  allocate(shape(rank), start(rank))
  call check(nc3z_shape(file, id, shape))
  start = 0
  all = product(shape)
  row = 1
  if (rank > 0) row = shape(rank)
  allocate(values(all))
  call check(nc3z_read_double(file, id, start, shape, values))
  write (*, '(a)') '', ' ' // trim(name) // ' ='
  write (*, '(a)', advance='no') ' '
  do i = 1, all
    if (type == nc3z_float) then
      write (text, '(g0.7)') values(i)
    else if (type == nc3z_double) then
      write (text, '(g0.15)') values(i)
    else if (abs(values(i)) > 2d0**53) then
      ! A double has not all digits of such an integer.
      write (text, '(g0.15)') values(i)
    else
      write (text, '(i0)') nint(values(i), c_int64_t)
    end if
    write (*, '(a)', advance='no') ' ' // trim(text)
    if (i == all) then
      write (*, '(a)') ' ;'
    else if (mod(i, row) == 0) then
      write (*, '(a)') ','
      write (*, '(a)', advance='no') ' '
    else
      write (*, '(a)', advance='no') ','
    end if
  end do
  call check(nc3z_close(file))

contains

  subroutine check(code)
    integer, intent(in) :: code
    if (code /= nc3z_ok) then
      write (error_unit, '(a)') nc3z_error()
      stop 1
    end if
  end subroutine
end program
