/*
 * base.h - declares what nearly every file of the library uses: errors, memory, text and
 * parameters; its headers add lanes, random numbers and elementary functions.
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

/* Fills in err, if it is not NULL, and returns status; every error of the library is made
 * here.  The message is one line, begins with its subject in lower case, and says what
 * would be right. */
relmc_status rmc_fail(relmc_error *err, relmc_status status, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* ---- arena.c ------------------------------------------------------------- */

struct rmc_block;

/* The caller's allocator, from relmc_options. */
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
/* Not zeroed, so that unused pages of a large block take no memory. */
void *rmc_arena_get_unset(relmc_arena *arena, size_t bytes);
char *rmc_arena_copy_text(relmc_arena *arena, const char *text);
/* NULL in, NULL out. */
double *rmc_arena_copy(relmc_arena *arena, const double *from, size_t n);

/* Removes const from an object of the library that an interface passes as const. */
static inline void *rmc_mutable(const void *constant)
{
    union {
        const void *in;
        void *out;
    } u = {constant};
    return u.out;
}

/* ---- text.c -------------------------------------------------------------- */

/* Text in a buffer of `room` bytes; what does not fit is cut.  `bytes` counts all of
 * it, so that a first pass with no room measures the length. */
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
/* With the fewest digits from which the same number is read. */
void rmc_format_exactly(char out[32], double value);
/* Reads all n characters at text as one number; 0 if they are not one. */
int rmc_parse_number(const char *text, size_t n, double *out);
/* How many edits turn a into b (insert, delete, replace, swap). */
size_t rmc_edit_distance(const char *a, const char *b);

/* ---- ascending.c --------------------------------------------------------- */

/* Compares two doubles, for qsort. */
int rmc_ascending(const void *a, const void *b);

#endif
