/*
 * resume.c - a run that was kept in a file and goes on makes the draws of one that
 * was never interrupted, bit for bit: every sampler with every adaptation, cut in
 * warm-up and after it, with other lanes and threads.  A file that is damaged, or
 * not of this run, is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/archive.h"
#include "component/registry.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "support/callback.h"
#include "support/kept.h"
#include "support/metric.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHAINS = 4, /* enough to find other coordinates at 65 */
    WARMUP = 130,
    DRAWS = 12,
    TOTAL = WARMUP + DRAWS,
    DIM = 3,
    FIELDS = 9 + DIM,
    HEAD = 32 /* bytes before the content of a checkpoint */
};

static char folder[] = "resume-XXXXXX"; /* in the working directory */

static const char *const adaptations[] = {
    "none",          "dual",          "stan",       "auto",
    "auto:metric=0", "auto:metric=1", "auto:neck=1"};
/* 30, 50, 65, 86, 108 and 130 are sync points of adaptation auto, 44 and 117 of
 * stan */
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

/* ---- a file that takes the place of another is on the disk ------------------ */

static struct stat synced; /* the last file that was */
static int n_unsafe_names; /* renamed since their folder was */

/* These two take the place of those of the C library. */
int fsync(int fd)
{
    assert_int_equal(fstat(fd, &synced), 0);
    if (S_ISDIR(synced.st_mode)) {
        n_unsafe_names = 0;
    }
    return fdatasync(fd);
}

int rename(const char *from, const char *to)
{
    struct stat now;

    assert_int_equal(stat(from, &now), 0);
    if (now.st_ino != synced.st_ino || now.st_size != synced.st_size) {
        fail_msg("%s becomes %s and is not on the disk", from, to);
    }
    n_unsafe_names++;
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/* ---- runs whose draws are noted -------------------------------------------- */

struct log {
    double value[CHAINS][TOTAL][FIELDS];
    int64_t stop_at; /* a draw of this chain after which the run shall stop */
    uint32_t stop_chain;
};

static relmc_status note_draw(void *ctx, const relmc_draw *d)
{
    struct log *log = ctx;
    double *v = log->value[d->chain][d->index + WARMUP];
    const double fields[] = {
        d->stats[RELMC_STAT_LP],          d->stats[RELMC_STAT_ENERGY],
        d->stats[RELMC_STAT_ACCEPT_PROB], d->stats[RELMC_STAT_STEP_SIZE],
        d->stats[RELMC_STAT_SPEED],       d->stats[RELMC_STAT_N_STEPS],
        d->stats[RELMC_STAT_N_GRAD],      d->stats[RELMC_STAT_TREE_DEPTH],
        d->stats[RELMC_STAT_DIVERGENT]};

    assert_true(d->index + WARMUP < TOTAL);
    memcpy(v, fields, sizeof fields);
    memcpy(v + 9, d->outputs, DIM * sizeof *v);
    return d->chain == log->stop_chain && d->index == log->stop_at
               ? RELMC_STOPPED
               : RELMC_OK;
}

static void check_ok(relmc_status status, const relmc_error *err)
{
    if (status) {
        fail_msg("%s", err->message);
    }
}

static relmc_target *target_of(const char *model)
{
    relmc_target *target = NULL;
    relmc_error err = {0};

    check_ok(relmc_target_open(&target, model, NULL, &err), &err);
    return target;
}

static relmc_options options_of(const char *sampler, const char *adapt)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    o.sampler = sampler;
    o.adapt = adapt;
    o.chains = CHAINS;
    o.warmup = WARMUP;
    o.draws = DRAWS;
    o.seed = 5;
    o.step_size = 0.1;
    o.clock = no_clock;
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
    return o;
}

/* A fresh run, or one that goes on from the file. */
static relmc_run *open_run(const relmc_target *target, const relmc_options *o,
                           struct log *log, const char *file)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    check_ok(open_or_resume(&run, target, o, file, &err), &err);
    check_ok(relmc_run_observe(run, note_draw, log, &err), &err);
    return run;
}

static void save(relmc_run *run, const char *file)
{
    relmc_error err = {0};

    check_ok(relmc_run_save(run, file, "a note", 7, &err), &err);
}

static void advance(relmc_run *run, int64_t n)
{
    relmc_error err = {0};

    check_ok(relmc_run_advance(run, n, &err), &err);
}

