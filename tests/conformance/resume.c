/*
 * resume.c - a run that is saved and resumed makes the draws of an uninterrupted run,
 * bit for bit: every sampler with every adaptation, cut in warm-up and after it, with
 * other lanes and threads; its sinks and estimates are the same, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "component/registry.h"
#include "conformance/resume.h"
#include "relmc_diag.h"
#include "support/metric.h"

static const char *const adaptations[] = {
    "none",          "dual",          "stan",       "auto",
    "auto:metric=0", "auto:metric=1", "auto:neck=1"};
/* Adaptation auto has sync points at 30, 50, 65, 86, 108 and 130, stan at 44 and
 * 117. */
static const int64_t cuts[] = {0,  1,   30,  31,  43,  44,  64,  65,  66,
                               90, 108, 116, 117, 129, 130, 131, 141, TOTAL};
static const struct {
    uint32_t lanes, threads;
} ways[] = {{1, 1}, {3, 1}, {2, 2}};

enum {
    N_ADAPTATIONS = sizeof adaptations / sizeof *adaptations,
    N_CUTS = sizeof cuts / sizeof *cuts,
    N_WAYS = sizeof ways / sizeof *ways
};

static int is_full; /* all cuts, not only a third of them */

static void check_same(const struct log *a, const struct log *b,
                       const char *what, int64_t cut)
{
    for (size_t k = 0; k < CHAINS; k++) {
        for (size_t t = 0; t < TOTAL; t++) {
            if (memcmp(a->value[k][t], b->value[k][t], sizeof a->value[k][t])) {
                fail_msg("%s, cut at %lld: chain %zu differs from draw %zu on",
                         what, (long long)cut, k + 1, t);
            }
        }
    }
}

/* ---- every sampler, every adaptation, every cut ----------------------------- */

static void check_cut(const relmc_target *target, relmc_options o,
                      const struct log *whole, size_t i, const char *what)
{
    const size_t before = i / 3 % N_WAYS, after = (i / 3 + i % 3) % N_WAYS;
    struct log *log = new_log();

    o.lanes = ways[before].lanes;
    o.threads = ways[before].threads;
    relmc_run *run = open_run(target, &o, log, NULL);
    advance(run, cuts[i]);
    save(run, "cut");
    assert_int_equal(relmc_run_position(run), cuts[i]);
    relmc_run_destroy(run);
    o.lanes = ways[after].lanes;
    o.threads = ways[after].threads;
    run = open_run(target, &o, log, "cut");
    assert_int_equal(relmc_run_position(run), cuts[i]);
    advance(run, TOTAL);
    check_same(whole, log, what, cuts[i]);
    relmc_run_destroy(run);
    free(log);
}

static void check_pair(const relmc_target *target, const char *sampler,
                       const char *adapt, size_t pair)
{
    const relmc_options o = options_of(sampler, adapt);
    struct log *whole = new_log();
    char what[64];
    relmc_run *run = open_run(target, &o, whole, NULL);

    (void)snprintf(what, sizeof what, "%s, %s", sampler, adapt);
    advance(run, TOTAL);
    for (size_t i = is_full ? 0 : pair % 3; i < N_CUTS; i += is_full ? 1 : 3) {
        check_cut(target, o, whole, i, what);
    }
    relmc_run_destroy(run);
    free(whole);
}

static void test_resume__gives_the_same_draws(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3,rho=0.8");
    size_t n_pairs = 0;
    const relmc_info *sampler;

    (void)state;
    for (size_t s = 0; (sampler = rmc_component_info("sampler", s)); s++) {
        for (size_t a = 0; a < N_ADAPTATIONS; a++) {
            const relmc_options o = options_of(sampler->name, adaptations[a]);
            relmc_run *run = NULL;
            const relmc_status status =
                relmc_run_create(&run, target, &o, NULL);

            relmc_run_destroy(run);
            if (status == RELMC_EUNSUPP) {
                continue; /* the sampler has no accept step */
            }
            check_pair(target, sampler->name, adaptations[a], n_pairs + s);
            n_pairs++;
        }
    }
    assert_true(n_pairs >= 36);
    relmc_target_destroy(target);
}

