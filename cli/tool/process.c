/* process.c - finds and runs other programs. */
#define _POSIX_C_SOURCE 200809L

#include "tool/process.h"
#include "tool/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat found;

    return !stat(path, &found) && S_ISREG(found.st_mode) && !access(path, X_OK);
}

char *process_find(const char *name)
{
    const char *place = getenv("PATH");

    if (strchr(name, '/')) {
        return is_program(name) ? cli_text("%s", name) : NULL;
    }
    while (place && *place) {
        const size_t n = strcspn(place, ":");
        char *path = cli_text("%.*s/%s", (int)n, n ? place : ".", name);

        if (is_program(path)) {
            return path;
        }
        free(path);
        place += n + (place[n] == ':');
    }
    return NULL;
}

/* Everything until the end, as a string. */
static char *read_all(int fd)
{
    char piece[4096];
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    ssize_t n;

    while ((n = read(fd, piece, sizeof piece)) > 0 ||
           (n < 0 && errno == EINTR)) {
        if (out && n > 0) {
            (void)fwrite(piece, 1, (size_t)n, out);
        }
    }
    if (!out || fclose(out)) {
        free(text);
        text = NULL;
    }
    return text ? text : cli_text("%s", "");
}

static void become(char *const *argv, int to)
{
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (nothing >= 0) {
        (void)dup2(nothing, STDIN_FILENO);
    }
    (void)dup2(to, STDOUT_FILENO);
    (void)dup2(to, STDERR_FILENO);
    (void)setenv("LC_ALL", "C", 1);
    (void)execv(argv[0], argv);
    _exit(127);
}

static int wait_for(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return 127;
        }
    }
    return WIFSIGNALED(status) ? CLI_SIGNAL + WTERMSIG(status)
                               : WEXITSTATUS(status);
}

/* Ctrl-C also reaches the child; this process must go on to clean up. */
int process_run(char *const *argv, char **output)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    int ends[2];

    *output = NULL;
    if (pipe(ends)) {
        *output = cli_text("%s", strerror(errno));
        return 127;
    }
    (void)sigaction(SIGINT, &ignore, &before);
    const pid_t child = fork();
    if (child == 0) {
        (void)sigaction(SIGINT, &before, NULL);
        (void)close(ends[0]);
        become(argv, ends[1]);
    }
    (void)close(ends[1]);
    *output = read_all(ends[0]);
    (void)close(ends[0]);
    const int code = child < 0 ? 127 : wait_for(child);
    (void)sigaction(SIGINT, &before, NULL);
    return code;
}
