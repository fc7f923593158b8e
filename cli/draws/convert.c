/* convert.c - writes chains from files in another format.  Files appear when they are
 * complete. */
#define _POSIX_C_SOURCE 200809L

#include "draws/convert.h"

#include "draws/chain_ops.h"
#include "draws/overwrite_check.h"
#include "relmc_format.h"
#include "tool/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file to be, which is written beside it. */
struct target {
    char *path, *temporary; /* NULL: not begun */
};

/* ---- names ------------------------------------------------------------------ */

/* Does one file hold all chains? */
static bool holds_all(const struct conversion *how)
{
    return chain_ops_of(how->to)->write_all != NULL;
}

static struct target *make_targets(const struct conversion *how,
                                   const char *base,
                                   const struct chain_file *chains, size_t n)
{
    const char *suffix = chain_suffix(how->to);
    struct target *targets = cli_alloc(n, sizeof *targets);
    long long *numbers = cli_alloc(n, sizeof *numbers);

    chain_numbers(numbers, chains, n);
    for (size_t k = 0; k < n; k++) {
        targets[k].path = holds_all(how)
                              ? cli_text("%s%s", base, suffix)
                              : cli_text("%s_%lld%s", base, numbers[k], suffix);
    }
    free(numbers);
    return targets;
}

/* ---- one after another ------------------------------------------------------- */

static int cannot_write(const struct conversion *how, const char *path)
{
    return cli_fail(CLI_IO, how->who, "cannot write %s: %s", path,
                    strerror(errno ? errno : EIO));
}

static int write_one(const struct conversion *how, struct target *target,
                     struct chain_file *chain)
{
    char message[CHAIN_MESSAGE];
    FILE *file = atomic_file_open_temporary(target->path, &target->temporary);

    if (!file) {
        return cannot_write(how, target->path);
    }
    const int code =
        chain_ops_of(how->to)->write(file, chain, how->digits, message);
    errno = 0;
    const bool is_written =
        !ferror(file) && !fflush(file) && !fsync(fileno(file));
    if (code) {
        (void)fclose(file);
        return cli_fail(code, how->who, "%s", message);
    }
    return fclose(file) || !is_written ? cannot_write(how, target->path)
                                       : CLI_OK;
}

/* One file for all chains. */
static int write_together(const struct conversion *how, struct target *target,
                          struct chain_file *chains, size_t n)
{
    char message[CHAIN_MESSAGE];
    FILE *place = atomic_file_open_temporary(target->path, &target->temporary);

    if (!place) {
        return cannot_write(how, target->path);
    }
    (void)fclose(place);
    const int code =
        chain_ops_of(how->to)->write_all(target->temporary, chains, n, message);

    if (code) {
        return cli_fail(code, how->who, "%s", message);
    }
    const int file = open(target->temporary, O_RDONLY);
    const bool is_safe = file >= 0 && !fsync(file);
    if (file >= 0) {
        (void)close(file);
    }
    return is_safe ? CLI_OK : cannot_write(how, target->path);
}

static int check_there(const struct conversion *how,
                       const struct target *targets, size_t n)
{
    int code = CLI_OK;

    for (size_t k = 0; k < n && !code; k++) {
        const char *path = targets[k].path;

        code = how->set ? overwrite_check_output(how->set, how->writer, path)
                        : CLI_OK;
        if (!code && !how->may_replace && !access(path, F_OK)) {
            code = cli_fail(CLI_USAGE, how->who,
                            "%s is there already (--force replaces it)", path);
        }
    }
    return code;
}

static int measure_all(const struct conversion *how, struct chain_file *chains,
                       size_t n)
{
    char message[CHAIN_MESSAGE];
    int code = CLI_OK;

    for (size_t k = 0; k < n && !code; k++) {
        if ((code = chain_measure(&chains[k], message))) {
            (void)cli_fail(code, how->who, "%s", message);
        }
    }
    return code;
}

static void say_written(const struct conversion *how,
                        const struct target *targets, size_t n)
{
    if (n > 1) {
        cli_say(how->voice, "wrote %s%s %s", targets[0].path,
                n > 2 ? " ..." : ",", targets[n - 1].path);
    } else {
        cli_say(how->voice, "wrote %s", targets[0].path);
    }
}

int convert_chains(const struct conversion *how, const char *base,
                   struct chain_file *chains, size_t n)
{
    struct target *targets = make_targets(how, base, chains, n);
    const size_t n_files = holds_all(how) ? 1 : n;
    int code = check_there(how, targets, n_files);

    if (!code) {
        code = measure_all(how, chains, n);
    }
    for (size_t k = 0; k < n_files && !code; k++) {
        code = holds_all(how) ? write_together(how, &targets[k], chains, n)
                              : write_one(how, &targets[k], &chains[k]);
    }
    for (size_t k = 0; k < n_files && !code; k++) {
        if (rename(targets[k].temporary, targets[k].path)) {
            code = cannot_write(how, targets[k].path);
        }
    }
    if (!code && how->voice) {
        say_written(how, targets, n_files);
    }
    for (size_t k = 0; k < n; k++) {
        if (code && targets[k].temporary) {
            (void)remove(targets[k].temporary);
        }
        free(targets[k].path);
        free(targets[k].temporary);
    }
    free(targets);
    return code;
}
