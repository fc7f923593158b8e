/* compare_print.c - the output of relmc compare: tables, JSON, CSV. */
#include "relmc_diag.h"
#include "report/compare.h"
#include "report/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 24 };

#define SMALL(head, csv, width)                       \
    {                                                 \
        NULL, head, csv, width, FORM_GENERAL, 3, NULL \
    }

static const struct measure {
    int sense;      /* larger is better: 1; smaller: -1; no contest: 0 */
    bool is_always; /* shown even if no run has it */
    struct field field;
} measures[N_MEASURES] = {
    [M_ESS] = {1, true, {NULL, "min ESS", "min_ess_bulk", 9, FORM_FIXED}},
    [M_ESS_GRAD] = {1,
                    true,
                    {"ess_per_1000_gradients", "ESS/1000 grad",
                     "ess_per_1000_gradients", 16, FORM_RATIO}},
    [M_ESS_SECOND] = {1,
                      true,
                      {"ess_per_second", "ESS/s", "ess_per_second", 10,
                       FORM_RATIO}},
    [M_DIVERGENT] =
        {-1, true, {NULL, "divergent", "divergent_percent", 12, FORM_PERCENT}},
    [M_MAE] = {-1, false, SMALL("MAE", "mae", 10)},
    [M_MAE_FLOOR] = {0, false, SMALL("(iid)", "mae_iid", 10)},
    [M_TV] = {0, false, SMALL("TV", "tv", 9)},
    [M_TV_FLOOR] = {0, false, SMALL("(iid)", "tv_iid", 9)},
    [M_KSD] = {-1, false, SMALL("KSD", "ksd", 11)},
    [M_GRAPH] = {-1, false, SMALL("graph Stein", "graph_stein", 13)},
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

/* ---- the z-scores -------------------------------------------------------- */

static const char *row_name(const struct verdict *v,
                            const struct reference *ref, size_t row)
{
    return ref->rows[v->rows[row].known].name;
}

/* An estimate, its value in the reference and the score; three fields. */
static void add_score_fields(struct result *scores, const char *name,
                             bool is_in_table)
{
    const char *reference = is_in_table ? "reference" : NULL;

    result_field(scores,
                 (struct field){.key = result_keep(scores, "%s/estimate", name),
                                .head = is_in_table ? name : NULL,
                                .csv = name,
                                .width = 8,
                                .digits = 4});
    result_field(
        scores, (struct field){.key = result_keep(scores, "%s/reference", name),
                               .head = reference,
                               .csv = result_keep(scores, "%s_ref", name),
                               .width = 8,
                               .digits = 4});
    result_field(scores,
                 (struct field){.key = result_keep(scores, "%s/z", name),
                                .head = "z",
                                .csv = result_keep(scores, "%s_z", name),
                                .width = 8,
                                .form = FORM_FIXED,
                                .digits = 2});
}

static void add_score(struct result *scores, double estimate, double reference,
                      double z)
{
    result_real(scores, estimate);
    result_real(scores, reference);
    result_real(scores, z);
}

static void take_scores(struct result *scores, const struct comparison *c,
                        const struct group *group)
{
    static const struct field first[] = {
        {.csv = "run"},
        {.key = "name", .head = "", .csv = "name", .width = -8},
    };
    const struct reference *ref = c->ref;

    *scores = (struct result){0};
    result_fields(scores, first, sizeof first / sizeof *first);
    add_score_fields(scores, "mean", true);
    add_score_fields(scores, "sd", true);
    for (size_t q = 0; q < ref->n_levels; q++) {
        const double percent = 100.0 * ref->levels[q];

        add_score_fields(scores, result_keep(scores, "q%g", percent), false);
        scores->fields[scores->n_fields - 1].head =
            result_keep(scores, "z %g%%", percent);
    }
    result_field(scores, (struct field){.key = "worst", .csv = "worst_z"});
    for (size_t i = 0; i < group->verdict.n_rows; i++) {
        const struct z_row *row = &group->verdict.rows[i];
        const relmc_known *known = &ref->rows[row->known].known;

        result_text(scores, "%s", group->label);
        result_text(scores, "%s", ref->rows[row->known].name);
        add_score(scores, row->mean, known->mean, row->z_mean);
        add_score(scores, row->sd, known->sd, row->z_sd);
        for (size_t q = 0; q < ref->n_levels; q++) {
            add_score(scores, row->quantile[q], known->quantile[q],
                      row->z_quantile[q]);
        }
        result_real(scores, row->worst);
    }
}

/* ---- objects in JSON ----------------------------------------------------- */

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

static json_t *json_verdict(const struct comparison *c,
                            const struct group *group)
{
    const struct verdict *v = &group->verdict;
    const struct z_row *worst = &v->rows[v->worst];
    json_t *out = json_object();
    struct result scores;
    char what[32];

    (void)json_object_set_new(out, "is_ok", json_boolean(!v->has_failed));
    set(out, "worst_z", worst->worst);
    set_text(out, "worst_parameter", row_name(v, c->ref, v->worst));
    set_text(out, "worst_value",
             compare_reference_what(what, c->ref, worst->worst_what));
    set_count(out, "not_in_reference", v->n_missing);
    set_count(out, "only_in_reference", v->n_extra);
    take_scores(&scores, c, group);
    (void)json_object_set_new(out, "parameters", result_rows(&scores));
    result_clear(&scores);
    if (v->two.is_done || v->two.why_not) {
        (void)json_object_set_new(out, "two_samples", json_two(v, c->ref));
    }
    return out;
}

/* ---- the runs ------------------------------------------------------------ */

static bool is_shown(const struct comparison *c, int m)
{
    bool is_known = measures[m].is_always;

    for (size_t g = 0; g < c->n_groups; g++) {
        is_known |= !isnan(c->groups[g].measures[m]);
    }
    return is_known;
}

static void make_run_fields(struct result *runs, const struct comparison *c)
{
    static const struct field first[] = {
        {.key = "label", .head = "", .csv = "run", .width = -15},
        {.key = "model"},
        {.key = "files"},
        {.key = "draws", .csv = "draws"},
        {.key = "min_ess_bulk"},
        {.key = "min_ess_tail"},
        {.key = "gradients", .csv = "gradients"},
        {.key = "gradients_per_step"},
        {.key = "seconds_sampling", .csv = "seconds"},
        {.key = "divergent"},
    };
    static const struct field last[] = {
        {.key = "density"},
        {.key = "verdict"},
        {.key = "best_in"},
        {.head = "", .form = FORM_NOTE}, /* the best one */
    };

    result_fields(runs, first, sizeof first / sizeof *first);
    for (int m = 0; m < N_MEASURES; m++) {
        struct field field = measures[m].field;

        if (m == M_KSD) {
            field.head = ksd_heads[c->plan.kind];
        }
        if (!is_shown(c, m)) {
            field.head = NULL;
        }
        result_field(runs, field);
    }
    result_fields(runs, last, sizeof last / sizeof *last);
}

static json_t *json_files(const struct group *g)
{
    json_t *files = json_array();

    for (size_t i = 0; i < g->n_paths; i++) {
        (void)json_array_append_new(files, json_string(g->paths[i]));
    }
    return files;
}

static void add_run(struct result *runs, const struct comparison *c,
                    const struct group *g, size_t most)
{
    result_text(runs, "%s", g->label);
    result_text(runs, "%s", g->model);
    result_json(runs, json_files(g));
    result_count(runs, (int64_t)g->n_draws);
    result_real(runs, g->ess_bulk);
    result_real(runs, g->ess_tail);
    result_real(runs, g->n_steps);
    result_real(runs, g->n_stages);
    result_real(runs, g->seconds);
    result_real(runs, g->n_divergent);
    for (int m = 0; m < N_MEASURES; m++) {
        result_real(runs, g->measures[m]);
    }
    result_json(runs, g->fit.target ? json_fit(&g->fit) : NULL);
    result_json(runs, c->ref ? json_verdict(c, g) : NULL);
    result_count(runs, (int64_t)g->n_best);
    if (most > 0 && g->n_best == most) {
        result_text(runs, "   <- best in %zu of %zu", most, c->n_contests);
    } else {
        result_none(runs);
    }
}

static void take_runs(struct result *runs, const struct comparison *c)
{
    size_t most = 0;

    *runs = (struct result){0};
    make_run_fields(runs, c);
    for (size_t g = 0; g < c->n_groups; g++) {
        most = c->groups[g].n_best > most ? c->groups[g].n_best : most;
    }
    for (size_t g = 0; g < c->n_groups; g++) {
        add_run(runs, c, &c->groups[g], most);
    }
}

/* ---- the verdict --------------------------------------------------------- */

static int label_width(const struct comparison *c, int least)
{
    int width = least;

    for (size_t g = 0; g < c->n_groups; g++) {
        const int n = (int)strlen(c->groups[g].label);

        width = n > width ? n : width;
    }
    return width;
}

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

    compare_reference_what(what, c->ref, worst->worst_what);
    if (count_values(v, c->ref) == 0) {
        (void)printf("nothing was compared");
    } else if (isinf(worst->worst)) {
        (void)printf("the error of %s of %s is undefined", what, name);
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

/* ---- the tables ---------------------------------------------------------- */

/* Draws that the numbers leave out. */
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

static size_t *rank_rows(const struct verdict *v)
{
    struct ranked *ranked = cli_alloc(v->n_rows, sizeof *ranked);
    size_t *rows = cli_alloc(v->n_rows, sizeof *rows);

    for (size_t i = 0; i < v->n_rows; i++) {
        ranked[i] = (struct ranked){v->rows[i].worst, i};
    }
    qsort(ranked, v->n_rows, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < v->n_rows; i++) {
        rows[i] = ranked[i].row;
    }
    free(ranked);
    return rows;
}

static void print_scores(const struct comparison *c, const struct group *group)
{
    const struct verdict *v = &group->verdict;
    const size_t shown = v->n_rows < MOST_ROWS ? v->n_rows : MOST_ROWS;
    size_t *rows = rank_rows(v);
    struct result scores;

    take_scores(&scores, c, group);
    (void)printf("\n%s against %s\n", group->label, c->ref->source);
    result_print_rows(&scores, rows, shown);
    if (shown < v->n_rows) {
        (void)printf("... and %zu more, nearer to it (--json and --csv have "
                     "them all)\n",
                     v->n_rows - shown);
    }
    result_clear(&scores);
    free(rows);
}

void compare_print_table(const struct comparison *c)
{
    struct result runs;

    if (c->ref) {
        print_verdicts(c);
    }
    take_runs(&runs, c);
    result_print(&runs);
    result_clear(&runs);
    print_notes(c);
    for (size_t g = 0; c->ref && g < c->n_groups; g++) {
        print_scores(c, &c->groups[g]);
    }
}

/* ---- JSON and CSV -------------------------------------------------------- */

void compare_print_json(const struct comparison *c)
{
    json_t *root = json_object();
    struct result runs;

    take_runs(&runs, c);
    set_text(root, "relmc_version", CLI_VERSION);
    set_count(root, "contests", c->n_contests);
    if (c->ref) {
        set_text(root, "reference", c->ref->source);
        set(root, "max_z", c->max_z);
    }
    (void)json_object_set_new(root, "runs", result_rows(&runs));
    result_print_json(root);
    result_clear(&runs);
}

int compare_write_csv(const struct comparison *c, const char *path,
                      const char *who, const struct voice *voice)
{
    const size_t n = c->ref ? c->n_groups : 1;
    struct result *results = cli_alloc(n, sizeof *results);

    for (size_t i = 0; i < n; i++) {
        if (c->ref) {
            take_scores(&results[i], c, &c->groups[i]);
        } else {
            take_runs(&results[i], c);
        }
    }
    const int code = result_write_csv(results, n, path, who, voice);
    for (size_t i = 0; i < n; i++) {
        result_clear(&results[i]);
    }
    free(results);
    return code;
}
