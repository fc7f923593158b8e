/* file_lock.c - one process at a time writes a file.
 *
 * The lock is a record lock of the kernel on PATH.lock. It ends with the
 * process, however that ends, so a lock is never stale; children do not inherit
 * it and cannot release it; network file systems have it. PATH.lock says who
 * holds it, and is removed at an ordinary end. Where a file system has no locks,
 * PATH.lock itself is the lock, which ends with its process on that machine. */
#define _POSIX_C_SOURCE 200809L

#include "tool/file_lock.h"
#include "tool/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- those of this process ----------------------------------------------- */

struct held {
    char *path; /* of the lock file */
    int file;
    dev_t device;
    ino_t number;
};

static struct {
    struct held *all;
    size_t n;
    pid_t owner; /* a child that ends leaves the files alone */
} locks;

static void release_all(void)
{
    const bool is_owner = locks.owner == getpid();

    for (size_t i = 0; i < locks.n; i++) {
        if (is_owner) { /* before it is unlocked */
            (void)unlink(locks.all[i].path);
        }
        (void)close(locks.all[i].file);
        free(locks.all[i].path);
    }
    free(locks.all);
    locks.all = NULL;
    locks.n = 0;
}

static void keep(const char *path, int file, const struct stat *at)
{
    struct held *more = realloc(locks.all, (locks.n + 1) * sizeof *locks.all);

    if (!more) {
        exit(cli_fail(CLI_NUMERIC, "relmc", "out of memory"));
    }
    if (!locks.n) {
        locks.owner = getpid();
        (void)atexit(release_all);
    }
    locks.all = more;
    locks.all[locks.n++] =
        (struct held){cli_text("%s", path), file, at->st_dev, at->st_ino};
}

/* Asked before the file is opened: to close a second descriptor would release
 * the lock. */
static bool is_held(const char *path)
{
    struct stat at;

    for (size_t i = 0; i < locks.n; i++) {
        if (!strcmp(locks.all[i].path, path)) {
            return true;
        }
    }
    if (!locks.n || stat(path, &at)) {
        return false;
    }
    for (size_t i = 0; i < locks.n; i++) {
        if (locks.all[i].device == at.st_dev &&
            locks.all[i].number == at.st_ino) {
            return true;
        }
    }
    return false;
}

/* ---- what the file says of its holder ------------------------------------ */

struct holder {
    long process; /* 0: unknown */
    char host[256], day[16], hour[16], command[64];
};

static void name_host(char out[256])
{
    if (gethostname(out, 255)) {
        (void)snprintf(out, 256, "?");
    }
    out[255] = '\0';
}

static struct holder read_holder(int file)
{
    struct holder holder = {0};
    char text[512] = "", *end = text;

    if (pread(file, text, sizeof text - 1, 0) > 0) {
        holder.process = strtol(text, &end, 10);
    }
    if (end == text || sscanf(end, "%255s %15s %15s %63[^\n]", holder.host,
                              holder.day, holder.hour, holder.command) != 4) {
        holder = (struct holder){0};
    }
    return holder;
}

/* For the messages of other processes. The lock holds without it, so errors are
 * ignored. */
static void write_holder(int file, const char *who)
{
    const time_t now = time(NULL);
    struct tm parts;
    char host[256], when[40] = "? ?";

    name_host(host);
    if (gmtime_r(&now, &parts)) {
        (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &parts);
    }
    char *text = cli_text("%ld %s %s %s\n", (long)getpid(), host, when, who);
    if (!ftruncate(file, 0)) {
        (void)!pwrite(file, text, strlen(text), 0);
    }
    free(text);
}

static int refuse(const char *who, const char *path, const struct holder *h,
                  bool has_locks)
{
    char host[256];

    name_host(host);
    const bool is_here = !*h->host || !strcmp(host, h->host);
    char *process = h->process ? cli_text("process %ld", h->process)
                               : cli_text("another process");
    char *more =
        *h->command
            ? cli_text("%s%s (%s, since %s %s UTC)", is_here ? "" : " on ",
                       is_here ? "" : h->host, h->command, h->day, h->hour)
            : cli_text("%s", "");

    (void)cli_fail(CLI_IO, who, "%s is in use by %s%s%s%s%s", path, process,
                   more, has_locks ? "" : "; if that has ended, remove ",
                   has_locks ? "" : path, has_locks ? "" : ".lock");
    free(process);
    free(more);
    return CLI_IO;
}

