/* input_sizes.c - structs of callers with older and newer headers: options, data, a
 * density, a team. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_team.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 20, MORE = 64, ROOM = 1024, BYTE = 0x55 };

static char folder[] = "input-sizes-XXXXXX"; /* in the working directory */
static char checkpoint[sizeof folder + 8];
static double x[N], y[N];
static relmc_target *normal, *linear;

/* ---- what a program sets ------------------------------------------------- */

static int point(void *ctx, const double *at, double *lp, double *grad,
                 relmc_error *err)
{
    (void)ctx, (void)err;
    *lp = -0.5 * at[0] * at[0];
    grad[0] = -at[0];
    return RELMC_OK;
}

static void set_density(void *out)
{
    relmc_density d = RELMC_INIT(relmc_density);

    d.dim = 1;
    d.point = point;
    memcpy(out, &d, sizeof d);
}

static void set_data(void *out)
{
    relmc_data d = RELMC_INIT(relmc_data);

    d.n_rows = N;
    d.n_columns = 1;
    d.x = x;
    d.y = y;
    memcpy(out, &d, sizeof d);
}

static void set_options(void *out)
{
    const relmc_options o = RELMC_INIT(relmc_options);

    memcpy(out, &o, sizeof o);
}

static void tell(void *ctx, void *data, size_t bytes)
{
    (void)ctx, (void)data, (void)bytes;
}

static void give(void *ctx, const void *data, size_t bytes)
{
    (void)ctx, (void)data, (void)bytes;
}

static void take(void *ctx, uint32_t from, void *data, size_t bytes)
{
    (void)ctx, (void)from, (void)data, (void)bytes;
}

static void set_team(void *out)
{
    relmc_team t = RELMC_INIT(relmc_team);

    t.rank = 1; /* a worker sends nothing until it serves */
    t.n_members = 2;
    t.tell = tell;
    t.give = give;
    t.take = take;
    memcpy(out, &t, sizeof t);
}

/* ---- a call for each ------------------------------------------------------ */

static int create_target(const void *in, relmc_error *err)
{
    relmc_target *t = NULL;
    const int status = relmc_target_create(&t, in, err);

    relmc_target_destroy(t);
    return status;
}

static int open_target(const void *in, relmc_error *err)
{
    relmc_target *t = NULL;
    const int status = relmc_target_open(&t, "linear", in, err);

    relmc_target_destroy(t);
    return status;
}

static int predict(const void *in, relmc_error *err)
{
    const double at[3] = {0.0};
    double out[2 * N];

    return relmc_target_predict(linear, at, in, out, err);
}

static int end(relmc_run *run, int status)
{
    relmc_run_destroy(run);
    return status;
}

static int create_run(const void *in, relmc_error *err)
{
    relmc_run *run = NULL;
    const int status = relmc_run_create(&run, normal, in, err);

    return end(run, status);
}

static int resume_run(const void *in, relmc_error *err)
{
    relmc_run *run = NULL;
    const int status = relmc_run_resume(&run, normal, checkpoint, in, err);

    return end(run, status);
}

static int create_team(const void *in, relmc_error *err)
{
    relmc_run *run = NULL;
    const int status = relmc_run_create_team(&run, normal, NULL, in, err);

    return end(run, status);
}

static int resume_team(const void *in, relmc_error *err)
{
    relmc_run *run = NULL;
    const int status =
        relmc_run_resume_team(&run, normal, checkpoint, NULL, in, err);

    return end(run, status);
}

static int shard(const void *in, relmc_error *err)
{
    relmc_target *t = NULL;
    int status = relmc_target_open(&t, "logistic", NULL, err);

    if (!status) {
        status = relmc_target_shard(t, 2, in, err);
    }
    relmc_target_destroy(t);
    return status;
}

#define FROM(type, last) (offsetof(type, last) + sizeof(((type *)NULL)->last))

static const struct {
    const char *name;
    size_t size, least; /* of this version, of the first one */
    void (*set)(void *out);
    int (*call)(const void *in, relmc_error *err);
} inputs[] = {
#define ENTRY(type, least, set, call)         \
    {                                         \
#type, sizeof(type), least, set, call \
    }
    ENTRY(relmc_density, FROM(relmc_density, release), set_density,
          create_target),
    ENTRY(relmc_data, FROM(relmc_data, n_classes), set_data, open_target),
    ENTRY(relmc_data, FROM(relmc_data, n_classes), set_data, predict),
    ENTRY(relmc_options, sizeof(size_t), set_options, create_run),
    ENTRY(relmc_options, sizeof(size_t), set_options, resume_run),
    ENTRY(relmc_team, FROM(relmc_team, ctx), set_team, create_team),
    ENTRY(relmc_team, FROM(relmc_team, ctx), set_team, resume_team),
    ENTRY(relmc_team, FROM(relmc_team, ctx), set_team, shard),
};
enum { N_INPUTS = sizeof inputs / sizeof *inputs };

