/*
 * sink_csv.c - CSV files hold the draws, with every line that readers of Stan CSV need,
 * also after a run that ends early.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/sink.h"
#include "relmc.h"
#include "support/check.h"
#include "support/kept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_STATS = 8, MAX_DIM = 4, MAX_ROWS = 512, MAX_TEXT = 1 << 18 };

/* ---- reading Stan CSV ----------------------------------------------------- */

struct table {
    char text[MAX_TEXT + 2];     /* the file */
    char comments[MAX_TEXT + 2]; /* its # lines, each with its newline */
    char header[512];            /* the line of names */
    double row[MAX_ROWS][N_STATS + MAX_DIM];
    size_t n_rows, n_columns;
    size_t n_before; /* rows before "# Adaptation terminated" */
};

static void read_row(struct table *t, char *line)
{
    size_t n = 0;

    assert_true(t->n_rows < MAX_ROWS);
    for (char *s = line; *s;) {
        char *end;

        assert_true(n < N_STATS + MAX_DIM);
        t->row[t->n_rows][n++] = strtod(s, &end);
        assert_true(end > s && (*end == ',' || *end == '\0'));
        s = end + (*end == ',');
    }
    assert_int_equal(n, t->n_columns);
    t->n_rows++;
}

static void read_line(struct table *t, char *line)
{
    if (*line == '#') {
        if (!strcmp(line, "# Adaptation terminated")) {
            t->n_before = t->n_rows;
        }
        (void)strcat(strcat(t->comments, line), "\n");
    } else if (!*t->header) {
        assert_true(strlen(line) < sizeof t->header);
        memcpy(t->header, line, strlen(line) + 1);
        t->n_columns = 1;
        for (const char *s = line; *s; s++) {
            t->n_columns += *s == ',';
        }
    } else {
        read_row(t, line);
    }
}

static void read_table(struct table *t, const char *base, unsigned chain)
{
    char path[256];

    memset(t, 0, sizeof *t);
    file_name(path, base, chain);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t bytes = fread(t->text, 1, MAX_TEXT, f);
    assert_true(bytes < MAX_TEXT && feof(f));
    assert_int_equal(fclose(f), 0);
    assert_true(bytes > 0 && t->text[bytes - 1] == '\n');
    for (char *line = t->text; *line;) {
        char *end = strchr(line, '\n');

        *end = '\0';
        read_line(t, line);
        line = end + 1;
    }
}

static void has_line(const struct table *t, const char *line)
{
    char whole[256];

    (void)snprintf(whole, sizeof whole, "\n%s\n", line);
    if (!strstr(t->comments, whole) &&
        strncmp(t->comments, whole + 1, strlen(whole) - 1) != 0) {
        print_error("no line '%s' in\n%s", line, t->comments);
        fail();
    }
}

/* ---- a run that writes ---------------------------------------------------- */

struct seen {
    double row[4][MAX_ROWS][N_STATS + MAX_DIM];
    size_t n[4], dim;
    uint32_t first_chain;
};

static relmc_status see(void *ctx, const relmc_draw *d)
{
    struct seen *s = ctx;
    const size_t k = d->chain - s->first_chain;
    double *row = s->row[k][s->n[k]++];
    const double stats[N_STATS] = {
        d->stats[RELMC_STAT_LP],           d->stats[RELMC_STAT_ACCEPT_PROB],
        d->stats[RELMC_STAT_STEP_SIZE],    (int)d->stats[RELMC_STAT_TREE_DEPTH],
        (int)d->stats[RELMC_STAT_N_STEPS], (int)d->stats[RELMC_STAT_DIVERGENT],
        d->stats[RELMC_STAT_ENERGY],       d->stats[RELMC_STAT_SPEED],
    };

    memcpy(row, stats, sizeof stats);
    memcpy(row + N_STATS, d->outputs, s->dim * sizeof *row);
    return RELMC_OK;
}

