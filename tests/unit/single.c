/*
 * single.c - optimisers and sghmc in single precision: without heat they take the path of
 * double precision up to rounding, with heat they have its distribution, for any lanes,
 * threads, code path and length of a transition; resumed runs give the same bits; RSGD
 * keeps its bound on steps; faults are survived and counted.
 *
 * The target is a logistic regression with a normal prior; its gradient is that of double
 * precision, rounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc_ext.h"
#include "relmc_team.h"
#include "support/check.h"
#include "support/kept.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIM = 300, N_ROWS = 60, CHAINS = 5, SPEC = 200, FIELDS = DIM + 4 };

/* ---- the target -------------------------------------------------------------- */

static double rows[N_ROWS][DIM], labels[N_ROWS];

enum fault { NONE, NAN_GRADIENT, NO_DENSITY };

static enum fault fault;
static _Atomic int n_calls, n_faults;
static double steepness = 1.0; /* factor of lp */
static int is_well;            /* no rows: lp = -|x|^2 / 2 */

static int make_rows(void **state)
{
    relmc_stream stream = {.seed = 7};

    (void)state;
    for (size_t r = 0; r < N_ROWS; r++) {
        for (size_t i = 0; i < DIM; i++) {
            rows[r][i] = relmc_normal(&stream);
        }
        labels[r] = relmc_uniform(&stream) < 0.5 ? 1.0 : -1.0;
    }
    return 0;
}

static double slope_at(const double *x, const relmc_rows *some, double *grad)
{
    double lp = 0.0;

    for (size_t i = 0; i < DIM; i++) {
        grad[i] = -x[i];
        lp -= 0.5 * x[i] * x[i];
    }
    for (size_t n = 0; n < some->n && !is_well; n++) {
        const size_t r = some->row ? some->row[n] : n;
        double eta = 0.0;

        for (size_t i = 0; i < DIM; i++) {
            eta += rows[r][i] * x[i];
        }
        const double missed = 1.0 / (1.0 + exp(labels[r] * eta));
        lp -= some->scale * log1p(exp(-labels[r] * eta));
        for (size_t i = 0; i < DIM; i++) {
            grad[i] += some->scale * labels[r] * missed * rows[r][i];
        }
    }
    for (size_t i = 0; i < DIM; i++) {
        grad[i] *= steepness;
    }
    return steepness * lp;
}

static int on_rows(const void *self, const relmc_shape *s, const double *x,
                   const relmc_rows *some, double *lp, double *grad,
                   relmc_error *err)
{
    double at[DIM], slope[DIM];

    (void)self, (void)err;
    for (size_t k = 0; k < s->lanes; k++) {
        for (size_t i = 0; i < DIM; i++) {
            at[i] = x[i * s->ld + k];
        }
        lp[k] = slope_at(at, some, slope);
        for (size_t i = 0; i < DIM; i++) {
            grad[i * s->ld + k] = slope[i];
        }
    }
    return RELMC_OK;
}

static int on_rows_float(const void *self, const float *x,
                         const relmc_rows *some, double *lp, float *grad,
                         relmc_error *err)
{
    const int is_bad = fault && ++n_calls % 7 == 0;
    double at[DIM], slope[DIM];

    (void)self, (void)err;
    for (size_t i = 0; i < DIM; i++) {
        at[i] = (double)x[i];
    }
    *lp = slope_at(at, some, slope);
    for (size_t i = 0; i < DIM; i++) {
        grad[i] = (float)slope[i];
    }
    n_faults += is_bad;
    if (is_bad && fault == NAN_GRADIENT) {
        grad[3] = NAN;
    }
    return is_bad && fault == NO_DENSITY ? RELMC_REJECT : RELMC_OK;
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    (void)self;
    (void)arena;
    (void)err;
    size->dim = DIM;
    size->n_data = N_ROWS;
    size->is_float = 1;
    return RELMC_OK;
}

static const relmc_param no_params[] = {{0}};

static const relmc_model_ops model = {
    .info = {"model", "rounded", "a regression", no_params},
    .state_size = 1,
    .init = init,
    .rows = on_rows,
    .rows_float = on_rows_float,
};

