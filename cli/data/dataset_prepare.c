/* dataset_prepare.c - scales, splits and widens data sets. */
#include "data/dataset_prepare.h"

#include "relmc_ext.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(const char *who)
{
    return cli_fail(CLI_NUMERIC, who, "out of memory for the data");
}

/* ---- scaling ------------------------------------------------------------- */

enum dataset_scale dataset_scale_named(const char *name)
{
    static const char *const names[] = {
        [DATASET_SCALE_SD] = "sd",
        [DATASET_SCALE_MAX] = "max",
        [DATASET_SCALE_BYTE] = "byte",
    };

    for (int i = DATASET_SCALE_SD; i <= DATASET_SCALE_BYTE; i++) {
        if (!strcmp(name, names[i])) {
            return (enum dataset_scale)i;
        }
    }
    return DATASET_SCALE_NONE;
}

/* Two passes: the second sees deviations from the mean, which keep their
 * digits. */
static void learn_sd(struct dataset_scaling *s, const struct dataset *train)
{
    const size_t d = s->n_columns;
    const double n = (double)train->n_rows;

    for (size_t i = 0; i < train->n_rows; i++) {
        for (size_t j = 0; j < d; j++) {
            s->shift[j] += dataset_at(train, i, j);
        }
    }
    for (size_t j = 0; j < d; j++) {
        s->shift[j] /= n;
        s->scale[j] = 0.0;
    }
    for (size_t i = 0; i < train->n_rows; i++) {
        for (size_t j = 0; j < d; j++) {
            const double e = dataset_at(train, i, j) - s->shift[j];

            s->scale[j] += e * e;
        }
    }
    for (size_t j = 0; j < d; j++) {
        s->scale[j] = sqrt(s->scale[j] / fmax(n - 1.0, 1.0));
    }
}

static void learn_max(struct dataset_scaling *s, const struct dataset *train)
{
    for (size_t j = 0; j < s->n_columns; j++) {
        s->scale[j] = 0.0;
    }
    for (size_t i = 0; i < train->n_rows; i++) {
        for (size_t j = 0; j < s->n_columns; j++) {
            s->scale[j] = fmax(s->scale[j], fabs(dataset_at(train, i, j)));
        }
    }
}

static bool is_constant(const struct dataset *set, size_t j)
{
    const double first = dataset_at(set, 0, j);

    for (size_t i = 1; i < set->n_rows; i++) {
        if (dataset_at(set, i, j) != first) {
            return false;
        }
    }
    return true;
}

static int check_scales(const struct dataset_scaling *s,
                        const struct dataset *train, enum dataset_scale how,
                        const char *who, const char *source)
{
    char name[INPUT_STREAM_SHOWN];

    for (size_t j = 0; j < s->n_columns; j++) {
        /* rounding may leave a constant with a tiny deviation */
        const bool is_bad = how == DATASET_SCALE_SD ? is_constant(train, j)
                                                    : s->scale[j] == 0.0;

        if (is_bad) {
            return cli_fail(CLI_MODEL, who,
                            "%s: %s is %.10g in all %zu training rows and "
                            "cannot be scaled: leave it out, or use --scale "
                            "byte or none",
                            source, dataset_column(name, train, j),
                            dataset_at(train, 0, j), train->n_rows);
        }
        if (!isfinite(s->scale[j]) || !isfinite(s->shift[j])) {
            return cli_fail(CLI_MODEL, who,
                            "%s: %s has values too large to be scaled", source,
                            dataset_column(name, train, j));
        }
    }
    return CLI_OK;
}

int dataset_scaling_learn(struct dataset_scaling *out,
                          const struct dataset *train, enum dataset_scale how,
                          const char *who, const char *source)
{
    *out = (struct dataset_scaling){.n_columns = train->n_columns};
    out->shift = cli_alloc(out->n_columns, sizeof *out->shift);
    out->scale = cli_alloc(out->n_columns, sizeof *out->scale);
    for (size_t j = 0; j < out->n_columns; j++) {
        out->scale[j] = how == DATASET_SCALE_BYTE ? 255.0 : 1.0;
    }
    if (how == DATASET_SCALE_SD) {
        learn_sd(out, train);
    } else if (how == DATASET_SCALE_MAX) {
        learn_max(out, train);
    }
    const int code = check_scales(out, train, how, who, source);
    if (code) {
        dataset_scaling_clear(out);
    }
    return code;
}