static struct log *new_log(void)
{
    struct log *log = calloc(1, sizeof *log);

    assert_non_null(log);
    log->stop_at = INT64_MAX;
    log->stop_chain = 1;
    return log;
}

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

/* A third of the cuts, or all of them. */
static int is_full;

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
                continue; /* nothing to adapt to */
            }
            check_pair(target, sampler->name, adaptations[a], n_pairs + s);
            n_pairs++;
        }
    }
    assert_true(n_pairs >= 36);
    relmc_target_destroy(target);
}

/* [warp] Cut before, at and after the sync point where other coordinates are found. */
static void test_resume__goes_on_in_other_coordinates(void **state)
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

/* Then chains are at different iterations; or all of them before a sync point, if it
 * was the last one to come there that wished to stop. */
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

/* Lanes that make their steps together cannot be at different ones; a lane of its
 * own for each chain always can. */
static void test_resume__sees_chains_out_of_step(void **state)
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

/* Normal observations row * (1, 2, 3) of a mean. */
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

/* Cut twice; shared minibatches do not mind how many lanes there are. */
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

/* Then the states do not tell what the data are: all the data must. */
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

/* The step size depends on how much is left. */
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

static char *read_whole(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 22);

    if (!file || !text) {
        fail_msg("cannot read %s", path);
    }
    *bytes = fread(text, 1, 1 << 22, file);
    (void)fclose(file);
    return text;
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

static void enter(const char *name)
{
    assert_true(!mkdir(name, 0700) || !access(name, W_OK));
    assert_int_equal(chdir(name), 0);
}

static void leave(void)
{
    assert_int_equal(chdir(".."), 0);
}

static void finish(relmc_run *run)
{
    relmc_error err = {0};

    check_ok(relmc_run_advance(run, INT64_MAX, &err), &err);
    check_ok(relmc_run_finish(run, &err), &err);
}

/* What was written after the checkpoint is there when the run goes on, or even the
 * end of a file that was closed. */
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

/* Those of the funnel are found at 150 and kept at 260; of four layers of the other
 * three are found at 30, with this seed, and all at 65. */
static void test_resume__continues_outputs_in_other_coordinates(void **state)
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
    o.sampler = "hmc:steps=2"; /* so many that batches and levels fill up */
    o.draws = 3000;
    check_outputs("funnel:dim=4", 4, 2111, 5, o);
    o.sampler = "auto";
    o.adapt = "auto:metric=1";
    o.draws = 20;
    check_outputs("gaussian:dim=40,rho=0.9", 40, 100, 7, o);
}

