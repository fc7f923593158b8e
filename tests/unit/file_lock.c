/* file_lock.c - one process at a time holds a lock: also with children, killed processes
 * and file systems without locks. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool/cli.h"
#include "tool/file_lock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes the replaced functions behave like a file system without locks. */
static bool has_no_locks;

int fcntl(int fd, int cmd, ...)
{
    static int (*other)(int, int, ...);
    va_list more;

    va_start(more, cmd);
    void *argument = va_arg(more, void *);
    va_end(more);
    if (has_no_locks && (cmd == F_SETLK || cmd == F_GETLK)) {
        errno = ENOLCK;
        return -1;
    }
    if (!other) {
        void *found = dlsym(RTLD_NEXT, "fcntl");

        memcpy(&other, &found, sizeof other);
    }
    return other(fd, cmd, argument);
}

static char folder[64];

static char *path_of(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool is_there(const char *name)
{
    return !access(path_of(name), F_OK);
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A child that takes the lock, writes the returned code to *from, and ends after a line
 * on *to. */
static pid_t start(const char *name, int *from, int *to, bool has_locks)
{
    int back[2], forth[2];

    assert_int_equal(pipe(back) | pipe(forth), 0);
    const pid_t child = fork();
    if (child == 0) {
        char byte;

        (void)close(forth[1]);
        has_no_locks = !has_locks;
        byte = (char)file_lock_take("the child", path_of(name), NULL);
        (void)!write(back[1], &byte, 1);
        (void)!read(forth[0], &byte, 1);
        exit(0);
    }
    (void)close(back[1]);
    (void)close(forth[0]);
    *from = back[0];
    *to = forth[1];
    return child;
}

static int answer_of(int from)
{
    char byte = -1;

    assert_int_equal(read(from, &byte, 1), 1);
    (void)close(from);
    return byte;
}

static void end(pid_t child, int to, int number)
{
    if (number) {
        assert_int_equal(kill(child, number), 0);
    }
    (void)close(to);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Calls file_lock_take in another process: the code it returns and its message. */
static int ask(const char *name, char said[512], bool has_locks)
{
    int ends[2], status = 0;

    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        has_no_locks = !has_locks;
        (void)dup2(ends[1], STDERR_FILENO);
        _exit(file_lock_take("we", path_of(name), NULL));
    }
    (void)close(ends[1]);
    memset(said, 0, 512);
    for (ssize_t n = 0, got; n < 511; n += got) {
        if ((got = read(ends[0], said + n, 511 - (size_t)n)) <= 0) {
            break;
        }
    }
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

static void test_lock__is_for_one_process(void **state)
{
    char said[512], wanted[64];
    int from, to;

    (void)state;
    const pid_t child = start("one", &from, &to, true);
    assert_int_equal(answer_of(from), CLI_OK);
    assert_true(is_there("one.lock"));
    assert_int_equal(ask("one", said, true), CLI_IO);
    (void)snprintf(wanted, sizeof wanted,
                   "is in use by process %ld (the child, since 2", (long)child);
    assert_non_null(strstr(said, wanted));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    assert_int_equal(ask("other", said, true), CLI_OK);
    end(child, to, 0);
    assert_false(is_there("one.lock")); /* a normal end removes the file */
    assert_int_equal(ask("one", said, true), CLI_OK);
}

static void test_lock__ends_with_a_killed_process(void **state)
{
    char said[512];
    int from, to;

    (void)state;
    const pid_t child = start("killed", &from, &to, true);
    assert_int_equal(answer_of(from), CLI_OK);
    end(child, to, SIGKILL);
    assert_true(is_there("killed.lock"));
    assert_int_equal(ask("killed", said, true), CLI_OK);
}

/* Children of the holder do not release the lock when they end, nor keep it when the
 * holder ends. */
static void test_lock__is_not_of_children(void **state)
{
    char said[512];
    int ready[2], stay[2];

    (void)state;
    assert_int_equal(pipe(ready) | pipe(stay), 0);
    const pid_t holder = fork();
    if (holder == 0) {
        (void)alarm(60); /* ends also if the test fails */
        char byte = (char)file_lock_take("the holder", path_of("family"), NULL);
        const pid_t first = fork();
        if (first == 0) {
            exit(0); /* runs the exit handlers of the holder */
        }
        (void)waitpid(first, NULL, 0);
        if (fork() == 0) { /* lives longer than the holder */
            (void)alarm(60);
            (void)close(stay[1]);
            (void)!read(stay[0], &byte, 1);
            _exit(0);
        }
        (void)!write(ready[1], &byte, 1);
        (void)pause();
    }
    (void)close(stay[0]);
    assert_int_equal(answer_of(ready[0]), CLI_OK);
    (void)close(ready[1]);
    assert_true(is_there("family.lock"));
    assert_int_equal(ask("family", said, true), CLI_IO);
    assert_int_equal(kill(holder, SIGKILL), 0);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    assert_int_equal(ask("family", said, true), CLI_OK);
    (void)close(stay[1]);
}

/* A killed process leaves its name in the file; the next holder replaces it. */
static void test_lock__names_who_holds_it_now(void **state)
{
    char said[512], wanted[32];
    int from, to;

    (void)state;
    const pid_t child = start("now", &from, &to, true);
    assert_int_equal(answer_of(from), CLI_OK);
    write_text("now.lock", "1 elsewhere 2020-01-01 00:00:00 relmc sample\n");
    assert_int_equal(ask("now", said, true), CLI_IO);
    (void)snprintf(wanted, sizeof wanted, "process %ld\n", (long)child);
    assert_non_null(strstr(said, wanted));
    end(child, to, 0);
}

static void test_lock__without_locks_of_the_kernel(void **state)
{
    char said[512];
    int from, to;

    (void)state;
    const pid_t child = start("plain", &from, &to, false);
    assert_int_equal(answer_of(from), CLI_OK);
    assert_int_equal(ask("plain", said, false), CLI_IO);
    assert_non_null(strstr(said, "(the child, since 2"));
    assert_non_null(strstr(said, "if that has ended, remove "));
    end(child, to, SIGKILL);
    assert_true(is_there("plain.lock")); /* of a process that is gone: */
    assert_int_equal(ask("plain", said, false), CLI_OK);
    write_text("far.lock", "1 elsewhere 2020-01-01 00:00:00 relmc sample\n");
    assert_int_equal(ask("far", said, false), CLI_IO);
    assert_non_null(strstr(said, "process 1 on elsewhere (relmc sample, "
                                 "since 2020-01-01 00:00:00 UTC)"));
}

/* In a shared folder: root holds the lock, nobody wants it. */
static void test_lock__of_another_user(void **state)
{
    const uid_t nobody = 65534;
    char said[512];
    int from, to, status = 0;

    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chmod(folder, 0777), 0);
    const pid_t child = start("shared", &from, &to, true);
    assert_int_equal(answer_of(from), CLI_OK);
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        const pid_t other = fork();

        if (other == 0) {
            _exit(setuid(nobody) ? 99 : ask("shared", said, true));
        }
        assert_int_equal(waitpid(other, &status, 0), other);
        assert_int_equal(WEXITSTATUS(status), is_killed ? CLI_OK : CLI_IO);
        if (!is_killed) {
            end(child, to, SIGKILL);
            assert_true(is_there("shared.lock"));
        }
    }
    /* if the folder cannot be written to, the writer of files reports it */
    assert_int_equal(chmod(folder, 0755), 0);
    const pid_t other = fork();
    if (other == 0) {
        _exit(setuid(nobody) ? 99 : ask("closed", said, true) || *said);
    }
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(WEXITSTATUS(status), CLI_OK);
}

static void test_lock__in_no_folder_is_left_to_the_writer(void **state)
{
    char said[512];

    (void)state;
    assert_int_equal(ask("nowhere/x", said, true), CLI_OK);
    assert_string_equal(said, "");
}

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/relmc-lock.XXXXXX");
    return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
    char *command = cli_text("rm -r %s", folder);
    const int code = system(command);

    (void)state;
    free(command);
    return code;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock__is_for_one_process),
        cmocka_unit_test(test_lock__ends_with_a_killed_process),
        cmocka_unit_test(test_lock__is_not_of_children),
        cmocka_unit_test(test_lock__names_who_holds_it_now),
        cmocka_unit_test(test_lock__without_locks_of_the_kernel),
        cmocka_unit_test(test_lock__of_another_user),
        cmocka_unit_test(test_lock__in_no_folder_is_left_to_the_writer),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
