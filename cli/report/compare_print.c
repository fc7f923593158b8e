/* compare_print.c - what relmc compare says: tables, JSON, CSV. */
#include "relmc_diag.h"
#include "report/compare.h"

#include "tool/text_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 24 };
enum format { F_COUNT, F_RATIO, F_PERCENT, F_SMALL };

static const struct measure {
    const char *head, *key;
    int width;
    int sense; /* larger is better: 1; smaller: -1; no contest: 0 */
    enum format format;
    bool is_always; /* shown even if no run has it */
} measures[N_MEASURES] = {
    [M_ESS] = {"min ESS", "min_ess_bulk", 9, 1, F_COUNT, true},
    [M_ESS_GRAD] = {"ESS/1000 grad", "ess_per_1000_gradients", 16, 1, F_RATIO,
                    true},
    [M_ESS_SECOND] = {"ESS/s", "ess_per_second", 10, 1, F_RATIO, true},
    [M_DIVERGENT] = {"divergent", "divergent_percent", 12, -1, F_PERCENT, true},
    [M_MAE] = {"MAE", "mae", 10, -1, F_SMALL, false},
    [M_MAE_FLOOR] = {"(iid)", "mae_iid", 10, 0, F_SMALL, false},
    [M_TV] = {"TV", "tv", 9, 0, F_SMALL, false},
    [M_TV_FLOOR] = {"(iid)", "tv_iid", 9, 0, F_SMALL, false},
    [M_KSD] = {"KSD", "ksd", 11, -1, F_SMALL, false},
    [M_GRAPH] = {"graph Stein", "graph_stein", 13, -1, F_SMALL, false},
};

static const char *const ksd_heads[N_KSD_KINDS] = {
    [KSD_ALL] = "KSD", [KSD_BOUND] = "KSD >=", [KSD_BLOCKS] = "KSD^2 (U)"};
static const char *const ksd_names[N_KSD_KINDS] = {[KSD_NONE] = "none",
                                                   [KSD_ALL] = "all pairs",
                                                   [KSD_BOUND] = "lower bound",
                                                   [KSD_BLOCKS] =
                                                       "square, unbiased"};

int compare_sense(int measure)
{
    return measures[measure].sense;
}

/* ---- the table of runs ----------------------------------------------------- */

static void format_measure(char out[CELL], int m, double value)
{
    const enum format format = measures[m].format;

    if (isnan(value)) {
        (void)snprintf(out, CELL, "-");
    } else if (format == F_COUNT) {
        (void)snprintf(out, CELL, "%.0f", value);
    } else if (format == F_PERCENT) {
        (void)snprintf(out, CELL, "%.*f %%", value > 0.0 && value < 0.1 ? 2 : 1,
                       value);
    } else if (format == F_SMALL) {
        (void)snprintf(out, CELL, "%.3g", value);
    } else {
        (void)snprintf(out, CELL, "%.*f",
                       value < 10.0     ? 2
                       : value < 1000.0 ? 1
                                        : 0,
                       value);
    }
}

static bool is_shown(const struct comparison *c, int m)
{
    bool is_known = measures[m].is_always;

    for (size_t g = 0; g < c->n_groups; g++) {
        is_known |= !isnan(c->groups[g].measures[m]);
    }
    return is_known;
}

static int label_width(const struct comparison *c, int least)
{
    int width = least;

    for (size_t g = 0; g < c->n_groups; g++) {
        const int n = (int)strlen(c->groups[g].label);

        width = n > width ? n : width;
    }
    return width;
}

static void print_runs(const struct comparison *c)
{
    const int label = label_width(c, 15);
    size_t most = 0;

    (void)printf("%*s", label, "");
    for (int m = 0; m < N_MEASURES; m++) {
        if (is_shown(c, m)) {
            (void)printf("%*s", measures[m].width,
                         m == M_KSD ? ksd_heads[c->plan.kind]
                                    : measures[m].head);
        }
    }
    for (size_t g = 0; g < c->n_groups; g++) {
        most = c->groups[g].n_best > most ? c->groups[g].n_best : most;
    }
    for (size_t g = 0; g < c->n_groups; g++) {
        const struct group *group = &c->groups[g];

        (void)printf("\n%-*s", label, group->label);
        for (int m = 0; m < N_MEASURES; m++) {
            char cell[CELL];

            format_measure(cell, m, group->measures[m]);
            if (is_shown(c, m)) {
                (void)printf("%*s", measures[m].width, cell);
            }
        }
        if (most > 0 && group->n_best == most) {
            (void)printf("   <- best in %zu of %zu", most, c->n_contests);
        }
    }
    (void)putchar('\n');
}

