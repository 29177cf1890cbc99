/*
 * Shifts the time of day that a process reads by the seconds in a file, which may change while it runs. Other clocks and
 * waits inside libc are not affected. tests/support/clock.py loads it with LD_PRELOAD.
 *
 *   CLOCK_SHIFT   file with a number of seconds
 *   CLOCK_LOG     folder with a file for each process that read a shifted time: its name is the pid, its content the shift
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long reported;

static long monotonic_ms(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void note(long shift) {
    char path[4096], text[32];
    const char *folder = getenv("CLOCK_LOG");
    if (folder == NULL || shift == reported) return;
    reported = shift;
    snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return;
    syscall(SYS_write, fd, text, (size_t)snprintf(text, sizeof text, "%ld\n", shift));
    syscall(SYS_close, fd);
}

/* Read the file at most fifty times a second, since the time is read very often. */
static long shift(void) {
    static long known, read_ms;
    long now_ms = monotonic_ms();
    if (read_ms != 0 && now_ms - read_ms < 20) return known;
    read_ms = now_ms;
    const char *path = getenv("CLOCK_SHIFT");
    int fd = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return known;
    char text[32] = {0};
    if (syscall(SYS_read, fd, text, sizeof text - 1) > 0) known = strtol(text, NULL, 10);
    syscall(SYS_close, fd);
    note(known);
    return known;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (out != NULL) *out = exact.tv_sec;
    return exact.tv_sec;
}