static relmc_target *open_target(void)
{
    relmc_target *target = NULL;

    assert_int_equal(
        relmc_target_open_ops(&target, &model, "rounded", NULL, NULL),
        RELMC_OK);
    return target;
}

/* ---- runs --------------------------------------------------------------------- */

struct diary {
    size_t n;
    double *value;          /* CHAINS x n x FIELDS */
    atomic_int n_divergent; /* by all threads */
};

static double *entry(const struct diary *d, size_t chain, size_t t)
{
    return d->value + (chain * d->n + t) * FIELDS;
}

static relmc_status note(void *ctx, const relmc_draw *draw)
{
    struct diary *d = ctx;
    double *v = entry(d, draw->chain, (size_t)draw->index);

    memcpy(v, draw->outputs, DIM * sizeof *v);
    v[DIM] = draw->stats[RELMC_STAT_LP];
    v[DIM + 1] = draw->stats[RELMC_STAT_ENERGY];
    v[DIM + 2] = draw->stats[RELMC_STAT_SPEED];
    v[DIM + 3] = draw->stats[RELMC_STAT_DIVERGENT];
    d->n_divergent += (int)draw->stats[RELMC_STAT_DIVERGENT];
    for (size_t i = 0; i < FIELDS; i++) {
        if (!isfinite(v[i])) {
            return RELMC_ETARGET;
        }
    }
    return RELMC_OK;
}

static void open_diary(struct diary *d, size_t n)
{
    *d = (struct diary){.n = n};
    d->value = calloc(CHAINS * n * FIELDS, sizeof(double));
    assert_non_null(d->value);
}

static relmc_options options_of(const char *sampler, const char *kinetic)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    o.sampler = sampler;
    o.kinetic = kinetic;
    o.warmup = RELMC_ZERO;
    o.draws = 60;
    o.chains = CHAINS;
    o.batch_rows = 20;
    o.seed = 9;
    o.init_radius = 0.1;
    return o;
}

/* A new run, or the run that was saved in a file. */
static relmc_run *open_run(const relmc_target *target, const relmc_options *o,
                           struct diary *d, const char *file)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (open_or_resume(&run, target, o, file, &err) ||
        relmc_run_observe(run, note, d, &err)) {
        fail_msg("%s: %s", o->sampler, err.message);
    }
    return run;
}

static void go(struct diary *d, const relmc_target *target,
               const relmc_options *o)
{
    relmc_error err = {0};

    open_diary(d, (size_t)o->draws);
    relmc_run *run = open_run(target, o, d, NULL);
    if (relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s: %s", o->sampler, err.message);
    }
    relmc_run_destroy(run);
}

/* ---- methods -------------------------------------------------------------------- */

/* Vectors of m and c, one value per coordinate. */
static char each[16 * DIM];

static const struct method {
    const char *sampler, *kinetic;
} methods[] = {
    {"momentum:lr=0.02,decay=1e-3", NULL},
    {"nesterov:lr=0.02", NULL},
    {"adam:lr=0.01", NULL},
    {"adamw:lr=0.01,decay=1e-3", NULL},
    {"rmsprop:lr=0.003", NULL},
    {"adagrad:lr=0.01", NULL},
    {"sgd:lr=0.05,momentum=0.9,max_step=0.01,decay=1e-3", "separable"},
    {"sgd:lr=0.05,momentum=0.9,max_step=0.01,law=bounded", "separable"},
    {"sgd:lr=0.02,momentum=0.9", "newtonian"},
    {"sgd:friction=0.1,scale=mean", "separable:m=2,c=0.02"},
    {"sgd:friction=0.1,scale=mean,law=bounded", "newtonian:m=40"},
    {"sgd:friction=0.1,scale=mean", each},
    /* with heat */
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.03,scheme=euler,law=bounded",
     "separable"},
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.03,scheme=euler", "separable"},
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.03,scheme=obabo", "separable"},
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.5,scheme=obabo", each},
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.03,scheme=baoab", "separable"},
};

/* Methods without heat come first.  The last method joins two kicks within a transition,
 * which saves a rounding. */
