/* nc3z.h: libnc3z, archives of classic netCDF files for C programs.
 *
 * Rules of all functions:
 *  - They return NC3Z_OK (0) or a negative code. nc3z_last_error has the words for the calling thread's last failure.
 *  - Buffers are the caller's, with their lengths. A text is cut to the buffer, ends with a zero, and its whole length is returned.
 *  - Pointers where results go may be NULL, but not those of structures that are filled, nor buffers of a length that is not 0.
 *  - A handle may be used by several threads at once, and stays valid for calls that run when it is closed. A closed handle is an error.
 *  - Structures begin with their own size, which the caller sets: later versions of the library may add members.
 *  - Nothing is written to standard output or error, and no signal handler is set. Threads are started by large reads and by URLs only.
 */
#ifndef NC3Z_H
#define NC3Z_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. nc3z_abi_version() has that of the library. */
#define NC3Z_ABI_VERSION 1

/* Codes. */
#define NC3Z_OK 0
#define NC3Z_EINVALID (-1)      /* an argument makes no sense: NULL, a size, a number of dimensions */
#define NC3Z_EHANDLE (-2)       /* not a handle of this library, or closed */
#define NC3Z_ENOTFOUND (-3)     /* no such variable, dimension, attribute, or file; another version of a classic file */
#define NC3Z_EBUFFER (-4)       /* the buffer has another length than the request needs */
#define NC3Z_ECOORDS (-5)       /* a start index is outside its dimension */
#define NC3Z_EEDGE (-6)         /* start and count exceed a dimension */
#define NC3Z_ESTRIDE (-7)       /* a stride is not positive */
#define NC3Z_ECHAR (-8)         /* text as numbers, or numbers as text */
#define NC3Z_ETYPE (-9)         /* no such type */
#define NC3Z_ERANGE (-10)       /* all was read; fill values stand for numbers that do not fit the wanted type */
#define NC3Z_EIO (-11)          /* the system, or a callback, refused */
#define NC3Z_ECORRUPT (-12)     /* the file is damaged */
#define NC3Z_EUNSUPPORTED (-13) /* the file may be sound, but this build cannot read it; or it is another kind of file */
#define NC3Z_ELIMIT (-14)       /* more memory than there is, or than the limits allow */
#define NC3Z_EINCOMPLETE (-15)  /* the classic file ends before what its header claims */
#define NC3Z_EEXISTS (-16)      /* the output exists */
#define NC3Z_EPANIC (-17)       /* a defect of the library */

/* Types: the numbers of the netCDF library. */
#define NC3Z_BYTE 1
#define NC3Z_CHAR 2
#define NC3Z_SHORT 3
#define NC3Z_INT 4
#define NC3Z_FLOAT 5
#define NC3Z_DOUBLE 6
#define NC3Z_UBYTE 7
#define NC3Z_USHORT 8
#define NC3Z_UINT 9
#define NC3Z_INT64 10
#define NC3Z_UINT64 11

/* The "variable" that has the global attributes. */
#define NC3Z_GLOBAL (-1)

/* An open file. */
typedef struct nc3z_file nc3z_file;

uint32_t nc3z_abi_version(void);
/* The library's version, such as "0.1.0". */
const char *nc3z_version(void);
/* The name of a code, such as "NC3Z_ERANGE"; never NULL. */
const char *nc3z_code_name(int32_t code);
/* The words for this thread's last failure. Returns their length, without the zero; copies what fits. */
size_t nc3z_last_error(char *text, size_t capacity);

/* ---- Opening ---- */

typedef struct nc3z_open_options {
    size_t size;       /* sizeof(nc3z_open_options) */
    uint64_t version;  /* the number of a version; 0: the newest */
    const char *tag;   /* or the tag of one; NULL: none */
    int32_t fill_lost; /* not 0: fill values stand for what is damaged, in place of NC3Z_ECORRUPT */
    int32_t reserved;  /* 0 */
} nc3z_open_options;

/* Opens an archive, a classic file or an aggregation: a path, a URL (https, s3, gs, az), a member of a bundle ("set.zip!/a.nc"), or "-" for
 * standard input. "a.nc.nc3z@2" is a version of an archive. options may be NULL; file may not. */
int32_t nc3z_open(const char *path, const nc3z_open_options *options, nc3z_file **file);
/* The same from memory, which is copied. */
int32_t nc3z_open_memory(const void *bytes, size_t len, const nc3z_open_options *options, nc3z_file **file);

/* A source of bytes. read fills all of out from offset, and returns 0, or anything else for a failure; several threads may call it at once.
 * release is called once, when the file is no longer used; it may be NULL. If opening fails, release is called, too. */
typedef struct nc3z_source {
    size_t size; /* sizeof(nc3z_source) */
    void *context;
    uint64_t len;
    int32_t (*read)(void *context, uint64_t offset, void *out, size_t len);
    void (*release)(void *context);
} nc3z_source;

int32_t nc3z_open_source(const nc3z_source *source, const nc3z_open_options *options, nc3z_file **file);
/* NULL is nothing to close. */
int32_t nc3z_close(nc3z_file *file);

/* ---- Inquiring ---- */

