/*
 * density.c - targets from the callbacks of a relmc_density: refusals, names, outputs and
 * their random numbers, error texts, release, shards, and many points at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_diag.h"
#include "relmc_team.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 3, N_OUTPUTS = 4, N_DATA = 11 };

/* A normal density on x[0] < edge; the other limits are values of x[0], too. */
struct normal {
    double edge;         /* the density is zero from here on */
    double fails_from;   /* the density fails from here on ... */
    int status;          /* ... with this status ... */
    const char *text;    /* ... and this text ... */
    int is_text_only;    /* ... in an error that has no status */
    double no_outputs;   /* outputs are rejected from here on ... */
    double outputs_fail; /* ... or end the run from here on */
    int n_released;
    const char *names[N_OUTPUTS];
};

static const struct normal usual = {.edge = HUGE_VAL,
                                    .fails_from = HUGE_VAL,
                                    .no_outputs = HUGE_VAL,
                                    .outputs_fail = HUGE_VAL};

static int answer(const struct normal *n, const double *x, relmc_error *err)
{
    if (x[0] >= n->fails_from && n->is_text_only) {
        (void)snprintf(err->message, sizeof err->message, "%s", n->text);
        return n->status;
    }
    if (x[0] >= n->fails_from) {
        return n->text ? relmc_fail(err, n->status, n->text) : n->status;
    }
    return x[0] >= n->edge ? relmc_fail(err, RELMC_REJECT, "beyond the edge")
                           : RELMC_OK;
}

static int point(void *ctx, const double *x, double *lp, double *grad,
                 relmc_error *err)
{
    *lp = 0.0;
    for (size_t i = 0; i < DIM; i++) {
        *lp -= 0.5 * x[i] * x[i];
        grad[i] = -x[i];
    }
    return answer(ctx, x, err);
}

/* Half of it is the prior, the rest equal parts for all rows. */
static int rows(void *ctx, const double *x, const uint32_t *row, size_t n,
                double scale, double *lp, double *grad, relmc_error *err)
{
    const double part = 0.5 + 0.5 * scale * (double)n / N_DATA;

    for (size_t r = 0; r < n; r++) {
        assert_true(row[r] < N_DATA);
    }
    *lp = 0.0;
    for (size_t i = 0; i < DIM; i++) {
        *lp -= 0.5 * part * x[i] * x[i];
        grad[i] = -part * x[i];
    }
    return answer(ctx, x, err);
}

static int lanes(void *ctx, size_t n, size_t ld, const double *x, double *lp,
                 double *grad, relmc_error *err)
{
    const struct normal *normal = ctx;

    for (size_t k = 0; k < n; k++) {
        lp[k] = 0.0;
        for (size_t i = 0; i < DIM; i++) {
            const double value = x[i * ld + k];

            lp[k] -= 0.5 * value * value;
            grad[i * ld + k] = -value;
        }
        if (x[k] >= normal->fails_from) {
            return answer(normal, &x[k], err);
        }
        if (x[k] >= normal->edge) {
            lp[k] = -HUGE_VAL;
        }
    }
    return RELMC_OK;
}

/* The last two are random; the number of draws from `from` depends on x. */
static int outputs(void *ctx, const double *x, double (*random)(void *),
                   void *from, double *out, relmc_error *err)
{
    const struct normal *n = ctx;

    out[0] = exp(x[0]);
    out[1] = x[1] + x[2];
    out[2] = random(from);
    out[3] = x[0] > 0.0 ? random(from) + random(from) : random(from);
    if (x[0] >= n->outputs_fail) {
        return relmc_fail(err, RELMC_EIO, "no more ink");
    }
    return x[0] >= n->no_outputs
               ? relmc_fail(err, RELMC_REJECT, "outputs need x.1 below")
               : RELMC_OK;
}

static const char *name(void *ctx, size_t i)
{
    return ((const struct normal *)ctx)->names[i];
}

static void release(void *ctx)
{
    ((struct normal *)ctx)->n_released++;
}

enum kind { POINT, ROWS, LANES, N_KINDS };

static relmc_density density_of(enum kind kind, struct normal *normal)
{
    relmc_density d = RELMC_INIT(relmc_density);

    d.dim = DIM;
    d.ctx = normal;
    d.point = kind == POINT ? point : NULL;
    d.rows = kind == ROWS ? rows : NULL;
    d.n_data = kind == ROWS ? N_DATA : 0;
    d.lanes = kind == LANES ? lanes : NULL;
    return d;
}

static relmc_density with_outputs(enum kind kind, struct normal *normal)
{
    relmc_density d = density_of(kind, normal);

    d.n_outputs = N_OUTPUTS;
    d.outputs = outputs;
    return d;
}

