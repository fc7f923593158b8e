/*
 * team_shards.c - shards of a log density in several processes add up to it, and runs on
 * them make the same draws for any number of processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/team.h"

#include <math.h>

enum { N_SHARDS = 64 };

static relmc_target *open_shards(const char *spec, struct pipes *p)
{
    relmc_target *target = target_of(spec);
    const relmc_team team = team_of(p);
    relmc_error err = {0};

    check_ok(relmc_target_shard(target, N_SHARDS, &team, &err), &err);
    return target;
}

static relmc_target *open_shard_team(const char *spec, struct pipes *p,
                                     uint32_t size)
{
    open_pipes(p, size);
    for (uint32_t r = 1; r < size; r++) {
        p->child[r] = fork();
        assert_true(p->child[r] >= 0);
        if (p->child[r] == 0) {
            p->rank = r;
            keep_own_ends(p);
            relmc_target *target = open_shards(spec, p);
            const int code = relmc_target_serve(target, NULL) != RELMC_OK;
            relmc_target_destroy(target);
            _exit(code);
        }
    }
    keep_own_ends(p);
    return open_shards(spec, p);
}

static void close_shard_team(relmc_target *target, struct pipes *p)
{
    relmc_target_release(target);
    relmc_target_destroy(target);
    close_pipes(p);
}

static const struct {
    const char *model, *sampler, *adapt;
    uint32_t lanes, batch_rows;
    int batch, is_shared;
} on_data[] = {
    {"logistic:dim=3,n=333", "nuts", "auto", 1, 0, 0, 0},
    {"logistic:dim=3,n=333", "nuts", "auto", 3, 0, 0, 0},
    {"logistic:dim=3,n=40", "hmc:steps=5", "dual", 5, 0, 0, 0},
    {"linear:dim=2,n=100", "nuts", "stan", 1, 0, 0, 0},
    {"logistic:dim=3,n=333", "sghmc", "none", 1, 20, 0, 0},
    {"logistic:dim=3,n=333", "sgnht", "none", 5, 20, 0, 1},
    {"logistic:dim=3,n=333", "adam", "none", 1, 20, RELMC_BATCH_REPLACE, 0},
};

static void test_shards__draws_do_not_depend_on_the_team(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof on_data / sizeof *on_data; i++) {
        relmc_options o = options_of(on_data[i].sampler, on_data[i].adapt);
        struct log *wanted = NULL;

        o.lanes = on_data[i].lanes;
        o.batch_rows = on_data[i].batch_rows;
        o.batch = on_data[i].batch;
        o.batch_is_shared = on_data[i].is_shared;
        for (uint32_t size = 1; size <= MOST; size++) {
            struct pipes pipes;
            relmc_target *target =
                open_shard_team(on_data[i].model, &pipes, size);
            struct log *log = run_alone(target, &o);

            if (size == 1) {
                wanted = log;
            } else {
                check_same(log, wanted, on_data[i].sampler);
                free(log);
            }
            close_shard_team(target, &pipes);
        }
        free(wanted);
    }
}

/* Log density and gradient differ by rounding errors only. */
static void test_shards__agree_with_the_model(void **state)
{
    static const char *const models[] = {
        "logistic:dim=3,n=1000", "linear:dim=2,n=100", "logistic:dim=3,n=5"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct pipes pipes = {.size = 1};
        relmc_target *plain = target_of(models[m]);
        relmc_target *target = open_shards(models[m], &pipes);
        const double x[DIM] = {0.3, -1.2, 0.4};
        double lp[2], grad[2][DIM];
        relmc_error err = {0};

        assert_int_equal(relmc_target_dim(target), DIM);
        check_ok(relmc_target_eval(plain, 1, x, &lp[0], grad[0], &err), &err);
        check_ok(relmc_target_eval(target, 1, x, &lp[1], grad[1], &err), &err);
        assert_true(fabs(lp[0] - lp[1]) <= 1e-13 * fabs(lp[0]));
        for (size_t i = 0; i < DIM; i++) {
            assert_true(fabs(grad[0][i] - grad[1][i]) <=
                        1e-12 * (1.0 + fabs(lp[0])));
        }
        relmc_target_destroy(plain);
        relmc_target_destroy(target);
    }
}

static void test_shards__are_refused_without_rows(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_error err = {0};

    (void)state;
    assert_int_equal(relmc_target_shard(target, N_SHARDS, NULL, &err),
                     RELMC_EUNSUPP);
    assert_non_null(strstr(err.message, "gaussian"));
    relmc_target_destroy(target);
    target = target_of("logistic");
    assert_int_equal(relmc_target_shard(target, 0, NULL, &err), RELMC_EINVAL);
    assert_int_equal(relmc_target_shard(target, 6, NULL, &err), RELMC_EINVAL);
    check_ok(relmc_target_shard(target, 1, NULL, &err), &err);
    assert_int_equal(relmc_target_shard(target, 1, NULL, &err), RELMC_EINVAL);
    assert_int_equal(relmc_target_serve(target, &err), RELMC_EINVAL);
    relmc_target_destroy(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards__draws_do_not_depend_on_the_team),
        cmocka_unit_test(test_shards__agree_with_the_model),
        cmocka_unit_test(test_shards__are_refused_without_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
