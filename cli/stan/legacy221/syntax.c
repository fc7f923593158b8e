/* syntax.c - translates today's Stan to the syntax of stanc 2.21. */
#include "stan/legacy221/syntax.h"
#include "stan/legacy221/blocks.h"
#include "stan/legacy221/tokens.h"

#include <stdlib.h>

/* ---- words --------------------------------------------------------------- */

/* `text` for the token. */
static void replace(struct copy *copy, const struct token *t, const char *text)
{
    copy_until(copy, t->from);
    copy_add(copy, text);
    copy_skip(copy, t->to);
}

/* 10_000 -> 10000 */
static void plain_number(struct copy *copy, const struct token *t)
{
    for (const char *c = t->from; c < t->to; c++) {
        if (*c == '_') {
            copy_until(copy, c);
            copy_skip(copy, c + 1);
        }
    }
}

/* foo_lupdf -> foo_lpdf */
static void drop_u(struct copy *copy, const struct token *t)
{
    copy_until(copy, t->to - 4);
    copy_skip(copy, t->to - 3);
}

/* profile("name") { -> { */
static void drop_profile(struct copy *copy, const struct token *t)
{
    if (token_is(t + 1, "(") && t[2].kind == STRING && token_is(t + 3, ")") &&
        token_is(t + 4, "{")) {
        copy_until(copy, t->from);
        copy_skip(copy, t[3].to);
    }
}

static char *old_words(const char *program)
{
    struct token *all = tokens_of(program);
    struct copy copy;

    copy_start(&copy, program);
    for (const struct token *t = all; t->kind != END; t++) {
        if (t->kind == NUMBER) {
            plain_number(&copy, t);
        } else if (token_is(t, "%/%")) {
            replace(&copy, t, "/");
        } else if (token_is(t, "profile")) {
            drop_profile(&copy, t);
        } else if (token_is(t, "gp_exp_quad_cov")) {
            replace(&copy, t, "cov_exp_quad");
        } else if (t->kind == WORD && (token_ends_with(t, "_lupdf") ||
                                       token_ends_with(t, "_lupmf"))) {
            drop_u(&copy, t);
        }
    }
    free(all);
    return copy_end(&copy);
}

/* ---- declarations -------------------------------------------------------- */

struct writer {
    struct copy copy;
    const struct token *first; /* of the program */
    int depth;                 /* of brackets, at the current token */
    /* the declaration that is being written, which may go on after a comma */
    bool is_open;
    int open_depth;
    const struct token *type, *type_end, *dims, *dims_end;
};

/* [] or [,,]: an argument, or what a function returns. */
static bool is_unsized(const struct token *open, const struct token *close)
{
    for (const struct token *t = open + 1; t < close; t++) {
        if (!token_is(t, ",")) {
            return false;
        }
    }
    return true;
}

/* May a statement begin at this token? */
static bool begins_statement(const struct writer *w, const struct token *t)
{
    static const char *const ends[] = {"{", "}", ";", NULL};

    return t == w->first || token_is_one_of(t - 1, ends);
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
    const struct token *close =
        token_is(open, "[") ? token_closing(open, "]") : NULL;

    if (!close || !token_is_type(close + 1)) {
        return NULL; /* a variable that is called array */
    }
    const struct token *type = close + 1;
    const struct token *end = token_type_end(type);
    const bool has_size = !is_unsized(open, close);
    if (has_size && end[1].kind != WORD) {
        return NULL;
    }
    copy_until(&w->copy, t->from);
    copy_skip(&w->copy, type->from);
    copy_until(&w->copy, end->to);
    if (has_size) { /* after the name */
        end++;
        copy_until(&w->copy, end->to);
        open_declaration(w, type, end - 1);
        w->dims = open;
        w->dims_end = close;
    }
    copy_again(&w->copy, open, close);
    return end;
}

/* type a, b: remembered until the comma.  Returns the last token taken, since
 * constraints have commas, too. */
static const struct token *plain_declaration(struct writer *w,
                                             const struct token *t)
{
    const struct token *end = token_type_end(t);

    if (!begins_statement(w, t) || end[1].kind != WORD ||
        token_is(end + 2, "(")) {
        return t;
    }
    open_declaration(w, t, end);
    return end;
}

/* A comma of the declaration: it ends, and another begins. */
static const struct token *next_declaration(struct writer *w,
                                            const struct token *t)
{
    const struct token *name = t + 1;

    replace(&w->copy, t, "; ");
    copy_again(&w->copy, w->type, w->type_end);
    if (name->kind != WORD) {
        return t;
    }
    copy_skip(&w->copy, name->from);
    copy_add(&w->copy, " ");
    copy_until(&w->copy, name->to);
    if (w->dims) {
        copy_again(&w->copy, w->dims, w->dims_end);
    }
    return name;
}

/* A declaration, word or mark; returns the last token used. */
static const struct token *take_word(struct writer *w, const struct token *t)
{
    if (token_is_type(t)) {
        return plain_declaration(w, t);
    }
    const struct token *last =
        token_is(t, "array") ? array_declaration(w, t) : NULL;
    return last ? last : t;
}

static const struct token *take_mark(struct writer *w, const struct token *t)
{
    w->depth += token_turn(t);
    if (w->is_open && w->depth <= w->open_depth) {
        if (token_is(t, ",") && w->depth == w->open_depth) {
            return next_declaration(w, t);
        }
        w->is_open = !token_is(t, ";") && w->depth == w->open_depth;
    }
    return t;
}

static char *old_declarations(const char *program)
{
    struct token *all = tokens_of(program);
    struct writer w = {.first = all};

    copy_start(&w.copy, program);
    for (const struct token *t = all; t->kind != END; t++) {
        if (t->kind == WORD) {
            t = take_word(&w, t);
        } else if (t->kind == MARK) {
            t = take_mark(&w, t);
        }
    }
    free(all);
    return copy_end(&w.copy);
}

/* ---- all of it ----------------------------------------------------------- */

char *stan_syntax_old(const char *program)
{
    char *words = old_words(program);
    char *declarations = old_declarations(words);
    char *blocks = stan_blocks_old(declarations);

    free(declarations);
    free(words);
    return blocks;
}