enum { N_METHODS = sizeof methods / sizeof *methods, N_COLD = N_METHODS - 5 };

static int make_each(void **state)
{
    size_t n = (size_t)snprintf(each, sizeof each, "separable:m=2,c=[");

    for (size_t i = 0; i < DIM; i++) {
        n += (size_t)snprintf(each + n, sizeof each - n, "%s%g", i ? "," : "",
                              0.01 + 1e-4 * (double)i);
    }
    (void)snprintf(each + n, sizeof each - n, "]");
    return make_rows(state);
}

static const char *with(char out[SPEC], const char *sampler, const char *more)
{
    (void)snprintf(out, SPEC, "%s,%s", sampler, more);
    return out;
}

/* ---- both precisions ------------------------------------------------------------ */

/* Each of the 60 steps has rounding errors of 2^-24, and the momentum sums ten steps.  The
 * problem is convex: numbers of size 0.3 differ by 60 x 10 x 6e-8 x 0.3 at most. */
static void test_path__is_that_of_double_precision(void **state)
{
    relmc_target *target = open_target();

    (void)state;
    for (size_t m = 0; m < N_COLD; m++) {
        relmc_options o = options_of(NULL, methods[m].kinetic);
        struct diary one, two;
        char spec[SPEC];
        int is_other = 0;

        o.sampler = with(spec, methods[m].sampler, "schedule=cosine");
        go(&one, target, &o);
        o.sampler =
            with(spec, methods[m].sampler, "schedule=cosine,precision=double");
        go(&two, target, &o);
        for (size_t k = 0; k < CHAINS; k++) {
            for (size_t t = 0; t < one.n; t++) {
                const double *a = entry(&one, k, t), *b = entry(&two, k, t);

                for (size_t i = 0; i < DIM; i++) {
                    check_near(a[i], b[i], 1e-5);
                    assert_true(a[i] == (double)(float)a[i]);
                    is_other |= a[i] != b[i];
                }
                check_close(a[DIM], b[DIM], 1e-4);
                check_close(a[DIM + 1], b[DIM + 1], 1e-4);
                check_near(a[DIM + 2], b[DIM + 2],
                           1e-4 * fabs(b[DIM + 2]) + 1e-6);
            }
        }
        assert_true(is_other);
        assert_int_equal(one.n_divergent, 0);
        free(one.value);
        free(two.value);
    }
    relmc_target_destroy(target);
}

/* ---- the law with heat ------------------------------------------------------- */

/* Means over numbers that are almost independent. */
enum { X2, X4, KINETIC, KINETIC2, SPEED, N_SUMS };

struct sums {
    double mean[N_SUMS], square[N_SUMS];
};

static void add(double n[N_SUMS], struct sums *s, int which, double value)
{
    n[which] += 1.0;
    s->mean[which] += (value - s->mean[which]) / n[which];
    s->square[which] += (value * value - s->square[which]) / n[which];
}

/* Means, and the squares of their errors, from every `stride`-th draw. */
static struct sums law_of(const relmc_target *target, const relmc_options *o,
                          size_t stride, double centre)
{
    enum { FIRST = 8 };
    struct diary d;
    struct sums s = {{0}, {0}};
    double n[N_SUMS] = {0};

    go(&d, target, o);
    assert_int_equal(d.n_divergent, 0);
    for (size_t k = 0; k < CHAINS; k++) {
        for (size_t t = FIRST * stride; t < d.n; t += stride) {
            const double *v = entry(&d, k, t);
            const double energy = (v[DIM + 1] + v[DIM]) / DIM - centre;

            for (size_t i = 0; i < DIM; i++) {
                add(n, &s, X2, v[i] * v[i]);
                add(n, &s, X4, v[i] * v[i] * v[i] * v[i]);
            }
            add(n, &s, KINETIC, energy);
            add(n, &s, KINETIC2, energy * energy);
            add(n, &s, SPEED, v[DIM + 2]);
        }
    }
    for (int w = 0; w < N_SUMS; w++) {
        s.square[w] = (s.square[w] - s.mean[w] * s.mean[w]) / n[w];
    }
    free(d.value);
    return s;
}

