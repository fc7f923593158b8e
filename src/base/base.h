/*
 * base.h - what nearly every file of the library uses: errors, memory, text, parameters,
 * and, by the headers that it includes, lanes, random numbers and elementary functions.
 */
#ifndef RMC_BASE_H
#define RMC_BASE_H

#include "relmc_ext.h"

#include "base/isa.h"
#include "base/lanes_inline.h"
#include "base/rng_inline.h"
#include "base/vmath_inline.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- error.c ------------------------------------------------------------- */

/* Fills err, if it is not NULL, and returns status: every error starts here.  The message
 * is one line, begins with its subject in lower case, and says what would be right. */
relmc_status rmc_fail(relmc_error *err, relmc_status status, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* ---- arena.c ------------------------------------------------------------- */

struct rmc_block;

/* Where blocks come from: options.acquire and the two after it. */
struct rmc_memory {
    void *(*acquire)(void *ctx, size_t bytes); /* NULL: the C library */
    void (*release)(void *ctx, void *block, size_t bytes);
    void *ctx;
};

struct relmc_arena {
    struct rmc_memory memory;
    struct rmc_block *blocks;
    int has_failed;
};

void rmc_arena_release(relmc_arena *arena);
/* Not zeroed: of a large block only the pages that are used take memory. */
void *rmc_arena_get_unset(relmc_arena *arena, size_t bytes);
char *rmc_arena_copy_text(relmc_arena *arena, const char *text);
/* NULL in, NULL out. */
double *rmc_arena_copy(relmc_arena *arena, const double *from, size_t n);

/* An object of ours that an interface passes as a constant. */
static inline void *rmc_mutable(const void *constant)
{
    union {
        const void *in;
        void *out;
    } u = {constant};
    return u.out;
}

/* ---- text.c -------------------------------------------------------------- */

/* Text that grows up to the room it was given and never beyond; `bytes` goes on
 * counting, so that a first pass with no room measures. */
typedef struct rmc_text {
    char *out;
    size_t room, bytes;
} rmc_text;

void rmc_text_add(rmc_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A JSON string with its quotes. */
void rmc_text_add_json(rmc_text *text, const char *value);
/* A number with `digits` significant digits and a point, in any locale; NaN,
 * inf and -inf as Stan spells them. */
size_t rmc_format_number(char out[32], double value, int digits);
/* As few digits as give the same number back. */
void rmc_format_exactly(char out[32], double value);
/* The way back: the n characters at text, all of them; 0 if they are not a
 * number. */
int rmc_parse_number(const char *text, size_t n, double *out);
/* Edits needed to turn a into b (insert, delete, replace, swap). */
size_t rmc_edit_distance(const char *a, const char *b);

/* ---- component/spec.c: parameters from "name:key=value,..." --------------- */

/* Length of the name in a spec: up to the ':' or the end. */
size_t rmc_spec_name_length(const char *spec);

/* Set every parameter in `state` from the table's fallbacks, then from the
 * spec.  Vectors are taken from the arena. */
relmc_status rmc_spec_parse(const char *spec, const relmc_info *info,
                            void *state, relmc_arena *arena, relmc_error *err);

/* The spec with every parameter spelt out. */
void rmc_spec_print(rmc_text *text, const relmc_info *info, const void *state);

/* ---- ascending.c --------------------------------------------------------- */

/* The order of doubles, for qsort. */
int rmc_ascending(const void *a, const void *b);

#endif