/* A finished run goes on for more draws; the header has another length. */
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
    for (int again = 0; again < 2; again++) { /* the first one is cut short */
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

/* ---- what is refused --------------------------------------------------------- */

static relmc_status load_into(const relmc_target *target, relmc_options o,
                              const char *file, relmc_error *err)
{
    relmc_run *run = NULL;

    const relmc_status status = relmc_run_resume(&run, target, file, &o, err);

    if (status) {
        assert_null(run);
    }
    relmc_run_destroy(run);
    return status;
}

static relmc_options small_options(void)
{
    relmc_options o = options_of("ghmc", "auto");

    o.chains = 1;
    o.warmup = 20;
    o.draws = 4;
    return o;
}

static char *small_checkpoint(const relmc_target *target, size_t *bytes)
{
    const relmc_options o = small_options();
    relmc_run *run = NULL;

    check_ok(relmc_run_create(&run, target, &o, NULL), NULL);
    advance(run, 9);
    save(run, "small");
    relmc_run_destroy(run);
    return read_whole("small", bytes);
}

static void put_byte(int file, size_t at, char byte)
{
    assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
}

/* The note has the same reader and needs no run. */
static void check_damaged(const relmc_target *target, size_t i)
{
    relmc_error err = {0};
    size_t n;

    assert_int_equal(relmc_checkpoint_note("small", NULL, 0, &n, &err),
                     RELMC_EIO);
    if (i % 16 == 0) {
        assert_int_equal(load_into(target, small_options(), "small", &err),
                         RELMC_EIO);
    }
}

static void test_resume__refuses_every_damage(void **state)
{
    relmc_target *target = target_of("gmm1");
    size_t bytes;
    char *text = small_checkpoint(target, &bytes);
    const int file = open("small", O_WRONLY);
    relmc_error err = {0};

    (void)state;
    check_ok(load_into(target, small_options(), "small", &err), &err);
    for (size_t i = 0; i < bytes; i++) {
        put_byte(file, i, (char)(text[i] ^ 1 << i % 8));
        check_damaged(target, i);
        put_byte(file, i, text[i]);
    }
    check_ok(load_into(target, small_options(), "small", &err), &err);
    for (size_t i = bytes; i-- > 0;) {
        assert_int_equal(ftruncate(file, (off_t)i), 0);
        check_damaged(target, i);
    }
    (void)close(file);
    free(text);
    relmc_target_destroy(target);
}

/* Somebody means harm, and the checksum is right: no crash, whatever it says. */
static void test_resume__survives_forgeries(void **state)
{
    static const unsigned char forged[] = {0xff, 0x80, 0x01};
    relmc_target *target = target_of("gmm1");
    const relmc_options o = small_options();
    size_t bytes, n, n_refused = 0;
    char *text = small_checkpoint(target, &bytes);
    const int file = open("small", O_WRONLY);

    (void)state;
    for (size_t i = HEAD; i < bytes; i += is_full ? 1 : 5) {
        const char was = text[i];
        relmc_run *run = NULL;

        text[i] ^= (char)forged[i % 3];
        put_byte(file, i, text[i]);
        struct rmc_hash all = {0};
        rmc_hash_add(&all, text + HEAD, bytes - HEAD);
        rmc_hash_add(&all, text, HEAD - 8);
        const uint64_t hash = rmc_hash_end(&all);
        assert_int_equal(pwrite(file, &hash, 8, 24), 8);
        n_refused +=
            relmc_run_resume(&run, target, "small", &o, NULL) != RELMC_OK;
        (void)relmc_checkpoint_note("small", NULL, 0, &n, NULL);
        relmc_run_destroy(run);
        text[i] = was;
        put_byte(file, i, was);
    }
    assert_true(n_refused > 100);
    (void)close(file);
    free(text);
    relmc_target_destroy(target);
}

static int bowl(size_t dim, const double *x, double *grad, double *lp,
                void *ctx)
{
    const double width = *(const double *)ctx;

    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.5 * x[i] * x[i] / width;
        grad[i] = -x[i] / width;
    }
    return 0;
}

static void check_refused(const relmc_target *target, relmc_options o,
                          const char *why)
{
    relmc_error err = {0};

    assert_int_equal(load_into(target, o, "bowl", &err), RELMC_EINVAL);
    if (!strstr(err.message, why)) {
        fail_msg("'%s' does not say '%s'", err.message, why);
    }
}

static void test_resume__refuses_another_run(void **state)
{
    double width = 2.0;
    const double metric[] = {1.0, 2.0, 3.0}, others[] = {1.0, 2.0, 3.5};
    relmc_target *target = NULL;
    relmc_options o = options_of("nuts", "dual");
    struct log *log = new_log();

    (void)state;
    check_ok(target_of_point(&target, DIM, bowl, &width, NULL), NULL);
    o.inv_metric = metric;
    relmc_run *run = open_run(target, &o, log, NULL);
    advance(run, 50);
    save(run, "bowl");
    relmc_run_destroy(run);
    relmc_options other = o;
    other.seed = 6;
    check_refused(target, other, "\"seed\" was 5, and now it is 6");
    other = o;
    other.sampler = "nuts:max_depth=9";
    check_refused(target, other, "\"sampler\" was");
    other = o;
    other.warmup = 131;
    check_refused(target, other, "\"warmup\" was 130");
    other = o;
    other.chains = 2;
    check_refused(target, other, "\"chains\" was 4");
    other = o;
    other.inv_metric = others;
    check_refused(target, other, "inverse metric");
    width = 2.0 + 1e-15;
    check_refused(target, o, "the model or its data have changed");
    width = 2.0;
    check_ok(load_into(target, o, "bowl", NULL), NULL);
    free(log);
    relmc_target_destroy(target);
}

static void test_resume__refuses_fewer_draws_than_there_are(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("hmc", "none");
    struct log *log = new_log();
    relmc_run *run = open_run(target, &o, log, NULL);

    (void)state;
    advance(run, 138);
    save(run, "bowl");
    relmc_run_destroy(run);
    o.draws = 7;
    check_refused(target, o, "138 iterations");
    o.draws = 8;
    check_ok(load_into(target, o, "bowl", NULL), NULL);
    free(log);
    relmc_target_destroy(target);
}

