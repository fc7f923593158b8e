/* compare_reference.c - draws against a reference: z-scores of every parameter,
 * and tests of two samples if there are reference draws. */
#include "relmc_diag.h"
#include "report/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *compare_reference_what(char out[32], const struct reference *ref,
                                   size_t i)
{
    if (i < 2) {
        (void)snprintf(out, 32, "%s", i ? "sd" : "mean");
    } else {
        (void)snprintf(out, 32, "%g%% quantile", 100.0 * ref->levels[i - 2]);
    }
    return out;
}

/* ---- which parameters ---------------------------------------------------- */

/* "a, b and 7 more" */
struct name_list {
    char *text;
    size_t n;
};

enum { SHOWN = 5 };

static void list_add(struct name_list *list, const char *name)
{
    if (list->n < SHOWN) {
        char *longer = list->n ? cli_text("%s, %.100s", list->text, name)
                               : cli_text("%.100s", name);
        free(list->text);
        list->text = longer;
    }
    list->n++;
}

static char *list_text(const struct name_list *list)
{
    return list->n > SHOWN
               ? cli_text("%s and %zu more", list->text, list->n - SHOWN)
               : cli_text("%s", list->n ? list->text : "");
}

int compare_reference_open(struct verdict *verdict, const struct reference *ref,
                           const struct draws *draws, const bool *is_wanted,
                           const char *label)
{
    const size_t n = draws->files[0].n_columns;
    bool *is_met = cli_alloc(ref->n_rows, sizeof *is_met);
    struct name_list missing = {0};
    struct name_list extra = {0};
    size_t n_common = 0;

    for (size_t j = 0; j < n; j++) {
        char *name = reference_name(draws_name(draws, j));
        const size_t at = reference_find(ref, name);

        if (at < ref->n_rows) {
            is_met[at] = true;
            n_common += is_wanted[j];
        } else if (is_wanted[j]) {
            list_add(&missing, name);
        }
        free(name);
    }
    for (size_t i = 0; i < ref->n_rows; i++) {
        if (!is_met[i]) {
            list_add(&extra, ref->rows[i].name);
        }
    }
    verdict->missing = list_text(&missing);
    verdict->extra = list_text(&extra);
    verdict->n_missing = missing.n;
    verdict->n_extra = extra.n;
    verdict->rows = cli_alloc(n_common + 1, sizeof *verdict->rows);
    free(missing.text);
    free(extra.text);
    free(is_met);
    if (n_common == 0) {
        return cli_fail(CLI_MODEL, draws->who,
                        "%s and %s have no parameter in common: %s; %s", label,
                        ref->source,
                        verdict->n_missing ? verdict->missing : "none",
                        verdict->n_extra ? verdict->extra : "none");
    }
    return CLI_OK;
}

/* ---- z-scores ------------------------------------------------------------ */

/* Published summaries of n independent draws have errors, too: what one draw
 * adds to the error of an estimate is taken from ours. */
static void guess_errors(relmc_known *known, double n, const relmc_summary *s,
                         const relmc_quantile *q)
{
    known->mean_error = known->sd / sqrt(n);
    known->sd_error = s->mcse_sd * sqrt(s->ess_sd / n);
    for (size_t i = 0; i < known->n_quantiles; i++) {
        known->quantile_error[i] = q[i].mcse * sqrt(q[i].ess / n);
    }
}

/* Which value has the largest |z|; one that cannot be compared is worst. */
static void find_worst(struct z_row *row, const relmc_known *known,
                       double worst)
{
    row->worst = worst;
    for (size_t i = 0; i < 2 + known->n_quantiles; i++) {
        const double z = i == 0   ? row->z_mean
                         : i == 1 ? row->z_sd
                                  : row->z_quantile[i - 2];
        const double value = i == 0   ? known->mean
                             : i == 1 ? known->sd
                                      : known->quantile[i - 2];
        const double size = isnan(z) ? HUGE_VAL : fabs(z);

        if (!isnan(value) && size >= worst) {
            row->worst_what = i;
            return;
        }
    }
}

/* A parameter that never moves, nor does the reference: the diagonal of a
 * correlation matrix. */
