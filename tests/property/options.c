/*
 * options.c - no options crash or hang a run, those of older and newer headers are read, and
 * absurd sizes are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "component/registry.h"
#include "property/targets.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "relmc_ext.h"
#include "support/callback.h"
#include "support/check.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an allocator with a limit -------------------------------------------- */

enum { LIMIT = 1 << 26 };

static void *acquire(void *ctx, size_t bytes)
{
    size_t *held = ctx;

    if (bytes > LIMIT || *held + bytes > LIMIT) {
        return NULL;
    }
    *held += bytes;
    return aligned_alloc(64, bytes);
}

static void release(void *ctx, void *block, size_t bytes)
{
    size_t *held = ctx;

    *held -= bytes;
    free(block);
}

/* ---- random options ------------------------------------------------------- */

static double pick(relmc_stream *rng, const double *values, size_t n)
{
    return values[(size_t)(relmc_uniform(rng) * (double)n)];
}

#define PICK(rng, ...)                       \
    pick(rng, (const double[]){__VA_ARGS__}, \
         sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* An invalid value in 3 % of all cases. */
#define SELDOM(rng, usual, odd) (relmc_uniform(rng) < 0.03 ? (odd) : (usual))

/* Within the range of the parameter, at its ends or outside. */
static double random_value(relmc_stream *rng, const relmc_param *p)
{
    const double u = relmc_uniform(rng);
    const double bottom = p->min > 0.0 ? p->min : 1e-3;
    double value = exp(log(bottom) + u * log(fmin(p->max, 1e3) / bottom));

    switch ((int)(relmc_uniform(rng) * 16.0)) {
    case 0:
        value = p->min;
        break;
    case 1:
        value = p->max;
        break;
    case 2:
        value = SELDOM(rng, value,
                       PICK(rng, -1, 1e300, (double)NAN, HUGE_VAL, 1e-300));
        break;
    default:
        break;
    }
    return p->kind == RELMC_INTEGER && u < 0.99 ? floor(value) : value;
}

/* Does this take too long?  A draw may cost a million gradients. */
static int is_long(const relmc_info *info, const relmc_param *p, double value)
{
    return (!strcmp(p->name, "steps") && value > 100) ||
           (!strcmp(p->name, "record") && value > 10) ||
           (!strcmp(p->name, "rounds") && value > 3) ||
           (!strcmp(p->name, "n") && value > 100) || !strcmp(p->name, "time") ||
           (!strcmp(p->name, "classes") && value > 20) ||
           (!strcmp(info->role, "model") && !strcmp(p->name, "dim") &&
            value > 50);
}

/* One of the words of a choice. */
static int add_choice(relmc_stream *rng, const relmc_param *p, char separator,
                      char *out, size_t room)
{
    const char *word = p->choices;

    for (const char *bar;
         (bar = strchr(word, '|')) && relmc_uniform(rng) < 0.5;) {
        word = bar + 1;
    }
    return snprintf(out, room, "%c%s=%.*s", separator, p->name,
                    (int)strcspn(word, "|"), word);
}

/* A component of a role with some of its parameters set at random. */
static const char *random_spec(relmc_stream *rng, const char *role,
                               char out[512])
{
    size_t n = 0;
    int length;

    while (rmc_component_info(role, n)) {
        n++;
    }
    const relmc_info *info =
        rmc_component_info(role, (size_t)(relmc_uniform(rng) * (double)n));
    length = snprintf(out, 512, "%s", info->name);
    for (const relmc_param *p = info->params; p && p->name; p++) {
        double value = random_value(rng, p);
        const int is_tree =
            !strcmp(p->name, "max_depth") || !strcmp(p->name, "levels");

        const char separator = strchr(out, ':') ? ',' : ':';

        if (p->kind == RELMC_CHOICE && relmc_uniform(rng) < 0.98) {
            length += relmc_uniform(rng) < 0.75
                          ? 0
                          : add_choice(rng, p, separator, out + length,
                                       512 - (size_t)length);
            continue;
        }
        value =
            is_tree && value > 4 ? 4 : value; /* the default takes too long */
        if (is_tree ||
            (relmc_uniform(rng) < 0.25 && !is_long(info, p, value))) {
            length += snprintf(out + length, 512 - (size_t)length, "%c%s=%.17g",
                               separator, p->name, value);
        }
    }
    return relmc_uniform(rng) < 0.1 ? NULL : out;
}

static int is_unadjusted(const char *sampler)
{
    const relmc_info *info;
    const size_t n = sampler ? strcspn(sampler, ":") : 0;

    for (size_t i = 0; n && (info = rmc_component_info("sampler", i)); i++) {
        if (strlen(info->name) == n && !strncmp(info->name, sampler, n)) {
            return (((const relmc_sampler_ops *)(const void *)info)->flags &
                    RELMC_UNADJUSTED) != 0;
        }
    }
    return 0;
}

struct luggage {
    char sampler[512], kinetic[512], integrator[512], adapt[512];
    double metric[64], init[64];
};

static relmc_options random_options(relmc_stream *rng, size_t dim,
                                    struct luggage *l)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    const double u = relmc_uniform(rng);

    o.sampler = random_spec(rng, "sampler", l->sampler);
    o.kinetic = random_spec(rng, "kinetic", l->kinetic);
    o.integrator = random_spec(rng, "integrator", l->integrator);
    o.adapt = random_spec(rng, "adapt", l->adapt);
    if (is_unadjusted(o.sampler) && relmc_uniform(rng) < 0.9) {
        o.adapt = NULL; /* this sampler refuses all others */
    }
    o.seed = relmc_bits(rng);
    o.draws = (int64_t)SELDOM(rng, PICK(rng, -1, 5, 5), -2);
    o.warmup = (int64_t)SELDOM(rng, PICK(rng, -1, 1, 2, 10, 10), -3);
    o.chains = (uint32_t)PICK(rng, 1, 2, 3, 7);
    o.first_chain = (uint32_t)PICK(rng, 0, 1, 4294967295.0, 4294967290.0);
    o.lanes = (uint32_t)SELDOM(rng, PICK(rng, 0, 1, 2, 5, 4096), 4097);
    o.threads = (uint32_t)SELDOM(rng, PICK(rng, 0, 1, 2, 16), 5000);
    o.thin = (uint32_t)SELDOM(rng, PICK(rng, 0, 1, 3), 4294967295.0);
    o.keep =
        (int)PICK(rng, RELMC_ZERO, 0, RELMC_KEEP_WARMUP + RELMC_KEEP_STATS);
    o.step_size =
        SELDOM(rng, PICK(rng, 0, 1, 0.1, 1e-300, 1e12, 4.9e-324, 1e6, 0.5),
               PICK(rng, 1e13, -1, (double)NAN, HUGE_VAL));
    o.init_radius = SELDOM(rng, PICK(rng, 0, -1, 1, 1e12, 1e-300, 3),
                           PICK(rng, 2e12, (double)NAN, -5));
    for (size_t i = 0; i < 64; i++) {
        l->metric[i] = SELDOM(rng, PICK(rng, 1, 1, 1, 1e300, 1e-300, 1e-10, 2),
                              PICK(rng, 0, (double)NAN, 1, 1, 1));
        l->init[i] = SELDOM(rng, PICK(rng, 0, 0, 1, -1),
                            PICK(rng, 1e300, (double)NAN, 1e10, -1e100));
    }
    o.inv_metric = u < 0.2 && dim <= 64 ? l->metric : NULL;
    o.inv_metric_dense = u > 0.95 && dim <= 8 ? l->metric : NULL;
    o.init = u > 0.4 && u < 0.6 && dim * o.chains <= 64 ? l->init : NULL;
    return o;
}

