/*
 * sampler_draws.c - the draws of every sampler, with every kinetic energy and integrator,
 * depend on seed, chain and index only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/sampler.h"

static void print_record(const struct record *r, size_t dim)
{
    print_error("  %lld: lp %.17g H %.17g a %.17g eps %.17g v %.17g L %d "
                "div %d x",
                (long long)r->index, r->lp, r->energy, r->accept_prob,
                r->step_size, r->speed, r->n_steps, r->divergent);
    for (size_t i = 0; i < dim; i++) {
        print_error(" %.17g", r->x[i]);
    }
    print_error("\n");
}

/* Compares bits. */
static void same_records(const struct record *a, const struct record *b,
                         size_t n, size_t dim, const char *what)
{
    for (size_t t = 0; t < n; t++) {
        if (memcmp(&a[t], &b[t], sizeof a[t])) {
            print_error("%s: record %zu differs\n", what, t);
            print_record(&a[t], dim);
            print_record(&b[t], dim);
            fail();
        }
    }
}

static void same_books(const struct book *a, const struct book *b,
                       const char *what)
{
    assert_int_equal(a->chains, b->chains);
    for (size_t k = 0; k < a->chains; k++) {
        char where[600];

        (void)snprintf(where, sizeof where, "%s, chain %zu", what, k);
        if (a->n[k] != b->n[k]) {
            print_error("%s: %zu and %zu records\n", where, a->n[k], b->n[k]);
            fail();
        }
        same_records(chain_of(a, k), chain_of(b, k), a->n[k], a->dim, where);
    }
}

static void same_as(const struct book *reference, const relmc_target *t,
                    const relmc_options *o, int64_t piece, const char *what)
{
    struct book b;

    sample(&b, t, o, piece);
    same_books(reference, &b, what);
    book_close(&b);
}

/* ---- lanes, threads, code paths, pieces ------------------------------------ */

/* Every number of lanes is tried on both code paths.  The number of threads and the
 * size of pieces alternate with `turn`, so that every pair occurs in some plan. */
static void try_all_ways(const relmc_target *t, const struct plan *p,
                         const char *name, size_t turn)
{
    static const uint32_t lanes[] = {1, 3, 8, 64};
    const char *const isas[] = {"baseline", strchr(relmc_build(), ' ') + 1};
    relmc_options o = options_of(p);
    struct book reference;
    char what[512];

    o.chains = 70;
    o.lanes = 1;
    o.isa = "baseline";
    sample(&reference, t, &o, 0);
    for (size_t w = 0; w < 4; w++, turn++) {
        o.lanes = lanes[w];
        o.threads = 1;
        for (size_t i = 0; i < 2; i++) {
            o.isa = isas[i];
            describe(what, p, &o, name);
            same_as(&reference, t, &o, 0, what);
        }
        same_as(&reference, t, &o, turn % 2 ? 1 : 5, what);
        o.threads = turn % 2 ? 2 : 4;
        o.isa = isas[turn / 2 % 2];
        describe(what, p, &o, name);
        same_as(&reference, t, &o, 0, what);
    }
    book_close(&reference);
}

static void
test_sampler__draws_do_not_depend_on_how_they_are_made(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);
    relmc_target *banana = open_model("banana");
    relmc_target *gaussian = open_model("gaussian:dim=5,rho=0.5");

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        try_all_ways(i % 2 ? banana : gaussian, &plans[i],
                     i % 2 ? "banana" : "gaussian", i / 2);
    }
    relmc_target_destroy(banana);
    relmc_target_destroy(gaussian);
}

/* A fault in one chain changes neither its neighbours nor its own later draws. */
static void
test_sampler__draws_do_not_depend_on_faults_of_neighbours(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        for (int fault = REJECTED; fault < FATAL; fault++) {
            struct faulty f = {.fault = (enum fault)fault};
            const int has_lanes = (i + (size_t)fault) % 2 != 0;
            relmc_target *t = open_faulty(&f, 2, has_lanes);
            relmc_options o = options_of(&plans[i]);
            struct book reference;
            char what[512];

            o.chains = 12;
            o.lanes = 1;
            o.init_radius = 0.9;
            sample(&reference, t, &o, 0);
            o.lanes = 8;
            describe(what, &plans[i], &o, fault_names[fault]);
            same_as(&reference, t, &o, 0, what);
            o.lanes = 5;
            same_as(&reference, t, &o, 3, what);
            book_close(&reference);
            relmc_target_destroy(t);
        }
    }
}

static void test_sampler__draws_do_not_depend_on_first_chain(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);
    relmc_target *t = open_model("banana");

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        relmc_options o = options_of(&plans[i]);
        struct book eight, one;

        o.chains = 8;
        sample(&eight, t, &o, 0);
        o.chains = 1;
        o.first_chain = 5;
        sample(&one, t, &o, 0);
        same_records(chain_of(&eight, 5), chain_of(&one, 0), one.room, 2,
                     plans[i].sampler);
        /* and differs from chain 0 */
        assert_memory_not_equal(chain_of(&eight, 0), chain_of(&one, 0),
                                sizeof(struct record));
        book_close(&eight);
        book_close(&one);
    }
    relmc_target_destroy(t);
}

/* `some` has every thin-th record of warm-up and of sampling, each counted from its
 * start; those of warm-up with RELMC_KEEP_WARMUP only. */
static void check_thinned(const struct book *all, const struct book *some,
                          const relmc_options *o)
{
    for (size_t k = 0; k < all->chains; k++) {
        size_t n = 0;

        for (size_t t = 0; t < all->room; t++) {
            const int64_t index = (int64_t)t - o->warmup;
            const int is_kept =
                index < 0 ? o->keep == RELMC_KEEP_WARMUP && t % o->thin == 0
                          : index % (int64_t)o->thin == 0;
            if (is_kept) {
                same_records(chain_of(all, k) + t, chain_of(some, k) + n, 1,
                             all->dim, "thin");
                n++;
            }
        }
        assert_int_equal(n, some->n[k]);
    }
}

