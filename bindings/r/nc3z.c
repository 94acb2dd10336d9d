/* libnc3z for R's .Call: PKG_LIBS=-lnc3z R CMD SHLIB nc3z.c
 * nc3z_r_read(path, name): a variable as numbers, with R's dimensions: the fastest first, the reverse of the file's. */
#include <R.h>
#include <Rinternals.h>
#include <nc3z.h>

/* Closes the file and ends the call where something failed. */
static void check(int32_t code, nc3z_file *file) {
    char words[500];
    if (code == NC3Z_OK || code == NC3Z_ERANGE) return;
    nc3z_last_error(words, sizeof words);
    nc3z_close(file);
    error("%s: %s", nc3z_code_name(code), words);
}

SEXP nc3z_r_read(SEXP path, SEXP name) {
    nc3z_file *file = NULL;
    uint32_t id, rank;
    if (!isString(path) || !isString(name) || length(path) != 1 || length(name) != 1) error("path and name must be texts");
    check(nc3z_open(translateChar(STRING_ELT(path, 0)), NULL, &file), file);
    check(nc3z_variable_id(file, translateChar(STRING_ELT(name, 0)), &id), file);
    check(nc3z_variable(file, id, NULL, 0, NULL, NULL, &rank, NULL), file);
    uint64_t *shape = (uint64_t *)R_alloc(rank + 1, sizeof *shape);
    check(nc3z_variable_shape(file, id, rank, NULL, shape), file);
    R_xlen_t all = 1;
    SEXP dims = PROTECT(allocVector(INTSXP, rank));
    for (uint32_t d = 0; d < rank; d++) {
        INTEGER(dims)[rank - 1 - d] = (int)shape[d];
        all *= (R_xlen_t)shape[d];
    }
    SEXP out = PROTECT(allocVector(REALSXP, all));
    check(nc3z_read(file, id, rank, NULL, NULL, NULL, NC3Z_DOUBLE, REAL(out), (size_t)all * sizeof(double)), file);
    if (rank > 0) setAttrib(out, R_DimSymbol, dims);
    nc3z_close(file);
    UNPROTECT(2);
    return out;
}