static relmc_status is_sane(void *ctx, const relmc_draw *d)
{
    atomic_int *n_wrong = ctx;

    *n_wrong +=
        d->stats[RELMC_STAT_LP] != d->stats[RELMC_STAT_LP] ||
        d->stats[RELMC_STAT_ACCEPT_PROB] < 0.0 ||
        !(d->stats[RELMC_STAT_ACCEPT_PROB] <= 1.0) ||
        (int)d->stats[RELMC_STAT_N_STEPS] < 1 ||
        (int)d->stats[RELMC_STAT_N_GRAD] < (int)d->stats[RELMC_STAT_N_STEPS] ||
        !isfinite(d->outputs[0]);
    return RELMC_OK;
}

static relmc_target *random_target(relmc_stream *rng, char spec[512])
{
    relmc_target *t = NULL;
    relmc_error err = {0};
    const char *given = random_spec(rng, "model", spec);
    const relmc_status status =
        relmc_target_open(&t, given ? given : "banana", NULL, &err);

    assert_true(status == RELMC_OK || (status < 0 && *err.message));
    return t;
}

static void show(const relmc_options *o, const char *model)
{
    print_error("%s %s %s %s %s step=%g radius=%g lanes=%u chains=%u "
                "threads=%u\n",
                model, o->sampler ? o->sampler : "-",
                o->kinetic ? o->kinetic : "-",
                o->integrator ? o->integrator : "-", o->adapt ? o->adapt : "-",
                o->step_size, o->init_radius, o->lanes, o->chains, o->threads);
}

