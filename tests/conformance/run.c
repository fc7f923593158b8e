/*
 * run.c - the manifest of a run is JSON with all defaults, its reports count, pieces of a
 * run add up, and a stop ends it between transitions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "support/callback.h"
#include "support/check.h"
#include "support/kept.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static relmc_target *banana;

static relmc_run *create(const relmc_options *o)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (relmc_run_create(&run, banana, o, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
    return run;
}

/* ---- JSON: one object of strings and numbers ------------------------------ */

static const char *skip_blanks(const char *s)
{
    while (*s == ' ') {
        s++;
    }
    return s;
}

/* The end of a string; NULL if there is none. */
static const char *skip_string(const char *s)
{
    if (*s++ != '"') {
        return NULL;
    }
    for (; *s != '"'; s++) {
        if ((unsigned char)*s < 0x20) {
            return NULL; /* also at the end of the text */
        }
        if (*s == '\\' && !strchr("\"\\/bfnrtu", *++s)) {
            return NULL;
        }
    }
    return s + 1;
}

/* The end of a JSON number; NULL if there is none. */
static const char *skip_number(const char *s)
{
    const char *start = s;
    size_t n = strspn(s += *s == '-', "0123456789");

    if (n == 0 || (n > 1 && *s == '0')) {
        return NULL;
    }
    s += n;
    if (*s == '.') {
        n = strspn(++s, "0123456789");
        s = n ? s + n : start;
    }
    if (*s == 'e' || *s == 'E') {
        s += strchr("+-", s[1]) ? 2 : 1;
        n = strspn(s, "0123456789");
        s = n ? s + n : start;
    }
    return s == start ? NULL : s;
}

/* The number of pairs of an object; -1 if it is not one. */
static int count_pairs(const char *s)
{
    int n = 0;

    if (*s++ != '{') {
        return -1;
    }
    for (;; s++) {
        if (!(s = skip_string(skip_blanks(s)))) {
            return -1;
        }
        s = skip_blanks(s);
        if (*s++ != ':') {
            return -1;
        }
        s = skip_blanks(s);
        if (!(s = *s == '"' ? skip_string(s) : skip_number(s))) {
            return -1;
        }
        n++;
        s = skip_blanks(s);
        if (*s != ',') {
            return *s == '}' && s[1] == '\0' ? n : -1;
        }
    }
}

static void test_json__checker_can_fail(void **unused)
{
    static const char *const bad[] = {
        "",           "{",           "{\"a\":1",   "{\"a\":nan}",
        "{\"a\":01}", "{\"a\":1.}",  "{\"a\":1,}", "{\"a\" 1}",
        "{a:1}",      "{\"a\":\"b}", "{\"a\":1}x", "{\"a\":\"\\x\"}",
    };

    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(count_pairs(bad[i]), -1);
    }
    assert_int_equal(count_pairs("{\"a\": -1.5e-3, \"b\": \"c\\\"d\"}"), 2);
}

static void test_manifest__is_json_whatever_the_options(void **unused)
{
    static const char *const kinetics[] = {
        NULL,
        "newtonian:m=1e-12",
        "newtonian:m=1e12",
        "relativistic:m=1e-12,c=1e-12",
        "relativistic:m=1e12,c=1e12",
        "separable:c=[1e-12,1e12],m=[1e12,1e-12]",
    };
    static const double metric[] = {1, 2};

    (void)unused;
    for (size_t i = 0; i < sizeof kinetics / sizeof *kinetics; i++) {
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;

        o.kinetic = kinetics[i];
        o.seed = UINT64_MAX;
        o.step_size = i % 2 ? 1e12 : 1e-300;
        o.inv_metric = i % 2 ? metric : NULL;
        relmc_run *run = create(&o);
        if (count_pairs(relmc_run_manifest_json(run)) < 15) {
            print_error("%s\n", relmc_run_manifest_json(run));
            fail();
        }
        assert_non_null(strstr(relmc_run_manifest_json(run),
                               "\"seed\": 18446744073709551615"));
        relmc_run_destroy(run);
    }
}

/* Options read from a manifest give the same manifest and draws: it is complete. */
static void find_text(char *out, size_t room, const char *json, const char *key)
{
    char quoted[64];

    (void)snprintf(quoted, sizeof quoted, "\"%s\": \"", key);
    const char *s = strstr(json, quoted);
    assert_non_null(s);
    s += strlen(quoted);
    const size_t n = strcspn(s, "\"");
    assert_true(n < room);
    memcpy(out, s, n);
    out[n] = '\0';
}

