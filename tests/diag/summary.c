/*
 * summary.c - relmc_summarise equals the R package posterior 1.7.1, and R-hat and
 * effective sample sizes have their closed forms and invariances.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "sample.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double unknown = (double)NAN;

/* ---- golden values ------------------------------------------------------- */

static FILE *open_golden(const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/diagnostics/%s", RELMC_GOLDEN_DIR, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        fail_msg("cannot read %s", path);
    }
    return file;
}

/* The quantities by the names that posterior gives them. */
static double pick(const relmc_summary *s, const char *quantity)
{
    const struct {
        const char *name;
        double value;
    } table[] = {
        {"mean", s->mean},         {"sd", s->sd},
        {"median", s->median},     {"quantile_0.05", s->q5},
        {"quantile_0.95", s->q95}, {"mcse_mean", s->mcse_mean},
        {"ess_bulk", s->ess_bulk}, {"ess_tail", s->ess_tail},
        {"rhat", s->rhat},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, quantity) == 0) {
            return table[i].value;
        }
    }
    fail_msg("no quantity %s", quantity);
    return 0.0;
}

static int is_any(const char *name, const char *const *names)
{
    for (; *names; names++) {
        if (strncmp(name, *names, strlen(*names)) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Where relmc differs from posterior on purpose: returns the value that relmc should
 * give, `value` where both agree. */
static double on_purpose(const char *name, const char *quantity, double value)
{
    /* 2 or 3 draws: posterior takes the one-row halves for columns */
    static const char *const too_short_to_split[] = {
        "n02_", "n03_", "m1n02_", "m1n03_", "short_64x2", NULL};
    /* halves of 3 to 5 draws: a sum over an empty range has one term in posterior, and
     * the size is half the number of draws for any draws */
    static const char *const too_short_for_lags[] = {
        "n06_",   "n07_",   "n08_",   "n09_",   "n10_",   "n11_",
        "m1n06_", "m1n07_", "m1n08_", "m1n09_", "m1n10_", NULL};
    static const char *const error_or_size[] = {"mcse", "ess", NULL};
    const int is_size = is_any(quantity, error_or_size);

    if (strcmp(name, "short_64x20") == 0) {
        return value;
    }
    if (is_any(name, too_short_to_split) &&
        (is_size || strcmp(quantity, "rhat") == 0)) {
        return unknown;
    }
    if (is_any(name, too_short_for_lags) && is_size) {
        return unknown;
    }
    /* every chain stands still: posterior divides by rounding errors */
    if (strcmp(name, "const_perchain_4x100") == 0 &&
        strcmp(quantity, "rhat") == 0) {
        return HUGE_VAL;
    }
    /* -1, 1, -1, 1, ...: the same empty range; relmc gives the upper bound */
    if (strcmp(name, "alt_pm1_2x100") == 0 && is_size && isfinite(value)) {
        const double ess = 200.0 * log10(200.0);

        return strcmp(quantity, "mcse_mean") == 0
                   ? sqrt(200.0 / 199.0 / ess) /* the variance is 200/199 */
                   : ess;
    }
    return value;
}

static void golden_values_are_reproduced(void **unused)
{
    char line[256], current[64] = "";
    sample s = {NULL, 0, 0};
    relmc_summary summary = RELMC_INIT(relmc_summary);
    int n_values = 0, n_wrong = 0;
    (void)unused;

    FILE *file = open_golden("expected.csv");
    assert_non_null(fgets(line, sizeof line, file)); /* the header */
    while (fgets(line, sizeof line, file)) {
        char name[64], quantity[64], text[64];

        assert_int_equal(
            sscanf(line, "%63[^,],%63[^,],%63s", name, quantity, text), 3);
        if (strcmp(name, current) != 0) {
            free(s.draws);
            s = read_sample(RELMC_GOLDEN_DIR "/diagnostics", name);
            summary = summary_of(&s);
            snprintf(current, sizeof current, "%s", name);
        }
        const double want = on_purpose(name, quantity, number_of(text));
        const double got = pick(&summary, quantity);
        const double rel = strncmp(name, "offset1e10", 10) ? 1e-10 : 1e-6;

        n_values++;
        if (!agree(got, want, rel)) {
            n_wrong++;
            print_error("%s %s: %.17g, posterior says %.17g\n", name, quantity,
                        got, want);
        }
    }
    fclose(file);
    free(s.draws);
    assert_int_not_equal(n_values, 0);
    assert_int_equal(n_wrong, 0);
}

/* ---- laws ---------------------------------------------------------------- */

/* [ar1-ess]  S (1 - rho) / (1 + rho) draws' worth of AR(1) draws, for the mean
 * and, since ranks of normal draws give the draws back, in bulk.  The standard
 * errors of ess / S are relative and were measured on 200 seeds. */
static void ar1_has_its_closed_form(void **unused)
{
    static const struct {
        double rho, standard_error;
    } table[] = {{-0.6, 0.019}, {-0.3, 0.011}, {0.0, 0.006},
                 {0.3, 0.011},  {0.6, 0.016},  {0.9, 0.033}};
    (void)unused;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const double rho = table[i].rho, error = table[i].standard_error;
        const sample s = new_ar1(4, 50000, rho, 1);
        const relmc_summary got = summary_of(&s);
        const double ess = 200000.0 * (1.0 - rho) / (1.0 + rho);
        const double mcse = 1.0 / sqrt(ess);

        check_zscore(got.ess_bulk / ess, 1.0, error, 4.5);
        check_zscore(got.mcse_mean / mcse, 1.0, 0.6 * error, 4.5);
        check_close(got.rhat, 1.0, 0.002);
        free(s.draws);
    }
}

/* The indicator of a quantile of positively correlated normal draws is less
 * correlated than they are, and gains nothing from antithetic ones. */
static void tails_are_not_the_bulk(void **unused)
{
    const sample slow = new_ar1(4, 20000, 0.9, 2);
    const sample antithetic = new_ar1(4, 20000, -0.9, 3);
    (void)unused;

    assert_true(summary_of(&slow).ess_tail > summary_of(&slow).ess_bulk);
    assert_true(summary_of(&antithetic).ess_bulk > 80000.0);
    assert_true(summary_of(&antithetic).ess_tail < 80000.0);
    free(slow.draws);
    free(antithetic.draws);
}

/* Antithetic draws count at most log10 S times. */
static void antithetic_gain_is_bounded(void **unused)
{
    const sample s = new_ar1(4, 1000, -0.99, 4);
    (void)unused;

    check_close(summary_of(&s).ess_bulk, 4000.0 * log10(4000.0), 1e-14);
    free(s.draws);
}

/* Increasing maps keep the ranks. */
static void ranks_see_order_only(void **unused)
{
    const sample s = new_ar1(3, 501, 0.5, 5);
    const relmc_summary before = summary_of(&s);
    (void)unused;

    for (size_t i = 0; i < s.n_chains * s.n_draws; i++) {
        s.draws[i] = exp(s.draws[i]);
    }
    assert_true(summary_of(&s).ess_bulk == before.ess_bulk);
    assert_true(summary_of(&s).ess_tail == before.ess_tail);
    free(s.draws);
}

/* x -> 7 - 3 x moves location, stretches spread, swaps tails. */
static void affine_maps_carry_over(void **unused)
{
    const sample s = new_ar1(4, 300, 0.5, 6);
    const relmc_summary a = summary_of(&s);
    (void)unused;

    for (size_t i = 0; i < s.n_chains * s.n_draws; i++) {
        s.draws[i] = 7.0 - 3.0 * s.draws[i];
    }
    const relmc_summary b = summary_of(&s);

    check_close(b.mean, 7.0 - 3.0 * a.mean, 1e-12);
    check_close(b.median, 7.0 - 3.0 * a.median, 1e-12);
    check_close(b.q5, 7.0 - 3.0 * a.q95, 1e-12);
    check_close(b.q95, 7.0 - 3.0 * a.q5, 1e-12);
    check_close(b.sd, 3.0 * a.sd, 1e-12);
    check_close(b.mcse_mean, 3.0 * a.mcse_mean, 1e-12);
    check_close(b.ess_bulk, a.ess_bulk, 1e-12);
    free(s.draws);
}

static void a_large_offset_costs_no_digits(void **unused)
{
    const sample s = new_ar1(4, 300, 0.5, 13);
    (void)unused;

    for (size_t i = 0; i < s.n_chains * s.n_draws; i++) {
        s.draws[i] = round(s.draws[i] * 0x1p20) * 0x1p-20;
    }
    const relmc_summary a = summary_of(&s);
    for (size_t i = 0; i < s.n_chains * s.n_draws; i++) {
        s.draws[i] += 0x1p32; /* exact */
    }
    const relmc_summary b = summary_of(&s);

    check_close(b.sd, a.sd, 1e-12);
    check_close(b.mcse_mean, a.mcse_mean, 1e-12);
    free(s.draws);
}

/* A shifted chain raises the R-hat of ranks, a wider one that of folded ranks. */
static void rhat_sees_place_and_width(void **unused)
{
    const sample moved = new_ar1(4, 1000, 0.0, 7);
    const sample wide = new_ar1(4, 1000, 0.0, 8);
    (void)unused;

    for (size_t t = 0; t < 1000; t++) {
        moved.draws[t] += 1.0;
        wide.draws[t] *= 4.0;
    }
    assert_true(summary_of(&moved).rhat > 1.05);
    assert_true(summary_of(&wide).rhat > 1.05);
    free(moved.draws);
    free(wide.draws);
}

static void check_same(const relmc_summary *a, const relmc_summary *b,
                       double rel)
{
    check_close(a->mean, b->mean, rel);
    check_close(a->sd, b->sd, rel);
    check_close(a->median, b->median, rel);
    check_close(a->q5, b->q5, rel);
    check_close(a->q95, b->q95, rel);
    check_close(a->mcse_mean, b->mcse_mean, rel);
    check_close(a->ess_bulk, b->ess_bulk, rel);
    check_close(a->ess_tail, b->ess_tail, rel);
    check_close(a->rhat, b->rhat, rel);
}

static void order_of_chains_does_not_matter(void **unused)
{
    enum { M = 5, N = 203 };
    const sample s = new_ar1(M, N, 0.4, 9), turned = new_sample(M, N);
    (void)unused;

    for (size_t c = 0; c < M; c++) {
        memcpy(turned.draws + c * N, s.draws + (3 * c + 2) % M * N,
               N * sizeof *s.draws);
    }
    const relmc_summary a = summary_of(&s), b = summary_of(&turned);

    check_same(&a, &b, 1e-11);
    free(s.draws);
    free(turned.draws);
}

/* Draw t of chain c is at t*stride + c*chain_stride; the gaps are NaN. */
static void strides_are_followed(void **unused)
{
    enum { M = 3, N = 101, STRIDE = 2 * M };
    const sample s = new_ar1(M, N, 0.4, 10), spread = new_sample(STRIDE, N);
    (void)unused;

    for (size_t i = 0; i < (size_t)STRIDE * N; i++) {
        spread.draws[i] = unknown;
    }
    for (size_t t = 0; t < N; t++) {
        for (size_t c = 0; c < M; c++) {
            spread.draws[t * STRIDE + 2 * c] = s.draws[c * N + t];
        }
    }
    const relmc_series series = {spread.draws, M, N, STRIDE, 2};
    const relmc_summary a = summary_of(&s);
    relmc_summary b = RELMC_INIT(relmc_summary);

    assert_int_equal(relmc_summarise(&b, &series, NULL), RELMC_OK);
    assert_memory_equal(&a, &b, sizeof a);
    free(s.draws);
    free(spread.draws);
}

/* ---- few, constant or infinite draws --------------------------------------- */

static void constant_draws_have_no_diagnostics(void **unused)
{
    const sample s = new_sample(4, 100);
    (void)unused;

    for (size_t i = 0; i < 400; i++) {
        s.draws[i] = 0.1;
    }
    const relmc_summary got = summary_of(&s);

    assert_true(got.mean == 0.1 && got.median == 0.1);
    assert_true(got.q5 == 0.1 && got.q95 == 0.1);
    assert_true(got.sd == 0.0);
    assert_true(isnan(got.rhat) && isnan(got.mcse_mean));
    assert_true(isnan(got.ess_bulk) && isnan(got.ess_tail));
    free(s.draws);
}

/* Folded draws of two chains agree: both are equally far from the median. */
static void chains_that_stand_still_apart_have_infinite_rhat(void **unused)
{
    static const struct {
        size_t n_chains;
        double unit;
    } cases[] = {{2, 0.1}, {2, 0.25}, {3, 0.1}, {4, 0.25}};
    (void)unused;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n_chains = cases[i].n_chains;
        const sample s = new_sample(n_chains, 1001);

        for (size_t c = 0; c < n_chains; c++) {
            for (size_t t = 0; t < 1001; t++) {
                s.draws[c * 1001 + t] = cases[i].unit * (double)(1 + c);
            }
        }
        const relmc_summary got = summary_of(&s);

        assert_true(got.rhat == HUGE_VAL);
        check_close(got.ess_bulk, (double)n_chains, 0.02);
        free(s.draws);
    }
}

static void one_nan_makes_everything_nan(void **unused)
{
    static const size_t places[] = {0, 50, 101, 201}; /* 50: a middle draw */
    (void)unused;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const sample s = new_ar1(2, 101, 0.0, 11);

        s.draws[places[i]] = unknown;
        const relmc_summary got = summary_of(&s);

        assert_true(isnan(got.mean) && isnan(got.sd) && isnan(got.median));
        assert_true(isnan(got.q5) && isnan(got.q95) && isnan(got.mcse_mean));
        assert_true(isnan(got.ess_bulk) && isnan(got.ess_tail));
        assert_true(isnan(got.rhat));
        free(s.draws);
    }
}