/* On a normal target, moments of positions, kinetic energies and speeds equal those of
 * double precision, whose schemes have the same errors.  Long transitions make draws
 * independent. */
static void test_law__is_that_of_double_precision(void **state)
{
    static const struct {
        const char *sampler, *kinetic;
    } laws[] = {
        {"sghmc:steps=30,scheme=baoab", "separable:m=0.5,c=1.5"},
        {"sghmc:steps=30,scheme=baoab,temperature=3", "separable:m=2,c=0.7"},
        {"sghmc:steps=1,scheme=baoab", "separable:m=0.5,c=1.5"},
        {"sghmc:steps=30,scheme=obabo", "separable:m=0.5,c=1.5"},
        {"sghmc:steps=30,scheme=euler", "separable:m=0.5,c=1.5"},
        {"sghmc:steps=30,scheme=euler,law=bounded,temperature=0.5",
         "separable:m=0.5,c=1.5"},
        {"sghmc:steps=30,scheme=baoab,friction=2", each},
    };
    relmc_target *target = open_target();

    (void)state;
    is_well = 1;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        relmc_options o = options_of(NULL, laws[i].kinetic);
        struct sums law[2];
        const size_t stride = strstr(laws[i].sampler, "steps=1,") ? 30 : 1;
        char spec[SPEC];

        o.batch_rows = 0;
        o.draws = 50;
        o.init_radius = 1.7;
        o.draws *= (int64_t)stride;
        o.step_size = laws[i].kinetic == each ? 20.0 : 0.4;
        o.sampler = with(spec, laws[i].sampler, "precision=double");
        law[0] = law_of(target, &o, stride, 0.0);
        const double centre = law[0].mean[KINETIC];
        law[0] = law_of(target, &o, stride, centre);
        o.seed += 1;
        o.sampler = with(spec, laws[i].sampler, "precision=single");
        law[1] = law_of(target, &o, stride, centre);
        for (int w = 0; w < N_SUMS; w++) {
            const double gap = law[1].mean[w] - law[0].mean[w];
            const double sd = sqrt(law[1].square[w] + law[0].square[w]);

            if (!(fabs(gap) < 5.0 * sd)) {
                fail_msg("%s: moment %d is %g, not %g +- %g", spec, w,
                         law[1].mean[w], law[0].mean[w], sd);
            }
        }
    }
    is_well = 0;
    relmc_target_destroy(target);
}

/* ---- bits ------------------------------------------------------------------------ */

static void same(const struct diary *a, const struct diary *b,
                 const struct method *m, const char *what)
{
    if (memcmp(a->value, b->value, CHAINS * a->n * FIELDS * sizeof(double))) {
        fail_msg("%s: %s make a difference", m->sampler, what);
    }
}

static void test_path__does_not_depend_on_lanes(void **state)
{
    relmc_target *target = open_target();

    (void)state;
    for (size_t m = 0; m < N_METHODS; m++) {
        relmc_options o = options_of(methods[m].sampler, methods[m].kinetic);
        struct diary one, other;

        o.draws = 12;
        go(&one, target, &o);
        o.lanes = 5;
        go(&other, target, &o);
        same(&one, &other, &methods[m], "lanes");
        free(other.value);
        o.lanes = 2;
        o.threads = 2;
        o.isa = "baseline";
        go(&other, target, &o);
        same(&one, &other, &methods[m], "lanes, threads and code paths");
        free(other.value);
        free(one.value);
    }
    relmc_target_destroy(target);
}

static void test_transitions__of_many_steps_are_many_of_one(void **state)
{
    relmc_target *target = open_target();

    (void)state;
    for (size_t m = 0; m < N_METHODS - 1; m++) {
        relmc_options o = options_of(NULL, methods[m].kinetic);
        struct diary one, five;
        char spec[SPEC];

        o.sampler = with(spec, methods[m].sampler, "steps=1,schedule=cosine");
        go(&one, target, &o);
        o.sampler = with(spec, methods[m].sampler, "steps=5,schedule=cosine");
        o.draws = 12;
        go(&five, target, &o);
        for (size_t k = 0; k < CHAINS; k++) {
            for (size_t t = 0; t < five.n; t++) {
                assert_memory_equal(entry(&five, k, t),
                                    entry(&one, k, 5 * t + 4),
                                    (DIM + 1) * sizeof(double));
            }
        }
        free(one.value);
        free(five.value);
    }
    relmc_target_destroy(target);
}