/* What the numbers of a run leave out. */
static void print_notes(const struct comparison *c)
{
    for (size_t g = 0; g < c->n_groups; g++) {
        const struct group *group = &c->groups[g];
        const struct fit *fit = &group->fit;

        if (fit->target && fit->n < fit->n_all) {
            (void)printf("%s: errors of %zu of its %zu draws, for want of "
                         "memory\n",
                         group->label, fit->n, fit->n_all);
        }
        if (fit->n_graph) {
            (void)printf("%s: graph Stein in [%.7g, %.7g], %zu of its %zu "
                         "draws, %zu distinct\n",
                         group->label, fit->graph.lower, fit->graph.upper,
                         fit->n_graph, fit->n_all, fit->graph.n_points);
        }
    }
}

/* ---- the verdict ----------------------------------------------------------- */

/* How many values of the reference were compared. */
static size_t count_values(const struct verdict *v, const struct reference *ref)
{
    size_t n = 0;

    for (size_t i = 0; i < v->n_rows; i++) {
        const relmc_known *known = &ref->rows[v->rows[i].known].known;

        n += isnan(known->mean) ? 0 : 1;
        n += isnan(known->sd) ? 0 : 1;
        for (size_t q = 0; q < known->n_quantiles; q++) {
            n += isnan(known->quantile[q]) ? 0 : 1;
        }
    }
    return n;
}

static const char *row_name(const struct verdict *v,
                            const struct reference *ref, size_t row)
{
    return ref->rows[v->rows[row].known].name;
}

static void print_two(const struct group *group, const struct reference *ref,
                      int label)
{
    const struct verdict *v = &group->verdict;
    const struct two *two = &v->two;

    if (two->is_done) {
        (void)printf(
            "      %-*s  two samples (%zu and %zu draws, blocks of %zu): "
            "energy p = %.3f, MMD p = %.3f, sliced W1 p = %.3f; least of "
            "%zu: KS p = %.3f (%s), AD p = %.3f (%s)\n",
            label, "", two->n_x, two->n_y, two->block, two->joint.energy_p,
            two->joint.mmd_p, two->joint.sliced_w1_p, v->n_rows, two->ks_p,
            row_name(v, ref, two->ks_at), two->ad_p,
            row_name(v, ref, two->ad_at));
    } else if (two->why_not) {
        (void)printf("      %-*s  two samples: not compared: %s\n", label, "",
                     two->why_not);
    }
}

/* A run that hardly moved has large errors, so anything agrees with it. */
static void print_doubt(const struct group *group)
{
    enum { FEW = 100 };

    if (!(group->ess_bulk >= FEW)) {
        (void)printf("; only %.0f effective draws: this says little",
                     isnan(group->ess_bulk) ? 0.0 : group->ess_bulk);
    }
    (void)putchar('\n');
}

static void print_worst(const struct comparison *c, const struct verdict *v)
{
    const struct z_row *worst = &v->rows[v->worst];
    const char *name = row_name(v, c->ref, v->worst);
    char what[32];

    verdict_what(what, c->ref, worst->worst_what);
    if (count_values(v, c->ref) == 0) {
        (void)printf("nothing was compared");
    } else if (isinf(worst->worst)) {
        (void)printf("the error of %s of %s cannot be told", what, name);
    } else {
        (void)printf("worst |z| %.2f (%s of %s), limit %g", worst->worst, what,
                     name, c->max_z);
    }
}

static void print_verdicts(const struct comparison *c)
{
    const int label = label_width(c, 4);

    for (size_t g = 0; g < c->n_groups; g++) {
        const struct group *group = &c->groups[g];
        const struct verdict *v = &group->verdict;

        (void)printf("%-4s  %-*s  ", v->has_failed ? "FAIL" : "ok", label,
                     group->label);
        print_worst(c, v);
        (void)printf("; %zu values of %zu parameter%s", count_values(v, c->ref),
                     v->n_rows, v->n_rows == 1 ? "" : "s");
        print_doubt(group);
        print_two(group, c->ref, label);
    }
    (void)putchar('\n');
}

/* ---- the z-scores ---------------------------------------------------------- */

