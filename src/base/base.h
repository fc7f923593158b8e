/*
 * base.h - what every file of the library may use: errors, memory, parameters,
 * text, lanes, random numbers, elementary and special functions, running
 * statistics, small linear algebra.  It includes nothing of the library but the public headers.
 */
#ifndef RMC_BASE_H
#define RMC_BASE_H

#include "relmc_ext.h"

#include "base/isa.h"
#include "base/lanes.h"
#include "base/rng.h"
#include "base/running_moments.h"
#include "base/vmath.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>

/* ---- error.c ------------------------------------------------------------- */

/* Fills err if there is one and returns status: the only way an error starts.
 * One line, lower-case start, subject first, says what would be right. */
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
char *rmc_arena_copy_text(relmc_arena *arena, const char *text);
/* NULL in, NULL out. */
double *rmc_arena_copy(relmc_arena *arena, const double *from, size_t n);

/* ---- version.c ----------------------------------------------------------- */

#define RMC_TEXT(x)         #x
#define RMC_DOTTED(a, b, c) RMC_TEXT(a) "." RMC_TEXT(b) "." RMC_TEXT(c)
/* "0.2.0" */
#define RMC_VERSION_TEXT \
    RMC_DOTTED(RELMC_VERSION_MAJOR, RELMC_VERSION_MINOR, RELMC_VERSION_PATCH)

/* ---- sized.c ------------------------------------------------------------- */

/* A caller's struct whose first member is a size_t, its size, becomes one of
 * `known` bytes.  Fields it lacks are zero, all of them for NULL.  It must have
 * `least` bytes, and zeros beyond `known`.  `type` is its name. */
relmc_status rmc_sized_read(void *to, size_t known, const void *from,
                            size_t least, const char *type, relmc_error *err);

/* A caller's report whose first member is a size_t, its size: it gets what it has
 * room for of `from`, which has `known` bytes, and keeps its size. */
relmc_status rmc_sized_fill(void *to, const void *from, size_t known,
                            const char *type, relmc_error *err);

/* ---- temporary_file.c, sync_folder.c --------------------------------------- */

/* A new file "PATH.PROCESS-N.tmp", which no other process has; `mode` ends with x:
 * "wbx".  NULL, and errno, if there is none.  `name` has room for `path` and
 * RMC_TEMPORARY_TAIL more. */
enum { RMC_TEMPORARY_TAIL = 48 };
FILE *rmc_temporary_open(const char *path, const char *mode, char *name,
                         size_t room);

/* A file that has got its name by rename keeps it when its folder is on the disk,
 * too.  `path` is a file there, and is cut off after the folder. */
void rmc_sync_folder(char *path);

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

/* ---- params.c: component parameters from "name:key=value,..." ------------- */

/* Length of the name in a spec: up to the ':' or the end. */
size_t rmc_spec_name_length(const char *spec);

/* Set every parameter in `state` from the table's fallbacks, then from the
 * spec.  Vectors are taken from the arena. */
relmc_status rmc_spec_parse(const char *spec, const relmc_info *info,
                            void *state, relmc_arena *arena, relmc_error *err);

/* The spec with every parameter spelt out. */
void rmc_spec_print(rmc_text *text, const relmc_info *info, const void *state);

/* ---- special.c: closed forms of the relativistic momentum law ------------- */

/* K_nu(x) / K_mu(x), modified Bessel functions of the second kind, nu, mu and
 * x positive. */
double rmc_bessel_k_ratio(double nu, double mu, double x);
/* Gamma(z + 1/2) / Gamma(z), z >= 1/2 */
double rmc_gamma_half_step(double z);

/* An object of ours that an interface passes as a constant. */
static inline void *rmc_mutable(const void *constant)
{
    union {
        const void *in;
        void *out;
    } u = {constant};
    return u.out;
}

/* For qsort, of doubles. */
static inline int rmc_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* ---- linalg.c ------------------------------------------------------------ */

/* Lower Cholesky factor of a symmetric dim x dim matrix, row-major; 0, or the
 * 1-based row that shows it is not positive definite.  `out` may be `a`. */
size_t rmc_cholesky(size_t dim, const double *a, double *out);
/* out <- a', square. */
void rmc_transpose(size_t dim, const double *a, double *out);
/* Symmetric a = Q diag(w) Q': a becomes Q, the eigenvectors its columns, in no
 * order.  Only the lower triangle is read; work has room for 2 dim numbers.  0
 * if it does not converge, as with NaN. */
int rmc_eigen(size_t dim, double *a, double *w, double *work);

#endif
