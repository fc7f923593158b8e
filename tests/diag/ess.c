/*
 * ess.c - quantiles, small intervals, nested R-hat and E-BFMI against the R package
 * posterior and closed forms; lagged products by Fourier transforms against plain sums.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/spec.h"
#include "component/registry.h"
#include "diag/convergence/series_inline.h"
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

/* ---- laws ---------------------------------------------------------------- */

/* [ar1-ess]  For the mean S (1 - rho) / (1 + rho), and for the squares, whose
 * correlations are rho^2t, S (1 - rho^2) / (1 + rho^2); the sign of rho matters
 * to the first only.  Standard errors from the spread over seeds. */
static void ar1_has_its_closed_form(void **unused)
{
    static const double table[] = {-0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9, 0.99};
    (void)unused;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const double rho = table[i], n = 4.0 * 50000, r2 = rho * rho;
        const sample s = new_ar1(4, 50000, rho, 50);
        const relmc_summary got = summary_of(&s);
        const double mean = n * (1.0 - rho) / (1.0 + rho);
        const double sd = n * (1.0 - r2) / (1.0 + r2);
        const double error = 0.02 + 0.3 * sqrt(1.0 / (1.0 - fabs(rho)) / 400);

        if (rho > -0.65) { /* below, the bound log10 S is near */
            check_zscore(got.ess_mean / mean, 1.0, error, 4.5);
        }
        check_zscore(got.ess_sd / sd, 1.0, error, 4.5);
        /* sd of N(0, 1) draws: Var = 1 / 2 ess */
        check_zscore(got.mcse_sd * sqrt(2.0 * sd), 1.0, error, 4.5);
        check_zscore(got.mad, 1.0, 2.0 / sqrt(sd), 4.5);
        free(s.draws);
    }
}

/* mcse of a quantile: sqrt(p (1 - p) / ess) / density. */
static void quantile_errors_have_their_size(void **unused)
{
    static const double p[] = {0.1, 0.5, 0.8};
    const sample s = new_ar1(4, 50000, 0.5, 60);
    const relmc_series series = series_of(&s);
    relmc_quantile q[3];
    (void)unused;

    assert_int_equal(relmc_quantiles(q, &series, 3, p, NULL), RELMC_OK);
    for (size_t i = 0; i < 3; i++) {
        const double z = rmc_normal_quantile(p[i]);
        const double density = exp(-0.5 * z * z) / sqrt(8.0 * atan(1.0));
        const double want = sqrt(p[i] * (1.0 - p[i]) / q[i].ess) / density;

        check_close(q[i].mcse, want, 0.2); /* two order statistics */
        check_zscore(q[i].value, z, q[i].mcse, 4.5);
    }
    free(s.draws);
}

/* One chain per superchain: 1 + B / W without the terms 1 / n of [rhat]. */
static void nested_rhat_sees_superchains(void **unused)
{
    enum { M = 16, N = 5 };
    const sample s = new_ar1(M, N, 0.0, 70);
    const relmc_series series = series_of(&s);
    relmc_nested_rhat near = RELMC_INIT(relmc_nested_rhat);
    relmc_nested_rhat far = RELMC_INIT(relmc_nested_rhat);
    (void)unused;

    assert_int_equal(relmc_rhat_nested(&near, &series, 4, NULL), RELMC_OK);
    for (size_t i = 0; i < (size_t)4 * N; i++) {
        s.draws[i] += 3.0; /* the first superchain */
    }
    assert_int_equal(relmc_rhat_nested(&far, &series, 4, NULL), RELMC_OK);
    assert_true(near.raw < 1.1 && near.bulk < 1.1 && near.folded < 1.1);
    assert_true(far.raw > 1.2 && far.bulk > 1.2);
    for (size_t i = 0; i < (size_t)M * N; i++) {
        s.draws[i] = exp(s.draws[i]); /* keeps the ranks */
    }
    assert_int_equal(relmc_rhat_nested(&near, &series, 4, NULL), RELMC_OK);
    assert_true(near.bulk == far.bulk && near.raw != far.raw);
    free(s.draws);
}