enum { MOST_ROWS = 20 };

struct ranked {
    double worst;
    size_t row;
};

/* The worst first, then as in the files. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;

    if (x->worst != y->worst) {
        return x->worst > y->worst ? -1 : 1;
    }
    return x->row < y->row ? -1 : 1;
}

static struct ranked *rank_rows(const struct verdict *v)
{
    struct ranked *ranked = cli_alloc(v->n_rows, sizeof *ranked);

    for (size_t i = 0; i < v->n_rows; i++) {
        ranked[i] = (struct ranked){v->rows[i].worst, i};
    }
    qsort(ranked, v->n_rows, sizeof *ranked, compare_ranked);
    return ranked;
}

static void add_value(struct table *table, double value)
{
    if (isnan(value)) {
        table_add(table, "-");
    } else {
        table_add(table, "%.4g", value);
    }
}

static void add_score(struct table *table, double z)
{
    if (isnan(z)) {
        table_add(table, "-");
    } else {
        table_add(table, "%.2f", z);
    }
}

static void add_z_heads(struct table *table, const struct reference *ref)
{
    static const char *const heads[] = {"",   "mean",      "reference", "z",
                                        "sd", "reference", "z"};

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        table_add(table, "%s", heads[i]);
    }
    for (size_t q = 0; q < ref->n_levels; q++) {
        table_add(table, "z %g%%", 100.0 * ref->levels[q]);
    }
}

static void add_z_row(struct table *table, const struct reference *ref,
                      const struct z_row *row)
{
    const struct ref_row *known = &ref->rows[row->known];

    table_add(table, "%s", known->name);
    add_value(table, row->mean);
    add_value(table, known->known.mean);
    add_score(table, row->z_mean);
    add_value(table, row->sd);
    add_value(table, known->known.sd);
    add_score(table, row->z_sd);
    for (size_t q = 0; q < ref->n_levels; q++) {
        add_score(table, row->z_quantile[q]);
    }
}

static void print_scores(const struct comparison *c, const struct group *group)
{
    const struct verdict *v = &group->verdict;
    const size_t shown = v->n_rows < MOST_ROWS ? v->n_rows : MOST_ROWS;
    const size_t n_columns = 7 + c->ref->n_levels;
    int *widths = cli_alloc(n_columns, sizeof *widths);
    struct ranked *ranked = rank_rows(v);
    struct table table;

    table_init(&table, n_columns);
    widths[0] = -8;
    for (size_t j = 1; j < n_columns; j++) {
        widths[j] = 8;
    }
    add_z_heads(&table, c->ref);
    for (size_t i = 0; i < shown; i++) {
        add_z_row(&table, c->ref, &v->rows[ranked[i].row]);
    }
    (void)printf("\n%s against %s\n", group->label, c->ref->source);
    table_print(&table, widths);
    if (shown < v->n_rows) {
        (void)printf("... and %zu more, nearer to it (--json and --csv have "
                     "them all)\n",
                     v->n_rows - shown);
    }
    table_clear(&table);
    free(ranked);
    free(widths);
}

void compare_print_table(const struct comparison *c)
{
    if (c->ref) {
        print_verdicts(c);
    }
    print_runs(c);
    print_notes(c);
    for (size_t g = 0; c->ref && g < c->n_groups; g++) {
        print_scores(c, &c->groups[g]);
    }
}

/* ---- JSON ---------------------------------------------------------------- */

static void set(json_t *object, const char *key, double value)
{
    (void)json_object_set_new(object, key, config_real(value));
}

static void set_count(json_t *object, const char *key, size_t value)
{
    (void)json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *key, const char *text)
{
    (void)json_object_set_new(object, key, json_string(text));
}

static json_t *json_fit(const struct fit *fit)
{
    json_t *out = json_object();

    set_count(out, "draws", fit->n);
    if (fit->mae.n_bins > 0) {
        set(out, "mae", fit->mae.mae);
        set(out, "mae_iid", fit->mae.mae_floor);
        set(out, "tv", fit->mae.tv);
        set(out, "tv_iid", fit->mae.tv_floor);
        set_count(out, "bins", fit->mae.n_bins);
        set_count(out, "draws_outside", fit->mae.n_outside);
    }
    if (fit->kind) {
        set(out, "ksd", fit->ksd);
        set_text(out, "ksd_kind", ksd_names[fit->kind]);
        set(out, "ksd_error", fit->ksd_error);
    }
    if (fit->n_graph) {
        set_count(out, "graph_draws", fit->n_graph);
        set_count(out, "graph_points", fit->graph.n_points);
        set(out, "graph_lower", fit->graph.lower);
        set(out, "graph_upper", fit->graph.upper);
        set(out, "graph_merge_bound", fit->graph.merge_bound);
    }
    return out;
}

