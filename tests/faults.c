/* Loaded before the C library (LD_PRELOAD): files under NC3Z_FAULT_DIR fail as disks do. NC3Z_FAULT is "OP N WHAT":
 *   OP    read, write, sync or cut (ftruncate)
 *   N     the call that fails, from 1; 0 for every call
 *   WHAT  an error number: that call alone; an error number with a minus: that call and all after it;
 *         "kill": the process ends there, as by a loss of power;
 *         "short": transfers half of what was asked for; "eintr": every other call is interrupted first.
 * At the end the numbers of calls go to NC3Z_FAULT_LOG.
 * NC3Z_RECORD names a file for each write, sync and cut: letter, inode, offset and length (8 bytes each), and the bytes written. Also for
 * each name that is made (n: a file, d: a directory), moved (m: both names, a zero byte between them) or removed (u); the inode is 0. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { READ, WRITE, SYNC, CUT, OPS };
static const char *const NAMES[OPS] = {"read", "write", "sync", "cut"};
static atomic_long counts[OPS];
static int op = -1, number, shortened, interrupted, killed, onwards;
static long nth;
static const char *directory;
static int record = -1;

__attribute__((constructor)) static void begin(void) {
    const char *fault = getenv("NC3Z_FAULT");
    char name[16], what[16];
    const char *path = getenv("NC3Z_RECORD");
    directory = getenv("NC3Z_FAULT_DIR");
    if (path)
        record = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (!fault || sscanf(fault, "%15s %ld %15s", name, &nth, what) != 3)
        return;
    for (int i = 0; i < OPS; i++)
        if (!strcmp(name, NAMES[i]))
            op = i;
    killed = !strcmp(what, "kill");
    shortened = !strcmp(what, "short");
    interrupted = !strcmp(what, "eintr");
    onwards = what[0] == '-';
    number = abs(atoi(what));
}

__attribute__((destructor)) static void end(void) {
    const char *log = getenv("NC3Z_FAULT_LOG");
    FILE *f = log ? fopen(log, "w") : NULL;
    if (!f)
        return;
    for (int i = 0; i < OPS; i++)
        fprintf(f, "%s %ld\n", NAMES[i], (long)counts[i]);
    fclose(f);
}

static int ours(int fd) {
    char link[64], path[4096];
    struct stat meta;
    if (!directory || fstat(fd, &meta) || !(S_ISREG(meta.st_mode) || S_ISDIR(meta.st_mode)))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = 0;
    return !strncmp(path, directory, strlen(directory));
}

/* -1 with errno set where this call is to fail; else how much of `len` it may do. */
static ssize_t allow(int what, int fd, size_t len) {
    if (!ours(fd))
        return (ssize_t)len;
    long n = ++counts[what];
    if (what != op || !(nth == 0 || n == nth || (onwards && n > nth)))
        return (ssize_t)len;
    if (killed)
        kill(getpid(), SIGKILL);
    if (shortened)
        return (ssize_t)(len > 1 ? len / 2 : len);
    if (interrupted) {
        if (n % 2 == 0)
            return (ssize_t)len;
        number = EINTR;
    }
    errno = number;
    return -1;
}

/* Records a call that was made, and gives its result back. */
static ssize_t noted(char what, int fd, const void *buf, ssize_t done, off64_t at) {
    struct stat meta;
    if (record < 0 || done < 0 || !ours(fd) || fstat(fd, &meta))
        return done;
    unsigned long long head[3] = {meta.st_ino, (unsigned long long)at, buf ? (unsigned long long)done : 0};
    if (syscall(SYS_write, record, &what, 1) != 1 || syscall(SYS_write, record, head, sizeof head) != sizeof head
        || (buf && syscall(SYS_write, record, buf, done) != done))
        abort();
    return done;
}

/* Records what happened to a name, or to two. Gives the result back. */
static int named(char what, const char *a, const char *b, int done) {
    unsigned long long head[3] = {0, 0, strlen(a) + (b ? strlen(b) + 1 : 0)};
    if (record < 0 || done < 0)
        return done;
    int error = errno;
    if (syscall(SYS_write, record, &what, 1) != 1 || syscall(SYS_write, record, head, sizeof head) != sizeof head
        || syscall(SYS_write, record, a, strlen(a) + (b ? 1 : 0)) < 0 || (b && syscall(SYS_write, record, b, strlen(b)) < 0))
        abort();
    errno = error;
    return done;
}

#define GUARD(what, fd, len)                     \
    ssize_t most = allow(what, fd, len);         \
    if (most < 0)                                \
        return -1

ssize_t read(int fd, void *buf, size_t n) { GUARD(READ, fd, n); return syscall(SYS_read, fd, buf, most); }
ssize_t pread64(int fd, void *buf, size_t n, off64_t at) { GUARD(READ, fd, n); return syscall(SYS_pread64, fd, buf, most, at); }
ssize_t write(int fd, const void *buf, size_t n) {
    GUARD(WRITE, fd, n);
    off64_t at = record < 0 ? 0 : lseek(fd, 0, SEEK_CUR);
    return noted('w', fd, buf, syscall(SYS_write, fd, buf, most), at);
}
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at) { GUARD(WRITE, fd, n); return noted('w', fd, buf, syscall(SYS_pwrite64, fd, buf, most, at), at); }
int fsync(int fd) { GUARD(SYNC, fd, 0); return (int)noted('s', fd, NULL, syscall(SYS_fsync, fd), 0); }
int fdatasync(int fd) { GUARD(SYNC, fd, 0); return (int)noted('s', fd, NULL, syscall(SYS_fdatasync, fd), 0); }
int ftruncate64(int fd, off64_t len) { GUARD(CUT, fd, 0); return (int)noted('c', fd, NULL, syscall(SYS_ftruncate, fd, len), len); }
int rename(const char *from, const char *to) { return named('m', from, to, (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)); }
int mkdir(const char *path, mode_t mode) { return named('d', path, NULL, (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode)); }
int unlink(const char *path) { return named('u', path, NULL, (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0)); }
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    int is_new = record >= 0 && flags & O_CREAT && access(path, F_OK) != 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    return is_new && fd >= 0 ? named('n', path, NULL, fd) : fd;
}