/* ---- energies ------------------------------------------------------------ */

/* K = beta (sqrt(1 + q^2) - 1) of d dimensions has e = K / beta distributed as
 * y^2 with density y^(d-1) (2 + y^2)^((d-2)/2) (1 + y^2) exp(-beta y^2): moments
 * by the trapezoidal rule in log y. */
static double variance_by_quadrature(double d, double beta)
{
    double sum[3] = {0.0}, centre = 0.0, out = 0.0, top = -HUGE_VAL;
    const double middle = 0.5 * log(d / beta);

    for (int pass = 0; pass < 3; pass++) { /* peak, mean, variance */
        sum[0] = sum[1] = sum[2] = 0.0;
        for (double u = -40.0; u < 8.0; u += 1.0 / 128) {
            const double e = exp(2.0 * (middle + u)), k = beta * e - centre;
            const double log_f =
                d * u + 0.5 * (d - 2.0) * log1p(0.5 * e) + log1p(e) - beta * e;
            const double f = pass ? exp(log_f - top) : 0.0;

            top = pass ? top : fmax(top, log_f);
            sum[0] += f;
            sum[1] += f * k;
            sum[2] += f * k * k;
        }
        out = sum[2] / sum[0];
        centre = pass == 1 ? sum[1] / sum[0] : 0.0;
    }
    return out;
}

static void kinetic_variance_is_right(void **unused)
{
    static const double dims[] = {1, 2, 3, 10, 100};
    static const double betas[] = {1e-6, 0.01, 0.3, 1, 7, 90, 110, 900, 1e5};
    (void)unused;

    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        const size_t d = (size_t)dims[i];

        for (size_t j = 0; j < sizeof betas / sizeof *betas; j++) {
            check_close(relmc_kinetic_variance(d, betas[j]),
                        variance_by_quadrature(dims[i], betas[j]), 1e-8);
        }
        check_close(relmc_kinetic_variance(d, HUGE_VAL), 0.5 * dims[i], 1e-15);
        check_close(relmc_kinetic_variance(d, 1e-9), dims[i], 1e-6);
        check_close(relmc_ebfmi_expected(d, 0.5 * dims[i]), 1.0, 1e-15);
        check_close(relmc_ebfmi_expected(d, dims[i]), 4.0 / 3.0, 1e-15);
    }
    assert_true(isnan(relmc_kinetic_variance(0, 1.0)));
    assert_true(isnan(relmc_kinetic_variance(1, 0.0)));
    assert_true(isnan(relmc_kinetic_variance(1, unknown)));
    assert_true(isnan(relmc_ebfmi_expected(1, 0.0)));
}

/* The kinetic energies that a component draws for dim coordinates. */
static double draw_kinetic(const char *spec, size_t dim, relmc_arena *arena,
                           sample *out)
{
    const relmc_info *info = NULL;
    const relmc_shape shape = {dim, 1, 1};
    double *p = relmc_arena_get(arena, dim * sizeof *p), sum = 0.0;
    relmc_stream stream = {3, 0, 0, RELMC_FOR_MOMENTUM};
    relmc_error err;

    assert_int_equal(
        rmc_component_find(&info, "kinetic", spec, RMC_BASELINE, &err),
        RELMC_OK);
    const relmc_kinetic_ops *ops =
        (const relmc_kinetic_ops *)(const void *)info;
    void *self = relmc_arena_get(arena, ops->state_size);

    assert_int_equal(rmc_spec_parse(spec, info, self, arena, &err), RELMC_OK);
    if (ops->init) {
        assert_int_equal(ops->init(self, arena, dim, &err), RELMC_OK);
    }
    for (size_t t = 0; t < out->n_draws; t++) {
        ops->refresh(self, &shape, &stream, p);
        ops->energy(self, &shape, p, &out->draws[t]);
        sum += out->draws[t];
    }
    return sum / (double)out->n_draws;
}

