/* compare.c - relmc compare: compares runs with each other and with a
 * reference. */
#define _POSIX_C_SOURCE 200809L

#include "report/compare.h"
#include "draws/overwrite_check.h"
#include "relmc_diag.h"
#include "relmc_format.h"
#include "tool/spec.h"

#include "relmc_spec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt options[] = {
    {.name = "label",
     .letter = 'l',
     .kind = OPT_TEXT,
     .value = "NAME",
     .is_list = true,
     .doc = "name of a run; give it in front of the files of the run, or one "
            "for each run after all files"},
    DRAWS_OPT_INCLUDE,
    {.name = "stein",
     .kind = OPT_CHOICE,
     .value = "WHICH",
     .fallback = "ksd",
     .choices = "ksd|graph|both|none",
     .doc = "Stein discrepancies; the model must be built in"},
    {.name = "graph-draws",
     .kind = OPT_COUNT,
     .value = "N",
     .min = 1,
     .max = 20000,
     .doc = "draws of each run that the graph uses (default: 20000, 1000, 500 "
            "in dimension 1, 2, 3, and 200 above)"},
    {.name = "ref",
     .also = {"reference"},
     .kind = OPT_TEXT,
     .value = "FILE",
     .is_list = true,
     .doc = "compare with a reference: draws (CSV, may be repeated, or JSON), "
            "summaries (JSON), or the word exact for the exact moments of a "
            "built-in model"},
    {.name = "max-z",
     .kind = OPT_REAL,
     .value = "Z",
     .fallback = "4",
     .min = 0,
     .max = 1e300,
     .doc = "largest |z| that passes, in standard errors, for --ref"},
    OPT_JSON(.doc = "print JSON, with all digits"),
    {.name = "csv",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "also write a CSV file: one line per run, or with --ref one per "
            "run and parameter"},
    DRAWS_OPT_MEMORY,
    OPT_COMMON,
    {0},
};

struct job {
    const struct opt_set *set;
    struct voice voice;
    struct comparison all;
    struct reference reference;
    char *unmatched; /* names that only one side has; the last message */
};

/* ---- numbers ------------------------------------------------------------- */

static double sum(const relmc_series *series)
{
    double total = 0.0;

    for (size_t i = 0; i < series->n_chains * series->n_draws; i++) {
        total += series->draws[i];
    }
    return total;
}

/* The smaller of two, NaN being the smallest; the first value if is_first. */
static double smaller(double least, double value, bool is_first)
{
    return is_first || isnan(value) || value < least ? value : least;
}

/* The state while the columns of a run are read. */
struct reading {
    const struct job *job;
    struct group *group;
    struct draws *draws;
    bool *is_wanted; /* per column: a parameter that counts */
};

static void take_column(void *ctx, size_t column, const relmc_series *series)
{
    const struct reading *r = ctx;
    const struct comparison *all = &r->job->all;
    struct group *g = r->group;
    const char *name = draws_name(r->draws, column);
    relmc_summary s = RELMC_INIT(relmc_summary);

    if (!strcmp(name, RELMC_COLUMN_STEPS)) {
        g->n_steps = sum(series);
    } else if (!strcmp(name, RELMC_COLUMN_DIVERGENT)) {
        g->n_divergent = sum(series);
    } else if (r->is_wanted[column] && !draws_are_constant(series) &&
               !relmc_summarise(&s, series, NULL)) {
        const bool is_first = g->ess_bulk == HUGE_VAL;

        g->ess_bulk = smaller(g->ess_bulk, s.ess_bulk, is_first);
        g->ess_tail = smaller(g->ess_tail, s.ess_tail, is_first);
    }
    compare_model_take(&g->fit, &all->plan, column, series);
    if (r->is_wanted[column] && all->ref) {
        compare_reference_take(&g->verdict, all->ref, name, series);
    }
}

