/*
 * ess.c - diagnostics of convergence equal those of the R package posterior; lagged
 * products by Fourier transforms equal plain sums; draws are put in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diag/convergence/series_inline.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "sample.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- golden values ------------------------------------------------------- */

/* Reads the full set of the shared data, if present, else that of the repository. */
typedef struct golden {
    const char *draws, *values;
} golden;

static golden find_golden(void)
{
    static const golden all = {RELMC_SHARED_DATA "/diagnostics/data",
                               RELMC_SHARED_DATA
                               "/diagnostics/posterior_1.7.1.csv"};
    static const golden some = {RELMC_GOLDEN_DIR "/diagnostics",
                                RELMC_GOLDEN_DIR "/diagnostics/family.csv"};
    FILE *file = fopen(all.values, "r");

    if (!file) {
        print_message("no shared data: only the golden values of this "
                      "repository\n");
        return some;
    }
    fclose(file);
    return all;
}

static relmc_quantile quantile_of(const sample *s, double p)
{
    const relmc_series series = series_of(s);
    relmc_quantile out;

    assert_int_equal(relmc_quantiles(&out, &series, 1, &p, NULL), RELMC_OK);
    return out;
}

static double nested_of(const sample *s, const char *which)
{
    const relmc_series series = series_of(s);
    relmc_nested_rhat out = RELMC_INIT(relmc_nested_rhat);
    size_t k = 2; /* "k2" */

    k = strcmp(which, "singletons") ? k : s->n_chains;
    k = strcmp(which, "pairs") ? k : s->n_chains / 2;
    k = strcmp(which, "k8") ? k : s->n_chains / 8; /* of 8 chains each */
    assert_int_equal(relmc_rhat_nested(&out, &series, k, NULL), RELMC_OK);
    return out.raw;
}

static double local_of(const sample *s, size_t i)
{
    const relmc_series series = series_of(s);
    double out[20];

    assert_int_equal(relmc_local_ess(out, &series, 20, NULL), RELMC_OK);
    return out[i];
}

static double ebfmi_of(const sample *s)
{
    const relmc_series series = series_of(s);
    double *chain = calloc(s->n_chains, sizeof *chain), pooled;

    assert_int_equal(relmc_ebfmi(chain, &pooled, &series, NULL), RELMC_OK);
    const double first = chain[0];
    free(chain);
    return first;
}

/* relmc's value of a quantity of posterior; returns 0 for those that relmc lacks. */
static int find_value(const sample *s, const relmc_summary *sum,
                      const char *name, double *out)
{
    const struct {
        const char *name;
        double value;
    } plain[] = {
        {"mean", sum->mean},           {"sd", sum->sd},
        {"median", sum->median},       {"mad", sum->mad},
        {"mcse_mean", sum->mcse_mean}, {"mcse_sd", sum->mcse_sd},
        {"ess_mean", sum->ess_mean},   {"ess_basic_split", sum->ess_mean},
        {"ess_sd", sum->ess_sd},       {"ess_bulk", sum->ess_bulk},
        {"ess_tail", sum->ess_tail},   {"rhat", sum->rhat},
        {"rhat_bulk", sum->rhat_bulk}, {"rhat_folded", sum->rhat_folded},
    };

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strcmp(name, plain[i].name) == 0) {
            *out = plain[i].value;
            return 1;
        }
    }
    if (strcmp(name, "ess_median") == 0) {
        *out = quantile_of(s, 0.5).ess;
    } else if (strcmp(name, "mcse_median") == 0) {
        *out = quantile_of(s, 0.5).mcse;
    } else if (strncmp(name, "quantile_", 9) == 0) {
        *out = quantile_of(s, strtod(name + 9, NULL)).value;
    } else if (strncmp(name, "ess_quantile_", 13) == 0) {
        *out = quantile_of(s, strtod(name + 13, NULL)).ess;
    } else if (strncmp(name, "mcse_quantile_", 14) == 0) {
        *out = quantile_of(s, strtod(name + 14, NULL)).mcse;
    } else if (strncmp(name, "ess_local20_", 12) == 0) {
        *out = local_of(s, strtoul(name + 12, NULL, 10));
    } else if (strncmp(name, "rhat_nested_", 12) == 0) {
        *out = nested_of(s, name + 12);
    } else if (strcmp(name, "bfmi_chain1") == 0) {
        *out = ebfmi_of(s);
    } else {
        return 0;
    }
    return 1;
}

static int starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Where relmc differs from posterior on purpose:
 *   - halves that are too short have no value; below 4 draws posterior transposes
 *     its matrices, below 12 it gives half the number of draws;
 *   - draws that alternate have the largest effective size, not half the draws;
 *   - chains that stand still have an infinite R-hat, not one of rounding errors;
 *   - draws whose squares overflow have an effective size.
 * Values of posterior that are rounding errors are skipped, too. */