/* [var-kinetic]  The closed form against what the components draw. */
static void refreshed_momenta_have_that_variance(void **unused)
{
    static const struct {
        const char *spec;
        size_t dim;
        double beta;
        int is_joint;
    } table[] = {{"relativistic:m=1,c=1", 1, 1.0, 1},
                 {"relativistic:m=1,c=0.5", 7, 0.25, 1},
                 {"relativistic:m=2,c=3", 3, 18.0, 1},
                 {"separable:m=1,c=1", 5, 1.0, 0},
                 {"separable:m=4,c=0.1", 2, 0.04, 0},
                 {"newtonian", 4, HUGE_VAL, 1}};
    enum { N = 40000 };
    (void)unused;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        sample s = new_sample(1, N);
        relmc_arena arena = {0};
        const size_t d = table[i].dim;
        const double mean = draw_kinetic(table[i].spec, d, &arena, &s);
        const double want =
            table[i].is_joint
                ? relmc_kinetic_variance(d, table[i].beta)
                : (double)d * relmc_kinetic_variance(1, table[i].beta);
        double second = 0.0, fourth = 0.0;

        for (size_t t = 0; t < N; t++) {
            const double c2 = (s.draws[t] - mean) * (s.draws[t] - mean);

            second += c2 / N;
            fourth += c2 * c2 / N;
        }
        check_zscore(second, want, sqrt((fourth - second * second) / N), 4.5);
        rmc_arena_release(&arena);
        free(s.draws);
    }
}

/* [ebfmi]  U moves slowly, K is new every time: 2 Var K / (Var U + Var K). */
static void ebfmi_is_what_is_expected(void **unused)
{
    enum { M = 3, N = 100000 };
    const double var_k = 0.8, var_u = 0.5, rho = 0.999;
    const sample s = new_sample(M, N), u = new_ar1(M, N, rho, 80);
    const sample k = new_ar1(M, N, 0.0, 81);
    double chain[M], pooled, mean = 0.0;
    (void)unused;

    for (size_t i = 0; i < (size_t)M * N; i++) {
        s.draws[i] = 1e6 + sqrt(var_u) * u.draws[i] + sqrt(var_k) * k.draws[i];
    }
    const relmc_series series = series_of(&s);
    const double steps = 2.0 * var_k + 2.0 * var_u * (1.0 - rho);

    assert_int_equal(relmc_ebfmi(chain, &pooled, &series, NULL), RELMC_OK);
    check_close(relmc_ebfmi_expected(1, var_k), 2.0 * var_k / (var_u + var_k),
                1e-15);
    check_close(pooled, steps / (var_u + var_k), 0.05);
    for (size_t c = 0; c < M; c++) {
        check_close(chain[c], steps / (var_u + var_k), 0.1);
        mean += chain[c] / M;
    }
    check_close(pooled, mean, 0.05);
    for (size_t t = 0; t < N; t++) {
        s.draws[t] += 100.0; /* one chain with other energies */
    }
    assert_int_equal(relmc_ebfmi(chain, &pooled, &series, NULL), RELMC_OK);
    assert_true(pooled < 0.01 && chain[0] > 1.0);
    free(s.draws);
    free(u.draws);
    free(k.draws);
}

/* ---- few or constant draws ------------------------------------------------ */