/* The parameters that -i names, and of the sampler's columns the costs. */
static bool *choose_columns(struct draws *draws)
{
    static const char *const costs[] = {RELMC_COLUMN_STEPS,
                                        RELMC_COLUMN_DIVERGENT};
    bool *is_wanted = cli_alloc(draws->files[0].n_columns, sizeof *is_wanted);
    size_t n = 0;

    for (size_t i = 0; i < draws->n_chosen; i++) {
        const size_t column = draws->chosen[i];

        if (!draws_is_sampler(draws, column)) {
            is_wanted[column] = true;
            draws->chosen[n++] = column;
        }
    }
    draws->n_chosen = n;
    for (size_t j = 0; j < draws->files[0].n_columns; j++) {
        for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
            if (!strcmp(draws_name(draws, j), costs[i])) {
                draws_add(draws, j);
            }
        }
    }
    return is_wanted;
}

/* Gradients per step: 1 for Stan's integrator, for unknown ones, and for
 * samplers without trajectories. */
static double stages_of(const struct draws *draws)
{
    const char *sampler = draws_setting(draws, RELMC_KEY_SAMPLER);
    const char *spec = draws_setting(draws, RELMC_KEY_INTEGRATOR);
    const bool is_used = spec && !(sampler && spec_is_unadjusted(sampler));
    relmc_component integrator;

    return is_used && spec_find("integrator", spec, &integrator)
               ? (double)integrator.n_gradients
               : 1.0;
}

static void conclude(struct group *g, const struct draws *draws)
{
    const double thin = draws_number(draws, RELMC_KEY_THIN);

    g->n_stages = stages_of(draws);
    const double n_grad = g->n_steps * g->n_stages * (thin > 1.0 ? thin : 1.0);

    g->model = draws_model(draws);
    g->seconds = draws_seconds(draws);
    g->n_draws = draws->n_files * draws->n_each;
    if (g->ess_bulk == HUGE_VAL) {
        g->ess_bulk = g->ess_tail = CLI_NAN;
    }
    g->n_steps = n_grad;
    g->measures[M_ESS] = g->ess_bulk;
    g->measures[M_ESS_GRAD] =
        n_grad > 0.0 ? 1000.0 * g->ess_bulk / n_grad : CLI_NAN;
    g->measures[M_ESS_SECOND] =
        g->seconds > 0.0 ? g->ess_bulk / g->seconds : CLI_NAN;
    g->measures[M_DIVERGENT] = 100.0 * g->n_divergent / (double)g->n_draws;
}

/* --ref exact: the first run names the model. */
static int find_reference(struct job *job, const struct group *group)
{
    const struct opt_value *ref = opt_get(job->set, "ref");

    if (ref->n_items == 0 || job->all.ref) {
        return CLI_OK;
    }
    if (strcmp(ref->items[0], "exact") != 0) {
        return CLI_OK;
    }
    if (!group->fit.target) {
        return cli_fail(CLI_MODEL, job->set->who, "--ref exact: %s: %s",
                        group->label, group->fit.why_not);
    }
    job->all.ref = &job->reference;
    return reference_exact(&job->reference, group->fit.target, job->set->who);
}

/* Prints names that only one side has; once if all runs have the same. */
static void say_unmatched(struct job *job, const struct group *group)
{
    const struct verdict *v = &group->verdict;
    char *text =
        cli_text("%s%s%s%s%s", v->n_missing ? "not in the reference: " : "",
                 v->missing, v->n_missing && v->n_extra ? "; " : "",
                 v->n_extra ? "only in the reference: " : "", v->extra);

    if (*text && (!job->unmatched || strcmp(job->unmatched, text) != 0)) {
        cli_say(&job->voice, "%s: %s", group->label, text);
    }
    free(job->unmatched);
    job->unmatched = text;
}

static int prepare(struct job *job, struct reading *r)
{
    struct group *group = r->group;
    int code = CLI_OK;

    r->is_wanted = choose_columns(r->draws);
    compare_model_open(&group->fit, r->draws, r->is_wanted);
    group->ess_bulk = group->ess_tail = HUGE_VAL;
    group->n_steps = group->n_divergent = CLI_NAN;
    if ((code = find_reference(job, group)) || !job->all.ref) {
        return code;
    }
    code = compare_reference_open(&group->verdict, job->all.ref, r->draws,
                                  r->is_wanted, group->label);
    if (!code) {
        say_unmatched(job, group);
    }
    return code;
}