/* A caller who knows nothing but the file and the target. */
static void check_resumes_alone(const relmc_target *target,
                                const relmc_options *o)
{
    relmc_run *whole = NULL, *cut = NULL, *rest = NULL;
    relmc_draws x = RELMC_INIT(relmc_draws), y = RELMC_INIT(relmc_draws);
    relmc_error err = {0};

    check_ok(relmc_run_create(&whole, target, o, &err), &err);
    advance(whole, TOTAL);
    check_ok(relmc_run_create(&cut, target, o, &err), &err);
    advance(cut, TOTAL / 2);
    save(cut, "alone");
    relmc_run_destroy(cut);
    check_ok(relmc_run_resume(&rest, target, "alone", NULL, &err), &err);
    assert_string_equal(relmc_run_manifest_json(rest),
                        relmc_run_manifest_json(whole));
    advance(rest, TOTAL);
    for (uint32_t k = 0; k < CHAINS; k++) {
        check_ok(relmc_run_draws(whole, k, &x, &err), &err);
        check_ok(relmc_run_draws(rest, k, &y, &err), &err);
        assert_int_equal(x.n, y.n);
        assert_int_equal(x.n_warmup, y.n_warmup);
        assert_memory_equal(x.outputs, y.outputs,
                            x.n * x.n_outputs * sizeof *x.outputs);
    }
    relmc_run_destroy(rest);
    /* what contradicts the file is named */
    relmc_options other = RELMC_INIT(relmc_options);
    other.seed = o->seed + 1;
    assert_int_equal(relmc_run_resume(&rest, target, "alone", &other, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "\"seed\""));
    /* rows that were not kept begin where it goes on */
    other = (relmc_options)RELMC_INIT(relmc_options);
    other.keep = RELMC_KEEP_STATS | RELMC_KEEP_COORDINATES;
    check_ok(relmc_run_resume(&rest, target, "alone", &other, &err), &err);
    check_ok(relmc_run_draws(rest, 0, &y, &err), &err);
    assert_int_equal(y.n, 0);
    advance(rest, TOTAL);
    check_ok(relmc_run_draws(rest, 0, &y, &err), &err);
    assert_int_equal(y.n, TOTAL - TOTAL / 2);
    assert_true(y.stats && y.coordinates && !y.outputs);
    relmc_run_destroy(rest);
    relmc_run_destroy(whole);
}

static void test_resume__takes_its_options_from_the_file(void **state)
{
    static const double metric[] = {1.0, 2.0, 0.5};
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("nuts:max_depth=5", "dual:delta=0.7");

    (void)state;
    o.inv_metric = metric;
    o.init = NULL;
    o.init_radius = 0.5;
    o.first_chain = 7;
    check_resumes_alone(target, &o);
    o = options_of("hmc:steps=3", "none");
    o.kinetic = "newtonian";
    o.init_radius = RELMC_ZERO;
    check_resumes_alone(target, &o);
    relmc_target_destroy(target);
}

static void test_resume__is_not_for_runs_that_have_begun_or_ended(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    const relmc_options o = options_of("hmc", "none");
    struct log *log = new_log();
    relmc_run *run = open_run(target, &o, log, NULL);
    relmc_error err = {0};

    (void)state;
    save(run, "early");
    relmc_run_destroy(run);
    check_ok(relmc_run_resume(&run, target, "early", NULL, &err), &err);
    assert_int_equal(relmc_run_write(run, "csv:none", &err), RELMC_EINVAL);
    assert_non_null(strstr(err.message, "the next sink was none"));
    relmc_run_destroy(run);
    run = open_run(target, &o, log, NULL);
    check_ok(relmc_run_finish(run, &err), &err);
    assert_int_equal(relmc_run_save(run, "late", NULL, 0, &err), RELMC_EINVAL);
    assert_int_not_equal(access("late", F_OK), 0);
    relmc_run_destroy(run);
    free(log);
    relmc_target_destroy(target);
}

/* Requests for memory, of which so many are granted. */
struct budget {
    long left;
};

static void *acquire(void *ctx, size_t bytes)
{
    struct budget *b = ctx;

    return b->left-- > 0 ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
}

static void release(void *ctx, void *block, size_t bytes)
{
    (void)ctx, (void)bytes;
    free(block);
}

