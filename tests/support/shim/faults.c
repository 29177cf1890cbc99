/*
 * Disk faults, loaded between a process and libc with LD_PRELOAD by tests/support/disk_faults.py.
 *
 * Patterns are those of fnmatch(3) for absolute paths; a star matches slashes.
 *
 *   SHIM_LOG          file that gets a line for each fault and traced call
 *   SHIM_WHEN         faults happen only while this file exists; always if not set
 *   SHIM_FAIL_SYNC    fsync and fdatasync of these files fail with EIO
 *   SHIM_FAIL_WRITE   writes to these files fail with ENOSPC
 *   SHIM_HOLD_RENAME  the first rename to such a path never returns
 *   SHIM_HOLD_AT      "before": stops before the rename; "after": stops after it
 *   SHIM_TRACE        calls on these files are logged, with the written bytes
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static atomic_int held;

static int matches(const char *variable, const char *path) {
    const char *pattern = getenv(variable);
    return pattern != NULL && fnmatch(pattern, path, 0) == 0;
}

static int is_time(void) {
    const char *when = getenv("SHIM_WHEN");
    return when == NULL || access(when, F_OK) == 0;
}

/* Write a line with one system call, so that lines of several processes never mix. */
static void write_log(const char *what, const char *path, const char *more) {
    const char *log = getenv("SHIM_LOG");
    char line[3 * PATH_MAX];
    if (log == NULL) return;
    int length = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, path, more);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return;
    syscall(SYS_write, fd, line, (size_t)length);
    syscall(SYS_close, fd);
}

static const char *absolute(const char *path, char *out) {
    char here[PATH_MAX / 2];
    if (path[0] == '/' || getcwd(here, sizeof here) == NULL) return path;
    snprintf(out, PATH_MAX, "%s/%s", here, path);
    return out;
}

static const char *path_of(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, out, PATH_MAX - 1);
    out[length < 0 ? 0 : length] = 0;
    return out;
}

static void trace_bytes(int fd, const char *bytes, ssize_t count) {
    char path[PATH_MAX], hex[PATH_MAX];
    if (getenv("SHIM_TRACE") == NULL || !matches("SHIM_TRACE", path_of(fd, path))) return;
    for (ssize_t start = 0; start < count; start += 1024) {
        int length = 0;
        for (ssize_t at = start; at < count && at < start + 1024; at++)
            length += sprintf(hex + length, "%02x", (unsigned char)bytes[at]);
        write_log("write", path, hex);
    }
}

static int fails(const char *variable, const char *what, int fd, int error) {
    char path[PATH_MAX];
    if (getenv(variable) == NULL || !matches(variable, path_of(fd, path)) || !is_time()) return 0;
    write_log(what, path, "");
    errno = error;
    return 1;
}

static int sync_with(int (*real)(int), int fd) {
    char path[PATH_MAX];
    if (fails("SHIM_FAIL_SYNC", "fail_sync", fd, EIO)) return -1;
    int result = real(fd);
    if (result == 0 && getenv("SHIM_TRACE") != NULL && matches("SHIM_TRACE", path_of(fd, path))) write_log("sync", path, "");
    return result;
}

int fsync(int fd) { return sync_with(REAL(fsync), fd); }
int fdatasync(int fd) { return sync_with(REAL(fdatasync), fd); }

ssize_t write(int fd, const void *bytes, size_t count) {
    if (fails("SHIM_FAIL_WRITE", "fail_write", fd, ENOSPC)) return -1;
    ssize_t done = REAL(write)(fd, bytes, count);
    trace_bytes(fd, bytes, done);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return fails("SHIM_FAIL_WRITE", "fail_write", fd, ENOSPC) ? -1 : REAL(pwrite)(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    return fails("SHIM_FAIL_WRITE", "fail_write", fd, ENOSPC) ? -1 : REAL(pwrite64)(fd, bytes, count, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    return fails("SHIM_FAIL_WRITE", "fail_write", fd, ENOSPC) ? -1 : REAL(writev)(fd, parts, count);
}

static void hold(const char *moment, const char *from, const char *to) {
    const char *at = getenv("SHIM_HOLD_AT");
    if (at == NULL || strcmp(at, moment) != 0 || !matches("SHIM_HOLD_RENAME", to) || !is_time()) return;
    if (atomic_exchange(&held, 1)) return;
    write_log("hold_rename", to, from);
    for (;;) pause();
}

int rename(const char *from, const char *to) {
    char one[PATH_MAX], other[PATH_MAX];
    const char *source = absolute(from, one), *target = absolute(to, other);
    hold("before", source, target);
    int result = REAL(rename)(from, to);
    if (result == 0 && getenv("SHIM_TRACE") != NULL && matches("SHIM_TRACE", target)) write_log("rename", source, target);
    hold("after", source, target);
    return result;
}

int link(const char *from, const char *to) {
    char one[PATH_MAX], other[PATH_MAX];
    const char *source = absolute(from, one), *target = absolute(to, other);
    int result = REAL(link)(from, to);
    if (result == 0 && getenv("SHIM_TRACE") != NULL && matches("SHIM_TRACE", target)) write_log("link", source, target);
    return result;
}

int unlink(const char *path) {
    char out[PATH_MAX];
    int result = REAL(unlink)(path);
    if (result == 0 && getenv("SHIM_TRACE") != NULL && matches("SHIM_TRACE", absolute(path, out)))
        write_log("unlink", absolute(path, out), "");
    return result;
}

int mkdir(const char *path, mode_t mode) {
    char out[PATH_MAX];
    int result = REAL(mkdir)(path, mode);
    if (result == 0 && getenv("SHIM_TRACE") != NULL && matches("SHIM_TRACE", absolute(path, out)))
        write_log("mkdir", absolute(path, out), "");
    return result;
}

static int traced_open(int fd, const char *path, int flags) {
    char out[PATH_MAX];
    if (fd >= 0 && (flags & O_ACCMODE) != O_RDONLY && getenv("SHIM_TRACE") != NULL &&
        matches("SHIM_TRACE", absolute(path, out)))
        write_log(flags & O_TRUNC ? "open_empty" : "open", absolute(path, out), "");
    return fd;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return traced_open(REAL(open)(path, flags, mode), path, flags);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return traced_open(REAL(open64)(path, flags, mode), path, flags);
}