static relmc_target *open_density(const relmc_density *d)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    if (relmc_target_create(&t, d, &err)) {
        fail_msg("%s", err.message);
    }
    return t;
}

/* ---- what is refused ------------------------------------------------------- */

static void refused(const relmc_density *d, const char *text)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    if (relmc_target_create(&t, d, &err) != RELMC_EINVAL || t ||
        !strstr(err.message, text)) {
        fail_msg("not refused for \"%s\": %s", text, err.message);
    }
}

static void test_create__refuses_what_does_not_fit(void **state)
{
    struct normal n = usual;
    relmc_density d = density_of(POINT, &n);
    struct {
        relmc_density d;
        unsigned char more[16];
    } newer;

    (void)state;
    d.release = release;
    d.dim = 0;
    refused(&d, "dim");
    d.dim = DIM;
    d.point = NULL;
    refused(&d, "give point, rows or lanes");
    d = density_of(POINT, &n);
    d.n_data = 5;
    refused(&d, "rows is missing");
    d = density_of(ROWS, &n);
    d.n_data = 0;
    refused(&d, "n_data must be");
    d = density_of(POINT, &n);
    d.outputs = outputs;
    refused(&d, "n_outputs and outputs go together");
    d = density_of(POINT, &n);
    d.n_outputs = 2;
    refused(&d, "n_outputs and outputs go together");
    d = density_of(POINT, &n);
    d.output_name = name;
    refused(&d, "n_outputs and outputs go together");
    d = density_of(POINT, &n);
    d.size = sizeof d - 1;
    refused(&d, "size must be sizeof(relmc_density)");
    refused(NULL, "give point");
    memset(&newer, 0, sizeof newer);
    newer.d = density_of(POINT, &n);
    newer.d.size = sizeof newer;
    relmc_target_destroy(open_density(&newer.d)); /* zero is the default */
    newer.more[3] = 1;
    refused(&newer.d, "does not know");
    assert_int_equal(n.n_released, 0);
}

static void test_create__refuses_names_that_break_files(void **state)
{
    static const char *const bad[] = {"", "a,b", "a b", "a\n", "\"a\"", "#a"};
    struct normal n = usual;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        relmc_density d = density_of(POINT, &n);

        n.names[0] = n.names[1] = "good";
        n.names[2] = bad[i];
        d.coordinate_name = name;
        refused(&d, "coordinate 3");
        d = with_outputs(POINT, &n);
        d.output_name = name;
        refused(&d, "output 3");
        d = density_of(POINT, &n);
        d.id = bad[i];
        refused(&d, "id");
    }
}

/* ---- names and release ----------------------------------------------------- */

static void test_density__has_names(void **state)
{
    struct normal n = usual;
    relmc_density d = with_outputs(POINT, &n);
    char text[8] = "";

    (void)state;
    n.names[0] = "sigma.1";
    n.names[1] = "a_rather_long_name";
    n.names[2] = NULL;
    d.output_name = d.coordinate_name = name;
    d.id = "my-model:v2";
    relmc_target *t = open_density(&d);
    assert_string_equal(relmc_target_name(t), "my-model:v2");
    assert_int_equal(relmc_target_output_name(t, 0, text, sizeof text), 7);
    assert_string_equal(text, "sigma.1");
    assert_int_equal(relmc_target_coordinate_name(t, 1, text, sizeof text), 18);
    assert_string_equal(text, "a_rathe");
    assert_int_equal(relmc_target_output_name(t, 2, text, sizeof text), 3);
    assert_string_equal(text, "x.3");
    assert_int_equal(relmc_target_coordinate_name(t, DIM, text, sizeof text),
                     0);
    assert_string_equal(text, "");
    assert_int_equal(relmc_target_output_name(t, 1, NULL, 0), 18);
    assert_int_equal(relmc_target_n_outputs(t), N_OUTPUTS);
    relmc_target_destroy(t);

    d = density_of(LANES, &n);
    t = open_density(&d);
    assert_string_equal(relmc_target_name(t), "callback");
    assert_int_equal(relmc_target_n_outputs(t), DIM);
    assert_int_equal(relmc_target_output_name(t, 1, text, sizeof text), 3);
    assert_string_equal(text, "x.2");
    relmc_target_destroy(t);
}