/* ---- taking one ---------------------------------------------------------- */

enum answer { TAKEN, BUSY, GONE, NO_LOCKS };

static enum answer try_lock(int file, const char *path)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat mine, there;

    if (fcntl(file, F_SETLK, &whole)) {
        return errno == EACCES || errno == EAGAIN ? BUSY : NO_LOCKS;
    }
    /* another process may have removed it after open */
    return !fstat(file, &mine) && !stat(path, &there) &&
                   mine.st_dev == there.st_dev && mine.st_ino == there.st_ino
               ? TAKEN
               : GONE;
}

/* For a moment the file may still name the previous holder. */
static struct holder find_holder(int file)
{
    const struct holder holder = read_holder(file);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    if (!fcntl(file, F_GETLK, &whole) && whole.l_type != F_UNLCK &&
        whole.l_pid > 0 && whole.l_pid != holder.process) {
        return (struct holder){.process = whole.l_pid};
    }
    return holder;
}

/* Without locks of the kernel, the process that made the file holds it until
 * the file is removed, or until that process is no longer on this machine. */
static enum answer ask_holder(const struct holder *holder, const char *path)
{
    char host[256];

    name_host(host);
    return holder->process && !strcmp(holder->host, host) &&
                   kill((pid_t)holder->process, 0) && errno == ESRCH &&
                   !unlink(path)
               ? GONE
               : BUSY;
}

/* Makes the file, or opens the one that is there. */
static int open_lock(const char *path, bool *is_new)
{
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    *is_new = file >= 0;
    return *is_new || errno != EEXIST ? file : open(path, O_RDWR | O_CLOEXEC);
}

/* The file is of another user: it may be read, and removed where the folder
 * allows that. */
static enum answer ask_other(const char *path, struct holder *holder)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0) {
        return NO_LOCKS;
    }
    const bool is_held =
        !fcntl(file, F_GETLK, &whole) && whole.l_type != F_UNLCK;
    *holder = find_holder(file);
    (void)close(file);
    return is_held ? BUSY : unlink(path) ? NO_LOCKS : GONE;
}

struct attempt {
    enum answer answer;
    int file; /* -1: it cannot be made or opened, for the reason `error` */
    int error;
    bool has_locks;
    struct holder holder; /* if another process has it */
};

static struct attempt attempt(const char *lock)
{
    bool is_new = false;
    struct attempt a = {.file = open_lock(lock, &is_new), .has_locks = true};

    if (a.file < 0) {
        a.error = errno;
        a.answer = a.error == EACCES ? ask_other(lock, &a.holder) : NO_LOCKS;
        return a;
    }
    a.answer = try_lock(a.file, lock);
    if (a.answer == BUSY || a.answer == NO_LOCKS) {
        a.holder = find_holder(a.file);
    }
    if (a.answer == NO_LOCKS) {
        a.has_locks = false;
        a.answer = is_new ? TAKEN : ask_holder(&a.holder, lock);
    }
    if (a.answer != TAKEN) {
        (void)close(a.file);
    }
    return a;
}

static int take(const char *who, const char *path, const char *lock)
{
    struct attempt a;
    struct stat at;

    do {
        a = attempt(lock);
    } while (a.answer == GONE);
    if (a.answer == BUSY) {
        return refuse(who, path, &a.holder, a.has_locks);
    }
    if (a.answer == NO_LOCKS) { /* a folder that takes no file: who writes says
                                 * so, by the right name */
        return access(lock, F_OK) ? CLI_OK
                                  : cli_fail(CLI_IO, who, "cannot write %s: %s",
                                             lock, strerror(a.error));
    }
    write_holder(a.file, who);
    if (!fstat(a.file, &at)) {
        keep(lock, a.file, &at);
    }
    return CLI_OK;
}

int file_lock_take(const char *who, const char *path, bool *is_new)
{
    char *lock = cli_text("%s.lock", path);
    const bool has_it = is_held(lock);
    const int code = has_it ? CLI_OK : take(who, path, lock);

    if (is_new) {
        *is_new = !has_it;
    }
    free(lock);
    return code;
}