static void test_resume__reports_lack_of_memory(void **state)
{
    relmc_target *target = target_of("gmm1");
    struct budget budget = {.left = 1000000};
    relmc_options o = small_options();
    size_t bytes;

    (void)state;
    free(small_checkpoint(target, &bytes));
    o.acquire = acquire;
    o.release = release;
    o.memory_ctx = &budget;
    for (long granted = 0;; granted++) {
        relmc_run *run = NULL;
        relmc_error err = {0};

        budget.left = 1000000;
        budget.left = granted;
        const relmc_status loaded =
            relmc_run_resume(&run, target, "small", &o, &err);
        if (!loaded) {
            budget.left = granted;
            const relmc_status saved =
                relmc_run_save(run, "scarce", NULL, 0, &err);
            assert_true(saved == RELMC_OK || saved == RELMC_ENOMEM);
            assert_true(granted > 0);
            relmc_run_destroy(run);
            if (!saved) {
                break;
            }
            continue;
        }
        assert_int_equal(loaded, RELMC_ENOMEM);
    }
    relmc_target_destroy(target);
}

/* The checksum of pieces is that of the whole. */
static void test_resume__sums_up_pieces(void **state)
{
    enum { N = 61 };
    unsigned char data[N + 3];
    struct rmc_hash whole = {0};

    (void)state;
    for (size_t i = 0; i < N; i++) {
        data[i] = (unsigned char)(i * 37 + 11);
    }
    rmc_hash_add(&whole, data, N);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = i; j < N; j++) {
            struct rmc_hash parts = {0};

            rmc_hash_add(&parts, data, i);
            rmc_hash_add(&parts, data + i, j - i);
            rmc_hash_add(&parts, data + j, N - j);
            assert_true(rmc_hash_end(&parts) == rmc_hash_end(&whole));
        }
    }
    memset(data, 0, sizeof data);
    for (size_t i = 0; i < N; i++) { /* zeros at the end count */
        struct rmc_hash a = {0}, b = {0};

        rmc_hash_add(&a, data, i);
        rmc_hash_add(&b, data, i + 1);
        assert_true(rmc_hash_end(&a) != rmc_hash_end(&b));
    }
}

/* ---- the file ----------------------------------------------------------------- */

static void check_note(const char *path, const char *wanted)
{
    char note[16] = "";
    size_t bytes = 0;
    relmc_error err = {0};

    check_ok(relmc_checkpoint_note(path, note, sizeof note, &bytes, &err),
             &err);
    assert_int_equal(bytes, strlen(wanted) + 1);
    assert_string_equal(note, wanted);
}

static void test_resume__keeps_two_generations(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    const relmc_options o = options_of("hmc", "none");
    struct log *log = new_log();
    relmc_run *run = open_run(target, &o, log, NULL);
    relmc_error err = {0};
    size_t n;

    (void)state;
    check_ok(relmc_run_save(run, "two", "first", 6, &err), &err);
    check_note("two", "first");
    assert_int_not_equal(access("two.1", F_OK), 0);
    check_ok(relmc_run_save(run, "two", "second", 7, &err), &err);
    check_note("two", "second");
    check_note("two.1", "first");
    check_ok(relmc_run_save(run, "two", "third", 6, &err), &err);
    check_note("two.1", "second");
    assert_int_not_equal(access("two.tmp", F_OK), 0);
    assert_int_equal(relmc_run_save(run, "no/such/folder", NULL, 0, &err),
                     RELMC_EIO);
    assert_non_null(strstr(err.message, "no/such/folder"));
    assert_int_equal(relmc_checkpoint_note("none", NULL, 0, &n, &err),
                     RELMC_EIO);
    advance(run, 3); /* the run does not mind */
    relmc_run_destroy(run);
    free(log);
    relmc_target_destroy(target);
}