typedef struct nc3z_info {
    size_t size;              /* sizeof(nc3z_info) */
    int32_t is_archive;       /* 1: an archive, 0: a classic file */
    int32_t format;           /* 1, 2 or 5: CDF-1, CDF-2, CDF-5 */
    uint32_t dimensions;
    uint32_t variables;
    uint32_t attributes;      /* global ones */
    int32_t record_dimension; /* its number; -1: none */
    uint64_t records;
    uint64_t original_len;    /* bytes of the classic file */
    uint64_t stored_len;      /* bytes of the file that was opened */
    uint64_t version;         /* of an archive; 1 for a classic file */
} nc3z_info;

int32_t nc3z_inquire(const nc3z_file *file, nc3z_info *info);
int32_t nc3z_dimension(const nc3z_file *file, uint32_t dimension, char *name, size_t capacity, size_t *name_len, uint64_t *len);
int32_t nc3z_dimension_id(const nc3z_file *file, const char *name, uint32_t *dimension);
int32_t nc3z_variable(const nc3z_file *file, uint32_t variable, char *name, size_t capacity, size_t *name_len, int32_t *type, uint32_t *rank,
                      uint32_t *attributes);
int32_t nc3z_variable_id(const nc3z_file *file, const char *name, uint32_t *variable);
/* The numbers of a variable's dimensions, and their lengths, slowest first; room for rank of each. rank must be the variable's. */
int32_t nc3z_variable_shape(const nc3z_file *file, uint32_t variable, uint32_t rank, uint32_t *dimensions, uint64_t *shape);
/* variable: a number, or NC3Z_GLOBAL. */
int32_t nc3z_attribute(const nc3z_file *file, int32_t variable, uint32_t attribute, char *name, size_t capacity, size_t *name_len,
                       int32_t *type, size_t *count);
int32_t nc3z_attribute_id(const nc3z_file *file, int32_t variable, const char *name, uint32_t *attribute);
/* All values, as numbers of a type; len: bytes of out, which must be count times the size of the type. Text ends without a zero. */
int32_t nc3z_attribute_values(const nc3z_file *file, int32_t variable, uint32_t attribute, int32_t type, void *out, size_t len);
/* The value that stands for "nothing here", in the variable's own type; len: the size of that. */
int32_t nc3z_fill_value(const nc3z_file *file, uint32_t variable, void *out, size_t len);
/* Bytes of an element; 0: no such type. */
size_t nc3z_type_size(int32_t type);

/* ---- Reading ---- */

/* Reads a hyperslab as numbers of a type, in row-major order. start NULL: zeros. count NULL: all from there. stride NULL: ones.
 * rank must be the variable's; len: bytes of out, exactly those of all elements. */
int32_t nc3z_read(const nc3z_file *file, uint32_t variable, uint32_t rank, const uint64_t *start, const uint64_t *count, const int64_t *stride,
                  int32_t type, void *out, size_t len);
/* Bytes of the classic file. The range must lie in it. */
int32_t nc3z_read_original(const nc3z_file *file, uint64_t offset, void *out, size_t len);

/* ---- Versions ---- */

typedef struct nc3z_version_info {
    size_t size;           /* sizeof(nc3z_version_info), in the first of an array */
    uint64_t number;       /* 1: the original */
    uint64_t original_len; /* bytes of the classic file of this version */
    uint64_t added_len;    /* bytes that it added to the archive */
} nc3z_version_info;

/* The versions of an archive, newest first: fills at most capacity items, and tells how many there are. */
int32_t nc3z_versions(const nc3z_file *file, nc3z_version_info *versions, size_t capacity, size_t *count);
/* A version's message, author or time (0, 1, 2), if one is recorded; otherwise a text of length 0. */
int32_t nc3z_version_text(const nc3z_file *file, uint64_t number, int32_t which, char *text, size_t capacity, size_t *text_len);

/* ---- Whole files ---- */

typedef struct nc3z_archive_options {
    size_t size;      /* sizeof(nc3z_archive_options) */
    int32_t preset;   /* 0: default, 1: fast, 2: max */
    int32_t force;    /* not 0: replace the output */
    int32_t no_verify; /* not 0: do not rebuild the original from the archive to compare it */
    int32_t reserved; /* 0 */
} nc3z_archive_options;

/* Archives a classic file. The output appears when it is complete, or not at all. options may be NULL. */
int32_t nc3z_archive(const char *input, const char *output, const nc3z_archive_options *options);
/* Writes the original of an open archive to a file; force: not 0 to replace it. */
int32_t nc3z_restore(const nc3z_file *file, const char *output, int32_t force);

typedef struct nc3z_report {
    size_t size;          /* sizeof(nc3z_report) */
    int32_t is_sound;     /* 1: nothing was found wrong */
    int32_t is_complete;  /* 1: all was checked that was asked for */
    int32_t matches;      /* 1: the rebuilt original has the recorded digest (deep only) */
    int32_t reserved;
    uint64_t findings;    /* things that are wrong */
    uint64_t tiles;       /* tiles that were checked */
} nc3z_report;

/* Checks an archive by any name that nc3z_open takes; deep: not 0 to decode all of it. NC3Z_OK: it was checked, and the report says what was found. The words of the first
 * finding are in nc3z_last_error. */
int32_t nc3z_verify(const char *path, int32_t deep, nc3z_report *report);

#ifdef __cplusplus
}
#endif
#endif
