/*
 * hash.c - every compiler, optimisation level, instruction set, number of lanes and of
 * threads gives the same draws: a hash of all bits of some runs equals hash.txt.
 *
 * If a change of the library alters draws on purpose, store what the test prints in
 * hash.txt.  Its first line decides; the hashes of single runs show which one differs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 13, WARMUP = 40, DRAWS = 20, MAX_DIM = 10 };
enum { N_WORDS = MAX_DIM + 7 }; /* per draw */

/* ---- the runs ------------------------------------------------------------- */

struct golden {
    const char *model, *sampler, *kinetic, *integrator, *adapt;
    int metric; /* 1: diagonal, 2: dense */
};

static const struct golden goldens[] = {
    {"banana", "hmc", "newtonian", "leapfrog", "dual", 0},
    {"banana", "hmc", "separable", "leapfrog", "dual", 1},
    {"banana", "hmc", "relativistic:c=2", "blanes", "dual", 2},
    {"gmm1", "hmc:steps=5", "separable:cruise=0.6", "leapfrog", "none", 0},
    {"gmm2", "ghmc:steps=3,slice=0", "relativistic:m=0.5", "mclachlan",
     "dual:delta=0.65", 0},
    {"gmm3", "hmc:time=3,jitter=1", "newtonian:m=3", "yoshida", "dual", 0},
    {"funnel", "hmc", "separable:c=0.5", "leapfrog", "dual:delta=0.9", 0},
    {"student:dim=3", "ghmc", "separable:c=[1,2,3],m=[3,1,2]", "blanes", "dual",
     1},
    {"student:dim=4,nu=3,joint=1", "hmc", "relativistic:cruise=0.8", "leapfrog",
     "dual", 0},
    {"gaussian:dim=5,rho=0.7", "ghmc:time=3,steps=2,record=4", "newtonian",
     "mclachlan", "dual", 2},
    {"gaussian:cov=[2,1,0.5,1,3,-1,0.5,-1,1],mean=[1,0,-1]", "hmc", "separable",
     "yoshida", "dual", 2},
    {"gaussian:dim=10,sd=3", "hmc:steps=9,jitter=0", "relativistic:m=2,c=3",
     "leapfrog", "none", 0},
    {"quartic:dim=3", "ghmc", "relativistic", "blanes", "dual", 1},
    {"rosenbrock:dim=4", "hmc", "separable", "mclachlan", "dual", 0},
    {"gmm3", "ghmc:drift=0.1", "relativistic:cruise=0.7", "leapfrog", "dual",
     0},
    {"banana", "nuts", "relativistic:c=2", "leapfrog", "dual", 0},
    {"gaussian:dim=10,sd=3", "nuts", "newtonian", "leapfrog", "dual", 1},
    {"funnel", "nuts:max_depth=6", "separable", "leapfrog", "dual", 0},
    {"student:dim=4,nu=3,joint=1", "nuts", "relativistic:cruise=0.8", "blanes",
     "dual", 2},
    {"funnel:dim=5", "walnuts", "newtonian", "leapfrog", "dual", 0},
    {"banana", "walnuts:tolerance=0.1,levels=6", "relativistic:c=3", "blanes",
     "dual:delta=0.6", 1},
    /* the first two fit a warp: [warp-fit] */
    {"funnel", "auto", "relativistic:cruise=0.79", "leapfrog", "auto", 0},
    {"schools", "auto", "newtonian", "leapfrog", "auto", 0},
    {"rosenbrock:dim=7,block=2", "auto", "separable", "leapfrog", "auto", 0},
    {"gaussian:dim=10,sd=3", "auto", "relativistic", "leapfrog", "auto", 0},
    {"gaussian:dim=5,rho=0.7", "sghmc", "separable", "leapfrog", "none", 2},
    {"banana", "sghmc:scheme=euler,law=bounded,temperature=0.5,noise=estimate",
     "relativistic", "leapfrog", "none", 1},
    {"student:dim=3", "sghmc:scheme=obabo,schedule=cyclical", "newtonian:m=2",
     "leapfrog", "none", 0},
    {"quartic:dim=3", "sgnht:thermostat=each,law=bounded", "separable:c=2",
     "leapfrog", "none", 0},
    {"gaussian:dim=10,sd=3", "sgnht:scheme=euler,limit=cosine",
     "relativistic:cruise=0.8", "leapfrog", "none", 0},
    {"gmm2", "sgld:schedule=polynomial", "newtonian", "leapfrog", "none", 1},
    {"gaussian:dim=5,rho=0.7", "psgld", "newtonian", "leapfrog", "none", 0},
    {"gaussian:dim=10,sd=3", "sgld_adam:steps=3", "newtonian", "leapfrog",
     "none", 1},
    {"rosenbrock:dim=4", "sgd:lr=0.001,max_step=0.01,schedule=cosine",
     "separable", "leapfrog", "none", 0},
    {"logistic:dim=5,n=43", "hmc:steps=5", "separable", "leapfrog", "dual", 0},
    {"softmax:dim=3,n=21", "nuts:max_depth=4", "newtonian", "leapfrog", "dual",
     1},
    {"linear:dim=4,n=30", "nuts:max_depth=5", "relativistic:c=2", "leapfrog",
     "dual", 0},
    {"rosenbrock:dim=4", "adam:schedule=cosine,decay=0.001", "newtonian",
     "leapfrog", "none", 1},
    {"logistic:dim=5,n=43", "nesterov:schedule=cyclical", "newtonian",
     "leapfrog", "none", 0},
    {"banana", "rmsprop:steps=3", "newtonian", "leapfrog", "none", 0},
    {"gaussian:dim=5,rho=0.7", "santa:scheme=ssa,beta=3", "newtonian",
     "leapfrog", "none", 2},
};

