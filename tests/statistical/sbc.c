/*
 * sbc.c - whole runs with adaptation are calibrated: support/sbc.h on a Poisson
 * regression and a small hierarchy.  Controls show that it finds wrong posteriors.
 *
 *   sbc        few replications
 *   sbc full   many, and every kinetic energy
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "support/sbc.h"

/* ---- Poisson regression ---------------------------------------------------- */

/* y_r ~ Poisson(exp(a_r . x)), x_1 ~ N(1, 0.5^2), x_2, x_3 ~ N(0, 0.5^2) */

enum { N_ROWS = 10 };

static const double prior_mean[3] = {1.0, 0.0, 0.0};
static const double prior_sd = 0.5;

static double covariate(size_t r, size_t i)
{
    const double at = ((double)r - 4.5) / 3.0;

    return i == 0 ? 1.0 : i == 1 ? at : at * at - 0.9;
}

static void poisson_prior(relmc_stream *stream, double *x)
{
    for (size_t i = 0; i < 3; i++) {
        x[i] = prior_mean[i] + prior_sd * relmc_normal(stream);
    }
}

static double rate(const double *x, size_t r)
{
    double z = 0.0;

    for (size_t i = 0; i < 3; i++) {
        z += covariate(r, i) * x[i];
    }
    return exp(z);
}

static void poisson_data(relmc_stream *stream, const double *x, double *data)
{
    for (size_t r = 0; r < N_ROWS; r++) { /* count events in unit time */
        double left = rate(x, r) - relmc_exponential(stream);

        for (data[r] = 0.0; left > 0.0; data[r] += 1.0) {
            left -= relmc_exponential(stream);
        }
    }
}

static int poisson_lp_rows(const double *x, double *grad, double *lp,
                           const double *data, size_t n_rows)
{
    *lp = 0.0;
    for (size_t i = 0; i < 3; i++) {
        const double z = (x[i] - prior_mean[i]) / prior_sd;

        *lp -= 0.5 * z * z;
        grad[i] = -z / prior_sd;
    }
    for (size_t r = 0; r < n_rows; r++) {
        const double mean = rate(x, r);

        *lp += data[r] * log(mean) - mean;
        for (size_t i = 0; i < 3; i++) {
            grad[i] += (data[r] - mean) * covariate(r, i);
        }
    }
    return *lp == *lp ? RELMC_OK : RELMC_REJECT;
}

static int poisson_lp(size_t dim, const double *x, double *grad, double *lp,
                      void *data)
{
    (void)dim;
    return poisson_lp_rows(x, grad, lp, data, N_ROWS);
}

static double poisson_quantity(const double *x, const double *data)
{
    (void)data;
    return exp(x[0]) * sin(x[1] - x[2]);
}

static const sbc_model poisson = {
    .name = "poisson",
    .dim = 3,
    .n_data = N_ROWS,
    .prior = poisson_prior,
    .data = poisson_data,
    .lp = poisson_lp,
    .quantity = poisson_quantity,
};

/* ---- a hierarchy, not centred ---------------------------------------------- */

/* mu ~ N(0, 1), t ~ N(0, 0.5^2), eta_j ~ N(0, 1), y_j ~ N(mu + e^t eta_j,
 * s_j^2); coordinates mu, t, eta */

enum { N_GROUPS = 4 };

static const double group_sd[N_GROUPS] = {0.5, 1.0, 0.7, 1.5};

static void hierarchy_prior(relmc_stream *stream, double *x)
{
    for (size_t i = 0; i < N_GROUPS + 2; i++) {
        x[i] = (i == 1 ? 0.5 : 1.0) * relmc_normal(stream);
    }
}

static void hierarchy_data(relmc_stream *stream, const double *x, double *data)
{
    for (size_t j = 0; j < N_GROUPS; j++) {
        data[j] =
            x[0] + exp(x[1]) * x[j + 2] + group_sd[j] * relmc_normal(stream);
    }
}

static int hierarchy_lp(size_t dim, const double *x, double *grad, double *lp,
                        void *ctx)
{
    const double *data = ctx;
    const double tau = exp(x[1]);

    (void)dim;
    *lp = -0.5 * (x[0] * x[0] + 4.0 * x[1] * x[1]);
    grad[0] = -x[0];
    grad[1] = -4.0 * x[1];
    for (size_t j = 0; j < N_GROUPS; j++) {
        const double eta = x[j + 2], w = 1.0 / group_sd[j];
        const double f = (x[0] + tau * eta - data[j]) * w;

        *lp -= 0.5 * (eta * eta + f * f);
        grad[0] -= f * w;
        grad[1] -= f * w * tau * eta;
        grad[j + 2] = -eta - f * w * tau;
    }
    return *lp == *lp ? RELMC_OK : RELMC_REJECT;
}

/* the largest effect, in units of tau */
static double hierarchy_quantity(const double *x, const double *data)
{
    double most = -HUGE_VAL;

    (void)data;
    for (size_t j = 0; j < N_GROUPS; j++) {
        most = fmax(most, x[0] + exp(x[1]) * x[j + 2]);
    }
    return most;
}