static void test_sampler__draws_do_not_depend_on_which_are_kept(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);
    relmc_target *t = open_model("gaussian:dim=3,rho=-0.3");

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        relmc_options o = options_of(&plans[i]);
        struct book all, some;

        sample(&all, t, &o, 0);
        for (uint32_t thin = 1; thin <= 5; thin += 2) {
            for (uint32_t save = 0; save <= 1; save++) {
                o.thin = thin;
                o.keep = save ? RELMC_KEEP_WARMUP : RELMC_ZERO;
                sample(&some, t, &o, 0);
                check_thinned(&all, &some, &o);
                book_close(&some);
            }
        }
        book_close(&all);
    }
    relmc_target_destroy(t);
}

static relmc_status ignore(void *ctx, const relmc_draw *d)
{
    (void)ctx, (void)d;
    return RELMC_OK;
}

static void test_sampler__draws_do_not_depend_on_other_observers(void **unused)
{
    const struct plan plan = {"hmc", "separable", "leapfrog"};
    relmc_target *t = open_model("banana");
    relmc_options o = options_of(&plan);
    struct book alone, among;
    size_t n;

    (void)unused;
    sample(&alone, t, &o, 0);
    relmc_run *run = create(t, &o);
    book_open(&among, 2, &o);
    assert_int_equal(relmc_run_observe(run, ignore, NULL, NULL), RELMC_OK);
    assert_int_equal(relmc_run_observe(run, keep, &among, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    same_books(&alone, &among, "observers");
    for (size_t k = 0; k < 4; k++) {
        const double *x = kept_outputs(run, k, &n);

        assert_int_equal(n, alone.room);
        for (size_t r = 0; r < n; r++) {
            assert_memory_equal(x + 2 * r, chain_of(&alone, k)[r].x,
                                2 * sizeof *x);
        }
    }
    relmc_run_destroy(run);
    book_close(&alone);
    book_close(&among);
    relmc_target_destroy(t);
}

/* Every sampler makes the same draws from both targets. */
static void check_same(const relmc_target *one, const relmc_target *other,
                       double init_radius, const char *name)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);

    for (size_t i = 0; i < n; i++) {
        relmc_options o = options_of(&plans[i]);
        struct book reference;
        char what[512];

        o.chains = 9;
        o.lanes = 4;
        o.init_radius = init_radius;
        sample(&reference, one, &o, 0);
        describe(what, &plans[i], &o, name);
        same_as(&reference, other, &o, 0, what);
        book_close(&reference);
    }
}

static void test_sampler__point_and_lanes_targets_agree(void **unused)
{
    struct faulty f = {.fault = REJECTED};
    relmc_target *point = open_faulty(&f, 3, 0);
    relmc_target *lanes = open_faulty(&f, 3, 1);

    (void)unused;
    check_same(point, lanes, 0.5, "point and lanes");
    relmc_target_destroy(point);
    relmc_target_destroy(lanes);
}

/* A model may leave out the log density within a trajectory. */
static void test_sampler__needs_no_density_within_a_trajectory(void **unused)
{
    const char *spec = "student:dim=3,nu=3";
    const relmc_info *info;
    relmc_target *leaves_out = open_model(spec), *has_all = NULL;

    (void)unused;
    assert_int_equal(rmc_component_find(&info, "model", spec, 0, NULL),
                     RELMC_OK);
    relmc_model_ops ops = *(const relmc_model_ops *)(const void *)info;
    assert_true(ops.omits_lp);
    ops.omits_lp = 0;
    assert_int_equal(relmc_target_open_ops(&has_all, &ops, spec, NULL, NULL),
                     RELMC_OK);
    check_same(has_all, leaves_out, 2.0, "density left out");
    relmc_target_destroy(leaves_out);
    relmc_target_destroy(has_all);
}

/* Without the log density a diverging trajectory still ends at the same step, alone
 * or beside others. */
static void test_sampler__lanes_diverge_as_if_alone(void **unused)
{
    const struct plan plan = {"hmc:steps=16", "newtonian", "leapfrog"};
    relmc_target *t = open_model("gmm1");
    relmc_options o = options_of(&plan);
    struct book reference;
    int64_t n_divergent = 0;

    (void)unused;
    o.adapt = "none";
    o.step_size = 1e12;
    o.chains = 8;
    o.lanes = 1;
    sample(&reference, t, &o, 0);
    for (size_t r = 0; r < reference.room; r++) {
        n_divergent += chain_of(&reference, 0)[r].divergent;
    }
    assert_int_equal(n_divergent, reference.room);
    o.lanes = 8;
    same_as(&reference, t, &o, 0, "lanes that diverge");
    book_close(&reference);
    relmc_target_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_sampler__draws_do_not_depend_on_how_they_are_made),
        cmocka_unit_test(
            test_sampler__draws_do_not_depend_on_faults_of_neighbours),
        cmocka_unit_test(test_sampler__draws_do_not_depend_on_first_chain),
        cmocka_unit_test(test_sampler__draws_do_not_depend_on_which_are_kept),
        cmocka_unit_test(test_sampler__draws_do_not_depend_on_other_observers),
        cmocka_unit_test(test_sampler__point_and_lanes_targets_agree),
        cmocka_unit_test(test_sampler__needs_no_density_within_a_trajectory),
        cmocka_unit_test(test_sampler__lanes_diverge_as_if_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