/* A file that is gone or cut is not written to. */
static void test_resume__needs_the_files_of_the_run(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("hmc", "none");
    relmc_run *run = NULL;
    relmc_error err = {0};
    size_t bytes, left;

    (void)state;
    enter("lost");
    check_ok(relmc_run_create(&run, target, &o, &err), &err);
    check_ok(relmc_run_write(run, "csv:draws", &err), &err);
    advance(run, 40);
    save(run, "run.checkpoint");
    relmc_run_destroy(run);
    char *text = read_whole("draws_2.csv", &bytes);
    assert_int_equal(truncate("draws_2.csv", (off_t)(bytes / 2)), 0);
    check_ok(relmc_run_resume(&run, target, "run.checkpoint", &o, &err), &err);
    assert_int_equal(relmc_run_write(run, "csv:draws", &err), RELMC_EIO);
    assert_non_null(strstr(err.message, "draws_2.csv is too short"));
    relmc_run_destroy(run);
    free(read_whole("draws_2.csv", &left));
    assert_int_equal(left, bytes / 2);
    assert_int_equal(remove("draws_2.csv"), 0);
    check_ok(relmc_run_resume(&run, target, "run.checkpoint", &o, &err), &err);
    assert_int_equal(relmc_run_write(run, "csv:draws", &err), RELMC_EIO);
    assert_non_null(strstr(err.message, "draws_2.csv"));
    relmc_run_destroy(run);
    assert_int_not_equal(access("draws_2.csv", F_OK), 0);
    free(text);
    leave();
    relmc_target_destroy(target);
}

static int n_open_files(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++) {
        n += fcntl(fd, F_GETFD) != -1;
    }
    return n;
}

/* Neither opened nor given another header: `draws` has more digits now. */
static void test_resume__leaves_files_of_the_wrong_sink_alone(void **state)
{
    static const char *const sinks[] = {"raw:rows", "csv:draws", "csv:more"};
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("hmc", "none");
    const int n_before = n_open_files();
    relmc_run *run = NULL;
    relmc_error err = {0};
    size_t bytes, left;

    (void)state;
    enter("order");
    check_ok(relmc_run_create(&run, target, &o, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        check_ok(relmc_run_write(run, sinks[i], &err), &err);
    }
    advance(run, 40);
    save(run, "run.checkpoint");
    relmc_run_destroy(run);
    char *text = read_whole("draws_1.csv", &bytes);
    o.draws = 12000;
    for (size_t i = 1; i < 3; i++) {
        check_ok(relmc_run_resume(&run, target, "run.checkpoint", &o, &err),
                 &err);
        assert_int_equal(relmc_run_write(run, sinks[i], &err), RELMC_EINVAL);
        assert_non_null(strstr(err.message, "the next sink was raw, not"));
        assert_int_equal(relmc_run_advance(run, 1, NULL), RELMC_EINVAL);
        relmc_run_destroy(run);
        assert_int_equal(n_open_files(), n_before);
    }
    char *now = read_whole("draws_1.csv", &left);
    assert_int_equal(left, bytes);
    assert_memory_equal(now, text, bytes);
    free(now);
    free(text);
    leave();
    relmc_target_destroy(target);
}

static int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder) || chdir(folder);
}

static int remove_folder(void **state)
{
    char command[64];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("..") || system(command);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume__keeps_two_generations),
        cmocka_unit_test(test_resume__gives_the_same_draws),
        cmocka_unit_test(test_resume__goes_on_in_other_coordinates),
        cmocka_unit_test(test_resume__goes_on_where_chains_were_stopped),
        cmocka_unit_test(test_resume__sees_chains_out_of_step),
        cmocka_unit_test(test_resume__goes_on_with_minibatches),
        cmocka_unit_test(test_resume__refuses_other_data),
        cmocka_unit_test(test_resume__does_not_stretch_a_schedule),
        cmocka_unit_test(test_resume__continues_outputs),
        cmocka_unit_test(test_resume__continues_outputs_in_other_coordinates),
        cmocka_unit_test(test_resume__extends_a_finished_run),
        cmocka_unit_test(test_resume__reports_lack_of_memory),
        cmocka_unit_test(test_resume__sums_up_pieces),
        cmocka_unit_test(test_resume__refuses_every_damage),
        cmocka_unit_test(test_resume__survives_forgeries),
        cmocka_unit_test(test_resume__refuses_another_run),
        cmocka_unit_test(test_resume__refuses_fewer_draws_than_there_are),
        cmocka_unit_test(test_resume__takes_its_options_from_the_file),
        cmocka_unit_test(test_resume__is_not_for_runs_that_have_begun_or_ended),
        cmocka_unit_test(test_resume__needs_the_files_of_the_run),
        cmocka_unit_test(test_resume__leaves_files_of_the_wrong_sink_alone),
    };

    is_full = argc > 1 && !strcmp(argv[1], "full");
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
