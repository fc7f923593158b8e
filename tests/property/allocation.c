/*
 * allocation.c - each request for memory fails once: the status is ENOMEM, nothing
 * leaks, the output is unchanged; and sampling requests no memory.
 *
 * Linked with --wrap (support/scarce.h), to count requests to the C library, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "component/registry.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "support/callback.h"
#include "support/scarce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an allocator of the caller -------------------------------------------- */

struct purse {
    atomic_long n_requests, n_held;
    long fails_at;
    size_t bytes;
};

static void *acquire(void *ctx, size_t bytes)
{
    struct purse *p = ctx;

    if (p->n_requests++ == p->fails_at) {
        return NULL;
    }
    p->n_held++;
    p->bytes += bytes;
    return __real_aligned_alloc(64, bytes);
}

static void release(void *ctx, void *block, size_t bytes)
{
    struct purse *p = ctx;

    p->n_held--;
    p->bytes -= bytes;
    __real_free(block);
}

/* ---- every request fails once --------------------------------------------- */

/* Its address marks an output; a failed create must leave it there. */
static char mark;

static int is_marked(const void *out)
{
    return out == &mark;
}

static relmc_status open_target(const char *spec, relmc_error *err)
{
    relmc_target *t = (relmc_target *)(void *)&mark;
    const relmc_status status = relmc_target_open(&t, spec, NULL, err);

    if (status) {
        assert_true(is_marked(t));
    } else {
        relmc_target_destroy(t);
    }
    return status;
}

static const char *model_spec;

static relmc_status open_model(relmc_error *err)
{
    return open_target(model_spec, err);
}

static void test_target_open__survives_every_failure(void **unused)
{
    static const char *const specs[] = {
        "gaussian:dim=3,rho=0.5,sd=[1,2,3],mean=[0,1,2]",
        "gaussian:cov=[2,1,1,3]",
        "mixture:mean=[1,2,3],variance=[1,2,3],weight=[1,2,1]",
        "rosenbrock:dim=5",
    };
    const relmc_info *info;

    (void)unused;
    for (size_t i = 0; (info = rmc_component_info("model", i)); i++) {
        model_spec = info->name;
        fail_each(open_model, model_spec);
    }
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        model_spec = specs[i];
        fail_each(open_model, model_spec);
    }
}

static int normal(size_t dim, const double *x, double *grad, double *lp,
                  void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.5 * x[i] * x[i];
        grad[i] = -x[i];
    }
    return RELMC_OK;
}

static int normal_subset(size_t dim, const double *x, const uint32_t *rows,
                         size_t n_rows, double scale, double *grad, double *lp,
                         void *ctx)
{
    (void)rows, (void)n_rows, (void)scale;
    return normal(dim, x, grad, lp, ctx);
}

static int normal_lanes(size_t dim, size_t lanes, size_t ld, const double *x,
                        double *grad, double *lp, void *ctx)
{
    (void)ctx;
    for (size_t k = 0; k < lanes; k++) {
        lp[k] = 0.0;
        for (size_t i = 0; i < dim; i++) {
            grad[i * ld + k] = -x[i * ld + k];
            lp[k] -= 0.5 * x[i * ld + k] * x[i * ld + k];
        }
    }
    return RELMC_OK;
}

static int kind_of_target;

static relmc_status make_target(relmc_error *err)
{
    relmc_target *t = (relmc_target *)(void *)&mark;
    const relmc_status status =
        kind_of_target == 0 ? target_of_point(&t, 3, normal, NULL, err)
        : kind_of_target == 1
            ? target_of_lanes(&t, 3, normal_lanes, NULL, err)
            : target_of_rows(&t, 3, 100, normal_subset, NULL, err);

    if (status) {
        assert_true(is_marked(t));
    } else {
        relmc_target_destroy(t);
    }
    return status;
}

static void test_target_create__survives_every_failure(void **unused)
{
    (void)unused;
    for (kind_of_target = 0; kind_of_target < 3; kind_of_target++) {
        fail_each(make_target, "target_create");
    }
}

/* ---- runs ----------------------------------------------------------------- */

static relmc_target *banana;
static relmc_options options;

static relmc_status make_run(relmc_error *err)
{
    relmc_run *run = (relmc_run *)(void *)&mark;
    const relmc_status status = relmc_run_create(&run, banana, &options, err);

    if (status) {
        assert_true(is_marked(run));
    } else {
        relmc_run_destroy(run);
    }
    return status;
}

/* Together the variants use every part of a run. */
static void set_options(size_t variant)
{
    static const double init[2 * 5] = {0}, variances[] = {1, 2},
                                 dense[] = {1, 0, 0, 1};

    options = (relmc_options)RELMC_INIT(relmc_options);
    options.chains = 5;
    options.lanes = variant == 0 ? 1 : 2;
    options.warmup = 10;
    options.draws = 10;
    options.kinetic = variant == 1   ? "separable:c=[1,2],m=[2,3]"
                      : variant == 2 ? "relativistic:cruise=0.5"
                                     : "newtonian";
    options.init = variant == 1 ? init : NULL;
    options.inv_metric = variant == 1 ? variances : NULL;
    options.inv_metric_dense = variant == 2 ? dense : NULL;
    options.adapt = variant == 2 ? "none" : NULL;
    options.sampler = variant == 2 ? "ghmc:time=1" : NULL;
}