static void little_is_said_of_little(void **unused)
{
    const double x[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    double y[12] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, local[4], e[1], all;
    const relmc_series same = {x, 1, 12, 1, 12}, one = {y, 1, 1, 1, 1};
    const relmc_series bad = {y, 1, 12, 1, 12};
    const double p = 0.5;
    relmc_quantile q;
    relmc_nested_rhat r = RELMC_INIT(relmc_nested_rhat);
    (void)unused;

    assert_int_equal(relmc_quantiles(&q, &same, 1, &p, NULL), RELMC_OK);
    assert_true(q.value == 1.0 && isnan(q.ess) && isnan(q.mcse));
    assert_int_equal(relmc_quantiles(&q, &one, 1, &p, NULL), RELMC_OK);
    assert_true(q.value == 3.0 && isnan(q.ess) && isnan(q.mcse));
    assert_int_equal(relmc_ebfmi(e, &all, &same, NULL), RELMC_OK);
    assert_true(isnan(e[0]) && isnan(all));
    assert_int_equal(relmc_ebfmi(e, &all, &one, NULL), RELMC_OK);
    assert_true(isnan(e[0]) && isnan(all));
    assert_int_equal(relmc_rhat_nested(&r, &same, 1, NULL), RELMC_OK);
    assert_true(isnan(r.raw) && isnan(r.bulk) && isnan(r.folded));
    y[7] = unknown;
    assert_int_equal(relmc_quantiles(&q, &bad, 1, &p, NULL), RELMC_OK);
    assert_true(isnan(q.value) && isnan(q.ess) && isnan(q.mcse));
    assert_int_equal(relmc_local_ess(local, &bad, 4, NULL), RELMC_OK);
    assert_true(isnan(local[0]) && isnan(local[3]));
    assert_int_equal(relmc_ebfmi(e, &all, &bad, NULL), RELMC_OK);
    assert_true(isnan(e[0]) && isnan(all));
}

static void nonsense_is_refused(void **unused)
{
    const double x[4] = {1, 2, 3, 4}, p[] = {0.5, 1.5}, nan_p = unknown;
    const relmc_series ok = {x, 2, 2, 1, 2}, empty = {NULL, 2, 2, 1, 2};
    relmc_quantile q[2] = {{7, 7, 7}, {7, 7, 7}};
    relmc_nested_rhat r = {sizeof r, 7, 7, 7};
    relmc_error err = {0};
    double out[2] = {7, 7}, all = 7;
    (void)unused;

    assert_int_equal(relmc_quantiles(q, &ok, 2, p, &err), RELMC_EINVAL);
    assert_non_null(strstr(err.message, "1.5"));
    assert_int_equal(relmc_quantiles(q, &ok, 1, &nan_p, NULL), RELMC_EINVAL);
    assert_int_equal(relmc_quantiles(q, &empty, 1, p, NULL), RELMC_EINVAL);
    assert_int_equal(relmc_local_ess(out, &ok, 0, &err), RELMC_EINVAL);
    assert_int_equal(relmc_local_ess(out, &empty, 2, NULL), RELMC_EINVAL);
    assert_int_equal(relmc_local_ess(out, &ok, SIZE_MAX, &err), RELMC_ENOMEM);
    assert_int_equal(relmc_rhat_nested(&r, &ok, 0, &err), RELMC_EINVAL);
    assert_int_equal(relmc_rhat_nested(&r, &ok, 3, &err), RELMC_EINVAL);
    assert_int_equal(relmc_rhat_nested(&r, &empty, 2, NULL), RELMC_EINVAL);
    assert_int_equal(relmc_ebfmi(out, &all, &empty, &err), RELMC_EINVAL);
    assert_true(q[0].value == 7 && r.raw == 7 && out[0] == 7 && all == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_values_are_reproduced),
        cmocka_unit_test(transforms_equal_plain_sums),
        cmocka_unit_test(long_memory_is_summed_right),
        cmocka_unit_test(every_order_is_found),
        cmocka_unit_test(nearest_draws_are_found),
        cmocka_unit_test(ar1_has_its_closed_form),
        cmocka_unit_test(quantile_errors_have_their_size),
        cmocka_unit_test(nested_rhat_sees_superchains),
        cmocka_unit_test(kinetic_variance_is_right),
        cmocka_unit_test(refreshed_momenta_have_that_variance),
        cmocka_unit_test(ebfmi_is_what_is_expected),
        cmocka_unit_test(little_is_said_of_little),
        cmocka_unit_test(nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