enum { N_GOLDENS = sizeof goldens / sizeof *goldens };

/* ---- Fowler, Noll and Vo's hash, 1a, 64 bits ------------------------------ */

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    for (int i = 0; i < 64; i += 8) { /* in the same order on any machine */
        hash = (hash ^ (word >> i & 0xff)) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static const uint64_t hash_start = UINT64_C(0xcbf29ce484222325);

/* ---- a run and its hash --------------------------------------------------- */

struct words {
    uint64_t word[CHAINS][WARMUP + DRAWS][N_WORDS];
    size_t n[CHAINS], dim;
};

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static relmc_status keep(void *ctx, const relmc_draw *d)
{
    struct words *w = ctx;
    uint64_t *word = w->word[d->chain][w->n[d->chain]++];

    for (size_t i = 0; i < w->dim; i++) {
        word[i] = bits_of(d->outputs[i]);
    }
    word += MAX_DIM;
    word[0] = bits_of(d->stats[RELMC_STAT_LP]);
    word[1] = bits_of(d->stats[RELMC_STAT_ENERGY]);
    word[2] = bits_of(d->stats[RELMC_STAT_ACCEPT_PROB]);
    word[3] = bits_of(d->stats[RELMC_STAT_STEP_SIZE]);
    word[4] = bits_of(d->stats[RELMC_STAT_SPEED]);
    word[5] = (uint64_t)d->stats[RELMC_STAT_N_STEPS];
    word[6] = (uint64_t)d->stats[RELMC_STAT_DIVERGENT];
    return RELMC_OK;
}

static void set_metric(relmc_options *o, int metric, size_t dim,
                       double room[MAX_DIM * MAX_DIM])
{
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; metric == 2 && j < dim; j++) {
            room[i * dim + j] = i == j ? 1.25 + 0.25 * (double)i : 0.125;
        }
        if (metric == 1) {
            room[i] = 0.5 + 0.75 * (double)i;
        }
    }
    o->inv_metric = metric == 1 ? room : NULL;
    o->inv_metric_dense = metric == 2 ? room : NULL;
}

static uint64_t hash_run(const struct golden *g, uint32_t lanes,
                         uint32_t threads, const char *isa)
{
    static struct words words;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    double room[MAX_DIM * MAX_DIM];
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};
    uint64_t hash = hash_start;

    o.sampler = g->sampler;
    o.kinetic = g->kinetic;
    o.integrator = g->integrator;
    o.adapt = g->adapt;
    o.seed = UINT64_C(0x123456789abcdef0);
    o.chains = CHAINS;
    o.warmup = WARMUP;
    o.draws = DRAWS;
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
    o.step_size = 0.25;
    o.lanes = lanes;
    o.threads = threads;
    o.isa = isa;
    memset(&words, 0, sizeof words);
    if (relmc_target_open(&t, g->model, NULL, &err)) {
        fail_msg("%s", err.message);
    }
    words.dim = relmc_target_dim(t);
    set_metric(&o, g->metric, words.dim, room);
    if (relmc_run_create(&run, t, &o, &err) ||
        relmc_run_observe(run, keep, &words, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s", err.message);
    }
    for (size_t k = 0; k < CHAINS; k++) {
        assert_int_equal(words.n[k], WARMUP + DRAWS);
        for (size_t n = 0; n < (WARMUP + DRAWS) * N_WORDS; n++) {
            hash = hash_word(hash, words.word[k][n / N_WORDS][n % N_WORDS]);
        }
    }
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    return hash;
}