static int read_group(struct job *job, size_t index)
{
    const struct opt_set *set = job->set;
    struct group *group = &job->all.groups[index];
    const double n = (double)job->all.n_groups;
    struct draws draws;
    struct reading reading = {.job = job, .group = group, .draws = &draws};
    int code =
        draws_open(&draws, group->paths, group->n_paths, job->set, &job->voice);

    if (!code) {
        code = draws_choose(&draws, opt_get(set, "include"),
                            opt_get(set, "memory"));
    }
    if (!code) {
        job->all.plan.memory = 0.5 * draws.memory / n;
        code = prepare(job, &reading);
    }
    if (!code) {
        draws.share_from = (double)index / n;
        draws.share_to = (double)(index + 1) / n;
        code = draws_visit(&draws, take_column, &reading);
    }
    if (!code) {
        conclude(group, &draws);
    }
    free(reading.is_wanted);
    draws_clear(&draws);
    return code;
}

/* ---- against the density and the reference ------------------------------- */

static void take_fit(struct group *g)
{
    const struct fit *fit = &g->fit;
    const bool has_mae = fit->target && fit->mae.n_bins > 0;

    g->measures[M_MAE] = has_mae ? fit->mae.mae : CLI_NAN;
    g->measures[M_MAE_FLOOR] = has_mae ? fit->mae.mae_floor : CLI_NAN;
    g->measures[M_TV] = has_mae ? fit->mae.tv : CLI_NAN;
    g->measures[M_TV_FLOOR] = has_mae ? fit->mae.tv_floor : CLI_NAN;
    g->measures[M_KSD] = fit->target ? fit->ksd : CLI_NAN;
    g->measures[M_GRAPH] = fit->n_graph ? fit->graph.lower : CLI_NAN;
}

/* A missing score is an error if --stein is given, else a note. */
static int check_models(const struct job *job)
{
    const struct comparison *all = &job->all;

    for (size_t g = 0; g < all->n_groups; g++) {
        const struct group *group = &all->groups[g];

        if (group->fit.target ||
            (!all->plan.wants_ksd && !all->plan.wants_graph)) {
            continue;
        }
        if (opt_is_given(job->set, "stein")) {
            return cli_fail(CLI_MODEL, job->set->who,
                            "--stein %s: no scores for %s: %s",
                            opt_get(job->set, "stein")->text, group->label,
                            group->fit.why_not);
        }
        cli_say(&job->voice, "%s: no Stein discrepancy: %s", group->label,
                group->fit.why_not);
    }
    return CLI_OK;
}

static int judge(struct job *job)
{
    struct comparison *all = &job->all;
    struct progress_line gauge;
    int code = check_models(job);

    progress_line_start(&gauge);
    gauge.start = 0.0; /* one step may take long: show it at once */
    for (size_t g = 0; g < all->n_groups; g++) {
        compare_model_count(&all->plan, &all->groups[g].fit);
    }
    compare_model_settle(&all->plan);
    for (size_t g = 0; g < all->n_groups && !code; g++) {
        struct group *group = &all->groups[g];

        progress_line_move(&gauge, "judging",
                           (double)g / (double)all->n_groups);
        code = compare_model_compute(&group->fit, &all->plan, job->set->who,
                                     group->label, &job->voice);
        take_fit(group);
        if (!code && all->ref) {
            compare_reference_conclude(&group->verdict, all->ref, all->max_z);
        }
    }
    progress_line_end(&gauge);
    return code;
}

/* Marks the best run for every measure in which runs differ. */
static void find_best(struct comparison *all)
{
    for (int m = 0; m < N_MEASURES; m++) {
        const double sign = (double)compare_sense(m);
        size_t best = 0;
        bool is_tie = false, is_known = sign != 0.0;

        for (size_t g = 0; g < all->n_groups; g++) {
            const double value = sign * all->groups[g].measures[m];
            const double top = sign * all->groups[best].measures[m];

            is_known &= !isnan(value);
            is_tie = g > 0 && (value == top || (is_tie && value < top));
            best = value > top ? g : best;
        }
        if (is_known && !is_tie && all->n_groups > 1) {
            all->groups[best].n_best++;
            all->n_contests++;
        }
    }
}

