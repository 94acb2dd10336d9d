// libnc3z for Octave: mkoctfile -lnc3z nc3z_read.cc
// nc3z_read(path, name): a variable as numbers, with Octave's dimensions: the fastest first, the reverse of the file's.
#include <nc3z.h>
#include <octave/oct.h>
#include <string>
#include <vector>

static void check(int32_t code, nc3z_file *file) {
    if (code == NC3Z_OK || code == NC3Z_ERANGE) return;
    char words[500];
    nc3z_last_error(words, sizeof words);
    nc3z_close(file);
    error("%s: %s", nc3z_code_name(code), words);
}

DEFUN_DLD(nc3z_read, args, , "values = nc3z_read(path, name)") {
    if (args.length() != 2) print_usage();
    std::string path = args(0).string_value(), name = args(1).string_value();
    nc3z_file *file = nullptr;
    uint32_t id, rank;
    check(nc3z_open(path.c_str(), nullptr, &file), file);
    check(nc3z_variable_id(file, name.c_str(), &id), file);
    check(nc3z_variable(file, id, nullptr, 0, nullptr, nullptr, &rank, nullptr), file);
    std::vector<uint64_t> shape(rank + 1);
    check(nc3z_variable_shape(file, id, rank, nullptr, shape.data()), file);
    dim_vector dims = dim_vector::alloc(rank < 2 ? 2 : static_cast<int>(rank));
    dims(0) = dims(1) = 1;
    for (uint32_t d = 0; d < rank; d++) dims(rank - 1 - d) = static_cast<octave_idx_type>(shape[d]);
    NDArray out(dims);
    check(nc3z_read(file, id, rank, nullptr, nullptr, nullptr, NC3Z_DOUBLE, out.fortran_vec(), out.numel() * sizeof(double)), file);
    nc3z_close(file);
    return ovl(out);
}