/* q5, q97.5 */
static void quantile_key(char out[CELL], double level)
{
    (void)snprintf(out, CELL, "q%g", 100.0 * level);
}

static json_t *json_value(double estimate, double known, double z)
{
    json_t *out = json_object();

    set(out, "estimate", estimate);
    set(out, "reference", known);
    set(out, "z", z);
    return out;
}

static json_t *json_score(const struct reference *ref, const struct z_row *row)
{
    const struct ref_row *known = &ref->rows[row->known];
    json_t *out = json_object();

    set_text(out, "name", known->name);
    (void)json_object_set_new(
        out, "mean", json_value(row->mean, known->known.mean, row->z_mean));
    (void)json_object_set_new(out, "sd",
                              json_value(row->sd, known->known.sd, row->z_sd));
    for (size_t q = 0; q < ref->n_levels; q++) {
        char key[CELL];

        quantile_key(key, ref->levels[q]);
        (void)json_object_set_new(out, key,
                                  json_value(row->quantile[q],
                                             known->known.quantile[q],
                                             row->z_quantile[q]));
    }
    set(out, "worst", row->worst);
    return out;
}

static json_t *json_two(const struct verdict *v, const struct reference *ref)
{
    const struct two *two = &v->two;
    json_t *out = json_object();

    if (!two->is_done) {
        set_text(out, "not_compared", two->why_not);
        return out;
    }
    set_count(out, "draws", two->n_x);
    set_count(out, "draws_reference", two->n_y);
    set_count(out, "block", two->block);
    set_count(out, "permutations", two->joint.n_permutations);
    set(out, "energy", two->joint.energy);
    set(out, "energy_p", two->joint.energy_p);
    set(out, "mmd", two->joint.mmd);
    set(out, "mmd_p", two->joint.mmd_p);
    set(out, "sliced_w1", two->joint.sliced_w1);
    set(out, "sliced_w1_p", two->joint.sliced_w1_p);
    set(out, "least_ks_p", two->ks_p);
    set_text(out, "least_ks_parameter", row_name(v, ref, two->ks_at));
    set(out, "least_ad_p", two->ad_p);
    set_text(out, "least_ad_parameter", row_name(v, ref, two->ad_at));
    return out;
}

static json_t *json_verdict(const struct comparison *c, const struct verdict *v)
{
    const struct z_row *worst = &v->rows[v->worst];
    json_t *out = json_object();
    json_t *rows = json_array();
    char what[32];

    (void)json_object_set_new(out, "is_ok", json_boolean(!v->has_failed));
    set(out, "worst_z", worst->worst);
    set_text(out, "worst_parameter", row_name(v, c->ref, v->worst));
    set_text(out, "worst_value", verdict_what(what, c->ref, worst->worst_what));
    set_count(out, "not_in_reference", v->n_missing);
    set_count(out, "only_in_reference", v->n_extra);
    for (size_t i = 0; i < v->n_rows; i++) {
        (void)json_array_append_new(rows, json_score(c->ref, &v->rows[i]));
    }
    (void)json_object_set_new(out, "parameters", rows);
    if (v->two.is_done || v->two.why_not) {
        (void)json_object_set_new(out, "two_samples", json_two(v, c->ref));
    }
    return out;
}

static json_t *json_group(const struct comparison *c, const struct group *g)
{
    json_t *out = json_object();
    json_t *files = json_array();

    for (size_t i = 0; i < g->n_paths; i++) {
        (void)json_array_append_new(files, json_string(g->paths[i]));
    }
    set_text(out, "label", g->label);
    set_text(out, "model", g->model);
    (void)json_object_set_new(out, "files", files);
    set_count(out, "draws", g->n_draws);
    set(out, "min_ess_bulk", g->ess_bulk);
    set(out, "min_ess_tail", g->ess_tail);
    set(out, "gradients", g->n_steps);
    set(out, "gradients_per_step", g->n_stages);
    set(out, "seconds_sampling", g->seconds);
    set(out, "divergent", g->n_divergent);
    set(out, "ess_per_1000_gradients", g->measures[M_ESS_GRAD]);
    set(out, "ess_per_second", g->measures[M_ESS_SECOND]);
    if (g->fit.target) {
        (void)json_object_set_new(out, "density", json_fit(&g->fit));
    }
    if (c->ref) {
        (void)json_object_set_new(out, "verdict", json_verdict(c, &g->verdict));
    }
    set_count(out, "best_in", g->n_best);
    return out;
}