/* A run of five draws with random options; returns whether they were accepted. */
static int try_options(relmc_stream *rng)
{
    char model[512];
    struct luggage luggage;
    relmc_target *t = random_target(rng, model);
    size_t held = 0;
    relmc_run *run = NULL;
    relmc_error err = {0};
    atomic_int n_wrong = 0;

    if (!t) {
        return 0;
    }
    relmc_options o = random_options(rng, relmc_target_dim(t), &luggage);
    o.acquire = acquire;
    o.release = release;
    o.memory_ctx = &held;
    relmc_status status = relmc_run_create(&run, t, &o, &err);
    if (status) {
        assert_null(run);
        assert_true(status < 0 && err.status == status && *err.message);
        assert_null(strchr(err.message, '\n'));
    } else {
        assert_int_equal(relmc_run_observe(run, is_sane, &n_wrong, NULL),
                         RELMC_OK);
        status = relmc_run_advance(run, INT64_MAX, &err);
        if (status || n_wrong) {
            show(&o, model);
            print_error("%d draws are wrong; %s\n", (int)n_wrong, err.message);
            fail();
        }
    }
    const int is_made = run != NULL;
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    assert_int_equal(held, 0);
    return is_made;
}

static void test_options__never_crash_or_hang(void **unused)
{
    enum { TRIES = IS_INSTRUMENTED ? 500 : 1500 };
    relmc_stream rng = {.seed = 2024};
    int n_made = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        n_made += try_options(&rng);
    }
    assert_true(n_made > TRIES / 3);
}

/* ---- options missing, of older and of newer headers ------------------------ */

static void test_options__may_be_null(void **unused)
{
    relmc_run *run = NULL;
    relmc_progress r = {.size = sizeof r};

    (void)unused;
    assert_int_equal(relmc_run_create(&run, banana, NULL, NULL), RELMC_OK);
    assert_int_equal(relmc_run_progress(run, 3, &r, NULL), RELMC_OK);
    assert_int_equal(r.total, 1500);
    assert_int_equal(r.warmup, 500);
    assert_int_equal(relmc_run_progress(run, 4, &r, NULL), RELMC_EINVAL);
    relmc_run_destroy(run);
    relmc_run_destroy(NULL);
    relmc_target_destroy(NULL);
}

/* A program compiled with an older header has a shorter struct, whose missing fields
 * have their defaults; with a newer header it has a longer one. */