/* An infinite draw has no moments but the rank of a draw larger than all others. */
static void infinite_draws_keep_their_rank(void **unused)
{
    const sample s = new_ar1(4, 100, 0.3, 12);
    (void)unused;

    s.draws[0] = 1e100;
    const relmc_summary finite = summary_of(&s);
    s.draws[0] = HUGE_VAL;
    const relmc_summary got = summary_of(&s);

    assert_true(got.mean == HUGE_VAL);
    assert_true(isnan(got.sd) && isnan(got.mcse_mean) && isnan(got.ess_tail));
    assert_true(got.median == finite.median && got.q95 == finite.q95);
    assert_true(got.ess_bulk == finite.ess_bulk && got.rhat == finite.rhat);

    for (size_t i = 0; i < 400; i++) {
        s.draws[i] = i < 300 ? HUGE_VAL : s.draws[i]; /* the median too */
    }
    assert_true(isnan(summary_of(&s).rhat));
    assert_true(summary_of(&s).ess_bulk > 0.0);
    free(s.draws);
}

/* The least draws: 2 in all for sd, 4 per chain for R-hat, 12 for effective sizes. */
static void short_chains_say_what_they_can(void **unused)
{
    (void)unused;

    for (size_t n = 1; n <= 16; n++) {
        for (size_t m = 1; m <= 3; m++) {
            const sample s = new_ar1(m, n, 0.0, 100 * n + m);
            const relmc_summary got = summary_of(&s);

            assert_true(isfinite(got.mean) && isfinite(got.median));
            assert_true(got.q5 <= got.median && got.median <= got.q95);
            assert_int_equal(isfinite(got.sd), n * m >= 2);
            assert_int_equal(isfinite(got.rhat), n >= 4);
            assert_int_equal(isfinite(got.ess_bulk), n >= 12);
            assert_int_equal(isfinite(got.mcse_mean), n >= 12);
            free(s.draws);
        }
    }
}