/* [warp] Cuts before, at and after the sync point at which the warp is fitted. */
static void test_resume__keeps_the_warp(void **state)
{
    static const struct {
        const char *model, *does;
    } cells[] = {{"funnel:dim=3", "\"does\": \"stretch\""},
                 {"rosenbrock:dim=3", "\"does\": \"bend\""}};

    (void)state;
    for (size_t c = 0; c < 2; c++) {
        relmc_target *target = target_of(cells[c].model);
        const relmc_options o = options_of("auto", "auto");
        struct log *log = new_log();
        relmc_run *run = open_run(target, &o, log, NULL);

        advance(run, TOTAL);
        assert_non_null(strstr(relmc_run_tuning_json(run), cells[c].does));
        relmc_run_destroy(run);
        free(log);
        for (size_t third = 0; third < (is_full ? 1 : 3); third++) {
            check_pair(target, "auto", "auto", third);
        }
        relmc_target_destroy(target);
    }
}

static int64_t least_done(const relmc_run *run)
{
    int64_t least = INT64_MAX;

    for (size_t k = 0; k < CHAINS; k++) {
        relmc_progress r = {.size = sizeof r};

        check_ok(relmc_run_progress(run, (uint32_t)k, &r, NULL), NULL);
        least = r.done < least ? r.done : least;
    }
    return least;
}

/* A stop by an observer leaves chains at different iterations, or all of them before
 * a sync point if the chain that stops is the last to reach it. */
static void test_resume__goes_on_where_chains_were_stopped(void **state)
{
    static const char *const samplers[] = {"auto", "ghmc", "tempered"};
    static const struct {
        int64_t at;
        uint32_t chain;
    } stops[] = {{-128, 1}, {-66, 1}, {-66, 3}, {-23, 1},
                 {-23, 3},  {-1, 1},  {-1, 3},  {3, 1}};
    relmc_target *target = target_of("rosenbrock:dim=3");

    (void)state;
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
            relmc_options o = options_of(samplers[s], "auto");
            struct log *whole = new_log(), *log = new_log();
            relmc_error err = {0};
            relmc_run *run = open_run(target, &o, whole, NULL);

            advance(run, TOTAL);
            relmc_run_destroy(run);
            log->stop_at = stops[i].at;
            log->stop_chain = stops[i].chain;
            o.lanes = i % 2 ? 3 : 1;
            run = open_run(target, &o, log, NULL);
            assert_int_equal(relmc_run_advance(run, TOTAL, &err),
                             RELMC_STOPPED);
            assert_int_equal(relmc_run_position(run), least_done(run));
            save(run, "stopped");
            relmc_run_destroy(run);
            log->stop_at = INT64_MAX;
            o.lanes = i % 2 ? 2 : 3;
            run = open_run(target, &o, log, "stopped");
            advance(run, TOTAL);
            check_same(whole, log, samplers[s], stops[i].at);
            relmc_run_destroy(run);
            free(whole);
            free(log);
        }
    }
    relmc_target_destroy(target);
}

/* These samplers advance all lanes of an ensemble together.  Chains at different
 * iterations therefore need one lane each. */
static void test_resume__refuses_lanes_for_chains_out_of_step(void **state)
{
    static const char *const samplers[] = {"sghmc", "sgld", "adam"};
    relmc_target *target = target_of("gaussian:dim=3");

    (void)state;
    for (size_t s = 0; s < 3; s++) {
        relmc_options o = options_of(samplers[s], "none");
        struct log *whole = new_log(), *log = new_log();
        relmc_error err = {0};
        relmc_run *run = open_run(target, &o, whole, NULL);

        advance(run, TOTAL);
        relmc_run_destroy(run);
        log->stop_at = -20;
        o.lanes = 1;
        run = open_run(target, &o, log, NULL);
        assert_int_equal(relmc_run_advance(run, TOTAL, &err), RELMC_STOPPED);
        save(run, "apart");
        relmc_run_destroy(run);
        o.lanes = 3;
        assert_int_equal(relmc_run_resume(&run, target, "apart", &o, &err),
                         RELMC_EINVAL);
        assert_non_null(strstr(err.message, "one lane each"));
        o.lanes = 1;
        log->stop_at = INT64_MAX;
        run = open_run(target, &o, log, "apart");
        advance(run, TOTAL);
        check_same(whole, log, samplers[s], -20);
        relmc_run_destroy(run);
        free(whole);
        free(log);
    }
    relmc_target_destroy(target);
}

/* ---- minibatches -------------------------------------------------------------- */

enum { ROWS = 11 };

/* A normal mean; the observation of a row is row * unit * (1, 2, 3). */
static int observe_rows(size_t dim, const double *x, const uint32_t *rows,
                        size_t n, double scale, double *grad, double *lp,
                        void *ctx)
{
    const double unit = ctx ? *(const double *)ctx : 0.1;

    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        grad[i] = -x[i];
        *lp -= 0.5 * x[i] * x[i];
        for (size_t j = 0; j < n; j++) {
            const double e = unit * (double)(rows[j] * (i + 1)) - x[i];

            grad[i] += scale * e;
            *lp -= scale * 0.5 * e * e;
        }
    }
    return 0;
}