static void test_run_create__survives_every_failure(void **unused)
{
    (void)unused;
    for (size_t variant = 0; variant < 3; variant++) {
        set_options(variant);
        fail_each(make_run, "run_create");
    }
}

static void test_run_create__survives_every_failure_of_a_sampler(void **unused)
{
    const relmc_info *info;

    (void)unused;
    for (size_t i = 0; (info = rmc_component_info("sampler", i)); i++) {
        set_options(0);
        options.sampler = info->name;
        fail_each(make_run, info->name);
    }
}

static void
test_run_create__survives_every_failure_of_a_given_allocator(void **unused)
{
    struct purse purse = {0};

    (void)unused;
    set_options(1);
    options.acquire = acquire;
    options.release = release;
    options.memory_ctx = &purse;
    for (long n = 0;; n++) {
        relmc_error err = {0};
        const long others = n_requests;

        purse = (struct purse){.fails_at = n};
        const relmc_status status = make_run(&err);
        assert_int_equal(purse.n_held, 0);
        assert_int_equal(purse.bytes, 0);
        assert_int_equal(n_requests, others); /* none to the C library */
        if (status == RELMC_OK) {
            assert_true(n > 10);
            break;
        }
        assert_int_equal(status, RELMC_ENOMEM);
    }
}

static void remove_files(void)
{
    char path[64];

    for (int k = 1; k <= 5; k++) {
        (void)snprintf(path, sizeof path, "allocation_%d.csv", k);
        (void)remove(path);
    }
}

/* A run continues without a sink that gets no memory. */
static void test_run_write__survives_every_failure(void **unused)
{
    (void)unused;
    set_options(0);
    for (long n = 0, is_done = 0; !is_done; n++) {
        const long held = n_held;
        relmc_run *run = NULL;
        relmc_error err = {0};

        assert_int_equal(relmc_run_create(&run, banana, &options, NULL),
                         RELMC_OK);
        n_requests = 0;
        fails_ever_after = 0;
        fails_at = n;
        const relmc_status status =
            relmc_run_write(run, "csv:allocation", &err);
        fails_at = -1;
        is_done = n_requests <= n;
        assert_int_equal(status, is_done ? RELMC_OK : RELMC_ENOMEM);
        assert_int_equal(err.status, status);
        FILE *left = fopen("allocation_1.csv", "r");
        assert_int_equal(left != NULL, is_done);
        if (left) {
            assert_int_equal(fclose(left), 0);
        }
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        assert_int_equal(relmc_run_finish(run, NULL), RELMC_OK);
        relmc_run_destroy(run);
        assert_int_equal(n_held, held);
        remove_files();
    }
}

/* ---- gradients (the other diagnostics are in allocation_diag.c) ------------ */

static relmc_status check_gradient(relmc_error *err)
{
    const double x[] = {1.0, 2.0};
    relmc_gradient_report report, before;

    memset(&report, 0x55, sizeof report);
    report.size = sizeof report;
    before = report;
    const relmc_status status = relmc_gradient_check(&report, banana, x, err);
    if (status) {
        assert_memory_equal(&report, &before, sizeof report);
    }
    return status;
}

static void test_gradient_check__survives_every_failure(void **unused)
{
    (void)unused;
    fail_each(check_gradient, "gradient_check");
}

/* ---- while sampling ------------------------------------------------------- */

static void check_no_memory(void)
{
    relmc_run *run = NULL;

    assert_int_equal(relmc_run_create(&run, banana, &options, NULL), RELMC_OK);
    assert_int_equal(relmc_run_write(run, "csv:allocation", NULL), RELMC_OK);
    const long before = n_requests;
    assert_int_equal(relmc_run_advance(run, 7, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    assert_int_equal(relmc_run_finish(run, NULL), RELMC_OK);
    assert_int_equal(n_requests, before);
    relmc_run_destroy(run);
    remove_files();
}

static void test_run_all__takes_no_memory(void **unused)
{
    const relmc_info *info;

    (void)unused;
    for (size_t variant = 0; variant < 3; variant++) {
        set_options(variant);
        options.threads = 1 + (variant == 2);
        check_no_memory();
    }
    for (size_t i = 0; (info = rmc_component_info("sampler", i)); i++) {
        set_options(1);
        options.sampler = info->name;
        check_no_memory();
    }
}

static int open_banana(void **unused)
{
    (void)unused;
    return relmc_target_open(&banana, "banana", NULL, NULL);
}

static int close_banana(void **unused)
{
    (void)unused;
    relmc_target_destroy(banana);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target_open__survives_every_failure),
        cmocka_unit_test(test_target_create__survives_every_failure),
        cmocka_unit_test(test_run_create__survives_every_failure),
        cmocka_unit_test(
            test_run_create__survives_every_failure_of_a_given_allocator),
        cmocka_unit_test(test_run_create__survives_every_failure_of_a_sampler),
        cmocka_unit_test(test_run_write__survives_every_failure),
        cmocka_unit_test(test_gradient_check__survives_every_failure),
        cmocka_unit_test(test_run_all__takes_no_memory),
    };

    return cmocka_run_group_tests(tests, open_banana, close_banana);
}