void compare_print_json(const struct comparison *c)
{
    json_t *root = json_object();
    json_t *runs = json_array();

    for (size_t g = 0; g < c->n_groups; g++) {
        (void)json_array_append_new(runs, json_group(c, &c->groups[g]));
    }
    set_text(root, "relmc_version", CLI_VERSION);
    set_count(root, "contests", c->n_contests);
    if (c->ref) {
        set_text(root, "reference", c->ref->source);
        set(root, "max_z", c->max_z);
    }
    (void)json_object_set_new(root, "runs", runs);
    char *text = config_print(root);
    (void)printf("%s\n", text);
    free(text);
    json_decref(root);
}

/* ---- CSV ----------------------------------------------------------------- */

static void put_text(FILE *file, const char *text)
{
    (void)fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') {
            (void)fputc('"', file);
        }
        (void)fputc(*text, file);
    }
    (void)fputc('"', file);
}

static void put_value(FILE *file, double value)
{
    if (isnan(value)) {
        (void)fputs(",NaN", file);
    } else {
        (void)fprintf(file, ",%.10g", value);
    }
}

static void put_runs(FILE *file, const struct comparison *c)
{
    (void)fputs("run,draws,gradients,seconds", file);
    for (int m = 0; m < N_MEASURES; m++) {
        (void)fprintf(file, ",%s", measures[m].key);
    }
    (void)fputc('\n', file);
    for (size_t g = 0; g < c->n_groups; g++) {
        const struct group *group = &c->groups[g];

        put_text(file, group->label);
        put_value(file, (double)group->n_draws);
        put_value(file, group->n_steps);
        put_value(file, group->seconds);
        for (int m = 0; m < N_MEASURES; m++) {
            put_value(file, group->measures[m]);
        }
        (void)fputc('\n', file);
    }
}

static void put_score(FILE *file, const struct reference *ref,
                      const struct z_row *row)
{
    const relmc_known *known = &ref->rows[row->known].known;

    put_value(file, row->mean);
    put_value(file, known->mean);
    put_value(file, row->z_mean);
    put_value(file, row->sd);
    put_value(file, known->sd);
    put_value(file, row->z_sd);
    for (size_t q = 0; q < ref->n_levels; q++) {
        put_value(file, row->quantile[q]);
        put_value(file, known->quantile[q]);
        put_value(file, row->z_quantile[q]);
    }
    put_value(file, row->worst);
    (void)fputc('\n', file);
}

static void put_scores(FILE *file, const struct comparison *c)
{
    (void)fputs("run,name,mean,mean_ref,mean_z,sd,sd_ref,sd_z", file);
    for (size_t q = 0; q < c->ref->n_levels; q++) {
        char key[CELL];

        quantile_key(key, c->ref->levels[q]);
        (void)fprintf(file, ",%s,%s_ref,%s_z", key, key, key);
    }
    (void)fputs(",worst_z\n", file);
    for (size_t g = 0; g < c->n_groups; g++) {
        const struct verdict *v = &c->groups[g].verdict;

        for (size_t i = 0; i < v->n_rows; i++) {
            put_text(file, c->groups[g].label);
            (void)fputc(',', file);
            put_text(file, row_name(v, c->ref, i));
            put_score(file, c->ref, &v->rows[i]);
        }
    }
}

int compare_write_csv(const struct comparison *c, const char *path,
                      const char *who, const struct voice *voice)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        return cli_fail(CLI_IO, who, "cannot write %s: %s", path,
                        strerror(errno));
    }
    if (c->ref) {
        put_scores(file, c);
    } else {
        put_runs(file, c);
    }
    const bool has_failed = ferror(file);
    if (fclose(file) || has_failed) {
        return cli_fail(CLI_IO, who, "cannot write %s: %s", path,
                        strerror(errno ? errno : EIO));
    }
    cli_say(voice, "wrote %s", path);
    return CLI_OK;
}