/* Saves and resumes twice, each time with other lanes. */
static void check_batches(const relmc_target *target, const char *sampler,
                          int batch, int is_shared, const double *center)
{
    relmc_options o = options_of(sampler, "none");
    struct log *whole = new_log(), *log = new_log();

    o.batch_rows = 4;
    o.batch = batch;
    o.batch_is_shared = is_shared;
    o.center = center;
    o.step_size = 0.001;
    o.lanes = 1;
    relmc_run *run = open_run(target, &o, whole, NULL);
    advance(run, TOTAL);
    relmc_run_destroy(run);
    run = open_run(target, &o, log, NULL);
    advance(run, 41);
    save(run, "batches");
    relmc_run_destroy(run);
    o.lanes = 3;
    run = open_run(target, &o, log, "batches");
    advance(run, 92);
    save(run, "batches");
    relmc_run_destroy(run);
    o.lanes = 2;
    o.threads = 2;
    run = open_run(target, &o, log, "batches");
    advance(run, TOTAL);
    relmc_run_destroy(run);
    check_same(whole, log, sampler, 41);
    free(whole);
    free(log);
}

static void test_resume__goes_on_with_minibatches(void **state)
{
    static const double center[DIM] = {0.4, 0.5, 0.6};
    static const char *const more[] = {
        "sghmc:noise=estimate",  "sghmc:scheme=euler,law=bounded",
        "sghmc:scheme=obabo",    "sghmc:schedule=polynomial",
        "sgnht:thermostat=each", "sghmc:schedule=cosine",
        "santa:scheme=ssa",      "adam:schedule=polynomial"};
    relmc_target *target = NULL;
    const relmc_info *sampler;
    size_t n = 0;

    (void)state;
    check_ok(target_of_rows(&target, DIM, ROWS, observe_rows, NULL, NULL),
             NULL);
    for (size_t s = 0; (sampler = rmc_component_info("sampler", s)); s++) {
        relmc_options o = options_of(sampler->name, "none");
        relmc_run *run = NULL;

        o.batch_rows = 4;
        const relmc_status status = relmc_run_create(&run, target, &o, NULL);
        relmc_run_destroy(run);
        if (!status) {
            check_batches(target, sampler->name, 0, 0, NULL);
            check_batches(target, sampler->name, RELMC_BATCH_REPLACE, 0, NULL);
            check_batches(target, sampler->name, RELMC_BATCH_FRESH, 0, NULL);
            check_batches(target, sampler->name, RELMC_BATCH_AUTO, 1, center);
            n++;
        }
    }
    assert_true(n >= 5);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        check_batches(target, more[i], 0, 0, NULL);
    }
    relmc_target_destroy(target);
}

/* The log density of a state is that of a minibatch and cannot identify the data;
 * relmc compares the log density of all rows. */
static void test_resume__refuses_other_data(void **state)
{
    double unit = 0.1;
    relmc_target *target = NULL;
    relmc_options o = options_of("sghmc", "none");
    relmc_run *run = NULL;
    relmc_error err = {0};

    (void)state;
    check_ok(target_of_rows(&target, DIM, ROWS, observe_rows, &unit, &err),
             &err);
    o.batch_rows = 4;
    o.step_size = 0.001;
    check_ok(relmc_run_create(&run, target, &o, &err), &err);
    advance(run, 10);
    save(run, "data");
    relmc_run_destroy(run);
    for (int is_same = 0; is_same < 2; is_same++) {
        unit = is_same ? 0.1 : 0.1 + 1e-15;
        run = NULL;
        assert_int_equal(relmc_run_resume(&run, target, "data", &o, &err),
                         is_same ? RELMC_OK : RELMC_EINVAL);
        assert_non_null(strstr(err.message, "the model or its data"));
        relmc_run_destroy(run);
    }
    relmc_target_destroy(target);
}

/* The step size depends on the number of iterations that are left. */
static void test_resume__does_not_stretch_a_schedule(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("sghmc:schedule=cosine", "none");
    relmc_run *run = NULL;
    relmc_error err = {0};

    (void)state;
    check_ok(relmc_run_create(&run, target, &o, &err), &err);
    advance(run, 10);
    save(run, "schedule");
    relmc_run_destroy(run);
    o.draws++;
    assert_int_equal(relmc_run_resume(&run, target, "schedule", &o, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "another length"));
    relmc_target_destroy(target);
}

