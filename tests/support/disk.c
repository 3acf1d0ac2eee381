/* A disk that is gone: from the n-th call on, every call about a directory fails.

   LD_PRELOAD. Environment: DISK_PATH (the directory), DISK_COUNT (a file of 8 bytes that all
   processes share: calls so far), DISK_AT (the first call that fails; 0: none does), DISK_ERRNO (0: the
   process is killed before the call), DISK_ONCE (only that call fails).
   tests/converter/faults/test_any_call.py builds it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#undef stat
#undef fstat
#undef lstat
#undef fstatat

static long *count;
static const char *disk;
static long at, once;
static int code;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void start(void) {
    int (*real_open)(const char *, int, ...) = real("open");
    const char *file = getenv("DISK_COUNT");
    int fd = file ? real_open(file, O_RDWR) : -1;
    if (fd < 0) return;
    count = mmap(0, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    disk = getenv("DISK_PATH");
    at = atol(getenv("DISK_AT"));
    code = atoi(getenv("DISK_ERRNO"));
    once = getenv("DISK_ONCE") != 0;
}

static int below(const char *path) {
    size_t size = strlen(disk);
    return strncmp(path, disk, size) == 0 && (path[size] == '/' || path[size] == 0);
}

/* Whether a call about a path, in a directory, fails; errno is set then. */
static int fails(int directory, const char *path) {
    char base[PATH_MAX] = "", whole[2 * PATH_MAX + 2];
    if (!count || !disk) return 0;
    int before = errno;
    if (path == 0 || path[0] != '/') {
        char link[64];
        ssize_t (*real_readlink)(const char *, char *, size_t) = real("readlink");
        if (directory == AT_FDCWD) strcpy(link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        ssize_t size = real_readlink(link, base, sizeof base - 1);
        base[size < 0 ? 0 : size] = 0;
        strcat(base, "/");
    }
    snprintf(whole, sizeof whole, "%s%s", base, path ? path : "");
    errno = before;
    if (!below(whole)) return 0;
    long now = __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    if (!at || now < at || (once && now != at)) return 0;
    if (!code) raise(SIGKILL);
    errno = code;
    return 1;
}

#define PATH1(type, name, arguments, names, path) \
    type name arguments { \
        if (fails(AT_FDCWD, path)) return -1; \
        return ((type(*) arguments)real(#name)) names; \
    }
#define AT1(type, name, arguments, names, directory, path) \
    type name arguments { \
        if (fails(directory, path)) return -1; \
        return ((type(*) arguments)real(#name)) names; \
    }
#define FD1(type, name, arguments, names, fd) \
    type name arguments { \
        if (fails(fd, 0)) return -1; \
        return ((type(*) arguments)real(#name)) names; \
    }
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); \
        int mode = va_arg(rest, int); va_end(rest); \
        if (fails(AT_FDCWD, path)) return -1; \
        return ((int (*)(const char *, int, ...))real(#name))(path, flags, mode); \
    }
#define OPENAT(name) \
    int name(int directory, const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); \
        int mode = va_arg(rest, int); va_end(rest); \
        if (fails(directory, path)) return -1; \
        return ((int (*)(int, const char *, int, ...))real(#name))(directory, path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
PATH1(int, stat, (const char *path, struct stat *to), (path, to), path)
PATH1(int, lstat, (const char *path, struct stat *to), (path, to), path)
PATH1(int, stat64, (const char *path, struct stat64 *to), (path, to), path)
PATH1(int, lstat64, (const char *path, struct stat64 *to), (path, to), path)
AT1(int, fstatat, (int d, const char *path, struct stat *to, int f), (d, path, to, f), d, path)
AT1(int, fstatat64, (int d, const char *path, struct stat64 *to, int f), (d, path, to, f), d, path)
FD1(int, fstat, (int fd, struct stat *to), (fd, to), fd)
FD1(int, fstat64, (int fd, struct stat64 *to), (fd, to), fd)
FD1(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), fd)
FD1(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n), fd)
FD1(int, fsync, (int fd), (fd), fd)
FD1(int, fchmod, (int fd, mode_t mode), (fd, mode), fd)
PATH1(int, chmod, (const char *path, mode_t mode), (path, mode), path)
PATH1(int, mkdir, (const char *path, mode_t mode), (path, mode), path)
PATH1(int, rmdir, (const char *path), (path), path)
PATH1(int, unlink, (const char *path), (path), path)
AT1(int, unlinkat, (int d, const char *path, int flags), (d, path, flags), d, path)
PATH1(int, rename, (const char *path, const char *to), (path, to), path)
PATH1(int, link, (const char *path, const char *to), (path, to), path)
AT1(int, linkat, (int d, const char *path, int e, const char *to, int f), (d, path, e, to, f), d, path)
AT1(int, utimensat, (int d, const char *path, const struct timespec t[2], int f), (d, path, t, f), d, path)
FD1(ssize_t, sendfile, (int to, int from, off_t *o, size_t n), (to, from, o, n), to)
FD1(ssize_t, sendfile64, (int to, int from, off64_t *o, size_t n), (to, from, o, n), to)
FD1(int, flock, (int fd, int how), (fd, how), fd)

DIR *opendir(const char *path) {
    return fails(AT_FDCWD, path) ? 0 : ((DIR * (*)(const char *)) real("opendir"))(path);
}

struct dirent64 *readdir64(DIR *from) {
    return fails(dirfd(from), 0) ? 0 : ((struct dirent64 * (*)(DIR *)) real("readdir64"))(from);
}
