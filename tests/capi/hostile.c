/* Every function of nc3z.h with arguments that make no sense: a code each time, never a crash.
 *     hostile ARCHIVE CLASSIC DIRECTORY
 * Prints the number of calls. Compiled with AddressSanitizer where the compiler has it. */
#include "nc3z.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long calls;
static int failed;

#define EXPECT(code, call)                                                                    \
    do {                                                                                      \
        int32_t found = (call);                                                               \
        calls++;                                                                              \
        if (found != (code)) {                                                                \
            char text[500];                                                                   \
            nc3z_last_error(text, sizeof text);                                               \
            fprintf(stderr, "%s:%d: %s is %d (%s), and not %s: %s\n", __FILE__, __LINE__, #call, (int)found, nc3z_code_name(found), #code, text); \
            failed = 1;                                                                       \
        }                                                                                     \
    } while (0)
#define CHECK(true_)                                                                 \
    do {                                                                             \
        if (!(true_)) {                                                              \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #true_);          \
            failed = 1;                                                              \
        }                                                                            \
    } while (0)

static unsigned char *whole(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    if (!f) exit(2);
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*len ? *len : 1);
    if (fread(bytes, 1, *len, f) != *len) exit(2);
    fclose(f);
    return bytes;
}

/* Reads all that there is of a file, whatever the codes are. */
static void use(nc3z_file *file) {
    nc3z_info info = {.size = sizeof info};
    if (nc3z_inquire(file, &info)) return;
    for (uint32_t d = 0; d < info.dimensions; d++) calls += nc3z_dimension(file, d, NULL, 0, NULL, NULL) <= 0;
    for (int32_t v = -1; v < (int32_t)info.variables; v++) {
        uint32_t n = v < 0 ? info.attributes : 0, rank = 0;
        int32_t type = 0;
        if (v >= 0) nc3z_variable(file, (uint32_t)v, NULL, 0, NULL, &type, &rank, &n);
        for (uint32_t a = 0; a < n; a++) {
            int32_t ty;
            size_t count;
            if (nc3z_attribute(file, v, a, NULL, 0, NULL, &ty, &count)) continue;
            if (count > 100000) continue;
            void *out = malloc(count * nc3z_type_size(ty) + 1);
            calls += nc3z_attribute_values(file, v, a, ty, out, count * nc3z_type_size(ty)) <= 0;
            free(out);
        }
        if (v < 0 || rank > 32) continue;
        uint64_t shape[32], elements = 1;
        if (nc3z_variable_shape(file, (uint32_t)v, rank, NULL, shape)) continue;
        for (uint32_t d = 0; d < rank; d++) elements *= shape[d] < 100000 ? shape[d] : 100000;
        if (elements > 1000000) continue;
        double *out = malloc(elements * 8 + 8);
        calls += nc3z_read(file, (uint32_t)v, rank, NULL, NULL, NULL, NC3Z_DOUBLE, out, elements * 8) <= 0;
        calls += nc3z_read(file, (uint32_t)v, rank, NULL, NULL, NULL, type, out, elements * nc3z_type_size(type)) <= 0;
        free(out);
    }
    char bytes[64];
    calls += nc3z_read_original(file, info.original_len / 2, bytes, sizeof bytes) <= 0;
    calls += nc3z_versions(file, NULL, 0, NULL) <= 0;
}