static void test_density__is_released_once(void **state)
{
    struct normal n = usual;
    relmc_density d = density_of(POINT, &n);
    relmc_run *run = NULL;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    (void)state;
    d.release = release;
    relmc_target *t = open_density(&d);
    o.draws = 20;
    o.warmup = RELMC_ZERO;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    relmc_run_destroy(run);
    assert_int_equal(n.n_released, 0);
    relmc_target_destroy(t);
    assert_int_equal(n.n_released, 1);
}

/* ---- statuses -------------------------------------------------------------- */

/* The error of a run whose density fails above x = 1. */
static void check_failure(enum kind kind, const struct normal *like,
                          relmc_status status, const char *text)
{
    struct normal n = *like;
    const relmc_density d = density_of(kind, &n);
    relmc_target *t = open_density(&d);
    const double x[DIM] = {2.0, 0.0, 0.0};
    double lp, grad[DIM];
    relmc_run *run = NULL;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_error err = {0};

    assert_int_equal(relmc_target_eval(t, 1, x, &lp, grad, &err), status);
    assert_non_null(strstr(err.message, text));
    o.init_radius = 0.1;
    o.kinetic = "newtonian";
    assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_OK);
    memset(&err, 0, sizeof err);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, &err), status);
    assert_int_equal(err.status, status);
    if (!strstr(err.message, text)) {
        fail_msg("kind %d: %s", kind, err.message);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

static void test_density__says_why_it_failed(void **state)
{
    struct normal n = usual;

    (void)state;
    n.fails_from = 1.0;
    for (enum kind kind = 0; kind < N_KINDS; kind++) {
        n.text = "the solver diverged at t = 3";
        n.status = RELMC_EIO;
        n.is_text_only = 0;
        check_failure(kind, &n, RELMC_EIO, n.text);
        n.status = -42;
        n.is_text_only = 1;
        check_failure(kind, &n, RELMC_ETARGET, n.text);
        n.is_text_only = 0;
        n.text = NULL;
        check_failure(kind, &n, RELMC_ETARGET, "status -42");
    }
}

static void test_density__counts_rejected_points(void **state)
{
    struct normal n = usual;
    relmc_density d = density_of(POINT, &n);
    const double x[3 * DIM] = {0.5, 0, 0, 2.0, 0, 0, 3.0, 0, 0};
    double lp[3], grad[3 * DIM];
    relmc_error err = {0};
    const char *first = "";

    (void)state;
    n.edge = 1.0;
    relmc_target *t = open_density(&d);
    assert_int_equal(relmc_target_rejections(t, &first), 0);
    assert_null(first);
    assert_int_equal(relmc_target_eval(t, 3, x, lp, grad, &err), RELMC_REJECT);
    assert_true(lp[0] == -0.125 && grad[0] == -0.5);
    assert_true(lp[1] == -HUGE_VAL && lp[2] == -HUGE_VAL);
    assert_true(grad[DIM] == 0.0 && grad[2 * DIM] == 0.0);
    assert_non_null(strstr(err.message, "beyond the edge"));
    assert_int_equal(relmc_target_rejections(t, &first), 2);
    assert_string_equal(first, "beyond the edge");
    relmc_target_destroy(t);
}

/* The text of a rejected point is not reported for a later failure. */
static void test_density__texts_do_not_stay(void **state)
{
    struct normal n = usual;
    const relmc_density d = density_of(POINT, &n);
    const double x[2 * DIM] = {1.5, 0, 0, 3.0, 0, 0};
    double lp[2];
    relmc_error err = {0};

    (void)state;
    n.edge = 1.0;
    n.fails_from = 2.0;
    n.status = -7;
    relmc_target *t = open_density(&d);
    assert_int_equal(relmc_target_eval(t, 2, x, lp, NULL, &err), RELMC_ETARGET);
    assert_null(strstr(err.message, "edge"));
    assert_non_null(strstr(err.message, "status -7"));
    relmc_target_destroy(t);
}

/* ---- outputs --------------------------------------------------------------- */

enum { CHAINS = 3, DRAWS = 40 };

struct shown {
    size_t n[CHAINS];
    double x[CHAINS][DRAWS * DIM], out[CHAINS][DRAWS * N_OUTPUTS];
};

static relmc_status keep(void *ctx, const relmc_draw *draw)
{
    struct shown *s = ctx;
    const size_t c = draw->chain - 5, n = s->n[c]++;

    memcpy(&s->x[c][n * DIM], draw->coordinates, DIM * sizeof(double));
    memcpy(&s->out[c][n * N_OUTPUTS], draw->outputs,
           N_OUTPUTS * sizeof(double));
    return RELMC_OK;
}

static void show(struct shown *out, const relmc_target *t, uint32_t threads,
                 uint32_t thin)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;

    memset(out, 0, sizeof *out);
    o.seed = 77;
    o.chains = CHAINS;
    o.first_chain = 5;
    o.threads = threads;
    o.thin = thin;
    o.draws = DRAWS * thin;
    o.warmup = 50;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_observe(run, keep, out, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    relmc_run_destroy(run);
    for (size_t c = 0; c < CHAINS; c++) {
        assert_int_equal(out->n[c], DRAWS);
    }
}

/* Coordinates of draws give their outputs again, all at once or in parts. */
static void test_outputs__are_those_of_a_run(void **state)
{
    static struct shown a, b;
    double out[DRAWS * N_OUTPUTS];

    (void)state;
    for (enum kind kind = 0; kind < N_KINDS; kind++) {
        struct normal n = usual;
        const relmc_density d = with_outputs(kind, &n);
        relmc_target *t = open_density(&d);

        show(&a, t, 1, 1 + (uint32_t)kind);
        show(&b, t, 3, 1 + (uint32_t)kind);
        assert_memory_equal(&a, &b, sizeof a);
        for (uint32_t c = 0; c < CHAINS; c++) {
            assert_int_equal(
                relmc_target_outputs(t, 77, 5 + c, 0, DRAWS, a.x[c], out, NULL),
                RELMC_OK);
            assert_memory_equal(out, a.out[c], sizeof out);
            assert_int_equal(relmc_target_outputs(t, 77, 5 + c, 7, 2,
                                                  &a.x[c][7 * DIM], out, NULL),
                             RELMC_OK);
            assert_memory_equal(out, &a.out[c][7 * N_OUTPUTS],
                                2 * N_OUTPUTS * sizeof *out);
        }
        assert_int_equal(
            relmc_target_outputs(t, 77, 5, -1, 1, a.x[0], out, NULL),
            RELMC_EINVAL);
        relmc_target_destroy(t);
    }
}

/* They depend on seed, chain and draw, and look uniform. */
static void test_outputs__have_uniforms_of_their_own(void **state)
{
    enum { N = 4000 };
    struct normal n = usual;
    const relmc_density d = with_outputs(POINT, &n);
    relmc_target *t = open_density(&d);
    double *x = calloc(N * DIM, sizeof *x), sum = 0.0, square = 0.0;
    double *out = calloc(N * N_OUTPUTS, sizeof *out), other[N_OUTPUTS];

    (void)state;
    assert_true(x && out);
    assert_int_equal(relmc_target_outputs(t, 1, 0, 0, N, x, out, NULL), 0);
    for (size_t i = 0; i < N; i++) {
        const double u = out[i * N_OUTPUTS + 2];

        assert_true(u > 0.0 && u < 1.0);
        assert_true(u != out[i * N_OUTPUTS + 3]);
        assert_true(i == 0 || u != out[(i - 1) * N_OUTPUTS + 2]);
        sum += u;
        square += u * u;
    }
    assert_true(fabs(sum / N - 0.5) < 4.5 / sqrt(12.0 * N));
    assert_true(fabs(square / N - 1.0 / 3.0) < 4.5 * sqrt(4.0 / 45.0 / N));
    assert_int_equal(relmc_target_outputs(t, 2, 0, 0, 1, x, other, NULL), 0);
    assert_true(other[2] != out[2]);
    assert_int_equal(relmc_target_outputs(t, 1, 1, 0, 1, x, other, NULL), 0);
    assert_true(other[2] != out[2]);
    free(x);
    free(out);
    relmc_target_destroy(t);
}

static void test_outputs__that_fail_are_undefined(void **state)
{
    static struct shown a;
    struct normal n = usual;
    const relmc_density d = with_outputs(POINT, &n);
    relmc_target *t = open_density(&d);
    const char *first = NULL;
    int64_t n_bad = 0;

    (void)state;
    n.no_outputs = 0.0;
    show(&a, t, 2, 1);
    for (size_t c = 0; c < CHAINS; c++) {
        for (size_t i = 0; i < DRAWS; i++) {
            const double *out = &a.out[c][i * N_OUTPUTS];
            const int is_bad = a.x[c][i * DIM] >= 0.0;

            n_bad += is_bad;
            assert_true(is_bad == (out[0] != out[0]));
            assert_true(is_bad == (out[3] != out[3]));
        }
    }
    assert_true(n_bad > 10 && n_bad < CHAINS * DRAWS - 10);
    assert_int_equal(relmc_target_output_failures(t, &first), n_bad);
    assert_string_equal(first, "outputs need x.1 below");
    relmc_target_destroy(t);
}

static void test_outputs__can_end_a_run(void **state)
{
    struct normal n = usual;
    const relmc_density d = with_outputs(POINT, &n);
    relmc_target *t = open_density(&d);
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;
    relmc_error err = {0};

    (void)state;
    n.outputs_fail = 0.0;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, &err), RELMC_EIO);
    assert_string_equal(err.message, "no more ink");
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