static void test_manifest__makes_the_same_run(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options),
                  again = RELMC_INIT(relmc_options);
    char sampler[256], kinetic[256], integrator[256], adapt[256], model[256];
    relmc_target *t = NULL;
    relmc_run *copy = NULL;
    size_t n, m;

    (void)unused;
    o.sampler = "hmc:steps=5,jitter=0.3";
    o.kinetic = "relativistic:cruise=0.7,c=1.1";
    o.draws = 20;
    o.warmup = 20;
    relmc_run *run = create(&o);
    const char *manifest = relmc_run_manifest_json(run);
    find_text(sampler, sizeof sampler, manifest, "sampler");
    find_text(kinetic, sizeof kinetic, manifest, "kinetic");
    find_text(integrator, sizeof integrator, manifest, "integrator");
    find_text(adapt, sizeof adapt, manifest, "adapt");
    find_text(model, sizeof model, manifest, "model");
    again.sampler = sampler;
    again.kinetic = kinetic;
    again.integrator = integrator;
    again.adapt = adapt;
    again.draws = again.warmup = 20;
    assert_int_equal(relmc_target_open(&t, model, NULL, NULL), RELMC_OK);
    assert_int_equal(relmc_run_create(&copy, t, &again, NULL), RELMC_OK);
    assert_string_equal(relmc_run_manifest_json(copy), manifest);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(copy, INT64_MAX, NULL), RELMC_OK);
    const double *a = kept_outputs(run, 3, &n);
    const double *b = kept_outputs(copy, 3, &m);
    assert_int_equal(n, 20);
    assert_int_equal(m, 20);
    assert_memory_equal(a, b, 20 * 2 * sizeof *a);
    relmc_run_destroy(run);
    relmc_run_destroy(copy);
    relmc_target_destroy(t);
}

/* ---- reports -------------------------------------------------------------- */

static relmc_progress report_of(const relmc_run *run, uint32_t chain)
{
    relmc_progress r = {.size = sizeof r};

    assert_int_equal(relmc_run_progress(run, chain, &r, NULL), RELMC_OK);
    return r;
}

static double ticks;

static double fake_clock(void)
{
    return ticks += 1.0;
}