/* Runs `o` on `model`, writes folder/base_*.csv, and records all draws in `seen`. */
static void write_files(struct seen *seen, const char *model,
                        const relmc_options *o, const char *base,
                        const char *more)
{
    relmc_target *t = NULL;
    relmc_run *run = create(model, o, &t);
    relmc_error err = {0};
    char spec[256];

    *seen = (struct seen){.dim = relmc_target_dim(t),
                          .first_chain = o->first_chain};
    (void)snprintf(spec, sizeof spec, "csv:%s/%s%s", folder, base, more);
    if (relmc_run_write(run, spec, &err) ||
        relmc_run_observe(run, see, seen, &err) ||
        relmc_run_advance(run, INT64_MAX, &err) ||
        relmc_run_finish(run, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
    for (size_t k = 0; k < o->chains; k++) { /* memory holds the same */
        size_t n;
        const double *x = kept_outputs(run, k, &n);

        assert_int_equal(n, seen->n[k]);
        for (size_t r = 0; r < n; r++) {
            assert_memory_equal(x + r * seen->dim, seen->row[k][r] + N_STATS,
                                seen->dim * sizeof *x);
        }
    }
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

static struct table table;
static struct seen seen;

/* ---- write, read back, equal ---------------------------------------------- */

static void test_csv__reads_back_bit_by_bit(void **unused)
{
    static const char *const models[] = {"banana", "gaussian:dim=4,sd=1e-90",
                                         "student:nu=1"};
    relmc_options o = small_options();

    (void)unused;
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
    for (size_t i = 0; i < 3; i++) {
        o.step_size = 0.5;
        write_files(&seen, models[i], &o, "bits", ",digits=17");
        for (unsigned k = 0; k < 3; k++) {
            read_table(&table, "bits", k + 1);
            assert_int_equal(table.n_rows, 70);
            assert_int_equal(table.n_before, 20);
            for (size_t r = 0; r < 70; r++) {
                assert_memory_equal(table.row[r], seen.row[k][r],
                                    table.n_columns * sizeof(double));
            }
        }
    }
}

static void test_csv__rounds_to_the_digits_asked_for(void **unused)
{
    static const int digits[] = {8, 1, 3, 12};
    relmc_options o = small_options();

    (void)unused;
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
        char more[32] = ""; /* 8 is the default */
        double worst = 0.0;

        if (i) {
            (void)snprintf(more, sizeof more, ",digits=%d", digits[i]);
        }
        write_files(&seen, "banana", &o, "digits", more);
        for (unsigned k = 0; k < 3; k++) {
            read_table(&table, "digits", k + 1);
            assert_int_equal(table.n_rows, 50);
            for (size_t r = 0; r < 50; r++) {
                for (size_t j = 0; j < table.n_columns; j++) {
                    const double a = table.row[r][j], b = seen.row[k][r][j];

                    worst = b != 0.0 ? fmax(worst, fabs(a / b - 1)) : worst;
                }
            }
        }
        /* half a unit of the last digit, and not more digits than that */
        assert_true(worst <= 5.000001 * pow(10.0, -digits[i]));
        assert_true(worst > 1e-3 * pow(10.0, -digits[i]));
    }
}

/* ---- what readers need ---------------------------------------------------- */

static void test_csv__has_every_line_that_readers_need(void **unused)
{
    static const char *const lines[] = {
        "# model = banana_model",
        "# method = sample",
        "#     num_samples = 50",
        "#     num_warmup = 20",
        "#     save_warmup = 1", /* some readers cannot read `true` */
        "#     thin = 1",
        "#       engaged = 1",
        "#     algorithm = hmc",
        "#             max_depth = 10",
        "#         metric = unit_e ",
        "# id = 2",
        "#   seed = 8",
        "# relmc_integrator = mclachlan",
        "# Adaptation terminated",
        "# ",
    };
    relmc_options o = small_options();

    (void)unused;
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
    o.integrator = "mclachlan";
    o.kinetic = "relativistic:m=2,c=3";
    write_files(&seen, "banana", &o, "lines", "");
    read_table(&table, "lines", 2);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        has_line(&table, lines[i]);
    }
    assert_non_null(strstr(table.comments, "# relmc_kinetic = relativistic:"));
    assert_non_null(strstr(table.comments, "# relmc_sampler = hmc:"));
    assert_string_equal(table.header,
                        "lp__,accept_stat__,stepsize__,treedepth__,"
                        "n_leapfrog__,divergent__,energy__,speed__,x.1,x.2");
    /* the configuration comes first, the header row after it */
    assert_int_equal(strncmp(table.comments, "# stan_version_major = ", 23), 0);
    /* unit_e: no lines of a metric */
    assert_null(strstr(table.comments, "inverse mass matrix"));
    /* the step size in the comments is that of the draws */
    const char *step = strstr(table.comments, "# Step size = ");
    assert_non_null(step);
    check_close(strtod(step + 14, NULL), table.row[20][2], 1e-7);
}

static void test_csv__times_start_at_column_17(void **unused)
{
    relmc_options o = small_options();
    const char *line;

    (void)unused;
    o.chains = 1;
    ticks = 0.0;
    write_files(&seen, "banana", &o, "times", "");
    read_table(&table, "times", 1);
    line = strstr(table.comments, "#  Elapsed Time: ");
    assert_non_null(line);
    const double warmup = strtod(line + 17, NULL);
    assert_non_null(strstr(line, " seconds (Warm-up)\n"));
    line = strchr(line, '\n') + 1;
    assert_int_equal(strncmp(line, "#                ", 17), 0);
    const double sampling = strtod(line + 17, NULL);
    assert_non_null(strstr(line, " seconds (Sampling)\n"));
    line = strchr(line, '\n') + 1;
    assert_int_equal(strncmp(line, "#                ", 17), 0);
    assert_non_null(strstr(line, " seconds (Total)\n"));
    assert_true(warmup > 0.0 && sampling > 0.0);
    check_close(strtod(line + 17, NULL), warmup + sampling, 1e-3);
}

static void test_csv__writes_the_metric(void **unused)
{
    static const double variances[] = {0.5, 2.25};
    static const double dense[] = {1.5, -0.25, -0.25, 3};
    relmc_options o = small_options();

    (void)unused;
    o.inv_metric = variances;
    write_files(&seen, "banana", &o, "diag", "");
    read_table(&table, "diag", 1);
    has_line(&table, "#         metric = diag_e ");
    has_line(&table,
             "# Diagonal elements of inverse mass matrix:\n# 0.5, 2.25");
    o.inv_metric = NULL;
    o.inv_metric_dense = dense;
    write_files(&seen, "banana", &o, "dense", "");
    read_table(&table, "dense", 1);
    has_line(&table, "#         metric = dense_e");
    has_line(&table, "# Elements of inverse mass matrix:\n# 1.5, -0.25\n"
                     "# -0.25, 3");
}

/* Readers compute the number of rows from the configuration, rounded up. */
static void test_csv__keeps_every_thinned_row(void **unused)
{
    (void)unused;
    for (uint32_t thin = 1; thin <= 7; thin++) {
        for (uint32_t save = 0; save <= 1; save++) {
            relmc_options o = small_options();
            const size_t n_warmup = save ? (20 + thin - 1) / thin : 0;
            char line[64];

            o.thin = thin;
            o.keep = RELMC_KEEP_OUTPUTS | (save ? RELMC_KEEP_WARMUP : 0);
            write_files(&seen, "banana", &o, "thin", ",digits=17");
            read_table(&table, "thin", 3);
            assert_int_equal(table.n_before, n_warmup);
            assert_int_equal(table.n_rows, n_warmup + (50 + thin - 1) / thin);
            for (size_t r = 0; r < table.n_rows; r++) {
                assert_memory_equal(table.row[r], seen.row[2][r],
                                    table.n_columns * sizeof(double));
            }
            (void)snprintf(line, sizeof line, "#     thin = %u", thin);
            has_line(&table, line);
            (void)snprintf(line, sizeof line, "#     save_warmup = %u", save);
            has_line(&table, line);
        }
    }
}

static void test_csv__numbers_the_files_by_chain(void **unused)
{
    relmc_options o = small_options();

    (void)unused;
    o.first_chain = 10;
    write_files(&seen, "banana", &o, "first", ",digits=17");
    for (unsigned k = 0; k < 3; k++) {
        char line[32];

        read_table(&table, "first", 11 + k);
        (void)snprintf(line, sizeof line, "# id = %u", 11 + k);
        has_line(&table, line);
        assert_memory_equal(table.row[0], seen.row[k][0],
                            table.n_columns * sizeof(double));
    }
}

/* Files without warm-up or draws have all their comments. */
static void test_csv__is_whole_without_rows(void **unused)
{
    relmc_options o = small_options();

    (void)unused;
    o.warmup = RELMC_ZERO;
    o.adapt = "none";
    write_files(&seen, "banana", &o, "nowarmup", "");
    read_table(&table, "nowarmup", 1);
    has_line(&table, "# Adaptation terminated");
    has_line(&table, "#       engaged = 0");
    assert_int_equal(table.n_before, 0);
    assert_int_equal(table.n_rows, 50);
    o.draws = RELMC_ZERO;
    write_files(&seen, "banana", &o, "norows", "");
    read_table(&table, "norows", 1);
    has_line(&table, "# Adaptation terminated");
    assert_non_null(strstr(table.comments, "Elapsed Time"));
    assert_int_equal(table.n_rows, 0);
}

/* ---- a run that ends early ------------------------------------------------- */

/* Makes n of the 20 + 5000 iterations and closes the files. */
static void write_part(const char *base, int64_t n, uint32_t thin)
{
    relmc_options o = small_options();
    relmc_target *t = NULL;
    char spec[256];

    o.draws = 5000;
    o.thin = thin;
    relmc_run *run = create("banana", &o, &t);
    (void)snprintf(spec, sizeof spec, "csv:%s/%s", folder, base);
    assert_int_equal(relmc_run_write(run, spec, NULL), RELMC_OK);
    if (n > 0) {
        assert_int_equal(relmc_run_advance(run, n, NULL), RELMC_OK);
    }
    assert_int_equal(relmc_run_finish(run, NULL), RELMC_OK);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

/* num_samples becomes the number of draws made, and the times are written. */
static void test_csv__is_whole_after_a_stop(void **unused)
{
    static const struct {
        int64_t n;
        uint32_t thin;
        size_t n_rows;
        const char *line;
    } cases[] = {
        {37, 1, 17, "#     num_samples = 17  "},
        {37, 5, 4, "#     num_samples = 17  "},
        {20, 1, 0, "#     num_samples = 0   "},
        {7, 1, 0, "#     num_samples = 0   "},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_part("early", cases[i].n, cases[i].thin);
        for (unsigned k = 1; k <= 3; k++) {
            read_table(&table, "early", k);
            has_line(&table, cases[i].line);
            has_line(&table, "#     num_warmup = 20");
            assert_int_equal(table.n_rows, cases[i].n_rows);
            assert_int_equal(!strstr(table.comments, "Adaptation terminated"),
                             cases[i].n < 20);
            const char *line = strstr(table.comments, "#  Elapsed Time: ");
            assert_non_null(line);
            assert_true(strtod(line + 17, NULL) > 0.0);
            line = strchr(line, '\n') + 1;
            assert_int_equal(strtod(line + 17, NULL) > 0.0, cases[i].n >= 20);
        }
    }
}

static void test_csv__is_whole_without_a_beginning(void **unused)
{
    (void)unused;
    write_part("early", 0, 1);
    read_table(&table, "early", 2);
    has_line(&table, "#     num_samples = 0   ");
    assert_int_equal(table.n_rows, 0);
    assert_null(strstr(table.comments, "Elapsed"));
}

static int remove_folder(void **unused)
{
    static const char *const bases[] = {"bits",     "digits", "lines", "times",
                                        "diag",     "dense",  "thin",  "first",
                                        "nowarmup", "norows", "early"};

    (void)unused;
    return remove_files(bases, sizeof bases / sizeof *bases);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv__reads_back_bit_by_bit),
        cmocka_unit_test(test_csv__rounds_to_the_digits_asked_for),
        cmocka_unit_test(test_csv__has_every_line_that_readers_need),
        cmocka_unit_test(test_csv__times_start_at_column_17),
        cmocka_unit_test(test_csv__writes_the_metric),
        cmocka_unit_test(test_csv__keeps_every_thinned_row),
        cmocka_unit_test(test_csv__numbers_the_files_by_chain),
        cmocka_unit_test(test_csv__is_whole_without_rows),
        cmocka_unit_test(test_csv__is_whole_after_a_stop),
        cmocka_unit_test(test_csv__is_whole_without_a_beginning),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