void dataset_scaling_apply(const struct dataset_scaling *s, struct dataset *set)
{
    const size_t d = s->n_columns;

    for (size_t i = 0; i < set->n_rows; i++) {
        for (size_t j = 0; j < d; j++) {
            const double z =
                (dataset_at(set, i, j) - s->shift[j]) / s->scale[j];

            if (set->x) {
                set->x[i * d + j] = z;
            } else {
                set->x_float[i * d + j] = (float)z;
            }
        }
    }
}

void dataset_scaling_clear(struct dataset_scaling *s)
{
    free(s->shift);
    free(s->scale);
    *s = (struct dataset_scaling){0};
}

/* ---- splitting ----------------------------------------------------------- */

/* Purposes below 1000 and above those of the library are the tool's. */
enum { FOR_SPLIT = 900 };

/* Uniform in 0 ... n - 1, without the bias of a remainder. */
static size_t below(relmc_stream *stream, size_t n)
{
    const uint64_t limit = n > 1 ? UINT64_MAX - UINT64_MAX % n : 0;
    uint64_t bits;

    if (n <= 1) {
        return 0;
    }
    do {
        bits = relmc_bits(stream);
    } while (bits >= limit);
    return (size_t)(bits % n);
}

/* m of the n rows, at random, are marked. */
static void mark(bool *is_test, size_t *rows, size_t n, size_t m,
                 relmc_stream *stream)
{
    for (size_t i = 0; i < m; i++) { /* the start of a shuffle */
        const size_t other = i + below(stream, n - i);
        const size_t row = rows[other];

        rows[other] = rows[i];
        rows[i] = row;
        is_test[row] = true;
    }
}

static size_t stratum(const struct dataset *set, size_t row)
{
    return set->n_classes > 0 ? (size_t)set->y[row] : 0;
}

/* quota[k] of the sizes[k] rows of a class, in all n_test: shares rounded down,
 * and one more where the most was cut off, the first class first. */
static void share_out(size_t *quota, const size_t *sizes, size_t n_strata,
                      size_t n_test, size_t n)
{
    size_t given = 0;

    for (size_t k = 0; k < n_strata; k++) {
        quota[k] = (size_t)((double)sizes[k] * (double)n_test / (double)n);
        given += quota[k];
    }
    for (; given < n_test; given++) {
        size_t best = 0;
        double most = -1.0;

        for (size_t k = 0; k < n_strata; k++) {
            const double left = (double)sizes[k] * (double)n_test / (double)n -
                                (double)quota[k];

            if (quota[k] < sizes[k] && left > most) {
                most = left;
                best = k;
            }
        }
        quota[best]++;
    }
}

static void choose(bool *is_test, const struct dataset *set, size_t n_test,
                   uint64_t seed)
{
    const size_t n_strata = set->n_classes > 0 ? set->n_classes : 1;
    size_t *sizes = cli_alloc(n_strata, sizeof *sizes);
    size_t *quota = cli_alloc(n_strata, sizeof *quota);
    size_t *rows = cli_alloc(set->n_rows, sizeof *rows);

    for (size_t i = 0; i < set->n_rows; i++) {
        sizes[stratum(set, i)]++;
    }
    share_out(quota, sizes, n_strata, n_test, set->n_rows);
    for (size_t k = 0; k < n_strata; k++) {
        /* a stream of its own: a class does not disturb the next */
        relmc_stream stream = {
            .seed = seed, .chain = (uint32_t)k, .purpose = FOR_SPLIT};
        size_t n = 0;

        for (size_t i = 0; i < set->n_rows; i++) {
            if (stratum(set, i) == k) {
                rows[n++] = i;
            }
        }
        mark(is_test, rows, n, quota[k], &stream);
    }
    free(sizes);
    free(quota);
    free(rows);
}

static char **copy_texts(char *const *texts, size_t n)
{
    char **made = texts ? cli_alloc(n, sizeof *made) : NULL;

    for (size_t i = 0; texts && i < n; i++) {
        made[i] = cli_text("%s", texts[i]);
    }
    return made;
}