static int released;
struct memory {
    const unsigned char *bytes;
    size_t len;
    int fails;
};
static int32_t read_memory(void *context, uint64_t offset, void *out, size_t len) {
    struct memory *m = context;
    if (m->fails || offset > m->len || len > m->len - offset) return 5;
    memcpy(out, m->bytes + offset, len);
    return 0;
}
static void release(void *context) {
    (void)context;
    released++;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const char *archive = argv[1], *classic = argv[2], *folder = argv[3];
    nc3z_file *file = (nc3z_file *)1, *closed;
    CHECK(nc3z_abi_version() == NC3Z_ABI_VERSION);
    CHECK(strlen(nc3z_version()) > 4);
    CHECK(!strcmp(nc3z_code_name(NC3Z_ERANGE), "NC3Z_ERANGE") && nc3z_code_name(12345) != NULL);

    /* Opening. */
    EXPECT(NC3Z_EINVALID, nc3z_open(NULL, NULL, &file));
    CHECK(file == NULL);
    EXPECT(NC3Z_EINVALID, nc3z_open(archive, NULL, NULL));
    EXPECT(NC3Z_ENOTFOUND, nc3z_open("/no/such/file", NULL, &file));
    EXPECT(NC3Z_EUNSUPPORTED, nc3z_open("/etc/passwd", NULL, &file));
    CHECK(nc3z_last_error(NULL, 0) > 5);
    char small[4];
    CHECK(nc3z_last_error(small, sizeof small) > 5 && strlen(small) == 3);
    nc3z_open_options options = {.size = 3};
    EXPECT(NC3Z_EINVALID, nc3z_open(archive, &options, &file));
    options.size = (size_t)-1;
    EXPECT(NC3Z_EINVALID, nc3z_open(archive, &options, &file));
    /* Versions and tags that there are not; and both at once. */
    options = (nc3z_open_options){.size = sizeof options, .version = 7};
    EXPECT(NC3Z_EINVALID, nc3z_open(archive, &options, &file));
    options.tag = "tag";
    EXPECT(NC3Z_EINVALID, nc3z_open(archive, &options, &file));
    options.version = 0;
    EXPECT(NC3Z_EINVALID, nc3z_open(archive, &options, &file));
    char named[600];
    const char *behind[] = {"@7", "@nope"};
    for (int i = 0; i < 2; i++) {
        snprintf(named, sizeof named, "%s%s", archive, behind[i]);
        EXPECT(NC3Z_EINVALID, nc3z_open(named, NULL, &file));
        EXPECT(NC3Z_EINVALID, nc3z_verify(named, 0, &(nc3z_report){.size = sizeof(nc3z_report)}));
    }
    EXPECT(NC3Z_ENOTFOUND, nc3z_open(classic, &options, &file));
    /* An older header, whose structure ends before the tag. */
    options.size = 2 * sizeof(size_t);
    EXPECT(NC3Z_OK, nc3z_open(archive, &options, &file));
    EXPECT(NC3Z_OK, nc3z_close(file));
    EXPECT(NC3Z_EHANDLE, nc3z_close(file));
    closed = file;
    EXPECT(NC3Z_OK, nc3z_close(NULL));
    EXPECT(NC3Z_EINVALID, nc3z_open_memory(NULL, 5, NULL, &file));
    EXPECT(NC3Z_ECORRUPT, nc3z_open_memory(NULL, 0, NULL, &file));
    EXPECT(NC3Z_EINVALID, nc3z_open_source(NULL, NULL, &file));

    /* Handles that are none. */
    nc3z_file *none[] = {NULL, closed, (nc3z_file *)&options, (nc3z_file *)(size_t)-1, (nc3z_file *)2};
    char buffer[256];
    nc3z_info info = {.size = sizeof info};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        nc3z_file *bad = none[i];
        uint64_t shape[8];
        EXPECT(NC3Z_EHANDLE, nc3z_inquire(bad, &info));
        EXPECT(NC3Z_EHANDLE, nc3z_dimension(bad, 0, buffer, 9, NULL, NULL));
        EXPECT(NC3Z_EHANDLE, nc3z_dimension_id(bad, "x", NULL));
        EXPECT(NC3Z_EHANDLE, nc3z_variable(bad, 0, buffer, 9, NULL, NULL, NULL, NULL));
        EXPECT(NC3Z_EHANDLE, nc3z_variable_id(bad, "x", NULL));
        EXPECT(NC3Z_EHANDLE, nc3z_variable_shape(bad, 0, 1, NULL, shape));
        EXPECT(NC3Z_EHANDLE, nc3z_attribute(bad, 0, 0, buffer, 9, NULL, NULL, NULL));
        EXPECT(NC3Z_EHANDLE, nc3z_attribute_id(bad, 0, "x", NULL));
        EXPECT(NC3Z_EHANDLE, nc3z_attribute_values(bad, 0, 0, 1, buffer, 9));
        EXPECT(NC3Z_EHANDLE, nc3z_fill_value(bad, 0, buffer, 4));
        EXPECT(NC3Z_EHANDLE, nc3z_read(bad, 0, 1, NULL, NULL, NULL, 1, buffer, 9));
        EXPECT(NC3Z_EHANDLE, nc3z_read_original(bad, 0, buffer, 9));
        EXPECT(NC3Z_EHANDLE, nc3z_versions(bad, NULL, 0, NULL));
        EXPECT(NC3Z_EHANDLE, nc3z_version_text(bad, 1, 0, buffer, 9, NULL));
        EXPECT(NC3Z_EHANDLE, nc3z_restore(bad, "x", 0));
        if (bad) EXPECT(NC3Z_EHANDLE, nc3z_close(bad));
    }

    /* Arguments of an open file: testdata's record_padding.nc, short a(time=40, x=5). */
    EXPECT(NC3Z_OK, nc3z_open(archive, NULL, &file));
    EXPECT(NC3Z_EINVALID, nc3z_inquire(file, NULL));
    info.size = 1;
    EXPECT(NC3Z_EINVALID, nc3z_inquire(file, &info));
    info.size = sizeof info;
    EXPECT(NC3Z_OK, nc3z_inquire(file, &info));
    CHECK(info.is_archive == 1 && info.records == 40 && info.version == 1 && info.record_dimension >= 0);
    /* Members behind the caller's size are not touched. */
    memset(&info, 0x77, sizeof info);
    info.size = sizeof(size_t) + 8;
    EXPECT(NC3Z_OK, nc3z_inquire(file, &info));
    CHECK(info.is_archive == 1 && info.variables == 0x77777777);
    EXPECT(NC3Z_ENOTFOUND, nc3z_dimension(file, 99, NULL, 0, NULL, NULL));
    EXPECT(NC3Z_EINVALID, nc3z_dimension_id(file, NULL, NULL));
    EXPECT(NC3Z_ENOTFOUND, nc3z_dimension_id(file, "no such", NULL));
    EXPECT(NC3Z_ENOTFOUND, nc3z_variable(file, UINT32_MAX, NULL, 0, NULL, NULL, NULL, NULL));
    EXPECT(NC3Z_ENOTFOUND, nc3z_variable_id(file, "", NULL));
    uint32_t a, rank = 0;
    size_t len = 0;
    EXPECT(NC3Z_OK, nc3z_variable_id(file, "a", &a));
    EXPECT(NC3Z_OK, nc3z_variable(file, a, buffer, 1, &len, NULL, &rank, NULL));
    CHECK(buffer[0] == 0 && len == 1 && rank == 2);
    EXPECT(NC3Z_EINVALID, nc3z_variable_shape(file, a, 1, NULL, NULL));
    EXPECT(NC3Z_OK, nc3z_variable_shape(file, a, 2, NULL, NULL));
    EXPECT(NC3Z_ENOTFOUND, nc3z_attribute(file, -2, 0, NULL, 0, NULL, NULL, NULL));
    EXPECT(NC3Z_ENOTFOUND, nc3z_attribute(file, NC3Z_GLOBAL, 999, NULL, 0, NULL, NULL, NULL));
    EXPECT(NC3Z_ENOTFOUND, nc3z_attribute_id(file, INT32_MAX, "x", NULL));
    EXPECT(NC3Z_EINVALID, nc3z_attribute_id(file, NC3Z_GLOBAL, NULL, NULL));
    EXPECT(NC3Z_ENOTFOUND, nc3z_attribute_values(file, (int32_t)a, 999, NC3Z_INT, buffer, 4));
    EXPECT(NC3Z_EBUFFER, nc3z_fill_value(file, a, buffer, 4));
    EXPECT(NC3Z_OK, nc3z_fill_value(file, a, buffer, 2));
    CHECK(nc3z_type_size(0) == 0 && nc3z_type_size(-1) == 0 && nc3z_type_size(12) == 0 && nc3z_type_size(NC3Z_UINT64) == 8);

    short out[200];
    uint64_t start[2] = {0, 0}, count[2] = {40, 5};
    int64_t stride[2] = {1, 1};
    EXPECT(NC3Z_OK, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, out, sizeof out));
    EXPECT(NC3Z_OK, nc3z_read(file, a, 2, NULL, NULL, NULL, NC3Z_SHORT, out, sizeof out));
    CHECK(out[6] == 22);
    EXPECT(NC3Z_EINVALID, nc3z_read(file, a, 3, start, count, stride, NC3Z_SHORT, out, sizeof out));
    EXPECT(NC3Z_EINVALID, nc3z_read(file, a, UINT32_MAX, start, count, stride, NC3Z_SHORT, out, sizeof out));
    EXPECT(NC3Z_ETYPE, nc3z_read(file, a, 2, start, count, stride, 0, out, sizeof out));
    EXPECT(NC3Z_ECHAR, nc3z_read(file, a, 2, start, count, stride, NC3Z_CHAR, out, sizeof out));
    EXPECT(NC3Z_EBUFFER, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, out, sizeof out - 1));
    EXPECT(NC3Z_EBUFFER, nc3z_read(file, a, 2, start, count, stride, NC3Z_DOUBLE, out, sizeof out));
    EXPECT(NC3Z_EINVALID, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, NULL, sizeof out));
    signed char bytes[200];
    EXPECT(NC3Z_ERANGE, nc3z_read(file, a, 2, start, count, stride, NC3Z_BYTE, bytes, sizeof bytes));
    CHECK(bytes[6] == 22 && bytes[7] == -127);
    count[0] = UINT64_MAX;
    EXPECT(NC3Z_EEDGE, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, out, sizeof out));
    count[0] = count[1] = UINT64_MAX / 2;
    EXPECT(NC3Z_EEDGE, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, out, sizeof out));
    start[0] = 41, count[0] = 0, count[1] = 1;
    EXPECT(NC3Z_ECOORDS, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, out, 0));
    start[0] = 40;
    EXPECT(NC3Z_OK, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, NULL, 0));
    start[0] = 0, count[0] = 20, stride[0] = INT64_MIN;
    EXPECT(NC3Z_ESTRIDE, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, out, 40));
    stride[0] = 0;
    EXPECT(NC3Z_ESTRIDE, nc3z_read(file, a, 2, start, NULL, stride, NC3Z_SHORT, out, 40));
    stride[0] = 7;
    EXPECT(NC3Z_ECOORDS, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, out, 40));
    /* Nothing is read: as with netCDF-C, where the elements would be does not matter, whatever the type is. */
    count[1] = 0;
    EXPECT(NC3Z_OK, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, NULL, 0));
    EXPECT(NC3Z_OK, nc3z_read(file, a, 2, start, count, stride, NC3Z_DOUBLE, NULL, 0));
    count[0] = 0, count[1] = 5, stride[0] = 1, stride[1] = 2;
    EXPECT(NC3Z_OK, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, NULL, 0));
    EXPECT(NC3Z_OK, nc3z_read(file, a, 2, start, count, stride, NC3Z_DOUBLE, NULL, 0));
    stride[1] = 1;
    /* A buffer that is not aligned. */
    stride[0] = 1, count[0] = 2, count[1] = 5;
    char odd[21];
    EXPECT(NC3Z_OK, nc3z_read(file, a, 2, start, count, stride, NC3Z_SHORT, odd + 1, 20));
    short value;
    memcpy(&value, odd + 1 + 12, 2);
    CHECK(value == 22);

    EXPECT(NC3Z_OK, nc3z_inquire(file, (info.size = sizeof info, &info)));
    EXPECT(NC3Z_OK, nc3z_read_original(file, info.original_len, NULL, 0));
    EXPECT(NC3Z_EEDGE, nc3z_read_original(file, info.original_len, buffer, 1));
    EXPECT(NC3Z_EEDGE, nc3z_read_original(file, UINT64_MAX, buffer, 1));
    EXPECT(NC3Z_EEDGE, nc3z_read_original(file, 0, buffer, SIZE_MAX));
    EXPECT(NC3Z_EINVALID, nc3z_read_original(file, 0, NULL, 1));
    nc3z_version_info versions[2] = {{.size = 2}};
    EXPECT(NC3Z_EINVALID, nc3z_versions(file, versions, 2, &len));
    versions[0].size = sizeof *versions;
    EXPECT(NC3Z_OK, nc3z_versions(file, versions, 2, &len));
    CHECK(len == 1 && versions[0].number == 1 && versions[0].original_len == info.original_len);
    EXPECT(NC3Z_ENOTFOUND, nc3z_version_text(file, 2, 0, NULL, 0, NULL));
    EXPECT(NC3Z_EINVALID, nc3z_version_text(file, 1, 3, NULL, 0, NULL));
    EXPECT(NC3Z_OK, nc3z_version_text(file, 1, 0, buffer, 1, &len));
    CHECK(len == 0);

    /* Whole files. */
    char made[600], back[600];
    snprintf(made, sizeof made, "%s/made.nc3z", folder);
    snprintf(back, sizeof back, "%s/back.nc", folder);
    EXPECT(NC3Z_EINVALID, nc3z_archive(NULL, made, NULL));
    EXPECT(NC3Z_EINVALID, nc3z_archive(classic, NULL, NULL));
    nc3z_archive_options how = {.size = sizeof how, .preset = 9};
    EXPECT(NC3Z_EINVALID, nc3z_archive(classic, made, &how));
    EXPECT(NC3Z_ENOTFOUND, nc3z_archive("/no/such/file", made, NULL));
    EXPECT(NC3Z_EUNSUPPORTED, nc3z_archive("/etc/passwd", made, NULL));
    EXPECT(NC3Z_EIO, nc3z_archive(classic, "/no/such/folder/x.nc3z", NULL));
    EXPECT(NC3Z_OK, nc3z_archive(classic, made, NULL));
    EXPECT(NC3Z_EEXISTS, nc3z_archive(classic, made, NULL));
    how.preset = 1, how.force = 1;
    EXPECT(NC3Z_OK, nc3z_archive(classic, made, &how));
    EXPECT(NC3Z_EINVALID, nc3z_restore(file, NULL, 0));
    EXPECT(NC3Z_OK, nc3z_restore(file, back, 0));
    EXPECT(NC3Z_EEXISTS, nc3z_restore(file, back, 0));
    EXPECT(NC3Z_OK, nc3z_restore(file, back, 1));
    size_t n, m;
    unsigned char *x = whole(back, &n), *y = whole(classic, &m);
    CHECK(n == m && !memcmp(x, y, n));
    free(x), free(y);
    /* An archive is never replaced by one of its versions. */
    nc3z_file *self;
    EXPECT(NC3Z_OK, nc3z_open(made, NULL, &self));
    EXPECT(NC3Z_EINVALID, nc3z_restore(self, made, 1));
    EXPECT(NC3Z_OK, nc3z_close(self));
    EXPECT(NC3Z_OK, nc3z_verify(made, 1, &(nc3z_report){.size = sizeof(nc3z_report)}));
    nc3z_report report = {.size = sizeof report};
    EXPECT(NC3Z_EINVALID, nc3z_verify(NULL, 1, &report));
    EXPECT(NC3Z_EINVALID, nc3z_verify(archive, 1, NULL));
    EXPECT(NC3Z_OK, nc3z_verify(archive, 0, &report));
    EXPECT(NC3Z_OK, nc3z_verify(archive, 1, &report));
    CHECK(report.is_sound == 1 && report.matches == 1 && report.findings == 0);
    EXPECT(NC3Z_OK, nc3z_close(file));
    EXPECT(NC3Z_OK, nc3z_open(classic, NULL, &file));
    EXPECT(NC3Z_EINVALID, nc3z_restore(file, back, 1));
    EXPECT(NC3Z_ENOTFOUND, nc3z_versions(file, NULL, 0, NULL));
    use(file);
    EXPECT(NC3Z_OK, nc3z_close(file));

    /* Sources. */
    size_t size;
    unsigned char *good = whole(archive, &size);
    struct memory memory = {good, size, 0};
    nc3z_source source = {sizeof source, &memory, size, NULL, release};
    EXPECT(NC3Z_EINVALID, nc3z_open_source(&source, NULL, &file));
    CHECK(released == 1);
    source.read = read_memory;
    EXPECT(NC3Z_OK, nc3z_open_source(&source, NULL, &file));
    use(file);
    memory.fails = 1;
    EXPECT(NC3Z_OK, nc3z_close(file));
    CHECK(released == 2);
    EXPECT(NC3Z_EIO, nc3z_open_source(&source, NULL, &file));
    CHECK(released == 3);
    memory.fails = 0;
    EXPECT(NC3Z_EINVALID, nc3z_open_source(&source, NULL, NULL));
    CHECK(released == 4);
    options = (nc3z_open_options){.size = 3};
    EXPECT(NC3Z_EINVALID, nc3z_open_source(&source, &options, &file));
    CHECK(released == 5);
    source.len = size + 1000;
    nc3z_open_source(&source, NULL, &file);
    nc3z_close(file);
    CHECK(released == 6);

    /* Each prefix, and each byte changed, of an archive and of a classic file. */
    const char *names[] = {archive, classic};
    for (int k = 0; k < 2; k++) {
        unsigned char *bytes = whole(names[k], &size);
        for (size_t cut = 0; cut < size; cut += 1 + size / 700) {
            if (!nc3z_open_memory(bytes, cut, NULL, &file)) use(file);
            calls++;
            nc3z_close(file);
        }
        for (size_t at = 0; at < size; at += 1 + size / 1500) {
            bytes[at] ^= (unsigned char)(1 + at % 255);
            if (!nc3z_open_memory(bytes, size, NULL, &file)) use(file);
            calls++;
            nc3z_close(file);
            bytes[at] ^= (unsigned char)(1 + at % 255);
        }
        free(bytes);
    }
    free(good);
    printf("%ld calls\n", calls);
    return failed;
}
