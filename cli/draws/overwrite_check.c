/* overwrite_check.c - refuses to overwrite a file that the same command reads, or writes by
 * another option, and files that another process writes. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "draws/overwrite_check.h"

#include "draws/chain_file.h"
#include "tool/atomic_file.h"
#include "tool/file_lock.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_one(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Of a file that is not there; false if its folder is not, either. */
static bool find_folder(struct stat *out, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *folder = cli_text("%.*s.", slash ? (int)(slash - path) + 1 : 0, path);
    const bool is_there = !stat(folder, out);

    *name = slash ? slash + 1 : path;
    free(folder);
    return is_there;
}

/* One file, by whatever names; devices and pipes lose nothing. */
static bool is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    const char *name_a, *name_b;
    const bool has_a = !stat(a, &of_a), has_b = !stat(b, &of_b);

    if (has_a || has_b) {
        return has_a && has_b && S_ISREG(of_a.st_mode) && is_one(&of_a, &of_b);
    }
    return find_folder(&of_a, a, &name_a) && find_folder(&of_b, b, &name_b) &&
           is_one(&of_a, &of_b) && !strcmp(name_a, name_b);
}

static bool is_among(char *const *names, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        if (is_same(names[i], path)) {
            return true;
        }
    }
    return false;
}

/* The option that names the file, OPT_NONE if none does. */
static int find_option(const struct opt_set *set, const char *writer,
                       const char *path)
{
    const struct opt *options = set->command->options;

    for (int i = 0; options[i].name; i++) {
        const struct opt_value *v = &set->values[i];
        const bool is_file = options[i].value &&
                             strstr(options[i].value, "FILE") &&
                             strcmp(options[i].name, "config") != 0;

        if (is_file && strcmp(options[i].name, writer) != 0 &&
            (is_among(v->items, v->n_items, path) ||
             is_among(&v->text, v->text ? 1 : 0, path))) {
            return i;
        }
    }
    return OPT_NONE;
}

bool overwrite_check_is_named(const struct opt_set *set, const char *writer,
                              const char *path)
{
    return is_among(set->arguments, set->n_arguments, path) ||
           find_option(set, writer, path) != OPT_NONE;
}

/* ---- other processes ----------------------------------------------------- */

/* What commands append to a BASE; '#' is a number. */
static const char *const tails[] = {
    "_#.csv",     "_#.rmc",     "_config.json", "_metric.json",
    "_curve.csv", "_theta.npy", ".nc",          ".1",
};

/* Without a tail of that kind; the same length if it has another. */
static size_t cut_tail(const char *name, size_t length, const char *tail)
{
    const char *number = strchr(tail, '#');
    const size_t behind = number ? strlen(number + 1) : strlen(tail);
    size_t at = length;

    if (at <= behind ||
        strncmp(name + at - behind, number ? number + 1 : tail, behind) != 0) {
        return length;
    }
    at -= behind;
    if (!number) {
        return at;
    }
    const size_t digits_end = at;
    while (at > 0 && isdigit((unsigned char)name[at - 1])) {
        at--;
    }
    return at < digits_end && at > 1 && name[at - 1] == '_' ? at - 1 : length;
}

/* The length of the BASE of a name without a folder. */
static size_t base_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        length = cut_tail(name, length, tails[i]);
    }
    return length;
}

/* Temporary files with that BASE are of processes that were killed: its lock is
 * ours. */
static void sweep(const char *base)
{
    const char *slash = strrchr(base, '/');
    const char *name = slash ? slash + 1 : base;
    char *place = cli_text("%.*s.", (int)(name - base), base);
    DIR *folder = opendir(place);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        const char *found = entry->d_name;
        const size_t n = atomic_file_temporary_of(found);

        if (n && base_of(found, n) == strlen(name) &&
            !strncmp(found, name, strlen(name))) {
            char *path = cli_text("%.*s%s", (int)(name - base), base, found);

            (void)remove(path);
            free(path);
        }
    }
    if (folder) {
        (void)closedir(folder);
    }
    free(place);
}

/* Names of files that commands write together have one lock. */
static int lock_base(const char *who, const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    const size_t length = base_of(path + folder, strlen(path) - folder);
    char *base = cli_text("%.*s", (int)(folder + length), path);
    bool is_new = false;
    const int code = file_lock_take(who, base, &is_new);

    if (!code && is_new) {
        sweep(base);
    }
    free(base);
    return code;
}

/* Names of what the process has open already. */
static bool is_stream(const char *path)
{
    return !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr") ||
           !strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/proc/", 6);
}

/* A link and the file it leads to are locked both. Devices and pipes lose
 * nothing. */
int overwrite_check_lock(const char *who, const char *path)
{
    struct stat at;
    const bool is_there = !stat(path, &at);

    if (is_stream(path) || (is_there && !S_ISREG(at.st_mode))) {
        return CLI_OK;
    }
    int code = lock_base(who, path);
    if (!code && is_there && !lstat(path, &at) && S_ISLNK(at.st_mode)) {
        char *place = realpath(path, NULL);

        code = place ? lock_base(who, place) : CLI_OK;
        free(place);
    }
    return code;
}

/* ---- this one ------------------------------------------------------------ */

int overwrite_check_output(const struct opt_set *set, const char *writer,
                           const char *path)
{
    const int other = find_option(set, writer, path);

    if (other != OPT_NONE) {
        return cli_fail(CLI_USAGE, set->who,
                        "--%s would replace %s, which is the file of --%s",
                        writer, path, set->command->options[other].name);
    }
    return is_among(set->arguments, set->n_arguments, path)
               ? cli_fail(CLI_USAGE, set->who,
                          "--%s would replace %s, which is to be read", writer,
                          path)
               : overwrite_check_lock(set->who, path);
}

int overwrite_check_table(const struct opt_set *set, const char *writer)
{
    const char *path = opt_get(set, writer)->text;
    const int code = path ? overwrite_check_output(set, writer, path) : CLI_OK;

    return !code && path && chain_is_it(path)
               ? cli_fail(CLI_USAGE, set->who,
                          "--%s would replace %s, which holds draws", writer,
                          path)
               : code;
}