/* Row `from` of one becomes row `to` of the other, which may be the same. */
static void move_row(struct dataset *out, size_t to, const struct dataset *in,
                     size_t from)
{
    const size_t d = in->n_columns;

    if (in->x) {
        memmove(out->x + to * d, in->x + from * d, d * sizeof *in->x);
    } else {
        memmove(out->x_float + to * d, in->x_float + from * d,
                d * sizeof *in->x_float);
    }
    out->y[to] = in->y[from];
}

static void shrink(void **block, size_t bytes)
{
    void *less = *block && bytes > 0 ? realloc(*block, bytes) : NULL;

    *block = less ? less : *block;
}

static void part_rows(struct dataset *train, struct dataset *test,
                      const bool *is_test)
{
    const size_t n = train->n_rows, d = train->n_columns;
    size_t n_test = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_test[i]) {
            move_row(test, n_test++, train, i);
        } else {
            move_row(train, i - n_test, train, i);
        }
    }
    train->n_rows = n - n_test;
    void *x = train->x, *x_float = train->x_float, *y = train->y;
    shrink(&x, train->n_rows * d * sizeof *train->x);
    shrink(&x_float, train->n_rows * d * sizeof *train->x_float);
    shrink(&y, train->n_rows * sizeof *train->y);
    train->x = x;
    train->x_float = x_float;
    train->y = y;
}

int dataset_split(struct dataset *train, struct dataset *test_out, double test,
                  uint64_t seed, const char *who)
{
    const size_t n = train->n_rows, d = train->n_columns;
    const bool is_share = test > 0.0 && test < 1.0;
    const double wanted = is_share ? round(test * (double)n) : test;

    *test_out = (struct dataset){0};
    if (!(wanted >= 1.0) || !(wanted <= (double)n - 1.0) ||
        wanted != floor(wanted)) {
        return cli_fail(CLI_USAGE, who,
                        "%g test rows of %zu: a whole number from 1 to %zu, or "
                        "a share of them between 0 and 1",
                        wanted, n, n > 0 ? n - 1 : 0);
    }
    const size_t m = (size_t)wanted;
    struct dataset made = *train;
    made.x = train->x ? malloc(m * d * sizeof *made.x) : NULL;
    made.x_float = train->x_float ? malloc(m * d * sizeof *made.x_float) : NULL;
    made.y = malloc(m * sizeof *made.y);
    if ((!made.x && !made.x_float) || !made.y) {
        free(made.x);
        free(made.x_float);
        free(made.y);
        return no_memory(who);
    }
    made.n_rows = m;
    made.names = copy_texts(train->names, d);
    made.classes = copy_texts(train->classes, train->n_classes);
    made.response = train->response ? cli_text("%s", train->response) : NULL;

    bool *is_test = cli_alloc(n, sizeof *is_test);
    choose(is_test, train, m, seed);
    part_rows(train, &made, is_test);
    free(is_test);
    *test_out = made;
    return CLI_OK;
}

/* ---- columns ------------------------------------------------------------- */

static void name_intercept(struct dataset *set)
{
    const size_t d = set->n_columns;

    if (set->names) {
        char **names = cli_alloc(d + 1, sizeof *names);

        memcpy((void *)(names + 1), (void *)set->names, d * sizeof *names);
        names[0] = cli_text("intercept");
        free((void *)set->names);
        set->names = names;
    }
}

int dataset_add_intercept(struct dataset *set, const char *who)
{
    const size_t n = set->n_rows, d = set->n_columns;
    const size_t bytes = set->x ? sizeof *set->x : sizeof *set->x_float;
    void *block = set->x ? (void *)set->x : (void *)set->x_float;
    char *grown = realloc(block, n * (d + 1) * bytes);

    if (!grown) {
        return no_memory(who);
    }
    set->x = set->x ? (void *)grown : NULL;
    set->x_float = set->x ? NULL : (void *)grown;
    for (size_t i = n; i-- > 0;) { /* from the end, each row moves up */
        memmove(grown + (i * (d + 1) + 1) * bytes, grown + i * d * bytes,
                d * bytes);
        if (set->x) {
            set->x[i * (d + 1)] = 1.0;
        } else {
            set->x_float[i * (d + 1)] = 1.0F;
        }
    }
    name_intercept(set);
    set->n_columns = d + 1;
    return CLI_OK;
}
