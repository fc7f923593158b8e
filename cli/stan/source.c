/* source.c - reads a Stan program with its includes, and the origin of each
 * line. */
#define _POSIX_C_SOURCE 200809L

#include "stan/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 20 }; /* includes inside includes */

char *stan_source_read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char piece[4096];
    char *text = NULL;
    size_t bytes = 0, n;

    if (!file) {
        return NULL;
    }
    FILE *out = open_memstream(&text, &bytes);
    while (out && (n = fread(piece, 1, sizeof piece, file))) {
        (void)fwrite(piece, 1, n, out);
    }
    const int error = ferror(file) ? errno : 0;
    (void)fclose(file);
    if (!out || fclose(out) || error) {
        free(text);
        errno = error ? error : ENOMEM;
        return NULL;
    }
    return text;
}

/* The folder of a path, with the slash: "" for a name alone. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return cli_text("%.*s", slash ? (int)(slash - path + 1) : 0, path);
}

/* ---- includes ------------------------------------------------------------ */

/* The name in `#include "name"`, `#include <name>`, `#include name`; NULL if
 * the line is none. */
static char *included_name(const char *line, size_t bytes)
{
    char *text = cli_text("%.*s", (int)bytes, line);
    char *at = text + strspn(text, " \t");
    char *name = NULL;

    if (!strncmp(at, "#include", 8)) {
        at += 8;
        at += strspn(at, " \t");
        const char *ends = *at == '"' ? "\"" : *at == '<' ? ">" : " \t\r/";

        at += *at == '"' || *at == '<';
        /* a path without quotes may have slashes, but no comment */
        size_t n = strcspn(at, ends);
        while (*ends == ' ' && at[n] == '/' && at[n + 1] != '/' &&
               at[n + 1] != '*') {
            n += 1 + strcspn(at + n + 1, ends);
        }
        name = cli_text("%.*s", (int)n, at);
    }
    free(text);
    return name;
}

static bool is_file(const char *path)
{
    struct stat found;

    return !stat(path, &found) && S_ISREG(found.st_mode);
}

static char *find_included(const char *name, const char *from,
                           const char *program)
{
    const char *const beside[] = {from, program};

    if (*name == '/') {
        return is_file(name) ? cli_text("%s", name) : NULL;
    }
    for (size_t i = 0; i < 2; i++) {
        char *folder = folder_of(beside[i]);
        char *path = cli_text("%s%s", folder, name);

        free(folder);
        if (is_file(path)) {
            return path;
        }
        free(path);
    }
    return NULL;
}

/* ---- lines --------------------------------------------------------------- */

static void add_line(struct stan_source *source, size_t file, size_t number)
{
    if (source->n_lines == source->room) {
        const size_t room = 2 * source->room + 256;
        struct stan_line *more = cli_alloc(room, sizeof *more);

        if (source->n_lines) {
            memcpy(more, source->lines, source->n_lines * sizeof *more);
        }
        free(source->lines);
        source->lines = more;
        source->room = room;
    }
    source->lines[source->n_lines++] = (struct stan_line){file, number};
}

static size_t add_file(struct stan_source *source, char *path)
{
    char **more = cli_alloc(source->n_files + 1, sizeof *more);

    for (size_t i = 0; i < source->n_files; i++) {
        more[i] = source->files[i];
    }
    more[source->n_files] = path;
    free(source->files);
    source->files = more;
    return source->n_files++;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as DEEPEST */
static int append_file(struct stan_source *source, FILE *out, char *path,
                       int depth);

static int append_included(struct stan_source *source, FILE *out,
                           const char *name, struct stan_line at, int depth)
{
    const char *from = source->files[at.file];
    char *path = find_included(name, from, source->files[0]);

    if (!path) {
        return cli_fail(CLI_MODEL, "relmc", "%s:%zu: cannot find \"%s\"", from,
                        at.number, name);
    }
    if (depth == DEEPEST) {
        free(path);
        return cli_fail(CLI_MODEL, "relmc",
                        "%s:%zu: more than %d files include each other", from,
                        at.number, DEEPEST);
    }
    return append_file(source, out, path, depth + 1);
}

/* Owns `path` from now on. */
static int append_file(struct stan_source *source, FILE *out, char *path,
                       int depth)
{
    const size_t file = add_file(source, path);
    char *text = stan_source_read_file(path);
    int code = CLI_OK;

    if (!text) {
        return cli_fail(errno == ENOENT ? CLI_MODEL : CLI_IO, "relmc",
                        "cannot read %s: %s", path, strerror(errno));
    }
    const char *at = text;
    for (size_t number = 1; *at && !code; number++) {
        const size_t n = strcspn(at, "\n");
        char *name = included_name(at, n);

        if (name) {
            code = append_included(source, out, name,
                                   (struct stan_line){file, number}, depth);
            free(name);
        } else {
            add_line(source, file, number);
            (void)fprintf(out, "%.*s\n", (int)n, at);
        }
        at += n + (at[n] == '\n');
    }
    free(text);
    return code;
}

/* NOLINTEND(misc-no-recursion) */

int stan_source_read(struct stan_source *source, const char *path)
{
    size_t bytes = 0;

    *source = (struct stan_source){0};
    FILE *out = open_memstream(&source->text, &bytes);
    if (!out) {
        return cli_fail(CLI_NUMERIC, "relmc", "out of memory");
    }
    const int code = append_file(source, out, cli_text("%s", path), 0);
    (void)fclose(out);
    return code;
}

void stan_source_clear(struct stan_source *source)
{
    for (size_t i = 0; i < source->n_files; i++) {
        free(source->files[i]);
    }
    free(source->files);
    free(source->lines);
    free(source->text);
    *source = (struct stan_source){0};
}

struct stan_line stan_source_at(const struct stan_source *source, size_t number)
{
    if (!source->n_lines) {
        return (struct stan_line){0, 1};
    }
    if (number > source->n_lines) {
        number = source->n_lines;
    }
    return source->lines[number ? number - 1 : 0];
}

const char *stan_source_line(const char *text, size_t number, size_t *bytes)
{
    while (--number && *text) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    *bytes = strcspn(text, "\r\n");
    return text;
}