static void test_report__follows_the_run(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    (void)unused;
    o.warmup = 30;
    o.draws = 20;
    o.chains = 3;
    o.first_chain = 7;
    o.clock = fake_clock;
    relmc_run *run = create(&o);
    relmc_progress r = report_of(run, 2);
    assert_string_equal(r.sampler, "nuts");
    assert_string_equal(r.kinetic, "relativistic");
    assert_int_equal(r.done, 0);
    assert_int_equal(r.total, 50);
    assert_int_equal(r.warmup, 30);
    assert_int_equal(r.n_grad, 0);
    assert_true(isnan(r.accept_prob) && isnan(r.speed));
    assert_true(r.seconds_warmup == 0.0 && r.seconds_sampling == 0.0);

    assert_int_equal(relmc_run_advance(run, 29, NULL), RELMC_OK);
    r = report_of(run, 0);
    assert_int_equal(r.done, 29);
    assert_true(r.n_grad >= 29);
    assert_int_equal(r.n_grad_sampling, 0);
    assert_true(isnan(r.accept_prob));
    assert_true(r.seconds_warmup == 0.0);

    assert_int_equal(relmc_run_advance(run, 2, NULL), RELMC_OK);
    r = report_of(run, 1);
    assert_int_equal(r.done, 31);
    assert_true(r.n_grad_sampling > 0 && r.n_grad_sampling < r.n_grad);
    assert_true(r.accept_prob >= 0.0 && r.accept_prob <= 1.0);
    assert_true(r.seconds_warmup > 0.0 && r.seconds_sampling == 0.0);

    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    r = report_of(run, 2);
    assert_int_equal(r.done, 50);
    assert_true(r.seconds_sampling > 0.0);
    assert_true(r.speed > 0.0 && r.speed < 1.0);
    /* a complete run accepts further calls */
    assert_int_equal(relmc_run_advance(run, 5, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    assert_int_equal(report_of(run, 2).done, 50);
    relmc_run_destroy(run);
}

static void test_report__fills_no_more_than_its_size(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    struct {
        relmc_progress r;
        unsigned char after[16];
    } big;
    relmc_error err = {0};

    (void)unused;
    relmc_run *run = create(&o);
    memset(&big, 0xee, sizeof big);
    big.r.size = offsetof(relmc_progress, done);
    assert_int_equal(relmc_run_progress(run, 1, &big.r, NULL), RELMC_OK);
    for (size_t i = offsetof(relmc_progress, done); i < sizeof big; i++) {
        assert_int_equal(((const unsigned char *)&big)[i], 0xee);
    }
    big.r.size = sizeof big; /* a caller with a newer header */
    assert_int_equal(relmc_run_progress(run, 1, &big.r, NULL), RELMC_OK);
    assert_int_equal(big.r.total, 1500);
    for (size_t i = 0; i < sizeof big.after; i++) {
        assert_int_equal(big.after[i], 0xee);
    }
    for (size_t size = 0; size < offsetof(relmc_progress, done); size++) {
        big.r.size = size; /* smaller than the first version */
        assert_int_equal(relmc_run_progress(run, 1, &big.r, &err),
                         RELMC_EINVAL);
        assert_non_null(strstr(err.message, "sizeof(relmc_progress)"));
    }
    assert_int_equal(relmc_run_progress(run, 4, &big.r, &err), RELMC_EINVAL);
    assert_non_null(strstr(err.message, "there are 4"));
    relmc_run_destroy(run);
}

static void test_run__cannot_go_back(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_error err = {0};

    (void)unused;
    relmc_run *run = create(&o);
    assert_int_equal(relmc_run_advance(run, -1, &err), RELMC_EINVAL);
    assert_non_null(strstr(err.message, "-1"));
    assert_int_equal(relmc_run_advance(run, 0, NULL), RELMC_OK);
    assert_int_equal(report_of(run, 0).done, 0);
    relmc_run_destroy(run);
}

/* Draws of every chain arrive in order; indices of warm-up are negative. */
struct order {
    int64_t next[5];
    int n_wrong;
};

static relmc_status check_order(void *ctx, const relmc_draw *d)
{
    struct order *order = ctx;

    order->n_wrong += d->size != sizeof *d;
    order->n_wrong += d->chain >= 5 || d->index != order->next[d->chain]++;
    return RELMC_OK;
}

static void test_run__publishes_in_order(void **unused)
{
    for (uint32_t lanes = 1; lanes <= 5; lanes += 2) {
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        struct order order = {{-7, -7, -7, -7, -7}, 0};

        (void)unused;
        o.warmup = 7;
        o.draws = 13;
        o.chains = 5;
        o.lanes = lanes;
        o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
        relmc_run *run = create(&o);
        assert_int_equal(relmc_run_observe(run, check_order, &order, NULL),
                         RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        assert_int_equal(order.n_wrong, 0);
        for (size_t k = 0; k < 5; k++) {
            assert_int_equal(order.next[k], 13);
        }
        relmc_run_destroy(run);
    }
}

static void test_run__has_room_for_some_watchers(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    struct order order = {0};
    relmc_error err = {0};
    int n = 0;

    (void)unused;
    relmc_run *run = create(&o);
    while (relmc_run_observe(run, check_order, &order, &err) == RELMC_OK) {
        n++;
        assert_true(n < 1000);
    }
    assert_true(n >= 8);
    assert_int_equal(err.status, RELMC_EINVAL);
    assert_non_null(strstr(err.message, "at most"));
    assert_int_equal(relmc_run_write(run, "csv:none", NULL), RELMC_EINVAL);
    relmc_run_destroy(run);
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

static relmc_status stop_at_once(void *ctx, const relmc_draw *draw)
{
    (void)ctx, (void)draw;
    return RELMC_STOPPED;
}

/* The observers after the one that stops the run still get the draw. */
static void test_run__stopping_loses_no_draw(void **unused)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    size_t kept = 0;

    (void)unused;
    o.warmup = RELMC_ZERO;
    o.chains = 3;
    relmc_run *run = create(&o);
    assert_int_equal(relmc_run_observe(run, stop_at_once, NULL, NULL), 0);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_STOPPED);
    for (size_t k = 0; k < 3; k++) {
        relmc_progress report = {.size = sizeof report};

        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &report, NULL),
                         0);
        (void)kept_outputs(run, k, &kept);
        assert_int_equal(kept, report.done);
    }
    relmc_run_destroy(run);
}

static relmc_status stop_at_10(void *ctx, const relmc_draw *draw)
{
    (void)ctx;
    return draw->chain == 1 && draw->index == 10 ? RELMC_STOPPED : RELMC_OK;
}

