/* tokens.c - cuts a Stan program into tokens, and writes a copy with
 * changes. */
#define _POSIX_C_SOURCE 200809L

#include "stan/legacy221/tokens.h"
#include "tool/cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ------------------------------------------------------------- */

static const char *skip_comment(const char *at)
{
    if (at[0] == '#' || (at[0] == '/' && at[1] == '/')) {
        return at + strcspn(at, "\n");
    }
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");

        return end ? end + 2 : at + strlen(at);
    }
    return at;
}

static const char *skip_gap(const char *at)
{
    const char *before;

    do {
        before = at;
        at += strspn(at, " \t\r\n\f\v");
        at = skip_comment(at);
    } while (at != before);
    return at;
}

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_digit(char c)
{
    return isdigit((unsigned char)c);
}

/* 12, 1.5e-3, .5, 10_000 */
static const char *skip_number(const char *at)
{
    while (is_digit(*at) || *at == '.' || *at == '_') {
        at++;
    }
    if (*at == 'e' || *at == 'E') {
        const size_t sign = at[1] == '-' || at[1] == '+';

        if (is_digit(at[1 + sign])) {
            at += 1 + sign;
            at += strspn(at, "0123456789");
        }
    }
    return at;
}

static struct token next_token(const char *at)
{
    struct token token = {MARK, at, at + 1};

    if (!*at) {
        token.kind = END;
        token.to = at;
    } else if (is_letter(*at)) {
        token.kind = WORD;
        while (is_letter(*token.to) || is_digit(*token.to)) {
            token.to++;
        }
    } else if (is_digit(*at) || (*at == '.' && is_digit(at[1]))) {
        token.kind = NUMBER;
        token.to = skip_number(at);
    } else if (*at == '"') {
        token.kind = STRING;
        token.to += strcspn(token.to, "\"\n");
        token.to += *token.to == '"';
    } else if (!strncmp(at, "%/%", 3)) {
        token.to = at + 3;
    }
    return token;
}

struct token *tokens_of(const char *program)
{
    struct token *list = NULL;
    const char *at = program;
    size_t n = 0, room = 0;

    do {
        if (n == room) {
            struct token *more = cli_alloc(2 * room + 64, sizeof *more);

            if (n) {
                memcpy(more, list, n * sizeof *more);
            }
            free(list);
            list = more;
            room = 2 * room + 64;
        }
        list[n] = next_token(skip_gap(at));
        at = list[n].to;
    } while (list[n++].kind != END);
    return list;
}

/* ---- what is it? --------------------------------------------------------- */

bool token_is(const struct token *t, const char *text)
{
    const size_t n = (size_t)(t->to - t->from);

    return strlen(text) == n && !memcmp(t->from, text, n);
}

bool token_is_one_of(const struct token *t, const char *const *texts)
{
    while (*texts && !token_is(t, *texts)) {
        texts++;
    }
    return *texts != NULL;
}

bool token_ends_with(const struct token *t, const char *end)
{
    const size_t n = (size_t)(t->to - t->from);
    const size_t m = strlen(end);

    return n > m && !memcmp(t->to - m, end, m);
}

bool token_is_type(const struct token *t)
{
    static const char *const types[] = {"int",         "real",
                                        "vector",      "row_vector",
                                        "matrix",      "simplex",
                                        "ordered",     "positive_ordered",
                                        "unit_vector", "cholesky_factor_corr",
                                        "corr_matrix", "cholesky_factor_cov",
                                        "cov_matrix",  NULL};

    return t->kind == WORD && token_is_one_of(t, types);
}

int token_turn(const struct token *t)
{
    if (t->kind != MARK || t->to - t->from != 1) {
        return 0;
    }
    return strchr("([{", *t->from) ? 1 : strchr(")]}", *t->from) ? -1 : 0;
}

const struct token *token_closing(const struct token *t, const char *mark)
{
    int depth = 0;

    for (; t->kind != END; t++) {
        depth += token_turn(t);
        if (depth == 0 && token_is(t, mark)) {
            return t;
        }
        if (depth < 0 || token_is(t, ";")) {
            return NULL;
        }
    }
    return NULL;
}

const struct token *token_type_end(const struct token *t)
{
    static const char *const brackets[][2] = {{"<", ">"}, {"[", "]"}};

    for (size_t i = 0; i < 2 && t->kind != END; i++) {
        const struct token *close = token_is(t + 1, brackets[i][0])
                                        ? token_closing(t + 1, brackets[i][1])
                                        : NULL;

        t = close ? close : t;
    }
    return t;
}

/* ---- writing ------------------------------------------------------------- */

void copy_start(struct copy *copy, const char *program)
{
    *copy = (struct copy){.done = program};
    copy->out = open_memstream(&copy->text, &copy->bytes);
    if (!copy->out) {
        exit(cli_fail(CLI_NUMERIC, "relmc", "out of memory"));
    }
}

char *copy_end(struct copy *copy)
{
    (void)fputs(copy->done, copy->out);
    if (fclose(copy->out)) {
        exit(cli_fail(CLI_NUMERIC, "relmc", "out of memory"));
    }
    return copy->text;
}

void copy_until(struct copy *copy, const char *to)
{
    (void)fwrite(copy->done, 1, (size_t)(to - copy->done), copy->out);
    copy->done = to;
}

void copy_skip(struct copy *copy, const char *to)
{
    for (; copy->done < to; copy->done++) {
        if (*copy->done == '\n') {
            (void)fputc('\n', copy->out);
        }
    }
}

void copy_add(const struct copy *copy, const char *text)
{
    (void)fputs(text, copy->out);
}

void copy_again(const struct copy *copy, const struct token *t,
                const struct token *end)
{
    for (; t <= end; t++) {
        (void)fwrite(t->from, 1, (size_t)(t->to - t->from), copy->out);
        if (t < end && t[1].kind == WORD &&
            (t[0].kind == WORD || token_is(t, "]") || token_is(t, ">"))) {
            (void)fputc(' ', copy->out);
        }
    }
}