static int is_skipped(const sample *s, const char *name, const char *quantity,
                      double got)
{
    const int is_ess = starts_with(quantity, "ess_");
    const int is_mcse = starts_with(quantity, "mcse_");
    const int is_rhat =
        starts_with(quantity, "rhat") && !starts_with(quantity, "rhat_nested");

    if (s->n_draws < 12 && (is_ess || is_mcse)) {
        assert_true(isnan(got));
        return 1;
    }
    if (s->n_draws < 4 && is_rhat) {
        assert_true(isnan(got));
        return 1;
    }
    if (starts_with(name, "alt_pm1") && is_ess && isfinite(got)) {
        check_close(got, 200.0 * log10(200.0), 1e-14);
        return 1;
    }
    if (starts_with(name, "const_perchain") && is_rhat) {
        assert_true(got == HUGE_VAL);
        return 1;
    }
    if (starts_with(name, "huge1e150") && strcmp(quantity, "ess_sd") == 0) {
        assert_true(got > 12.0 && got < 2000.0);
        return 1;
    }
    return starts_with(name, "nearconst2") ||
           (starts_with(name, "alt_pm1") && is_mcse);
}

static void golden_values_are_reproduced(void **unused)
{
    const golden g = find_golden();
    char line[512], current[64] = "";
    sample s = {NULL, 0, 0};
    relmc_summary summary = RELMC_INIT(relmc_summary);
    int n_values = 0, n_wrong = 0;
    (void)unused;

    FILE *file = fopen(g.values, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* the header */
    while (fgets(line, sizeof line, file)) {
        char name[64], quantity[64], text[64];
        double got;

        if (sscanf(line, "%63[^,],%63[^,],%63[^,\n]", name, quantity, text) !=
            3) {
            continue;
        }
        if (strcmp(name, current) != 0) {
            free(s.draws);
            s = read_sample(g.draws, name);
            summary = summary_of(&s);
            snprintf(current, sizeof current, "%s", name);
        }
        if (!find_value(&s, &summary, quantity, &got) ||
            is_skipped(&s, name, quantity, got)) {
            continue;
        }
        const double want = number_of(text);
        /* 1e10 + x: posterior loses digits that relmc keeps */
        const double rel = starts_with(name, "offset1e10") ? 2e-6 : 1e-10;

        n_values++;
        if (!agree(got, want, rel)) {
            n_wrong++;
            print_error("%s %s: %.17g, posterior says %.17g\n", name, quantity,
                        got, want);
        }
    }
    fclose(file);
    free(s.draws);
    print_message("%d values\n", n_values);
    assert_int_not_equal(n_values, 0);
    assert_int_equal(n_wrong, 0);
}

/* ---- sums of lagged products ---------------------------------------------- */

/* For blocks that divide the chains, that do not, and that are longer; for even and odd
 * numbers of chains. */
static void transforms_equal_plain_sums(void **unused)
{
    static const struct {
        size_t n_chains, n, n_lags;
    } table[] = {{2, 7, 7},     {1, 64, 5},    {2, 100, 33},  {3, 1000, 64},
                 {4, 777, 777}, {2, 4096, 16}, {2, 5000, 512}};
    (void)unused;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const size_t m = table[i].n_chains, n = table[i].n;
        const sample s = new_ar1(m, n, 0.7, i);
        double *sum = calloc(n, sizeof *sum), size = 0.0;

        assert_true(rmc_lag_sums(s.draws, m, n, table[i].n_lags, sum));
        for (size_t l = 0; l < table[i].n_lags; l++) {
            double plain = 0.0;

            for (size_t c = 0; c < m; c++) {
                for (size_t t = 0; t + l < n; t++) {
                    plain += s.draws[c * n + t] * s.draws[c * n + t + l];
                }
            }
            size = l ? size : plain;
            check_near(sum[l], plain, 1e-14 * size);
        }
        free(sum);
        free(s.draws);
    }
}