static void warn_of_models(const struct job *job)
{
    const struct group *groups = job->all.groups;

    for (size_t g = 1; g < job->all.n_groups; g++) {
        if (strcmp(groups[0].model, groups[g].model) != 0) {
            cli_warn(&job->voice, "%s is of model %s, %s of model %s",
                     groups[0].label, groups[0].model, groups[g].label,
                     groups[g].model);
        }
    }
}

/* ---- the command --------------------------------------------------------- */

static int read_options(struct job *job)
{
    const struct opt_set *set = job->set;
    const struct opt_value *ref = opt_get(set, "ref");
    const char *stein = opt_get(set, "stein")->text;
    struct fit_plan *plan = &job->all.plan;
    int code = opt_need(job->set, "max-z", "ref");

    if (code) {
        return code;
    }
    plan->wants_ksd = !strcmp(stein, "ksd") || !strcmp(stein, "both");
    plan->wants_graph = !strcmp(stein, "graph") || !strcmp(stein, "both");
    plan->n_graph = opt_get(set, "graph-draws")->text
                        ? opt_get(set, "graph-draws")->count
                        : 0;
    job->all.max_z = opt_get(set, "max-z")->real;
    if (ref->n_items > 0 && strcmp(ref->items[0], "exact") != 0) {
        job->all.ref = &job->reference;
        code = reference_read(&job->reference, ref, job->set, &job->voice);
    }
    return code;
}

static int report(const struct job *job)
{
    const struct opt_set *set = job->set;
    int code = CLI_OK;

    if (opt_get(set, "json")->is_on) {
        compare_print_json(&job->all);
    } else {
        compare_print_table(&job->all);
    }
    if (opt_get(set, "csv")->text) {
        code = compare_write_csv(&job->all, opt_get(set, "csv")->text,
                                 job->set->who, &job->voice);
    }
    for (size_t g = 0; g < job->all.n_groups && !code; g++) {
        code = job->all.groups[g].verdict.has_failed ? CLI_CHECK : CLI_OK;
    }
    return code;
}

static void clear(struct job *job)
{
    for (size_t g = 0; g < job->all.n_groups; g++) {
        struct group *group = &job->all.groups[g];

        free(group->base);
        free(group->label);
        free(group->paths);
        free(group->model);
        compare_model_clear(&group->fit);
        compare_reference_clear(&group->verdict);
    }
    free(job->all.groups);
    free(job->unmatched);
    reference_clear(&job->reference);
}

static int run(struct opt_set *set)
{
    struct job job = {
        .set = set,
        .voice = {.has_colour = cli_wants_colour(STDERR_FILENO,
                                                 opt_get(set, "color")->text)},
    };
    int code = compare_group_files(&job.all, set);

    if (!code) {
        code = overwrite_check_table(set, "csv");
    }
    if (!code) {
        code = read_options(&job);
    }
    for (size_t g = 0; g < job.all.n_groups && !code; g++) {
        code = read_group(&job, g);
    }
    if (!code) {
        warn_of_models(&job);
        code = judge(&job);
    }
    if (!code) {
        find_best(&job.all);
        code = report(&job);
    }
    clear(&job);
    return code;
}

const struct command cmd_compare = {
    .name = "compare",
    .argument = "FILE...",
    .doc = "compare runs: effective draws per cost, errors, a reference",
    .examples =
        "relmc compare nuts_*.csv rnuts_*.csv\n"
        "relmc compare a_*.csv b_*.csv --label Newtonian --label relativistic\n"
        "relmc compare --label old old/*.csv --label new new/*.csv\n"
        "relmc compare run_*.csv --ref exact\n"
        "relmc compare run_*.csv --ref eight_schools.json --max-z 5\n",
    .options = options,
    .run = run,
};
