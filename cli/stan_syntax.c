/* stan_syntax.c - today's Stan in the words of stanc 2.21. */
#define _POSIX_C_SOURCE 200809L

#include "stan_syntax.h"
#include "cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words --------------------------------------------------------------- */

enum kind { WORD, NUMBER, STRING, MARK, END };

struct token {
    enum kind kind;
    const char *from, *to;
};

struct tokens {
    struct token *list; /* ends with an END */
    size_t n, room;
};

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

static void split(struct tokens *all, const char *program)
{
    const char *at = program;

    do {
        if (all->n == all->room) {
            struct token *more = cli_alloc(2 * all->room + 64, sizeof *more);

            if (all->n) {
                memcpy(more, all->list, all->n * sizeof *more);
            }
            free(all->list);
            all->list = more;
            all->room = 2 * all->room + 64;
        }
        all->list[all->n] = next_token(skip_gap(at));
        at = all->list[all->n].to;
    } while (all->list[all->n++].kind != END);
}

static bool is(const struct token *token, const char *text)
{
    const size_t n = (size_t)(token->to - token->from);

    return strlen(text) == n && !memcmp(token->from, text, n);
}

static bool is_one_of(const struct token *token, const char *const *texts)
{
    while (*texts && !is(token, *texts)) {
        texts++;
    }
    return *texts != NULL;
}

static bool ends_with(const struct token *token, const char *end)
{
    const size_t n = (size_t)(token->to - token->from);
    const size_t m = strlen(end);

    return n > m && !memcmp(token->to - m, end, m);
}

/* ---- brackets ------------------------------------------------------------ */

/* +1 for an opening bracket, -1 for a closing one. */
static int turn(const struct token *token)
{
    if (token->kind != MARK || token->to - token->from != 1) {
        return 0;
    }
    return strchr("([{", *token->from)   ? 1
           : strchr(")]}", *token->from) ? -1
                                         : 0;
}

/* The token that closes the bracket at t, or NULL.  With closing ">" the
 * bracket is a constraint, <lower=0>. */
static const struct token *closing(const struct token *t, const char *mark)
{
    int depth = 0;

    for (; t->kind != END; t++) {
        depth += turn(t);
        if (depth == 0 && is(t, mark)) {
            return t;
        }
        if (depth < 0 || is(t, ";")) {
            return NULL;
        }
    }
    return NULL;
}

static bool is_type(const struct token *token)
{
    static const char *const types[] = {"int",         "real",
                                        "vector",      "row_vector",
                                        "matrix",      "simplex",
                                        "ordered",     "positive_ordered",
                                        "unit_vector", "cholesky_factor_corr",
                                        "corr_matrix", "cholesky_factor_cov",
                                        "cov_matrix",  NULL};

    return token->kind == WORD && is_one_of(token, types);
}

/* ---- output -------------------------------------------------------------- */

struct writer {
    FILE *out;
    const char *copied;        /* the program is written up to here */
    const struct token *first; /* of the program */
    int depth;                 /* of brackets, at the current token */
    /* the declaration that is being written, which may go on after a comma */
    bool is_open;
    int open_depth;
    const struct token *type, *type_end, *dims, *dims_end;
};

static void put(const struct writer *w, const char *from, const char *to)
{
    (void)fwrite(from, 1, (size_t)(to - from), w->out);
}

/* The line ends of a stretch that is not written here. */
static void put_lines(const struct writer *w, const char *from, const char *to)
{
    for (; from < to; from++) {
        if (*from == '\n') {
            (void)fputc('\n', w->out);
        }
    }
}

/* A stretch of tokens once more, on one line. */
static void put_again(const struct writer *w, const struct token *t,
                      const struct token *end)
{
    for (; t <= end; t++) {
        put(w, t->from, t->to);
        (void)fputs(t < end && t[0].kind == WORD && t[1].kind == WORD ? " "
                                                                      : "",
                    w->out);
    }
}

/* What stands between the last token and this one, then `text` for it. */
static void replace(struct writer *w, const struct token *t, const char *text)
{
    put(w, w->copied, t->from);
    (void)fputs(text, w->out);
    w->copied = t->to;
}

/* ---- declarations -------------------------------------------------------- */

/* The last token of a type: vector<lower=0>[N]. */
static const struct token *type_end(const struct token *type)
{
    const struct token *end = type;

    if (is(end + 1, "<")) {
        const struct token *close = closing(end + 1, ">");

        end = close ? close : end;
    }
    if (is(end + 1, "[")) {
        const struct token *close = closing(end + 1, "]");

        end = close ? close : end;
    }
    return end;
}

/* [] or [,,]: an argument, or what a function returns. */
static bool is_unsized(const struct token *open, const struct token *close)
{
    for (const struct token *t = open + 1; t < close; t++) {
        if (!is(t, ",")) {
            return false;
        }
    }
    return true;
}

/* May a statement begin at this token? */
static bool begins_statement(const struct writer *w, const struct token *t)
{
    static const char *const ends[] = {"{", "}", ";", NULL};

    return t == w->first || is_one_of(t - 1, ends);
}