/* As in double precision. */
static void test_sghmc__without_heat_is_sgd(void **state)
{
    relmc_target *target = open_target();
    struct diary a, b;
    relmc_options o =
        options_of("sgd:lr=0.05,momentum=0.9,max_step=0.01", "separable");

    (void)state;
    go(&a, target, &o);
    o.sampler = "sghmc:temperature=0,lr=0.05,momentum=0.9,max_step=0.01";
    go(&b, target, &o);
    same(&a, &b, &methods[6], "names");
    free(a.value);
    free(b.value);
    relmc_target_destroy(target);
}

static void test_checkpoints__go_on_bit_for_bit(void **state)
{
    static const char file[] = "single-test.ckpt";
    relmc_target *target = open_target();
    relmc_error err = {0};

    (void)state;
    for (size_t m = 0; m < N_METHODS; m++) {
        relmc_options o = options_of(NULL, methods[m].kinetic);
        struct diary all, parts;
        char spec[SPEC];

        o.sampler = with(spec, methods[m].sampler, "steps=3,schedule=cosine");
        o.draws = 20;
        go(&all, target, &o);
        open_diary(&parts, 20);
        relmc_run *run = open_run(target, &o, &parts, NULL);
        assert_int_equal(relmc_run_advance(run, 8, &err), RELMC_OK);
        assert_int_equal(relmc_run_save(run, file, NULL, 0, &err), RELMC_OK);
        relmc_run_destroy(run);
        o.lanes = 5;
        run = open_run(target, &o, &parts, file);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, &err), RELMC_OK);
        relmc_run_destroy(run);
        same(&all, &parts, &methods[m], "interruptions");
        free(all.value);
        free(parts.value);
    }
    (void)unlink(file);
    (void)unlink("single-test.ckpt.1");
    relmc_target_destroy(target);
}

/* ---- [SGD-rel]: no step is longer than it may be ---------------------------------- */

/* Up to the rounding of x, also where the square of a momentum overflows. */
static void test_steps__have_a_limit(void **state)
{
    static const char *const laws[] = {"linear", "bounded"};
    relmc_target *target = open_target();
    const double most = 0.003;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        relmc_options o = options_of(NULL, "separable");
        struct diary d;
        char spec[SPEC];
        double longest = 0.0;

        steepness = i < 2 ? 1.0 : 1e22;
        (void)snprintf(spec, sizeof spec,
                       "sgd:lr=1,momentum=0.9,max_step=%g,law=%s,"
                       "max_error=1e12,precision=single",
                       most, laws[i % 2]);
        o.sampler = spec;
        o.draws = 40;
        go(&d, target, &o);
        for (size_t t = 1; t < d.n; t++) {
            const double *a = entry(&d, 0, t - 1), *b = entry(&d, 0, t);

            for (size_t j = 0; j < DIM; j++) {
                const double ulp = 0x1p-24 * fmax(fabs(a[j]), fabs(b[j]));

                longest = fmax(longest, fabs(b[j] - a[j]));
                assert_true(fabs(b[j] - a[j]) <= most * (1.0 + 1e-6) + ulp);
            }
        }
        assert_true(longest > 0.99 * most);
        free(d.value);
    }
    steepness = 1.0;
    relmc_target_destroy(target);
}

/* ---- faults ------------------------------------------------------------------------ */

/* A step to zero density fails; a gradient that is NaN fails the next step, or the end of
 * the transition.  In transitions of one step a failure repeats the draw before. */