/* [ess] by its definition, from all lags and plain sums. */
static double plain_ess(const double *x, size_t m, size_t n)
{
    double *rho = calloc(n, sizeof *rho), *mean = calloc(m, sizeof *mean);
    double within = 0.0, tau = -1.0, lowest = HUGE_VAL;
    size_t t = 0;

    for (size_t c = 0; c < m; c++) {
        mean[c] = rmc_mean(x + c * n, n);
        within += rmc_variance(x + c * n, n, mean[c]) / (double)m;
    }
    const double between = rmc_variance(mean, m, rmc_mean(mean, m));
    const double total = within * (double)(n - 1) / (double)n + between;
    for (size_t l = 0; l < n; l++) {
        double sum = 0.0;

        for (size_t c = 0; c < m; c++) {
            for (size_t i = 0; i + l < n; i++) {
                sum += (x[c * n + i] - mean[c]) * (x[c * n + i + l] - mean[c]);
            }
        }
        rho[l] = 1.0 - (within - sum / (double)(n * m)) / total;
    }
    rho[0] = 1.0;
    while (t + 5 < n && rho[t] + rho[t + 1] > 0.0) {
        lowest = fmin(lowest, rho[t] + rho[t + 1]);
        tau += 2.0 * lowest;
        t += 2;
    }
    tau += rho[t] > 0.0 || rho[t] + rho[t + 1] >= 0.0 ? rho[t] : 0.0;
    free(rho);
    free(mean);
    return (double)(n * m) / fmax(tau, 1.0 / log10((double)(n * m)));
}

/* Chains in different places need every lag, so that products, bits and transforms of
 * several sizes are used. */
static void long_memory_is_summed_right(void **unused)
{
    enum { M = 2, N = 9000, HALF = N / 2 };
    const sample s = new_ar1(M, N, 0.9, 20), below = new_sample(M, N);
    (void)unused;

    for (size_t t = 0; t < N; t++) {
        s.draws[t] += 1.5;
    }
    const relmc_quantile q = quantile_of(&s, 0.4);

    for (size_t i = 0; i < (size_t)M * N; i++) {
        below.draws[i] = s.draws[i] <= q.value ? 1.0 : 0.0;
    }
    check_close(summary_of(&s).ess_mean, plain_ess(s.draws, 2 * M, HALF),
                1e-11);
    check_close(q.ess, plain_ess(below.draws, 2 * M, HALF), 1e-11);
    free(s.draws);
    free(below.draws);
}

/* ---- order --------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Draws that a key of few bits hardly orders: outliers, clusters, steps, both zeros,
 * infinities. */
static double awkward(size_t kind, double normal, size_t i)
{
    switch (kind) {
    case 0:
        return i ? normal : 1e100;
    case 1:
        return (i % 2 ? 1.0 : -1.0) + 1e-14 * normal;
    case 2:
        return floor(2.0 * normal);
    case 3:
        return i % 3 ? 0.0 : -0.0 * normal;
    case 4:
        return i % 5 ? exp(50.0 * normal) : HUGE_VAL;
    case 5:
        return 1e-310 * normal;
    default:
        return 1.7e308 * (normal > 0.0 ? 1.0 : -1.0) * exp(-normal * normal);
    }
}

static void every_order_is_found(void **unused)
{
    enum { M = 3, N = 1501, KINDS = 7 };
    (void)unused;

    for (size_t kind = 0; kind < KINDS; kind++) {
        const sample s = new_ar1(M, N, 0.0, 30 + kind);

        for (size_t i = 0; i < (size_t)M * N; i++) {
            s.draws[i] = awkward(kind, s.draws[i], i);
        }
        const relmc_series series = series_of(&s);
        rmc_work w;

        assert_int_equal(rmc_work_create(&w, &series, NULL), RELMC_OK);
        assert_true(rmc_order_load(&w.order, &series));
        rmc_order_sort(&w.order);
        qsort(s.draws, (size_t)M * N, sizeof(double), compare_doubles);
        for (size_t i = 0; i < (size_t)M * N; i++) {
            const size_t from = rmc_index_of(&w.order, w.order.label[i]);

            assert_true(w.order.sorted[i] == s.draws[i]);
            assert_true(w.order.x[from] == s.draws[i]);
        }
        assert_int_equal(rmc_work_release(&w, RELMC_OK, NULL), RELMC_OK);
        free(s.draws);
    }
}

static void nearest_draws_are_found(void **unused)
{
    enum { N = 101 };
    const sample s = new_ar1(1, N, 0.0, 40);
    double distance[N];
    (void)unused;

    qsort(s.draws, N, sizeof(double), compare_doubles);
    for (size_t c = 0; c < N; c += 10) {
        const double centre = s.draws[c];

        for (size_t i = 0; i < N; i++) {
            distance[i] = fabs(s.draws[i] - centre);
        }
        qsort(distance, N, sizeof(double), compare_doubles);
        for (size_t k = 0; k < N; k++) {
            assert_true(rmc_nearest_of(s.draws, N, centre, k) == distance[k]);
        }
    }
    free(s.draws);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_values_are_reproduced),
        cmocka_unit_test(transforms_equal_plain_sums),
        cmocka_unit_test(long_memory_is_summed_right),
        cmocka_unit_test(every_order_is_found),
        cmocka_unit_test(nearest_draws_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