static int64_t least_done(const relmc_run *run, size_t chains)
{
    int64_t least = INT64_MAX;

    for (size_t k = 0; k < chains; k++) {
        const int64_t done = report_of(run, (uint32_t)k).done;

        least = done < least ? done : least;
    }
    return least;
}

/* A stopped run keeps its position and makes no more draws. */
static void test_run__a_stop_is_final(void **unused)
{
    for (uint32_t lanes = 1; lanes <= 4; lanes += 3) {
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        int64_t done[4];
        relmc_error err = {0};

        (void)unused;
        o.chains = 4;
        o.lanes = lanes;
        relmc_run *run = create(&o);
        assert_int_equal(relmc_run_observe(run, stop_at_10, NULL, NULL), 0);
        assert_int_equal(relmc_run_advance(run, 1200, &err), RELMC_STOPPED);
        const int64_t position = relmc_run_position(run);
        assert_int_equal(position, least_done(run, 4));
        for (size_t k = 0; k < 4; k++) {
            done[k] = report_of(run, (uint32_t)k).done;
        }
        assert_true(done[1] == 511 && position >= 500);
        for (int64_t n = 0; n < 1000; n += 5) {
            assert_int_equal(relmc_run_advance(run, n, &err), RELMC_STOPPED);
            assert_non_null(strstr(err.message, "asked to stop"));
        }
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL),
                         RELMC_STOPPED);
        assert_int_equal(relmc_run_position(run), position);
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(report_of(run, (uint32_t)k).done, done[k]);
        }
        relmc_run_destroy(run);
    }
}

/* A normal target that stops its run at a gradient, within a transition. */
struct trap {
    relmc_run *run;
    int n_left;
};

static int trapped_normal(size_t dim, const double *x, double *grad, double *lp,
                          void *ctx)
{
    struct trap *trap = ctx;

    if (trap->run && trap->n_left-- == 0) {
        relmc_run_stop(trap->run);
    }
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        grad[i] = -x[i];
        *lp -= 0.5 * x[i] * x[i];
    }
    return RELMC_OK;
}

/* A stop after the last draw is reported by the next call. */
static void test_run__ok_says_that_all_was_made(void **unused)
{
    enum { N = 4, STEPS = 5 };
    int n_late = 0;

    (void)unused;
    for (uint32_t chains = 1; chains <= 3; chains += 2) {
        for (int stop = 0; stop < N * STEPS * (int)chains; stop++) {
            relmc_options o = RELMC_INIT(relmc_options);
            o.threads = 1;
            struct trap trap = {NULL, stop};
            relmc_target *t = NULL;
            relmc_run *run = NULL;

            o.sampler = "hmc:steps=5";
            o.adapt = "none";
            o.step_size = 0.1;
            o.warmup = RELMC_ZERO;
            o.chains = o.lanes = chains;
            assert_int_equal(
                target_of_point(&t, 2, trapped_normal, &trap, NULL), 0);
            assert_int_equal(relmc_run_create(&run, t, &o, NULL), 0);
            trap.run = run;
            const relmc_status status = relmc_run_advance(run, N, NULL);
            const int64_t made = least_done(run, chains);
            assert_int_equal(status, made < N ? RELMC_STOPPED : RELMC_OK);
            assert_int_equal(relmc_run_position(run), made);
            if (trap.n_left < 0) { /* the target has called the stop */
                assert_int_equal(relmc_run_advance(run, 1, NULL),
                                 RELMC_STOPPED);
                n_late += status == RELMC_OK;
            }
            relmc_run_destroy(run);
            relmc_target_destroy(t);
        }
    }
    assert_true(n_late > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run__stopping_loses_no_draw),
        cmocka_unit_test(test_run__a_stop_is_final),
        cmocka_unit_test(test_run__ok_says_that_all_was_made),
        cmocka_unit_test(test_json__checker_can_fail),
        cmocka_unit_test(test_manifest__is_json_whatever_the_options),
        cmocka_unit_test(test_manifest__makes_the_same_run),
        cmocka_unit_test(test_report__follows_the_run),
        cmocka_unit_test(test_report__fills_no_more_than_its_size),
        cmocka_unit_test(test_run__cannot_go_back),
        cmocka_unit_test(test_run__publishes_in_order),
        cmocka_unit_test(test_run__has_room_for_some_watchers),
    };

    return cmocka_run_group_tests(tests, open_banana, close_banana);
}
