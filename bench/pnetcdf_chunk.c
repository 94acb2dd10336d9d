/* A classic file as a chunked one of PnetCDF (its branch `chunk`: CDF-5, zlib) and back, with one process; pareto.py calls it.
 *
 *     pnetcdf-chunk store FROM TO       chunks of at most 1 MiB, of one record where a variable has records
 *     pnetcdf-chunk fetch FROM TO       a CDF-5 file with the same dimensions, variables, attributes and values
 *
 * Compile it as a program of PnetCDF, with a library that has chunking and zlib; other libraries lack ncmpi_var_set_chunk.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (1 << 20)
#define MAX_DIMS 1024
#define TRY(call) try_(call, #call)

static void try_(int status, const char *call) {
    if (status != NC_NOERR) {
        fprintf(stderr, "%s: %s\n", call, ncmpi_strerror(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static size_t bytes_of(nc_type type) {
    switch (type) {
    case NC_SHORT: case NC_USHORT: return 2;
    case NC_INT: case NC_UINT: case NC_FLOAT: return 4;
    case NC_DOUBLE: case NC_INT64: case NC_UINT64: return 8;
    default: return 1;
    }
}

#define EACH(of) \
    of(NC_BYTE, schar, signed char) of(NC_CHAR, text, char) of(NC_SHORT, short, short) of(NC_INT, int, int) of(NC_FLOAT, float, float) \
    of(NC_DOUBLE, double, double) of(NC_UBYTE, uchar, unsigned char) of(NC_USHORT, ushort, unsigned short) of(NC_UINT, uint, unsigned int) \
    of(NC_INT64, longlong, long long) of(NC_UINT64, ulonglong, unsigned long long)

static void get(int file, int var, nc_type type, const MPI_Offset *start, const MPI_Offset *count, void *to) {
    switch (type) {
#define GET(nc, name, c) case nc: TRY(ncmpi_get_vara_##name##_all(file, var, start, count, (c *)to)); break;
    EACH(GET)
    }
}

static void put(int file, int var, nc_type type, const MPI_Offset *start, const MPI_Offset *count, const void *from) {
    switch (type) {
#define PUT(nc, name, c) case nc: TRY(ncmpi_put_vara_##name##_all(file, var, start, count, (const c *)from)); break;
    EACH(PUT)
    }
}

/* The attributes that the driver adds, which a copy does not have. */
static int own(const char *name) {
    static const char *names[] = {"_ndim", "_dimids", "_datatype", "_varkind", "_chunkdim", "_filter", "_metaoffset", "_comressed", "_recsize", "_nwrite"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return 1;
    return 0;
}

static void attributes(int from, int var, int to, int var_to) {
    int n;
    if (var == NC_GLOBAL) TRY(ncmpi_inq_natts(from, &n));
    else TRY(ncmpi_inq_varnatts(from, var, &n));
    for (int i = 0; i < n; i++) {
        char name[NC_MAX_NAME + 1];
        TRY(ncmpi_inq_attname(from, var, i, name));
        if (own(name)) continue;
        nc_type type;
        MPI_Offset length;
        TRY(ncmpi_inq_att(from, var, name, &type, &length));
        char *value = malloc(length * bytes_of(type) + 1);
        switch (type) {
        case NC_CHAR:
            TRY(ncmpi_get_att_text(from, var, name, value));
            TRY(ncmpi_put_att_text(to, var_to, name, length, value));
            break;
#define ATT(nc, name_, c) case nc: \
            TRY(ncmpi_get_att(from, var, name, value)); \
            TRY(ncmpi_put_att(to, var_to, name, type, length, value)); \
            break;
        ATT(NC_BYTE,,) ATT(NC_SHORT,,) ATT(NC_INT,,) ATT(NC_FLOAT,,) ATT(NC_DOUBLE,,) ATT(NC_UBYTE,,) ATT(NC_USHORT,,) ATT(NC_UINT,,)
        ATT(NC_INT64,,) ATT(NC_UINT64,,)
        }
        free(value);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc != 4 || (strcmp(argv[1], "store") && strcmp(argv[1], "fetch"))) {
        fprintf(stderr, "pnetcdf-chunk store|fetch FROM TO\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int store = !strcmp(argv[1], "store"), from, to, dims, vars, unlimited;
    MPI_Info chunked;
    MPI_Info_create(&chunked);
    MPI_Info_set(chunked, "nc_chunking", "enable");
    MPI_Info_set(chunked, "nc_chunk_default_filter", "zlib");
    MPI_Info_set(chunked, "nc_pncio", "disable");         /* the driver needs MPI-IO */
    MPI_Info_set(chunked, "nc_chk_hdr_reserve", "0");     /* 1 MiB of zeros else */
    TRY(ncmpi_open(MPI_COMM_WORLD, argv[2], NC_NOWRITE, store ? MPI_INFO_NULL : chunked, &from));
    TRY(ncmpi_create(MPI_COMM_WORLD, argv[3], NC_CLOBBER | NC_64BIT_DATA, store ? chunked : MPI_INFO_NULL, &to));

    TRY(ncmpi_inq_unlimdim(from, &unlimited));
    TRY(ncmpi_inq_ndims(from, &dims));
    TRY(ncmpi_inq_nvars(from, &vars));
    MPI_Offset *length = calloc(dims + 1, sizeof *length);
    int *kept = malloc((dims + 1) * sizeof *kept);
    for (int d = 0; d < dims; d++) {
        char name[NC_MAX_NAME + 1];
        TRY(ncmpi_inq_dim(from, d, name, &length[d]));
        kept[d] = -1;
        if (!store && !strncmp(name, "_datablock_dim_", 15)) continue;
        TRY(ncmpi_def_dim(to, name, d == unlimited ? NC_UNLIMITED : length[d], &kept[d]));
    }
    attributes(from, NC_GLOBAL, to, NC_GLOBAL);
    struct { nc_type type; int rank, dim[MAX_DIMS]; } *v = malloc((vars + 1) * sizeof *v);
    int *target = malloc((vars + 1) * sizeof *target);
    for (int i = 0; i < vars; i++) {
        char name[NC_MAX_NAME + 1];
        int dim[MAX_DIMS], chunk[MAX_DIMS];
        TRY(ncmpi_inq_varname(from, i, name));
        TRY(ncmpi_inq_vartype(from, i, &v[i].type));
        TRY(ncmpi_inq_varndims(from, i, &v[i].rank));
        if (v[i].rank) TRY(ncmpi_inq_vardimid(from, i, v[i].dim));
        size_t size = bytes_of(v[i].type);
        for (int d = 0; d < v[i].rank; d++) {
            dim[d] = kept[v[i].dim[d]];
            chunk[d] = d == 0 && v[i].dim[0] == unlimited ? 1 : (int)length[v[i].dim[d]];
            size *= chunk[d];
        }
        for (int d = 0; d < v[i].rank; d++)
            while (size > CHUNK && chunk[d] > 1) {
                size /= chunk[d];
                chunk[d] = (chunk[d] + 1) / 2;
                size *= chunk[d];
            }
        TRY(ncmpi_def_var(to, name, v[i].type, v[i].rank, dim, &target[i]));
        if (store && v[i].rank) {
            TRY(ncmpi_var_set_chunk(to, target[i], chunk));
            TRY(ncmpi_var_set_filter(to, target[i], NC_FILTER_DEFLATE));
        }
        attributes(from, i, to, target[i]);
    }
    TRY(ncmpi_enddef(to));
    for (int i = 0; i < vars; i++) {
        MPI_Offset start[MAX_DIMS] = {0}, count[MAX_DIMS], elements = 1;
        for (int d = 0; d < v[i].rank; d++) elements *= count[d] = length[v[i].dim[d]];
        if (!elements) continue;
        void *values = malloc(elements * bytes_of(v[i].type));
        get(from, i, v[i].type, start, count, values);
        put(to, target[i], v[i].type, start, count, values);
        free(values);
    }
    TRY(ncmpi_close(from));
    TRY(ncmpi_close(to));
    MPI_Info_free(&chunked);
    MPI_Finalize();
    return 0;
}
