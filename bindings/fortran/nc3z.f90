!> libnc3z for Fortran: the functions of nc3z.h that reading needs, and what makes them usual to call.
!>
!> Lists of indices are in C's order, slowest dimension first, and count from 0: the reverse of a Fortran array's.
module nc3z
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: nc3z_file, nc3z_open, nc3z_close, nc3z_variable_id, nc3z_type, nc3z_rank, nc3z_shape, &
     nc3z_read_double, nc3z_error

  integer(c_int32_t), parameter, public :: nc3z_ok = 0, nc3z_erange = -10, nc3z_float = 5, nc3z_double = 6

  type :: nc3z_file
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  interface
    function c_open(path, options, file) bind(c, name="nc3z_open") result(code)
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: file
      integer(c_int32_t) :: code
    end function
    function c_close(file) bind(c, name="nc3z_close") result(code)
      import
      type(c_ptr), value :: file
      integer(c_int32_t) :: code
    end function
    function c_variable_id(file, name, id) bind(c, name="nc3z_variable_id") result(code)
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), intent(out) :: id
      integer(c_int32_t) :: code
    end function
    function c_variable(file, id, name, capacity, name_len, type, rank, attributes) bind(c, name="nc3z_variable") result(code)
      import
      type(c_ptr), value :: file, name, name_len, attributes
      integer(c_int32_t), value :: id
      integer(c_size_t), value :: capacity
      integer(c_int32_t), intent(out) :: type, rank
      integer(c_int32_t) :: code
    end function
    function c_shape(file, id, rank, dimensions, shape) bind(c, name="nc3z_variable_shape") result(code)
      import
      type(c_ptr), value :: file, dimensions
      integer(c_int32_t), value :: id, rank
      integer(c_int64_t), intent(out) :: shape(*)
      integer(c_int32_t) :: code
    end function
    function c_read(file, id, rank, start, count, stride, type, out, len) bind(c, name="nc3z_read") result(code)
      import
      type(c_ptr), value :: file, stride
      integer(c_int32_t), value :: id, rank, type
      integer(c_int64_t), intent(in) :: start(*), count(*)
      real(c_double), intent(out) :: out(*)
      integer(c_size_t), value :: len
      integer(c_int32_t) :: code
    end function
    function c_last_error(text, capacity) bind(c, name="nc3z_last_error") result(len)
      import
      character(kind=c_char), intent(out) :: text(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t) :: len
    end function
  end interface

contains

  function nc3z_open(path, file) result(code)
    character(*), intent(in) :: path
    type(nc3z_file), intent(out) :: file
    integer :: code
    code = c_open(path // c_null_char, c_null_ptr, file%handle)
  end function

  function nc3z_close(file) result(code)
    type(nc3z_file), intent(inout) :: file
    integer :: code
    code = c_close(file%handle)
    file%handle = c_null_ptr
  end function

  function nc3z_variable_id(file, name, id) result(code)
    type(nc3z_file), intent(in) :: file
    character(*), intent(in) :: name
    integer, intent(out) :: id
    integer :: code
    code = c_variable_id(file%handle, name // c_null_char, id)
  end function

  !> The type as it is stored: nc3z_float, nc3z_double, or an integer type of nc3z.h.
  function nc3z_type(file, id, type) result(code)
    type(nc3z_file), intent(in) :: file
    integer, intent(in) :: id
    integer, intent(out) :: type
    integer :: code, rank
    code = c_variable(file%handle, id, c_null_ptr, 0_c_size_t, c_null_ptr, type, rank, c_null_ptr)
  end function

  function nc3z_rank(file, id, rank) result(code)
    type(nc3z_file), intent(in) :: file
    integer, intent(in) :: id
    integer, intent(out) :: rank
    integer :: code, type
    code = c_variable(file%handle, id, c_null_ptr, 0_c_size_t, c_null_ptr, type, rank, c_null_ptr)
  end function

  !> The lengths, slowest dimension first; as many as the variable has dimensions.
  function nc3z_shape(file, id, shape) result(code)
    type(nc3z_file), intent(in) :: file
    integer, intent(in) :: id
    integer(c_int64_t), intent(out) :: shape(:)
    integer :: code
    code = c_shape(file%handle, id, size(shape), c_null_ptr, shape)
  end function

  !> Reads a block; nc3z_erange says that some numbers do not fit, and all are read.
  function nc3z_read_double(file, id, start, count, out) result(code)
    type(nc3z_file), intent(in) :: file
    integer, intent(in) :: id
    integer(c_int64_t), intent(in) :: start(:), count(:)
    real(c_double), intent(out) :: out(:)
    integer :: code
    code = c_read(file%handle, id, size(start), start, count, c_null_ptr, nc3z_double, out, size(out, kind=c_size_t) * 8)
  end function

  !> The words for the last failure.
  function nc3z_error() result(words)
    character(:), allocatable :: words
    character(kind=c_char) :: text(500)
    integer :: i, n
    n = int(min(c_last_error(text, 500_c_size_t), 499_c_size_t))
    allocate(character(n) :: words)
    do i = 1, n
      words(i:i) = text(i)
    end do
  end function
end module
