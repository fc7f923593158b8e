/*
 * blocks.c - moves declarations to where stanc 2.21 accepts them.
 *
 * Inside a block of statements, a late declaration opens a block of its own that
 * ends with the one around it:
 *
 *   { x = 1; real y = x; f(y); }        { x = 1; { real y = x; f(y); } }
 *
 * In transformed data, transformed parameters and generated quantities, whose
 * variables must stay visible, the declaration moves in front of the first
 * statement, and its value stays:
 *
 *   { real x; x = 1; real y = x; }      { real x; real y; x = 1; y = x; }
 */
#include "stan/legacy221/blocks.h"
#include "stan/legacy221/tokens.h"
#include "tool/cli.h"

#include <stdlib.h>

enum { DEEPEST = 64 }; /* blocks inside blocks; deeper ones stay as they are */

enum block_kind {
    LITERAL, /* {1, 2}: no block at all */
    NAMED,   /* data, parameters, functions: declarations only */
    KEPT,    /* its variables are visible after it */
    LOCAL
};

struct block {
    enum block_kind kind;
    bool has_statement;
    size_t n_open; /* blocks that late declarations have opened */
};

struct blocks {
    struct copy copy;
    const struct token *first;
    struct block stack[DEEPEST];
    size_t depth; /* blocks around the current token; may pass DEEPEST */
    int round;    /* parentheses and brackets around it, in its block */
};

/* The kind of the block that { opens. */
static enum block_kind kind_of(const struct blocks *b, const struct token *t)
{
    static const char *const before[] = {")",    ";",     "{", "}",
                                         "else", "model", NULL};
    static const char *const named[] = {"data", "parameters", "functions",
                                        NULL};

    if (t == b->first) {
        return LOCAL;
    }
    if (b->depth && b->depth <= DEEPEST &&
        b->stack[b->depth - 1].kind == LITERAL) {
        return LITERAL;
    }
    if (token_is(t - 1, "quantities") ||
        (t - 1 > b->first && token_is(t - 2, "transformed"))) {
        return KEPT;
    }
    return token_is_one_of(t - 1, named)    ? NAMED
           : token_is_one_of(t - 1, before) ? LOCAL
                                            : LITERAL;
}

/* The block around the current token; NULL if it is too deep or none. */
static struct block *current(struct blocks *b)
{
    return b->depth && b->depth <= DEEPEST ? &b->stack[b->depth - 1] : NULL;
}

/* What stands in front of a statement or declaration. */
static const char *const ends[] = {"{", "}", ";", NULL};

static bool begins(const struct blocks *b, const struct token *t)
{
    return t > b->first && !b->round && token_is_one_of(t - 1, ends);
}

/* The name that is declared here; NULL if it is a statement, or a function. */
static const struct token *declared(const struct token *t)
{
    if (!token_is_type(t)) {
        return NULL;
    }
    const struct token *name = token_type_end(t) + 1;
    return name->kind == WORD && !token_is(name + 1, "(") ? name : NULL;
}

/* The last token of name[dims]. */
static const struct token *name_end(const struct token *name)
{
    const struct token *close =
        token_is(name + 1, "[") ? token_closing(name + 1, "]") : NULL;

    return close ? close : name;
}

/* Writes all declarations that follow the first statement of a block before
 * it. */
static void bring_forward(const struct blocks *b, const struct token *t)
{
    int depth = 0;

    for (; t->kind != END && depth >= 0; t++) {
        const struct token *name = depth ? NULL : declared(t);

        if (name && token_is_one_of(
                        t - 1, (const char *const[]){"{", "}", ";", NULL})) {
            copy_again(&b->copy, t, name_end(name));
            copy_add(&b->copy, "; ");
        }
        depth += token_turn(t);
    }
}

/* A late declaration in a block whose variables are kept: only its value stays,
 * if there is one, as an assignment.  Returns the last token used. */
static const struct token *leave_value(struct blocks *b, const struct token *t,
                                       const struct token *name)
{
    const struct token *end = name_end(name);

    copy_until(&b->copy, t->from);
    if (token_is(end + 1, "=")) {
        copy_skip(&b->copy, name->from);
        copy_until(&b->copy, name->to);
    }
    copy_skip(&b->copy, end->to);
    return end;
}

static const struct token *take_start(struct blocks *b, const struct token *t)
{
    struct block *block = current(b);
    const struct token *name = declared(t);

    if (!block || block->kind == LITERAL || block->kind == NAMED) {
        return t;
    }
    if (!name) {
        if (block->kind == KEPT && !block->has_statement && !token_is(t, "}")) {
            copy_until(&b->copy, t->from);
            bring_forward(b, t);
        }
        block->has_statement = true;
        return t;
    }
    if (!block->has_statement) {
        return t;
    }
    if (block->kind == KEPT) {
        return leave_value(b, t, name);
    }
    copy_until(&b->copy, t->from);
    copy_add(&b->copy, "{ ");
    block->n_open++;
    block->has_statement = false;
    return t;
}

static void take_mark(struct blocks *b, const struct token *t)
{
    struct block *block = current(b);

    if (token_is(t, "{")) {
        const enum block_kind kind = kind_of(b, t);

        if (b->depth++ < DEEPEST) {
            b->stack[b->depth - 1] = (struct block){.kind = kind};
        }
    } else if (token_is(t, "}")) {
        for (; block && block->n_open; block->n_open--) {
            copy_until(&b->copy, t->from);
            copy_add(&b->copy, "} ");
        }
        b->depth -= b->depth > 0;
    } else {
        b->round += token_turn(t);
    }
}

char *stan_blocks_old(const char *program)
{
    struct token *all = tokens_of(program);
    struct blocks b = {.first = all};

    copy_start(&b.copy, program);
    for (const struct token *t = all; t->kind != END; t++) {
        const struct token *last = begins(&b, t) ? take_start(&b, t) : t;

        if (last == t && t->kind == MARK) {
            take_mark(&b, t);
        }
        t = last;
    }
    free(all);
    return copy_end(&b.copy);
}