/* ---- the expected hashes -------------------------------------------------- */

/* The file has the hash of all runs, then a line per run that begins with its hash.
 * Returns the number of lines. */
static size_t read_hashes(uint64_t *out, size_t room)
{
    FILE *file = fopen(RELMC_GOLDEN_DIR "/hash.txt", "r");
    char line[256];
    size_t n = 0;

    assert_non_null(file);
    while (n < room && fgets(line, sizeof line, file)) {
        out[n++] = strtoull(line, NULL, 16);
    }
    assert_int_equal(fclose(file), 0);
    return n;
}

static void test_golden__draws_are_those_of_every_build(void **unused)
{
    uint64_t hashes[N_GOLDENS + 1], wanted[N_GOLDENS + 1] = {0};

    (void)unused;
    hashes[0] = hash_start;
    for (size_t i = 0; i < N_GOLDENS; i++) {
        hashes[i + 1] = hash_run(&goldens[i], 0, 1, NULL);
        hashes[0] = hash_word(hashes[0], hashes[i + 1]);
    }
    (void)read_hashes(wanted, N_GOLDENS + 1);
    if (hashes[0] == wanted[0]) {
        return;
    }
    print_error("tests/golden/hash.txt should be, if draws are meant to "
                "change:\n%016llx all\n",
                (unsigned long long)hashes[0]);
    for (size_t i = 0; i < N_GOLDENS; i++) {
        const struct golden *g = &goldens[i];

        print_error("%016llx %s %s %s %s %s\n",
                    (unsigned long long)hashes[i + 1], g->model, g->sampler,
                    g->kinetic, g->integrator, g->adapt);
    }
    for (size_t i = 0; i < N_GOLDENS; i++) {
        if (hashes[i + 1] != wanted[i + 1]) {
            print_error("changed: %s %s %s\n", goldens[i].model,
                        goldens[i].sampler, goldens[i].kinetic);
        }
    }
    fail();
}

static void test_golden__draws_are_those_of_any_lanes_and_threads(void **unused)
{
    static const uint32_t lanes[] = {1, 3, 8, 64}, threads[] = {1, 2, 4};
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    size_t n_isas = 1;

    (void)unused;
    while (strcmp(isas[n_isas - 1], strchr(relmc_build(), ' ') + 1) != 0) {
        assert_true(++n_isas <= 3);
    }
    for (size_t i = 0; i < N_GOLDENS; i++) {
        const uint64_t reference = hash_run(&goldens[i], 0, 1, NULL);

        for (size_t n = 0; n < 4 * 3 * n_isas; n++) {
            const uint32_t l = lanes[n % 4], t = threads[n / 4 % 3];

            if (hash_run(&goldens[i], l, t, isas[n / 12]) != reference) {
                print_error("%s %s %s %s: lanes %u, threads %u, %s\n",
                            goldens[i].model, goldens[i].sampler,
                            goldens[i].kinetic, goldens[i].integrator, l, t,
                            isas[n / 12]);
                fail();
            }
        }
    }
}

static void test_golden__hash_depends_on_the_run(void **unused)
{
    struct golden other = goldens[0];

    (void)unused;
    /* FNV-1a of the eight bytes 1, 2, ..., 8 */
    assert_true(hash_word(hash_start, UINT64_C(0x0807060504030201)) ==
                UINT64_C(0x7eb5108b368a78ed));
    other.adapt = "dual:delta=0.800001";
    assert_true(hash_run(&other, 0, 1, NULL) !=
                hash_run(&goldens[0], 0, 1, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden__draws_are_those_of_every_build),
        cmocka_unit_test(test_golden__draws_are_those_of_any_lanes_and_threads),
        cmocka_unit_test(test_golden__hash_depends_on_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
