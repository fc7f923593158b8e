/* network_claims.c - the claims of figures 5 and 6 hold on made-up sheets that support
 * them, and fail on sheets with one wrong curve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reproduce.h"

#include "tool/config.h"

#include <math.h>
#include <string.h>

/* Replaces the reader of experiments. */
int config_load(json_t **out, const char *path, const char *who, int bad)
{
    (void)path;
    (void)who;
    *out = NULL;
    return bad;
}

/* ---- sheets ---------------------------------------------------------------- */

enum { EPOCH, ERROR, ERROR_SE, RMS, RMS_SE, N_COLUMNS };
static const char *const columns[] = {"epoch", "test_error", "test_error_se",
                                      "rms",   "rms_se",     NULL};

/* A curve: rows at epochs 0.1, 10 and 100. */
struct made_up {
    const char *panel, *method;
    double error[3], rms[3];
};

enum { MOST = 16 };

struct fixture {
    struct experiment e;
    struct cell cells[MOST];
    json_t *names[2 * MOST]; /* of panels and methods */
    struct sheet sheet;
};

static json_t *named(const char *name)
{
    return json_pack("{s:s}", "name", name);
}

static void open_sheet(struct fixture *f, const struct made_up *curves,
                       size_t n, double se)
{
    static const double epochs[] = {0.1, 10, 100};

    *f = (struct fixture){.e = {.name = "made-up", .n_cells = n}};
    f->e.cells = f->cells;
    sheet_init(&f->sheet, &f->e, columns);
    for (size_t i = 0; i < n; i++) {
        f->names[2 * i] = named(curves[i].panel);
        f->names[2 * i + 1] = named(curves[i].method);
        f->cells[i] = (struct cell){.panel = f->names[2 * i],
                                    .method = f->names[2 * i + 1]};
        /* the last row belongs to a histogram: all NaN */
        double *rows = cell_rows_add(&f->sheet.cells[i], 4, N_COLUMNS);

        for (size_t r = 0; r < 3; r++) {
            double *row = rows + r * N_COLUMNS;

            row[EPOCH] = epochs[r];
            row[ERROR] = curves[i].error[r];
            row[RMS] = curves[i].rms[r];
            row[ERROR_SE] = se;
            row[RMS_SE] = se * row[RMS];
        }
    }
}

static void close_sheet(struct fixture *f)
{
    sheet_clear(&f->sheet);
    for (size_t i = 0; i < 2 * f->e.n_cells; i++) {
        json_decref(f->names[i]);
    }
}

static enum verdict verdict_of(const struct claim *claims, const char *id,
                               const struct fixture *f)
{
    for (const struct claim *c = claims; c->id; c++) {
        if (!strcmp(c->id, id)) {
            return claim_judge(c, &f->sheet).verdict;
        }
    }
    fail_msg("no claim %s", id);
    return VERDICT_NONE;
}

/* ---- figure 6 -------------------------------------------------------------- */

static const char *const fig6_ids[] = {
    "competitive-with-adam", "lower-than-adam", "better-than-santa",
    "better-than-authors-santa", "better-than-momentum"};
enum { N_FIG6 = sizeof fig6_ids / sizeof *fig6_ids };

/* RSGD against all others.  Earlier rows have the opposite order: only the last counts. */
static void judge_fig6(enum verdict *out, double ours, double theirs, double se)
{
    static const char *const rivals[] = {
        "Adam", "Santa SGD", "Santa SGD (authors)", "SGD with momentum"};
    struct made_up curves[5] = {
        {"100", "RSGD", {theirs, theirs, ours}, {1, 1, 1}}};
    struct fixture f;

    for (size_t i = 0; i < 4; i++) {
        curves[i + 1] =
            (struct made_up){"100", rivals[i], {ours, ours, theirs}, {1, 1, 1}};
    }
    open_sheet(&f, curves, 5, se);
    /* no histogram in this figure */
    for (size_t i = 0; i < 5; i++) {
        f.sheet.cells[i].n = 3;
    }
    for (size_t i = 0; i < N_FIG6; i++) {
        out[i] = verdict_of(fig6_claims, fig6_ids[i], &f);
    }
    close_sheet(&f);
}

static void test_fig6__clear_cases(void **state)
{
    enum verdict found[N_FIG6];

    (void)state;
    judge_fig6(found, 0.019, 0.023, 0.0002);
    for (size_t i = 0; i < N_FIG6; i++) {
        assert_int_equal(found[i], VERDICT_REPRODUCED);
    }
    judge_fig6(found, 0.023, 0.019, 0.0002);
    for (size_t i = 0; i < N_FIG6; i++) {
        assert_int_equal(found[i], VERDICT_NOT);
    }
}