static void open_declaration(struct writer *w, const struct token *type,
                             const struct token *end)
{
    w->is_open = true;
    w->open_depth = w->depth;
    w->type = type;
    w->type_end = end;
    w->dims = w->dims_end = NULL;
}

/* array[dims] type name -> type name[dims]; the last token taken, or NULL. */
static const struct token *array_declaration(struct writer *w,
                                             const struct token *t)
{
    const struct token *open = t + 1;
    const struct token *close = is(open, "[") ? closing(open, "]") : NULL;

    if (!close || !is_type(close + 1)) {
        return NULL; /* a variable that is called array */
    }
    const struct token *type = close + 1;
    const struct token *end = type_end(type);
    const bool has_size = !is_unsized(open, close);
    if (has_size && end[1].kind != WORD) {
        return NULL;
    }
    put(w, w->copied, t->from);
    put(w, type->from, end->to);
    if (has_size) { /* after the name */
        put(w, end->to, end[1].to);
        open_declaration(w, type, end);
        w->dims = open;
        w->dims_end = close;
        end++;
    }
    put(w, open->from, close->to);
    put_lines(w, t->to, open->from);
    put_lines(w, close->to, type->from);
    w->copied = end->to;
    return end;
}

/* type a, b: remembered until the comma. */
static void plain_declaration(struct writer *w, const struct token *t)
{
    const struct token *end = type_end(t);

    if (begins_statement(w, t) && end[1].kind == WORD && !is(end + 2, "(")) {
        open_declaration(w, t, end);
    }
}

/* A comma of the declaration: it ends, and another begins. */
static const struct token *next_declaration(struct writer *w,
                                            const struct token *t)
{
    const struct token *name = t + 1;

    replace(w, t, "; ");
    put_again(w, w->type, w->type_end);
    if (name->kind != WORD) {
        return t;
    }
    (void)fputc(' ', w->out);
    put_lines(w, w->copied, name->from);
    put(w, name->from, name->to);
    w->copied = name->to;
    if (w->dims) {
        put_again(w, w->dims, w->dims_end);
    }
    return name;
}

/* ---- the rest ------------------------------------------------------------ */

static void plain_number(struct writer *w, const struct token *t)
{
    put(w, w->copied, t->from);
    for (const char *c = t->from; c < t->to; c++) {
        if (*c != '_') {
            (void)fputc(*c, w->out);
        }
    }
    w->copied = t->to;
}

/* profile("name") { -> { */
static const struct token *drop_profile(struct writer *w, const struct token *t)
{
    if (!is(t + 1, "(") || t[2].kind != STRING || !is(t + 3, ")") ||
        !is(t + 4, "{")) {
        return NULL;
    }
    put(w, w->copied, t->from);
    put_lines(w, t->from, t[3].to);
    w->copied = t[3].to;
    return t + 3;
}

/* foo_lupdf -> foo_lpdf */
static void drop_u(struct writer *w, const struct token *t)
{
    put(w, w->copied, t->to - 5);
    put(w, t->to - 5, t->to - 4); /* l */
    put(w, t->to - 3, t->to);     /* pdf, pmf */
    w->copied = t->to;
}

/* Returns the last token that is dealt with. */
static const struct token *rewrite_word(struct writer *w, const struct token *t)
{
    const struct token *last = NULL;

    if (is(t, "array")) {
        last = array_declaration(w, t);
    } else if (is(t, "profile")) {
        last = drop_profile(w, t);
    } else if (is(t, "gp_exp_quad_cov")) {
        replace(w, t, "cov_exp_quad");
    } else if (ends_with(t, "_lupdf") || ends_with(t, "_lupmf")) {
        drop_u(w, t);
    } else if (is_type(t)) {
        plain_declaration(w, t);
    }
    return last ? last : t;
}

static const struct token *rewrite_mark(struct writer *w, const struct token *t)
{
    w->depth += turn(t);
    if (is(t, "%/%")) {
        replace(w, t, "/");
    } else if (w->is_open && w->depth <= w->open_depth) {
        if (is(t, ",") && w->depth == w->open_depth) {
            return next_declaration(w, t);
        }
        w->is_open = !is(t, ";") && w->depth == w->open_depth;
    }
    return t;
}

/* Constraints have commas, too: past the whole type at once. */
static const struct token *after_type(const struct writer *w,
                                      const struct token *t)
{
    return w->is_open && t == w->type ? w->type_end : t;
}

char *stan_syntax_old(const char *program)
{
    struct tokens all = {0};
    char *text = NULL;
    size_t bytes = 0;

    split(&all, program);
    struct writer w = {.out = open_memstream(&text, &bytes),
                       .copied = program,
                       .first = all.list};
    if (!w.out) {
        (void)cli_alloc(SIZE_MAX, 1); /* says so and ends */
        free(all.list);
        return NULL;
    }
    for (const struct token *t = all.list; t->kind != END; t++) {
        if (t->kind == WORD) {
            t = after_type(&w, rewrite_word(&w, t));
        } else if (t->kind == NUMBER) {
            plain_number(&w, t);
        } else if (t->kind == MARK) {
            t = rewrite_mark(&w, t);
        }
    }
    (void)fputs(w.copied, w.out);
    (void)fclose(w.out);
    free(all.list);
    return text;
}