/* ---- shards ----------------------------------------------------------------- */

static void test_density__has_rows_that_can_be_shared(void **state)
{
    const double x[DIM] = {0.3, -1.0, 2.0};
    double lp[2], grad[2][DIM];
    struct normal n = usual;
    relmc_density d = density_of(ROWS, &n);
    relmc_target *whole = open_density(&d), *parts = open_density(&d);

    (void)state;
    assert_int_equal(relmc_target_shard(parts, 4, NULL, NULL), RELMC_OK);
    assert_int_equal(relmc_target_eval(whole, 1, x, &lp[0], grad[0], NULL), 0);
    assert_int_equal(relmc_target_eval(parts, 1, x, &lp[1], grad[1], NULL), 0);
    check_close(lp[1], lp[0], 1e-14);
    for (size_t i = 0; i < DIM; i++) {
        check_close(grad[1][i], grad[0][i], 1e-14);
    }
    relmc_target_destroy(whole);
    relmc_target_destroy(parts);
    d = with_outputs(ROWS, &n); /* shards cannot have outputs */
    parts = open_density(&d);
    assert_int_equal(relmc_target_shard(parts, 4, NULL, NULL), RELMC_EUNSUPP);
    relmc_target_destroy(parts);
}

/* ---- many points ----------------------------------------------------------- */