/* A tie is competitive but not better; a difference within the noise is inconclusive. */
static void test_fig6__ties_and_noise(void **state)
{
    enum verdict found[N_FIG6];

    (void)state;
    judge_fig6(found, 0.02, 0.02, 0.0001);
    assert_int_equal(found[0], VERDICT_REPRODUCED);
    assert_int_equal(found[1], VERDICT_PARTLY);
    assert_int_equal(found[2], VERDICT_NOT);
    assert_int_equal(found[4], VERDICT_NOT);
    judge_fig6(found, 0.019, 0.023, 0.004);
    for (size_t i = 0; i < N_FIG6; i++) {
        assert_int_equal(found[i], VERDICT_PARTLY);
    }
}

static void test_fig6__what_was_not_measured(void **state)
{
    const struct made_up alone = {"100", "RSGD", {0.02, 0.02, 0.02}, {1, 1, 1}};
    struct fixture f;

    (void)state;
    open_sheet(&f, &alone, 1, 0.0001);
    for (size_t i = 0; i < N_FIG6; i++) {
        assert_int_equal(verdict_of(fig6_claims, fig6_ids[i], &f),
                         VERDICT_NONE);
    }
    close_sheet(&f);
}

/* ---- figure 5 -------------------------------------------------------------- */

enum { N_FIG5 = 8 };
static const struct made_up as_written[N_FIG5] = {
    {"max-flat", "RSGD", {0.5, 0.25, 0.24}, {0.3, 0.4, 0.5}},
    {"max-flat", "RHMC", {0.4, 0.26, 0.25}, {0.35, 0.4, 0.5}},
    {"max-flat", "SGLD-Adam", {0.5, 0.45, 0.35}, {200, 200, 0.3}},
    {"max-flat", "SGLD-Adam 0.1", {0.5, 0.45, 0.35}, {200, 200, 0.3}},
    {"sd-normal", "RSGD", {0.5, 0.25, 0.24}, {0.3, 0.4, 0.5}},
    {"sd-normal", "RHMC", {0.4, 0.26, 0.25}, {0.35, 0.4, 0.5}},
    {"sd-normal", "SGLD-Adam", {0.5, 0.45, 0.35}, {200, 200, 0.3}},
    /* panels without a claim */
    {"sd-flat", "SGLD-Adam", {0.1, 0.1, 0.1}, {0.1, 0.1, 0.1}},
};

static enum verdict judge_fig5(const struct made_up *curves, const char *id)
{
    struct fixture f;

    open_sheet(&f, curves, N_FIG5, 0.002);
    const enum verdict found = verdict_of(fig5_claims, id, &f);

    close_sheet(&f);
    return found;
}

static void test_fig5__as_the_paper_says(void **state)
{
    (void)state;
    for (const struct claim *c = fig5_claims; c->id; c++) {
        assert_int_equal(judge_fig5(as_written, c->id), VERDICT_REPRODUCED);
    }
}

static void test_fig5__one_curve_breaks_a_claim(void **state)
{
    static const struct {
        const char *id;
        size_t curve;
        struct made_up instead;
    } cases[] = {
        {"outperformed", 2, {NULL, NULL, {0.9, 0.9, 0.2}, {200, 200, 200}}},
        /* one of the two is not enough */
        {"outperformed", 1, {NULL, NULL, {0.2, 0.2, 0.4}, {0.3, 0.3, 0.3}}},
        /* the row of the first iteration is not that of the first epoch */
        {"outperformed-early", 2, {NULL, NULL, {0.9, 0.2, 0.9}, {200, 1, 1}}},
        /* what RSGD has reached at the end does not matter */
        {"slow-recovery", 0, {NULL, NULL, {0.2, 0.45, 0.2}, {0.3, 0.3, 0.3}}},
        {"weights-explode", 2, {NULL, NULL, {0.5, 0.5, 0.5}, {0.4, 200, 200}}},
        {"weights-kept", 1, {NULL, NULL, {0.4, 0.3, 0.25}, {9, 0.3, 0.3}}},
        {"whatever-lambda", 3, {NULL, NULL, {0.5, 0.5, 0.25}, {1, 1, 1}}},
        {"whatever-data", 6, {NULL, NULL, {0.5, 0.5, 0.25}, {200, 1, 1}}},
        {"weights-explode-anywhere",
         6,
         {NULL, NULL, {0.5, 0.5, 0.5}, {0.3, 200, 200}}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_up curves[N_FIG5];
        struct made_up *other = &curves[cases[i].curve];
        struct made_up instead = cases[i].instead;

        memcpy(curves, as_written, sizeof curves);
        instead.panel = other->panel;
        instead.method = other->method;
        *other = instead;
        assert_int_equal(judge_fig5(curves, cases[i].id), VERDICT_NOT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fig6__clear_cases),
        cmocka_unit_test(test_fig6__ties_and_noise),
        cmocka_unit_test(test_fig6__what_was_not_measured),
        cmocka_unit_test(test_fig5__as_the_paper_says),
        cmocka_unit_test(test_fig5__one_curve_breaks_a_claim),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