static const sbc_model hierarchy = {
    .name = "hierarchy",
    .dim = N_GROUPS + 2,
    .n_data = N_GROUPS,
    .prior = hierarchy_prior,
    .data = hierarchy_data,
    .lp = hierarchy_lp,
    .quantity = hierarchy_quantity,
};

/* ---- every sampler --------------------------------------------------------- */

/* A line per sampler, with different adaptations. */
static const struct {
    const char *sampler, *adapt;
    uint32_t chains, thin;
    int64_t warmup;
} samplers[] = {
    {"hmc:steps=8", "dual", 1, 4, 200}, /* trajectories of fixed length */
    {"nuts", "stan", 1, 4, 200},        /* trees */
    {"walnuts", "dual", 1, 5, 200},     /* trees of varying steps */
    {"ghmc", "dual", 1, 4, 200},        /* persistent momentum */
    {"auto", "auto", 3, 3, 300},        /* pooled adaptation */
};

static const sbc_model *const models[] = {&poisson, &hierarchy};
static const char *const kinetics[] = {"relativistic:cruise=0.7",
                                       "separable:cruise=0.8", "newtonian"};

enum {
    N_SAMPLERS = sizeof samplers / sizeof *samplers,
    N_MODELS = sizeof models / sizeof *models,
    N_KINETICS = sizeof kinetics / sizeof *kinetics
};

static size_t n_replications = 100, n_kinetics = 1;

static void test_sbc__runs_are_calibrated(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < N_MODELS; m++) {
        for (size_t s = 0; s < N_SAMPLERS; s++) {
            for (size_t k = 0; k < n_kinetics; k++) {
                const sbc_cell c = {.model = models[m],
                                    .sampler = samplers[s].sampler,
                                    .adapt = samplers[s].adapt,
                                    .chains = samplers[s].chains,
                                    .thin = samplers[s].thin,
                                    .warmup = samplers[s].warmup,
                                    .kinetic = kinetics[(k + m) % N_KINETICS],
                                    .n = n_replications,
                                    .seed = 100 * m + 10 * s + k};

                sbc_check(&c);
            }
        }
    }
}

/* ---- controls: wrong posteriors are found ---------------------------------- */

/* The Metropolis step uses a part of the log density only. */
static int poisson_lp_scaled(size_t dim, const double *x, double *grad,
                             double *lp, void *data)
{
    const int status = poisson_lp(dim, x, grad, lp, data);

    *lp *= 0.8;
    return status;
}

static int poisson_lp_prior(size_t dim, const double *x, double *grad,
                            double *lp, void *data)
{
    (void)dim;
    return poisson_lp_rows(x, grad, lp, data, 0);
}

/* everything 1.1 times as wide */
static int hierarchy_lp_wide(size_t dim, const double *x, double *grad,
                             double *lp, void *data)
{
    const double scale = 1.1;
    double y[N_GROUPS + 2] = {0};

    for (size_t i = 0; i < dim; i++) {
        y[i] = x[i] / scale;
    }
    const int status = hierarchy_lp(dim, y, grad, lp, data);
    for (size_t i = 0; i < dim; i++) {
        grad[i] /= scale;
    }
    return status;
}

static void run_broken(sbc_report *r, const sbc_model *m,
                       callback_point *sampled, size_t n)
{
    const sbc_cell c = {.model = m,
                        .sampler = "hmc:steps=8",
                        .thin = 4,
                        .kinetic = kinetics[0],
                        .n = n,
                        .seed = 4,
                        .sampled = sampled};

    sbc_run(r, &c);
}

static void test_control__density_scaled_gradient_right(void **unused)
{
    sbc_report r;

    (void)unused;
    run_broken(&r, &poisson, poisson_lp_scaled, 200);
    assert_true(r.least < 1e-9);
}

static void test_control__wrong_scale(void **unused)
{
    sbc_report r;

    (void)unused;
    run_broken(&r, &hierarchy, hierarchy_lp_wide, 600);
    assert_true(r.least < 1e-9);
}

/* Draws of the prior have uniform ranks in quantities without data. */
static void test_control__seen_by_the_density_alone(void **unused)
{
    sbc_report r;

    (void)unused;
    run_broken(&r, &poisson, poisson_lp_prior, 200);
    for (size_t i = 0; i < poisson.dim; i++) {
        assert_true(r.p[i] > 1e-4);
    }
    assert_true(r.p[poisson.dim] < 1e-9);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sbc__runs_are_calibrated),
        cmocka_unit_test(test_control__density_scaled_gradient_right),
        cmocka_unit_test(test_control__wrong_scale),
        cmocka_unit_test(test_control__seen_by_the_density_alone),
    };

    if (argc > 1 && !strcmp(argv[1], "full")) {
        n_replications = 300;
        n_kinetics = N_KINETICS;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
