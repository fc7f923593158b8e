/*
 * single.c - optimisers and sghmc in single precision take the path of double precision up to
 * rounding without heat and have its distribution with heat; RSGD keeps its bound on steps,
 * and the choice of a precision is recorded or refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/check.h"
#include "unit/single.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        cmocka_unit_test(test_steps__have_a_limit),
        cmocka_unit_test(test_choice__is_recorded_or_refused),
    };

    return cmocka_run_group_tests_name("single", tests, make_each, NULL);
}