static void test_options__may_have_another_size(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;
    relmc_progress r = {.size = sizeof r};
    struct {
        relmc_options o;
        char more[64];
    } longer;

    (void)unused;
    o.draws = 7;
    o.chains = 2;
    o.size = offsetof(relmc_options, chains); /* ends before */
    assert_int_equal(relmc_run_create(&run, banana, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_progress(run, 3, &r, NULL), RELMC_OK);
    assert_int_equal(r.total, 507);
    relmc_run_destroy(run);

    memset(&longer, 0, sizeof longer);
    longer.o.size = sizeof longer;
    longer.o.chains = 2;
    assert_int_equal(relmc_run_create(&run, banana, &longer.o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_progress(run, 2, &r, NULL), RELMC_EINVAL);
    relmc_run_destroy(run);

    static const size_t wrong[] = {0, 1, 7, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        relmc_error err = {0};

        o = (relmc_options)RELMC_INIT(relmc_options);
        o.size = wrong[i];
        run = NULL;
        assert_int_equal(relmc_run_create(&run, banana, &o, &err),
                         RELMC_EINVAL);
        assert_null(run);
        assert_non_null(strstr(err.message, "size"));
    }
}

/* Any struct that begins with its size. */
union sized {
    size_t size;
    relmc_options run;
    relmc_ksd_options ksd;
    relmc_graph_stein_options graph;
    relmc_two_sample_options two;
    relmc_data data;
    unsigned char bytes[512];
};

static const double some[] = {-1.0, 0.5, 2.0, 0.1}, classes[] = {0, 1, 1, 0};
static const relmc_stein_sample some_draws = {4, 1, some, some, NULL};

static relmc_status take_run(const union sized *s, relmc_error *err)
{
    relmc_run *run = NULL;
    const relmc_status status = relmc_run_create(&run, banana, &s->run, err);

    relmc_run_destroy(run);
    return status;
}

static relmc_status take_ksd(const union sized *s, relmc_error *err)
{
    relmc_ksd_report out = RELMC_INIT(relmc_ksd_report);

    return relmc_ksd(&out, &some_draws, &s->ksd, err);
}

static relmc_status take_graph(const union sized *s, relmc_error *err)
{
    relmc_graph_stein_report out = RELMC_INIT(relmc_graph_stein_report);

    return relmc_graph_stein_line(&out, &some_draws, &s->graph, err);
}

static relmc_status take_two(const union sized *s, relmc_error *err)
{
    const relmc_two_samples samples = {1, 4, 4, some, some};
    relmc_two_sample_report out = RELMC_INIT(relmc_two_sample_report);

    return relmc_two_sample(&out, NULL, &samples, &s->two, err);
}

static relmc_status take_data(const union sized *s, relmc_error *err)
{
    relmc_target *t = NULL;
    const relmc_status status =
        relmc_target_open(&t, "logistic", &s->data, err);

    relmc_target_destroy(t);
    return status;
}

static relmc_status take_rows(const union sized *s, relmc_error *err)
{
    const relmc_data usual = {sizeof usual, 4, 1, some, NULL, classes, 2};
    relmc_target *t = NULL;
    double out[8];

    assert_int_equal(relmc_target_open(&t, "logistic", &usual, err), 0);
    const relmc_status status =
        relmc_target_predict(t, some, &s->data, out, err);
    relmc_target_destroy(t);
    return status;
}

/* A size that was not set and a field of a newer library are errors. */
static void test_sized__structs_are_read_whole_or_refused(void **unused)
{
    static const struct {
        relmc_status (*take)(const union sized *, relmc_error *);
        const char *type;
        size_t usual, least;
    } kinds[] = {
        {take_run, "relmc_options", sizeof(relmc_options), sizeof(size_t)},
        {take_ksd, "relmc_ksd_options", sizeof(relmc_ksd_options),
         sizeof(size_t)},
        {take_graph, "relmc_graph_stein_options",
         sizeof(relmc_graph_stein_options), sizeof(size_t)},
        {take_two, "relmc_two_sample_options", sizeof(relmc_two_sample_options),
         sizeof(size_t)},
        {take_data, "relmc_data", sizeof(relmc_data), sizeof(relmc_data)},
        {take_rows, "relmc_data", sizeof(relmc_data), sizeof(relmc_data)},
    };

    (void)unused;
    for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++) {
        const size_t usual = kinds[j].usual, least = kinds[j].least;
        const size_t sizes[] = {0,         least - 1,           least,   usual,
                                usual + 1, sizeof(union sized), SIZE_MAX};
        union sized s;
        relmc_error err = {0};
        char wanted[64];

        (void)snprintf(wanted, sizeof wanted, "%s: size must be sizeof(%s)",
                       kinds[j].type, kinds[j].type);
        memset(&s, 0, sizeof s);
        if (least == usual) {
            s.data = (relmc_data){0, 4, 1, some, NULL, classes, 2};
        }
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const int is_good = sizes[i] >= least && sizes[i] <= sizeof s;

            s.size = sizes[i];
            assert_int_equal(kinds[j].take(&s, &err),
                             is_good ? RELMC_OK : RELMC_EINVAL);
            assert_true(is_good || strstr(err.message, wanted));
        }
        s.size = sizeof s;
        for (size_t i = usual; i < sizeof s; i += sizeof s - usual - 1) {
            s.bytes[i] = 1;
            assert_int_equal(kinds[j].take(&s, &err), RELMC_EINVAL);
            assert_non_null(strstr(err.message, "does not know"));
            s.bytes[i] = 0;
        }
    }
}

