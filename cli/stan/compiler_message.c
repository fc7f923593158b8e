/* compiler_message.c - messages of stanc and of the C++ compiler, with places
 * in the .stan file. */
#include "stan/compiler_message.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where --------------------------------------------------------------- */

/* "line 5, column 2" somewhere in the text; where it stands, or NULL. */
static const char *find_place(const char *said, size_t *line, size_t *column)
{
    const char *at = said;

    while ((at = strstr(at, "line "))) {
        char *end = NULL;
        const unsigned long number = strtoul(at + 5, &end, 10);

        if (end != at + 5 && !strncmp(end, ", column ", 9)) {
            *line = number;
            *column = strtoul(end + 9, NULL, 10);
            return at;
        }
        at += 5;
    }
    return NULL;
}

static void show_line(const struct stan_source *source, size_t number)
{
    size_t bytes = 0;
    const char *text = stan_source_line(source->text, number, &bytes);

    (void)fprintf(stderr, "  %4zu | %.*s\n",
                  stan_source_at(source, number).number, (int)bytes, text);
}

/* The line and the one before it; a mark under the column if the line was not
 * rewritten, which moves columns. */
static void show_place(const struct stan_source *source, const char *program,
                       size_t number, size_t column)
{
    size_t n = 0, m = 0;
    const char *mine = stan_source_line(source->text, number, &n);
    const char *theirs = stan_source_line(program, number, &m);

    if (number > source->n_lines) {
        return;
    }
    if (number > 1 && stan_source_at(source, number - 1).file ==
                          stan_source_at(source, number).file) {
        show_line(source, number - 1);
    }
    show_line(source, number);
    if (n == m && !memcmp(mine, theirs, n) && column <= n) {
        (void)fprintf(stderr, "       | %*s^\n", (int)column, "");
    }
}

/* ---- what ---------------------------------------------------------------- */

/* On one line: every stretch of blanks becomes one. */
static char *squeeze(const char *from, const char *to)
{
    char *out = cli_alloc((size_t)(to - from) + 1, 1);
    size_t n = 0;

    for (; from < to; from++) {
        if (!isspace((unsigned char)*from)) {
            out[n++] = *from;
        } else if (n && out[n - 1] != ' ') {
            out[n++] = ' ';
        }
    }
    while (n && (out[n - 1] == ' ' || out[n - 1] == '.')) {
        n--;
    }
    out[n] = '\0';
    return out;
}

/* Does anything but blanks stand there? */
static bool has_words(const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from)) {
        from++;
    }
    return from < to;
}

/* The text up to the first of these marks that has words in front of it. */
static char *reason_before(const char *from, const char *const *marks)
{
    const char *to = from + strlen(from);

    for (; *marks; marks++) {
        const char *found = strstr(from, *marks);

        if (found && found < to && has_words(from, found)) {
            to = found;
        }
    }
    return squeeze(from, to);
}

/* stanc 2.21: the text before " error in 'x' at line ..", without the general
 * advice on illegal statements; if there is none, what it expected. */
static char *old_reason(const char *said)
{
    static const char head[] = "MESSAGE(S) FROM PARSER:";
    static const char expected[] = "PARSER EXPECTED:";
    static const char *const marks[] = {"error in '",
                                        "Illegal statement beginning with",
                                        "Not a legal assignment", NULL};
    const char *from = strstr(said, head);
    const char *wanted = strstr(said, expected);

    from = from ? from + sizeof head - 1 : said;
    const char *place = strstr(from, marks[0]);
    if (wanted && place && !has_words(from, place)) {
        wanted += sizeof expected - 1;
        char *what = squeeze(wanted, wanted + strlen(wanted));
        char *reason = cli_text("expected %s", what);

        free(what);
        return reason;
    }
    return reason_before(from, marks);
}

/* stanc 3: the lines after the last row of dashes. */
static char *new_reason(const char *said)
{
    static const char dashes[] = "-----\n";
    const char *from = said;
    const char *next;

    while ((next = strstr(from, dashes))) {
        from = next + sizeof dashes - 1;
    }
    return squeeze(from, from + strlen(from));
}

/* Is it about something that only a newer Stan may have? */
static bool is_unknown(const char *reason)
{
    static const char *const signs[] = {
        "not found", "no corresponding probability function", "No matches for"};

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strstr(reason, signs[i])) {
            return true;
        }
    }
    return false;
}

int stan_compiler_message_stanc(const struct stan_source *source,
                                const char *program, const char *said,
                                bool is_old)
{
    size_t line = 0, column = 0;

    if (!find_place(said, &line, &column) || !source->n_lines) {
        return cli_fail(CLI_MODEL, "relmc", "%s: stanc says:\n%s",
                        source->files[0], said);
    }
    char *reason = is_old ? old_reason(said) : new_reason(said);
    const struct stan_line at = stan_source_at(source, line);

    (void)cli_fail(0, "relmc", "%s:%zu:%zu: %s", source->files[at.file],
                   at.number, column + 1,
                   *reason ? reason : "stanc does not understand this");
    show_place(source, program, line, column);
    if (is_old && is_unknown(reason)) {
        (void)fputs("  This is stanc 2.21, which has no functions that came "
                    "later; --stanc and --stan-headers take a newer Stan.\n",
                    stderr);
    }
    free(reason);
    return CLI_MODEL;
}

/* ---- C++ ----------------------------------------------------------------- */

/* The line of the program that a line of the generated code comes from, by the
 * nearest mark above it.  0 if there is none. */
static size_t statement_at(const char *code, size_t line)
{
    static const char mark[] = "current_statement_begin__ = ";
    size_t number = 0, bytes = 0;

    for (; line > 0; line--) {
        const char *text = stan_source_line(code, line, &bytes);
        char *copy = cli_text("%.*s", (int)bytes, text);
        const char *at = strstr(copy, mark);

        number = at ? strtoul(at + sizeof mark - 1, NULL, 10) : 0;
        free(copy);
        if (at) {
            break;
        }
    }
    return number;
}

int stan_compiler_message_cxx(const struct stan_source *source, const char *cpp,
                              const char *code, const char *said)
{
    static const char sign[] = "error: ";
    const char *error = strstr(said, sign);
    const char *place = strstr(said, cpp);
    size_t number = 0;

    if (place && place[strlen(cpp)] == ':') {
        number = statement_at(code, strtoul(place + strlen(cpp) + 1, NULL, 10));
    }
    error = error ? error + sizeof sign - 1 : "it fails";
    const struct stan_line at = stan_source_at(source, number ? number : 1);
    if (number) {
        (void)cli_fail(0, "relmc", "%s:%zu: the C++ compiler says: %.*s",
                       source->files[at.file], at.number,
                       (int)strcspn(error, "\n"), error);
    } else {
        (void)cli_fail(0, "relmc", "%s: the C++ compiler says: %.*s",
                       source->files[0], (int)strcspn(error, "\n"), error);
    }
    (void)fputs(said, stderr);
    return CLI_MODEL;
}