static bool is_fixed(const relmc_series *series, const relmc_known *known)
{
    const double x = series->draws[0];

    return draws_are_constant(series) && !(known->sd > 0.0) &&
           fabs(x - known->mean) <= 1e-6 * fabs(known->mean);
}

static void score(struct z_row *row, const struct reference *ref,
                  const relmc_series *series, const relmc_summary *s)
{
    relmc_known known = ref->rows[row->known].known;
    const size_t n = known.n_quantiles;
    relmc_quantile *q = cli_alloc(n + 1, sizeof *q);
    double *errors = cli_alloc(n + 1, sizeof *errors);
    relmc_zscores z = {
        .size = sizeof z, .mean = CLI_NAN, .sd = CLI_NAN, .worst = HUGE_VAL};

    if (n > 0) {
        (void)relmc_quantiles(q, series, n, known.level, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        row->quantile[i] = q[i].value;
    }
    if (!isnan(ref->n_effective)) {
        known.quantile_error = errors;
        guess_errors(&known, ref->n_effective, s, q);
    }
    if (is_fixed(series, &known)) {
        z = (relmc_zscores){0};
    } else {
        (void)relmc_zscore(&z, row->z_quantile, series, &known, NULL);
    }
    row->z_mean = z.mean;
    row->z_sd = z.sd;
    find_worst(row, &known, z.worst);
    free(q);
    free(errors);
}

static void keep_draws(struct verdict *v, const struct reference *ref,
                       const relmc_series *series)
{
    if (ref->n_chains == 0) {
        return;
    }
    if (v->n_rows == 1) { /* no more rows than the reference has */
        v->n_chains = series->n_chains;
        v->n_full = series->n_draws;
        v->n_each = reference_share(REF_DRAWS, series);
        v->draws =
            cli_alloc(ref->n_rows * v->n_chains * v->n_each, sizeof *v->draws);
    }
    reference_thin(v->draws + (v->n_rows - 1) * v->n_chains * v->n_each,
                   v->n_each, series);
}

void compare_reference_take(struct verdict *v, const struct reference *ref,
                            const char *name, const relmc_series *series)
{
    char *pretty = reference_name(name);
    const size_t at = reference_find(ref, pretty);
    relmc_summary s = RELMC_INIT(relmc_summary);

    free(pretty);
    if (at == ref->n_rows || relmc_summarise(&s, series, NULL)) {
        return;
    }
    struct z_row *row = &v->rows[v->n_rows++];
    const double n = (double)(series->n_chains * series->n_draws);

    *row = (struct z_row){
        .known = at,
        .mean = s.mean,
        .sd = s.sd,
        .quantile = cli_alloc(ref->n_levels + 1, sizeof(double)),
        .z_quantile = cli_alloc(ref->n_levels + 1, sizeof(double))};
    score(row, ref, series, &s);
    v->least_share = v->n_rows == 1 ? 1.0 : v->least_share;
    v->least_share = fmin(v->least_share, fmin(s.ess_bulk, s.ess_tail) / n);
    keep_draws(v, ref, series);
}

/* ---- two samples --------------------------------------------------------- */

/* One side of the tests. */
struct side {
    const double *draws; /* column after column: n_chains x n_each */
    size_t n_chains, n_each;
    size_t n_used;    /* of every chain */
    double n_forgets; /* used draws in two autocorrelation times */
};

/* Draws of each chain to use: one per autocorrelation time.  Draws two such
 * times apart are independent. */
static struct side side_of(const double *draws, size_t n_chains, size_t n_each,
                           size_t n_full, double least_share)
{
    const double worth = least_share * (double)n_full;
    const size_t n_used = worth < 1.0              ? 1
                          : worth < (double)n_each ? (size_t)worth
                                                   : n_each;

    return (struct side){draws, n_chains, n_each, n_used,
                         2.0 * (double)n_used / worth};
}

/* Whole blocks of every chain, a draw per row, in units of the reference. */
static double *table_of(const struct side *side, size_t block,
                        const struct verdict *v, const struct reference *ref,
                        bool is_ref)
{
    const size_t used = side->n_used / block * block;
    double *out = cli_alloc(side->n_chains * used * v->n_rows, sizeof *out);

    for (size_t j = 0; j < v->n_rows; j++) {
        const struct z_row *row = &v->rows[j];
        const relmc_known *known = &ref->rows[row->known].known;
        const double sd = known->sd > 0.0 ? known->sd
                          : row->sd > 0.0 ? row->sd
                                          : 1.0;
        const double *from = side->draws + (is_ref ? row->known : j) *
                                               side->n_chains * side->n_each;

        for (size_t i = 0; i < side->n_chains * used; i++) {
            const size_t t = i % used * side->n_each / side->n_used;

            out[i * v->n_rows + j] = from[i / used * side->n_each + t] / sd;
        }
    }
    return out;
}

static void find_least_p(struct two *two, const relmc_coordinate_test *tests,
                         size_t n)
{
    two->ks_p = two->ad_p = HUGE_VAL;
    for (size_t j = 0; j < n; j++) {
        if (tests[j].ks_p < two->ks_p) {
            two->ks_p = tests[j].ks_p;
            two->ks_at = j;
        }
        if (tests[j].ad_p < two->ad_p) {
            two->ad_p = tests[j].ad_p;
            two->ad_at = j;
        }
    }
}

/* The length of the blocks that are permuted; 0 if there are too few. */
static size_t block_length(const struct side *x, const struct side *y)
{
    enum { LEAST_BLOCKS = 4 };
    const double wanted = ceil(fmax(fmax(x->n_forgets, y->n_forgets), 1.0));
    const size_t most = x->n_used < y->n_used ? x->n_used : y->n_used;
    const size_t block = wanted < (double)most ? (size_t)wanted : most;

    return block > 0 && x->n_chains * (x->n_used / block) >= LEAST_BLOCKS &&
                   y->n_chains * (y->n_used / block) >= LEAST_BLOCKS
               ? block
               : 0;
}

static void test_two_samples(struct verdict *v, const struct reference *ref)
{
    struct two *two = &v->two;
    const struct side mine =
        side_of(v->draws, v->n_chains, v->n_each, v->n_full, v->least_share);
    const struct side theirs = side_of(ref->draws, ref->n_chains, ref->n_each,
                                       ref->n_full, ref->least_share);
    const size_t block = block_length(&mine, &theirs);

    if (block == 0) {
        two->why_not = cli_text("too few effective draws");
        return;
    }
    double *x = table_of(&mine, block, v, ref, false);
    double *y = table_of(&theirs, block, v, ref, true);
    relmc_coordinate_test *tests = cli_alloc(v->n_rows, sizeof *tests);
    const relmc_two_samples samples = {
        v->n_rows, mine.n_chains * (mine.n_used / block * block),
        theirs.n_chains * (theirs.n_used / block * block), x, y};
    const relmc_two_sample_options options = {
        .size = sizeof options, .seed = 1, .block = block};
    relmc_error err = {0};

    two->n_x = samples.n_x;
    two->n_y = samples.n_y;
    two->block = block;
    two->joint.size = sizeof two->joint;
    two->is_done =
        !relmc_two_sample(&two->joint, tests, &samples, &options, &err);
    if (two->is_done) {
        find_least_p(two, tests, v->n_rows);
    } else {
        two->why_not = cli_text("%s", err.message);
    }
    free(x);
    free(y);
    free(tests);
}

void compare_reference_conclude(struct verdict *v, const struct reference *ref,
                                double max_z)
{
    for (size_t i = 0; i < v->n_rows; i++) {
        if (v->rows[i].worst > v->rows[v->worst].worst) {
            v->worst = i;
        }
        v->has_failed |= !(v->rows[i].worst <= max_z);
    }
    if (v->draws) {
        test_two_samples(v, ref);
    }
}

void compare_reference_clear(struct verdict *v)
{
    for (size_t i = 0; i < v->n_rows; i++) {
        free(v->rows[i].quantile);
        free(v->rows[i].z_quantile);
    }
    free(v->rows);
    free(v->missing);
    free(v->extra);
    free(v->draws);
    free(v->two.why_not);
}