static void same_as_one_by_one(const relmc_target *t, double far)
{
    enum { MOST = 19 };
    const size_t dim = relmc_target_dim(t);
    double *x = calloc(MOST * dim, sizeof *x), lp[MOST], alone[MOST];
    double *grad = calloc(MOST * dim, sizeof *grad);
    double *one = calloc(dim, sizeof *one);

    assert_true(x && grad && one);
    for (size_t j = 0; j < MOST * dim; j++) {
        x[j] = sin(1.0 + 3.7 * (double)j);
    }
    x[3 * dim] = far;
    for (size_t n = 1; n <= MOST; n++) {
        relmc_status worst = RELMC_OK;
        const relmc_status status = relmc_target_eval(t, n, x, lp, grad, NULL);

        for (size_t k = 0; k < n; k++) {
            double here;
            const relmc_status single =
                relmc_target_eval(t, 1, x + k * dim, &here, one, NULL);

            worst = single ? single : worst;
            assert_memory_equal(&here, &lp[k], sizeof here);
            assert_memory_equal(one, grad + k * dim, dim * sizeof *one);
        }
        assert_int_equal(status, worst);
        assert_true(relmc_target_eval(t, n, x, alone, NULL, NULL) == status);
        assert_memory_equal(alone, lp, n * sizeof *lp);
    }
    free(x);
    free(grad);
    free(one);
}

static void test_eval__of_many_points_is_that_of_each(void **state)
{
    static const char *const specs[] = {"banana", "student:dim=4", "gmm1",
                                        "logistic:n=40"};

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        relmc_target *t = NULL;

        assert_int_equal(relmc_target_open(&t, specs[i], NULL, NULL), RELMC_OK);
        same_as_one_by_one(t, 0.25);
        relmc_target_destroy(t);
    }
    for (enum kind kind = 0; kind < N_KINDS; kind++) {
        struct normal n = usual;
        const relmc_density d = density_of(kind, &n);
        relmc_target *t = open_density(&d);

        n.edge = 5.0;
        same_as_one_by_one(t, 0.25);
        same_as_one_by_one(t, 7.0);
        same_as_one_by_one(t, (double)NAN);
        relmc_target_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create__refuses_what_does_not_fit),
        cmocka_unit_test(test_create__refuses_names_that_break_files),
        cmocka_unit_test(test_density__has_names),
        cmocka_unit_test(test_density__is_released_once),
        cmocka_unit_test(test_density__says_why_it_failed),
        cmocka_unit_test(test_density__counts_rejected_points),
        cmocka_unit_test(test_density__texts_do_not_stay),
        cmocka_unit_test(test_outputs__are_those_of_a_run),
        cmocka_unit_test(test_outputs__have_uniforms_of_their_own),
        cmocka_unit_test(test_outputs__that_fail_are_undefined),
        cmocka_unit_test(test_outputs__can_end_a_run),
        cmocka_unit_test(test_density__has_rows_that_can_be_shared),
        cmocka_unit_test(test_eval__of_many_points_is_that_of_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
