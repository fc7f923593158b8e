/*
 * mlp_sparse_inline.h - products with inputs most of which are zero, as the pixels of
 * MNIST are.  Inlined because mlp_pass_inline.h includes it, over the same type.
 *
 *   A W  for a row of A:  the sum of x_j W_j over its cells x_j that are not zero
 *   A' D for a column:    the sum of x_r D_r over its cells x_r that are not zero
 *
 * Both are sums of some rows of a matrix, with factors.  Registers hold the sum of as
 * many columns as fit; rows come from the caches, one load per product, so this
 * pays if at most a third of the cells are not zero.
 */
#ifndef RMC_EXTRA_MLP_SPARSE_INLINE_H
#define RMC_EXTRA_MLP_SPARSE_INLINE_H

#include <stdint.h>
#include <string.h>

/* The numbers in a register; unaligned, as rows begin anywhere. */
#ifdef __AVX__
#define PACK_BYTES 32
#else
#define PACK_BYTES 16
#endif
typedef real pack
    __attribute__((vector_size(PACK_BYTES), may_alias, aligned(sizeof(real))));
enum { PACK = PACK_BYTES / sizeof(real) };

#if defined(__GNUC__) && !defined(__clang__)
#define UNROLLED _Pragma("GCC unroll 16")
#else
#define UNROLLED
#endif

/* n rows of a sparse matrix: row r has value[i] in column[i], for at[r] <=
 * i < end[r]. */
struct lists {
    size_t n;
    const size_t *at, *end;
    const uint32_t *column;
    const real *value;
};

/* ---- sums of rows ----------------------------------------------------------- */

/* 16 registers have room for 13 sums, a factor, a product, and one to spare. */
enum { MOST_PACKS = 13 };

/* to += scale * sum of value[i] * (row column[i] of `from`) over the cells i of row r
 * of `a`: `width` numbers, for which `packs` are read. */
static inline __attribute__((always_inline)) void
add_packs(size_t packs, const struct lists *a, size_t r,
          const real *restrict from, size_t ld, real scale, size_t width,
          real *restrict to)
{
    const size_t n = a->end[r] - a->at[r];
    const uint32_t *restrict column = a->column + a->at[r];
    const real *restrict value = a->value + a->at[r];
    pack sum[MOST_PACKS];
    real tail[PACK];

    UNROLLED
    for (size_t k = 0; k < packs; k++) {
        sum[k] = (pack){0};
    }
    for (size_t i = 0; i < n; i++) {
        const pack *row = (const pack *)(const void *)(from + column[i] * ld);

        UNROLLED
        for (size_t k = 0; k < packs; k++) {
            sum[k] += value[i] * row[k];
        }
    }
    UNROLLED
    for (size_t k = 0; k + 1 < packs; k++) {
        *(pack *)(void *)(to + k * PACK) += scale * sum[k];
    }
    memcpy(tail, &sum[packs - 1], sizeof tail);
    for (size_t j = (packs - 1) * PACK; j < width; j++) {
        to[j] += scale * tail[j % PACK];
    }
}

/* add_packs for one number of packs. */
typedef void (*add_rows_of)(const struct lists *a, size_t r, const real *from,
                            size_t ld, real scale, size_t width, real *to);

#define WITH_PACKS(packs)                                                      \
    static void add_##packs(const struct lists *a, size_t r, const real *from, \
                            size_t ld, real scale, size_t width, real *to)     \
    {                                                                          \
        add_packs(packs, a, r, from, ld, scale, width, to);                    \
    }
WITH_PACKS(1)
WITH_PACKS(2)
WITH_PACKS(3)
WITH_PACKS(4)
WITH_PACKS(5)
WITH_PACKS(6)
WITH_PACKS(7)
WITH_PACKS(8)
WITH_PACKS(9)
WITH_PACKS(10)
WITH_PACKS(11)
WITH_PACKS(12)
WITH_PACKS(13)
#undef WITH_PACKS

static const add_rows_of with_packs[MOST_PACKS + 1] = {
    NULL,  add_1, add_2, add_3,  add_4,  add_5,  add_6,
    add_7, add_8, add_9, add_10, add_11, add_12, add_13};

/* out += scale A M for a sparse A.  Rows of M have `width` numbers; PACK - 1 more can
 * be read behind the last row. */
static void add_products(const struct lists *a, const real *m, size_t width,
                         real scale, real *out)
{
    const size_t packs = (width + PACK - 1) / PACK;
    const size_t parts = (packs + MOST_PACKS - 1) / MOST_PACKS;

    for (size_t p = 0; p < parts; p++) {
        const size_t from = packs * p / parts, to = packs * (p + 1) / parts;
        const size_t first = from * PACK;
        const size_t end = p + 1 < parts ? to * PACK : width;

        for (size_t r = 0; r < a->n; r++) {
            with_packs[to - from](a, r, m + first, width, scale, end - first,
                                  out + r * width + first);
        }
    }
}

/* ---- lists of a block of rows ----------------------------------------------- */

/* Memory for the lists of rows and of columns, and for the cells of columns. */
struct lists_room {
    size_t *row_at, *row_end, *column_at, *column_end;
    uint32_t *row;
    real *value;
};

static struct lists pick_rows(const struct rmc_mlp *m, const uint32_t *row,
                              size_t first, size_t n,
                              const struct lists_room *room)
{
    const struct rmc_mlp_sparse *all = &m->sparse;

    for (size_t r = 0; r < n; r++) {
        const size_t at = row ? row[first + r] : first + r;

        room->row_at[r] = all->start[at];
        room->row_end[r] = all->start[at + 1];
    }
    return (struct lists){n, room->row_at, room->row_end, all->column,
                          all->value};
}

/* The transpose: the same cells by columns, `width` of them, sorted by rows. */
static struct lists turn(const struct lists *a, size_t width,
                         const struct lists_room *room)
{
    size_t total = 0;

    memset(room->column_at, 0, width * sizeof *room->column_at);
    for (size_t r = 0; r < a->n; r++) {
        for (size_t i = a->at[r]; i < a->end[r]; i++) {
            room->column_at[a->column[i]]++;
        }
    }
    for (size_t j = 0; j < width; j++) {
        const size_t n = room->column_at[j];

        room->column_at[j] = room->column_end[j] = total;
        total += n;
    }
    for (size_t r = 0; r < a->n; r++) {
        for (size_t i = a->at[r]; i < a->end[r]; i++) {
            const size_t to = room->column_end[a->column[i]]++;

            room->row[to] = (uint32_t)r;
            room->value[to] = a->value[i];
        }
    }
    return (struct lists){width, room->column_at, room->column_end, room->row,
                          room->value};
}

#endif