static void test_faults__are_survived_and_counted(void **state)
{
    relmc_target *target = open_target();

    (void)state;
    for (size_t m = 0; m < N_METHODS; m++) {
        for (int f = NAN_GRADIENT; f <= NO_DENSITY; f++) {
            for (int n = 1; n <= 5; n += 4) {
                relmc_options o = options_of(NULL, methods[m].kinetic);
                struct diary d;
                char spec[SPEC];

                (void)snprintf(spec, sizeof spec, "%s,steps=%d",
                               methods[m].sampler, n);
                o.sampler = spec;
                o.chains = 1;
                fault = (enum fault)f;
                n_calls = n_faults = 0;
                go(&d, target, &o);
                assert_int_equal(n_faults, 60 * n / 7);
                assert_true(d.n_divergent > 0);
                if (n == 1) {
                    assert_int_equal(d.n_divergent, n_faults);
                }
                for (size_t t = 1; t < d.n && n == 1; t++) {
                    const double *v = entry(&d, 0, t);

                    assert_int_equal(
                        v[DIM + 3] != 0.0,
                        !memcmp(v, v - FIELDS, DIM * sizeof(double)));
                }
                free(d.value);
            }
        }
    }
    fault = NONE;
    relmc_target_destroy(target);
}

/* ---- the choice --------------------------------------------------------------------- */

static int says(const relmc_target *target, const char *sampler,
                const char *text)
{
    const relmc_options o = options_of(sampler, "separable");
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (relmc_run_create(&run, target, &o, &err)) {
        fail_msg("%s: %s", sampler, err.message);
    }
    const int has = strstr(relmc_run_manifest_json(run), text) != NULL;
    relmc_run_destroy(run);
    return has;
}

static void refused(const relmc_target *target, const char *sampler,
                    const char *kinetic)
{
    relmc_options o = options_of(sampler, kinetic);
    relmc_run *run = NULL;
    relmc_error err = {0};

    o.batch_rows = relmc_target_n_data(target) ? o.batch_rows : 0;
    assert_int_equal(relmc_run_create(&run, target, &o, &err), RELMC_EUNSUPP);
    assert_non_null(strstr(err.message, "precision=single"));
}

static void test_choice__is_recorded_or_refused(void **state)
{
    relmc_target *target = open_target(), *other = NULL;

    (void)state;
    assert_true(says(target, "sgd:lr=0.1", "\"precision\": \"single\""));
    assert_true(says(target, "adam", "\"precision\": \"single\""));
    assert_true(says(target, "sgd:lr=0.1,precision=double",
                     "\"precision\": \"double\""));
    assert_true(says(target, "sghmc", "\"precision\": \"single\""));
    assert_true(says(target, "sghmc:law=bounded,scheme=baoab",
                     "\"precision\": \"double\""));
    assert_true(
        says(target, "sghmc:noise=estimate", "\"precision\": \"double\""));
    assert_true(
        says(target, "sgd:lr=0.1,scheme=obabo", "\"precision\": \"double\""));
    assert_false(says(target, "santa", "\"precision\": \"single\""));
    refused(target, "sghmc:precision=single", "newtonian");
    refused(target, "sghmc:precision=single,variance=1", "separable");
    refused(target, "sgd:lr=0.1,scheme=obabo,precision=single", "separable");
    refused(target, "sgd:lr=0.1,precision=single", "relativistic");
    assert_int_equal(relmc_target_open(&other, "banana", NULL, NULL), RELMC_OK);
    refused(other, "adam:precision=single", NULL);
    relmc_target_destroy(other);
    assert_int_equal(relmc_target_shard(target, 2, NULL, NULL), RELMC_OK);
    refused(target, "adam:precision=single", NULL);
    relmc_target_destroy(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path__is_that_of_double_precision),
        cmocka_unit_test(test_law__is_that_of_double_precision),
        cmocka_unit_test(test_path__does_not_depend_on_lanes),
        cmocka_unit_test(test_transitions__of_many_steps_are_many_of_one),
        cmocka_unit_test(test_sghmc__without_heat_is_sgd),
        cmocka_unit_test(test_checkpoints__go_on_bit_for_bit),
        cmocka_unit_test(test_steps__have_a_limit),
        cmocka_unit_test(test_faults__are_survived_and_counted),
        cmocka_unit_test(test_choice__is_recorded_or_refused),
    };

    return cmocka_run_group_tests_name("single", tests, make_each, NULL);
}