/* ---- tests --------------------------------------------------------------- */

static union {
    size_t size;
    unsigned char bytes[ROOM];
} room;

/* The program owns `size` bytes, zero where it set nothing; the others are garbage. */
static int call(size_t i, size_t size, size_t odd, relmc_error *err)
{
    memset(&room, 0, sizeof room);
    inputs[i].set(&room);
    for (size_t b = size; b < ROOM; b++) {
        room.bytes[b] = BYTE;
    }
    room.size = size;
    if (odd) {
        room.bytes[odd] = 1;
    }
    *err = (relmc_error){0};
    const int status = inputs[i].call(&room, err);

    if (status && status != RELMC_EINVAL) {
        print_error("%s of %zu bytes: %s\n", inputs[i].name, size,
                    err->message);
    }
    return status;
}

static void test_inputs__of_older_headers(void **state)
{
    relmc_error err;

    (void)state;
    for (size_t i = 0; i < N_INPUTS; i++) {
        for (size_t size = inputs[i].least; size <= inputs[i].size; size += 8) {
            assert_int_equal(call(i, size, 0, &err), RELMC_OK);
        }
    }
}

static void test_inputs__of_newer_headers(void **state)
{
    relmc_error err;

    (void)state;
    for (size_t i = 0; i < N_INPUTS; i++) {
        const size_t known = inputs[i].size, newer = known + MORE;

        assert_int_equal(call(i, newer, 0, &err), RELMC_OK);
        for (size_t odd = known; odd < newer; odd += 7) {
            assert_int_equal(call(i, newer, odd, &err), RELMC_EINVAL);
            assert_non_null(strstr(err.message, inputs[i].name));
            assert_non_null(strstr(err.message, "does not know"));
        }
    }
}

static void test_inputs__need_a_size(void **state)
{
    relmc_error err;

    (void)state;
    for (size_t i = 0; i < N_INPUTS; i++) {
        const size_t bad[] = {0, 1, inputs[i].least - 1, 4097, SIZE_MAX};

        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            assert_int_equal(call(i, inputs[i].size, 0, &err), RELMC_OK);
            room.size = bad[k];
            assert_int_equal(inputs[i].call(&room, &err), RELMC_EINVAL);
            assert_non_null(strstr(err.message, inputs[i].name));
            assert_non_null(strstr(err.message, "size must be"));
        }
    }
}

static void test_team__must_be_one(void **state)
{
    static const size_t callbacks[] = {offsetof(relmc_team, tell),
                                       offsetof(relmc_team, give),
                                       offsetof(relmc_team, take)};
    relmc_error err = {0};
    relmc_team team;

    (void)state;
    for (size_t i = 0; i < N_INPUTS; i++) {
        if (strcmp(inputs[i].name, "relmc_team")) {
            continue;
        }
        set_team(&team);
        team.rank = 2;
        assert_int_equal(inputs[i].call(&team, &err), RELMC_EINVAL);
        assert_non_null(strstr(err.message, "n_members"));
        for (size_t k = 0; k < 3; k++) {
            set_team(&team);
            memset((char *)&team + callbacks[k], 0, sizeof team.tell);
            assert_int_equal(inputs[i].call(&team, &err), RELMC_EINVAL);
            assert_non_null(strstr(err.message, "must be set"));
        }
        team = (relmc_team)RELMC_INIT(relmc_team); /* one process */
        assert_int_equal(inputs[i].call(&team, &err), RELMC_OK);
        assert_int_equal(inputs[i].call(NULL, &err), RELMC_OK);
    }
}

/* ---- what they need -------------------------------------------------------- */

static int save(void)
{
    relmc_run *run = NULL;
    int status = relmc_run_create(&run, normal, NULL, NULL);

    if (!status) {
        status = relmc_run_save(run, checkpoint, NULL, 0, NULL);
    }
    return end(run, status);
}

static int open_all(void **state)
{
    relmc_data data;

    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = i - 0.5 * N;
        y[i] = (i * 7) % N;
    }
    set_data(&data);
    if (!mkdtemp(folder)) {
        return -1;
    }
    (void)strcat(strcpy(checkpoint, folder), "/run");
    return relmc_target_open(&normal, "gaussian:dim=2", NULL, NULL) ||
           relmc_target_open(&linear, "linear", &data, NULL) || save();
}

static int close_all(void **state)
{
    (void)state;
    relmc_target_destroy(linear);
    relmc_target_destroy(normal);
    return unlink(checkpoint) || rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs__of_older_headers),
        cmocka_unit_test(test_inputs__of_newer_headers),
        cmocka_unit_test(test_inputs__need_a_size),
        cmocka_unit_test(test_team__must_be_one),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
