/*
 * ess_laws.c - effective sizes, errors of quantiles, nested R-hat and E-BFMI have their
 * closed forms; few, constant and missing draws give NaN, and nonsense is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/spec.h"
#include "component/registry.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "sample.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double unknown = (double)NAN;

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