/* ---- errors -------------------------------------------------------------- */

static void check_refused(relmc_series series, relmc_status status)
{
    relmc_summary out = RELMC_INIT(relmc_summary);
    relmc_error err = {0};

    assert_int_equal(relmc_summarise(&out, &series, &err), status);
    assert_int_equal(err.status, status);
    assert_true(err.message[0] != '\0');
    assert_int_equal(relmc_summarise(&out, &series, NULL), status);
}

static void bad_series_are_refused(void **unused)
{
    static const double x[4] = {1.0, 2.0, 3.0, 4.0};
    (void)unused;

    check_refused((relmc_series){NULL, 2, 2, 1, 2}, RELMC_EINVAL);
    check_refused((relmc_series){x, 0, 2, 1, 2}, RELMC_EINVAL);
    check_refused((relmc_series){x, 2, 0, 1, 2}, RELMC_EINVAL);
    check_refused((relmc_series){x, 2, 2, 0, 2}, RELMC_EINVAL);
    check_refused((relmc_series){x, 2, 2, 1, 0}, RELMC_EINVAL);
    /* 2^61 chains of 8 draws: a product that is 0 in size_t */
    check_refused((relmc_series){x, SIZE_MAX / 8 + 1, 8, 1, 1}, RELMC_ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_values_are_reproduced),
        cmocka_unit_test(ar1_has_its_closed_form),
        cmocka_unit_test(tails_are_not_the_bulk),
        cmocka_unit_test(antithetic_gain_is_bounded),
        cmocka_unit_test(ranks_see_order_only),
        cmocka_unit_test(affine_maps_carry_over),
        cmocka_unit_test(a_large_offset_costs_no_digits),
        cmocka_unit_test(rhat_sees_place_and_width),
        cmocka_unit_test(order_of_chains_does_not_matter),
        cmocka_unit_test(strides_are_followed),
        cmocka_unit_test(constant_draws_have_no_diagnostics),
        cmocka_unit_test(chains_that_stand_still_apart_have_infinite_rhat),
        cmocka_unit_test(one_nan_makes_everything_nan),
        cmocka_unit_test(infinite_draws_keep_their_rank),
        cmocka_unit_test(short_chains_say_what_they_can),
        cmocka_unit_test(bad_series_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
