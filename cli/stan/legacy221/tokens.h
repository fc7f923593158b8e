/* tokens.h - cuts a Stan program into tokens, and writes a copy with
 * changes. */
#ifndef RELMC_CLI_STAN_TOKENS_H
#define RELMC_CLI_STAN_TOKENS_H

#include <stdbool.h>
#include <stdio.h>

enum token_kind { WORD, NUMBER, STRING, MARK, END };

/* A stretch of the program; comments and blanks are between them. */
struct token {
    enum token_kind kind;
    const char *from, *to;
};

/* All tokens, ending with an END, to be freed. */
struct token *tokens_of(const char *program);

bool token_is(const struct token *t, const char *text);
/* `texts` ends with NULL. */
bool token_is_one_of(const struct token *t, const char *const *texts);
bool token_ends_with(const struct token *t, const char *end);
/* real, vector, simplex, ... */
bool token_is_type(const struct token *t);
/* +1 for an opening bracket, -1 for a closing one, else 0. */
int token_turn(const struct token *t);

/* The token that closes the bracket at t, before the statement ends; or NULL.
 * With the mark ">" the bracket is a constraint, <lower=0>. */
const struct token *token_closing(const struct token *t, const char *mark);
/* The last token of a type that begins at t: vector<lower=0>[N]. */
const struct token *token_type_end(const struct token *t);

/* The program is copied token by token. */
struct copy {
    FILE *out;
    const char *done; /* the program is written up to here */
    char *text;
    size_t bytes;
};

/* Ends the program if there is no memory, as all of the tool does. */
void copy_start(struct copy *copy, const char *program);
/* Copies the rest of the program; returns the copy, to be freed. */
char *copy_end(struct copy *copy);
/* Copies the program up to `to`. */
void copy_until(struct copy *copy, const char *to);
/* Skips the program up to `to`, except for ends of lines. */
void copy_skip(struct copy *copy, const char *to);
/* Adds text that is not in the program. */
void copy_add(const struct copy *copy, const char *text);
/* Copies tokens a second time, on one line. */
void copy_again(const struct copy *copy, const struct token *t,
                const struct token *end);

#endif