/* ---- results beside the draws ------------------------------------------------ */

static void check_reports(const relmc_run *a, const relmc_run *b)
{
    for (size_t k = 0; k < CHAINS; k++) {
        relmc_progress x = {.size = sizeof x}, y = {.size = sizeof y};

        check_ok(relmc_run_progress(a, (uint32_t)k, &x, NULL), NULL);
        check_ok(relmc_run_progress(b, (uint32_t)k, &y, NULL), NULL);
        assert_int_equal(x.n_grad, y.n_grad);
        assert_int_equal(x.n_grad_sampling, y.n_grad_sampling);
        assert_int_equal(x.n_divergent, y.n_divergent);
        assert_memory_equal(&x.accept_prob, &y.accept_prob, sizeof(double));
        assert_memory_equal(&x.speed, &y.speed, sizeof(double));
        assert_memory_equal(&x.step_size, &y.step_size, sizeof(double));
    }
}

static void check_metrics(const relmc_run *a, const relmc_run *b, size_t dim)
{
    double x[2][400], y[2][400];

    memset(x, 0, sizeof x);
    memset(y, 0, sizeof y);
    assert_string_equal(metric_kind(a, 1, x[0], dim <= 20 ? x[1] : NULL),
                        metric_kind(b, 1, y[0], dim <= 20 ? y[1] : NULL));
    assert_memory_equal(x, y, sizeof x);
    assert_string_equal(relmc_run_tuning_json(a), relmc_run_tuning_json(b));
}

static relmc_run *open_sinks(const relmc_target *target, const relmc_options *o,
                             const char *file)
{
    relmc_options all = *o;
    relmc_run *run = NULL;
    relmc_error err = {0};

    all.keep |= RELMC_KEEP_OUTPUTS | RELMC_KEEP_RUNNING;
    all.keep_points = 4;
    check_ok(open_or_resume(&run, target, &all, file, &err), &err);
    check_ok(relmc_run_write(run, "csv:draws,digits=17", &err), &err);
    return run;
}

static void check_estimates(const relmc_run *a, const relmc_run *b, size_t dim)
{
    static const double level[] = {0.05, 0.5, 0.95};

    for (size_t i = 0; i <= dim; i++) {
        relmc_online x = RELMC_INIT(relmc_online), y = x;
        double p[3], q[3];

        assert_int_equal(relmc_run_online(&x, p, a, i, 3, level, NULL), 0);
        assert_int_equal(relmc_run_online(&y, q, b, i, 3, level, NULL), 0);
        assert_memory_equal(&x, &y, sizeof x);
        assert_memory_equal(p, q, sizeof p);
    }
    for (size_t k = 0; k < CHAINS; k++) {
        size_t n, m;
        const double *x = kept_outputs(a, k, &n);
        const double *y = kept_outputs(b, k, &m);

        assert_int_equal(n, m);
        assert_memory_equal(x, y, n * dim * sizeof *x);
    }
}

static void check_files(const char *a, const char *b)
{
    for (unsigned k = 1; k <= CHAINS; k++) {
        char path[64];
        size_t n, m;

        (void)snprintf(path, sizeof path, "%s/draws_%u.csv", a, k);
        char *x = read_whole(path, &n);
        (void)snprintf(path, sizeof path, "%s/draws_%u.csv", b, k);
        char *y = read_whole(path, &m);
        if (n != m || memcmp(x, y, n) != 0) {
            fail_msg("%s differs", path);
        }
        free(x);
        free(y);
    }
}

static void finish(relmc_run *run)
{
    relmc_error err = {0};

    check_ok(relmc_run_advance(run, INT64_MAX, &err), &err);
    check_ok(relmc_run_finish(run, &err), &err);
}

/* The files hold draws from after the checkpoint, and for odd `more` the end of a
 * finished run; the resumed run overwrites both. */