static void test_options__zero_is_the_default(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *a = NULL, *b = NULL;

    (void)unused;
    assert_int_equal(o.size, sizeof o);
    assert_int_equal(relmc_run_create(&a, banana, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_create(&b, banana, NULL, NULL), RELMC_OK);
    assert_string_equal(relmc_run_manifest_json(a), relmc_run_manifest_json(b));
    relmc_run_destroy(a);
    relmc_run_destroy(b);
}

/* ---- absurd sizes --------------------------------------------------------- */

static void refused(const relmc_target *t, const relmc_options *given,
                    relmc_status status)
{
    size_t held = 0;
    relmc_options o = *given;
    relmc_run *run = NULL;
    relmc_error err = {0};

    o.acquire = acquire;
    o.release = release;
    o.memory_ctx = &held;
    assert_int_equal(relmc_run_create(&run, t, &o, &err), status);
    assert_null(run);
    assert_int_equal(err.status, status);
    assert_int_equal(held, 0);
}

static void test_sizes__that_are_absurd_are_refused(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;

    (void)unused;
    assert_int_equal(target_of_point(&t, 0, flat, NULL, NULL), RELMC_EINVAL);
    assert_int_equal(target_of_point(&t, SIZE_MAX, flat, NULL, NULL),
                     RELMC_EINVAL);
    assert_int_equal(target_of_point(&t, 2, NULL, NULL, NULL), RELMC_EINVAL);
    assert_null(t);
    assert_int_equal(target_of_point(&t, UINT32_MAX, flat, NULL, NULL),
                     RELMC_OK);
    refused(t, &o, RELMC_ENOMEM);
    o.chains = 1 << 24;
    refused(t, &o, RELMC_ENOMEM);
    refused(banana, &o, RELMC_ENOMEM);
    o.chains = (1 << 24) + 1;
    refused(banana, &o, RELMC_EINVAL);
    o.chains = UINT32_MAX;
    refused(banana, &o, RELMC_EINVAL);
    o = (relmc_options)RELMC_INIT(relmc_options);
    o.draws = INT64_MAX;
    refused(banana, &o, RELMC_EINVAL);
    o.draws = INT64_MIN;
    refused(banana, &o, RELMC_EINVAL);
    o = (relmc_options)RELMC_INIT(relmc_options);
    o.warmup = INT64_MAX;
    refused(banana, &o, RELMC_EINVAL);
    relmc_target_destroy(t);
}

/* More draws than memory holds are refused, unless they are not kept. */
static void test_sizes__of_memory_are_checked(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    size_t held = 0;
    relmc_run *run = NULL;
    relmc_error err = {0};

    (void)unused;
    o.draws = INT64_C(1) << 53;
    o.warmup = INT64_C(1) << 53;
    o.acquire = acquire;
    o.release = release;
    o.memory_ctx = &held;
    assert_int_equal(relmc_run_create(&run, banana, &o, &err), RELMC_ENOMEM);
    assert_non_null(strstr(err.message, "keep = RELMC_ZERO"));
    o.keep = RELMC_ZERO;
    assert_int_equal(relmc_run_create(&run, banana, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, 3, NULL), RELMC_OK);
    relmc_run_destroy(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options__never_crash_or_hang),
        cmocka_unit_test(test_options__may_be_null),
        cmocka_unit_test(test_options__may_have_another_size),
        cmocka_unit_test(test_sized__structs_are_read_whole_or_refused),
        cmocka_unit_test(test_options__zero_is_the_default),
        cmocka_unit_test(test_sizes__that_are_absurd_are_refused),
        cmocka_unit_test(test_sizes__of_memory_are_checked),
    };

    return cmocka_run_group_tests(tests, open_banana, close_banana);
}
