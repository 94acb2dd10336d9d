/* Prints a variable's numbers as ncdump does, a line for each row:
 *     cc read.c -lnc3z -o read && ./read tas.nc.nc3z VARIABLE */
#include <inttypes.h>
#include <nc3z.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int32_t code) {
    if (code != NC3Z_OK) {
        char words[500];
        nc3z_last_error(words, sizeof words);
        fprintf(stderr, "%s: %s\n", nc3z_code_name(code), words);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    nc3z_file *file;
    uint32_t id, rank;
    int32_t type;
    check(nc3z_open(argv[1], NULL, &file));
    check(nc3z_variable_id(file, argv[2], &id));
    check(nc3z_variable(file, id, NULL, 0, NULL, &type, &rank, NULL));
    uint64_t *shape = malloc((rank + 1) * sizeof *shape), all = 1;
    check(nc3z_variable_shape(file, id, rank, NULL, shape));
    for (uint32_t d = 0; d < rank; d++) all *= shape[d];
    uint64_t row = rank ? shape[rank - 1] : 1;
    int is_real = type == NC3Z_FLOAT || type == NC3Z_DOUBLE, digits = type == NC3Z_FLOAT ? 7 : 15;
    int as = is_real ? NC3Z_DOUBLE : type == NC3Z_UINT64 ? NC3Z_UINT64 : NC3Z_INT64;
    /* All kinds of numbers have 8 bytes. */
    void *values = malloc(all * 8 + 1);
    check(nc3z_read(file, id, rank, NULL, NULL, NULL, as, values, all * 8));
    printf("\n %s =\n ", argv[2]);
    for (uint64_t i = 0; i < all; i++) {
        if (is_real)
            printf(" %.*g", digits, ((double *)values)[i]);
        else if (as == NC3Z_UINT64)
            printf(" %" PRIu64, ((uint64_t *)values)[i]);
        else
            printf(" %" PRId64, ((int64_t *)values)[i]);
        printf("%s", i + 1 == all ? " ;\n" : (i + 1) % row == 0 ? ",\n " : ",");
    }
    free(values);
    free(shape);
    check(nc3z_close(file));
    return 0;
}