static void check_outputs(const char *model, size_t dim, int64_t cut,
                          int64_t more, relmc_options o)
{
    relmc_target *target = target_of(model);

    enter("whole");
    o.lanes = 1;
    relmc_run *whole = open_sinks(target, &o, NULL);
    finish(whole);
    leave();
    enter("parts");
    relmc_run *run = open_sinks(target, &o, NULL);
    advance(run, cut);
    save(run, "run.checkpoint");
    advance(run, more);
    if (more % 2) {
        finish(run);
    }
    relmc_run_destroy(run);
    o.lanes = 3;
    run = open_sinks(target, &o, "run.checkpoint");
    finish(run);
    leave();
    check_files("whole", "parts");
    check_estimates(whole, run, dim);
    check_metrics(whole, run, dim);
    check_reports(whole, run);
    relmc_run_destroy(whole);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

/* With this seed the warp of the funnel is fitted at 150 and kept at 260; rosenbrock
 * needs four layers: three are fitted at 30, all at 65. */
static void test_resume__continues_outputs_of_warped_chains(void **state)
{
    static const struct {
        const char *model;
        size_t dim;
        uint32_t chains;
        int64_t warmup, cuts[9];
    } cells[] = {{"funnel:dim=4",
                  4,
                  CHAINS,
                  500,
                  {149, 150, 151, 259, 260, 261, 419, 500, 510}},
                 {"rosenbrock:dim=7,block=2",
                  7,
                  5,
                  WARMUP,
                  {29, 30, 31, 64, 65, 66, 108, 130, 140}}};
    relmc_options o = options_of("auto", "auto");

    (void)state;
    o.draws = 20;
    o.seed = 1;
    for (size_t c = 0; c < 2; c++) {
        o.chains = cells[c].chains;
        o.warmup = cells[c].warmup;
        for (size_t i = is_full ? 0 : c; i < 9; i += is_full ? 1 : 2) {
            check_outputs(cells[c].model, cells[c].dim, cells[c].cuts[i],
                          (int64_t)i, o);
        }
    }
}

static void test_resume__continues_outputs(void **state)
{
    relmc_options o = options_of("auto", "auto");

    (void)state;
    o.draws = 300;
    o.thin = 2;
    check_outputs("gaussian:dim=3,rho=0.8", 3, 60, 10, o);
    check_outputs("gaussian:dim=3,rho=0.8", 3, 130, 1, o);
    check_outputs("funnel:dim=4", 4, 250, 33, o);
    o.keep = RELMC_KEEP_OUTPUTS;
    check_outputs("funnel:dim=4", 4, 429, 0, o);
    o.adapt = "stan";
    check_outputs("funnel:dim=4", 4, 100, 0, o);
    o.sampler = "hmc:steps=2"; /* enough draws to fill batches and levels */
    o.draws = 3000;
    check_outputs("funnel:dim=4", 4, 2111, 5, o);
    o.sampler = "auto";
    o.adapt = "auto:metric=1";
    o.draws = 20;
    check_outputs("gaussian:dim=40,rho=0.9", 40, 100, 7, o);
}

/* A finished run is resumed for more draws; the header of its files gets longer. */
static void test_resume__extends_a_finished_run(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3,rho=0.8");
    relmc_options o = options_of("nuts", "stan");

    (void)state;
    o.keep = RELMC_KEEP_OUTPUTS;
    enter("parts");
    relmc_run *run = open_sinks(target, &o, NULL);
    check_ok(relmc_run_advance(run, INT64_MAX, NULL), NULL);
    save(run, "run.checkpoint");
    check_ok(relmc_run_finish(run, NULL), NULL);
    relmc_run_destroy(run);
    o.draws = 1200;
    for (int again = 0; again < 2;
         again++) { /* the first one does not finish */
        run = open_sinks(target, &o, "run.checkpoint");
        assert_int_equal(n_unsafe_names, 0);
        advance(run, again ? 1200 : 200);
        if (again) {
            check_ok(relmc_run_finish(run, NULL), NULL);
            break;
        }
        relmc_run_destroy(run);
    }
    leave();
    enter("whole");
    relmc_run *whole = open_sinks(target, &o, NULL);
    finish(whole);
    leave();
    check_files("whole", "parts");
    check_estimates(whole, run, 3);
    relmc_run_destroy(whole);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume__gives_the_same_draws),
        cmocka_unit_test(test_resume__keeps_the_warp),
        cmocka_unit_test(test_resume__goes_on_where_chains_were_stopped),
        cmocka_unit_test(test_resume__refuses_lanes_for_chains_out_of_step),
        cmocka_unit_test(test_resume__goes_on_with_minibatches),
        cmocka_unit_test(test_resume__refuses_other_data),
        cmocka_unit_test(test_resume__does_not_stretch_a_schedule),
        cmocka_unit_test(test_resume__continues_outputs),
        cmocka_unit_test(test_resume__continues_outputs_of_warped_chains),
        cmocka_unit_test(test_resume__extends_a_finished_run),
    };

    is_full = argc > 1 && !strcmp(argv[1], "full");
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
