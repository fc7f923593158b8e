/* compare.c - relmc compare: runs side by side, effective draws per cost. */
#define _POSIX_C_SOURCE 200809L

#include "config.h"
#include "draws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { P_LABEL, P_INCLUDE, P_JSON, P_MEMORY, P_COLOR };

static const struct opt options[] = {
    [P_LABEL] = {.name = "label",
                 .letter = 'l',
                 .kind = OPT_TEXT,
                 .value = "NAME",
                 .is_list = true,
                 .doc = "what a run is called; in front of its files, or "
                        "behind all files, one for each run"},
    [P_INCLUDE] = DRAWS_OPT_INCLUDE,
    [P_JSON] = {.name = "json", .kind = OPT_FLAG, .doc = "as JSON"},
    [P_MEMORY] = DRAWS_OPT_MEMORY,
    OPT_COMMON,
    {0},
};

/* What is compared; the first three are better when larger. */
enum { M_ESS, M_ESS_GRAD, M_ESS_SECOND, M_DIVERGENT, N_MEASURES };

/* The files of one run and what came out. */
struct group {
    char *base;  /* runs/nuts for runs/nuts_1.csv */
    char *label; /* in the table */
    const char **paths;
    size_t n_paths;

    struct draws *draws; /* while they are open */
    char *model;
    size_t n_draws;
    double ess_bulk, ess_tail; /* smallest of all parameters; NaN: none */
    double n_steps, n_divergent;
    double seconds;
    double measures[N_MEASURES]; /* NaN: cannot be told */
    size_t n_best;
};

struct job {
    const struct opt_set *set;
    struct voice voice;
    struct group *groups;
    size_t n_groups;
    size_t n_contests; /* measures that tell the runs apart */
};

/* ---- which files belong together ------------------------------------------ */

/* runs/nuts_12.csv is a chain of runs/nuts; yours. */
static char *base_of(const char *path)
{
    const size_t length = strlen(path);
    size_t n =
        length > 4 && !strcmp(path + length - 4, ".csv") ? length - 4 : length;
    size_t m = n;

    while (m > 0 && path[m - 1] >= '0' && path[m - 1] <= '9') {
        m--;
    }
    if (m < n && m > 1 && strchr("_-.", path[m - 1]) && path[m - 2] != '/') {
        n = m - 1;
    }
    return cli_text("%.*s", (int)n, path);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static struct group *find_base(const struct job *job, const char *base)
{
    for (size_t g = 0; g < job->n_groups; g++) {
        if (!strcmp(job->groups[g].base, base)) {
            return &job->groups[g];
        }
    }
    return NULL;
}

static struct group *add_group(struct job *job, const char *base)
{
    struct group *group = &job->groups[job->n_groups++];

    *group = (struct group){
        .base = cli_text("%s", base),
        .paths = cli_alloc(job->set->n_arguments, sizeof *group->paths),
    };
    return group;
}

/* Every label starts a run: --label A a1.csv a2.csv --label B b1.csv */
static int group_by_labels(struct job *job)
{
    const struct opt_set *set = job->set;
    const struct opt_value *labels = &set->values[P_LABEL];

    for (size_t l = 0; l < labels->n_items; l++) {
        const size_t from = labels->before[l];
        const size_t to =
            l + 1 < labels->n_items ? labels->before[l + 1] : set->n_arguments;

        if (from == to) {
            return cli_fail(CLI_USAGE, set->who, "--label %s: no file follows",
                            labels->items[l]);
        }
        struct group *group = add_group(job, labels->items[l]);
        group->label = cli_text("%s", labels->items[l]);
        for (size_t i = from; i < to; i++) {
            group->paths[group->n_paths++] = set->arguments[i];
        }
    }
    return CLI_OK;
}

/* Files whose names differ in the number of the chain are one run. */
static void group_by_names(struct job *job)
{
    const struct opt_set *set = job->set;

    for (size_t i = 0; i < set->n_arguments; i++) {
        char *base = base_of(set->arguments[i]);
        struct group *group = find_base(job, base);

        if (!group) {
            group = add_group(job, base);
        }
        free(base);
        group->paths[group->n_paths++] = set->arguments[i];
    }
}

/* The labels given, or the ends of the paths, or all of them if these ends are
 * not distinct. */
static int name_groups(struct job *job)
{
    const struct opt_value *labels = &job->set->values[P_LABEL];
    bool is_distinct = true;

    if (labels->n_items > 0 && labels->n_items != job->n_groups) {
        return cli_fail(CLI_USAGE, job->set->who,
                        "%zu label%s for %zu run%s: files that differ in the "
                        "number at the end are one run; or put each --label "
                        "in front of its files",
                        labels->n_items, labels->n_items == 1 ? "" : "s",
                        job->n_groups, job->n_groups == 1 ? "" : "s");
    }
    for (size_t g = 0; g < job->n_groups; g++) {
        for (size_t h = 0; h < g; h++) {
            is_distinct &= strcmp(last_part(job->groups[g].base),
                                  last_part(job->groups[h].base)) != 0;
        }
    }
    for (size_t g = 0; g < job->n_groups; g++) {
        const char *base = job->groups[g].base;
        const char *name = is_distinct ? last_part(base) : base;

        job->groups[g].label =
            cli_text("%s", labels->n_items ? labels->items[g] : name);
    }
    return CLI_OK;
}

static int make_groups(struct job *job)
{
    const struct opt_set *set = job->set;
    const struct opt_value *labels = &set->values[P_LABEL];

    if (set->n_arguments == 0) {
        return cli_fail(CLI_USAGE, set->who,
                        "which files? relmc compare a_*.csv b_*.csv");
    }
    job->groups =
        cli_alloc(set->n_arguments + labels->n_items, sizeof *job->groups);
    if (labels->n_items > 0 && labels->before[0] == 0) {
        return group_by_labels(job);
    }
    group_by_names(job);
    return name_groups(job);
}

/* ---- numbers ------------------------------------------------------------- */

static double sum(const relmc_series *series)
{
    double total = 0.0;

    for (size_t i = 0; i < series->n_chains * series->n_draws; i++) {
        total += series->draws[i];
    }
    return total;
}

/* Smallest so far, NaN being smaller than anything but "none yet". */
static double smaller(double least, double value, bool is_first)
{
    return is_first || isnan(value) || value < least ? value : least;
}

static void take_column(void *ctx, size_t column, const relmc_series *series)
{
    struct group *g = ctx;
    const char *name = draws_name(g->draws, column);
    relmc_summary s;

    if (!strcmp(name, "n_leapfrog__")) {
        g->n_steps = sum(series);
    } else if (!strcmp(name, "divergent__")) {
        g->n_divergent = sum(series);
    } else if (!stan_csv_is_sampler(name) && !draws_are_constant(series) &&
               !relmc_summarise(&s, series, NULL)) {
        const bool is_first = g->ess_bulk == HUGE_VAL;

        g->ess_bulk = smaller(g->ess_bulk, s.ess_bulk, is_first);
        g->ess_tail = smaller(g->ess_tail, s.ess_tail, is_first);
    }
}

/* Of the sampler's columns those that are needed, whatever -i says. */
static void choose_costs(struct draws *draws)
{
    static const char *const needed[] = {"n_leapfrog__", "divergent__"};
    size_t n = 0;

    for (size_t i = 0; i < draws->n_chosen; i++) {
        if (!draws_is_sampler(draws, draws->chosen[i])) {
            draws->chosen[n++] = draws->chosen[i];
        }
    }
    for (size_t j = 0; j < draws->files[0].n_columns; j++) {
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
            if (!strcmp(draws_name(draws, j), needed[i]) &&
                n < draws->files[0].n_columns) {
                draws->chosen[n++] = j;
            }
        }
    }
    draws->n_chosen = n;
}

static void conclude(struct group *g, const struct draws *draws)
{
    const double thin = draws_number(draws, "thin");
    const double n_grad = g->n_steps * (thin > 1.0 ? thin : 1.0);

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

static int read_group(struct job *job, size_t index)
{
    const struct opt_value *values = job->set->values;
    struct group *group = &job->groups[index];
    struct draws draws;
    int code =
        draws_open(&draws, group->paths, group->n_paths, job->set, &job->voice);

    if (!code) {
        code = draws_choose(&draws, &values[P_INCLUDE], &values[P_MEMORY]);
    }
    if (!code) {
        choose_costs(&draws);
        draws.share_from = (double)index / (double)job->n_groups;
        draws.share_to = (double)(index + 1) / (double)job->n_groups;
        group->draws = &draws;
        group->ess_bulk = group->ess_tail = HUGE_VAL;
        group->n_steps = group->n_divergent = CLI_NAN;
        code = draws_visit(&draws, take_column, group);
    }
    if (!code) {
        conclude(group, &draws);
    }
    group->draws = NULL;
    draws_clear(&draws);
    return code;
}

/* Every measure that tells the runs apart has a winner. */
static void find_best(struct job *job)
{
    for (int m = 0; m < N_MEASURES; m++) {
        const double sign = m == M_DIVERGENT ? -1.0 : 1.0;
        size_t best = 0;
        bool is_tie = false, is_told = true;

        for (size_t g = 0; g < job->n_groups; g++) {
            const double value = sign * job->groups[g].measures[m];
            const double top = sign * job->groups[best].measures[m];

            is_told &= !isnan(value);
            is_tie = g > 0 && (value == top || (is_tie && value < top));
            best = value > top ? g : best;
        }
        if (is_told && !is_tie && job->n_groups > 1) {
            job->groups[best].n_best++;
            job->n_contests++;
        }
    }
}

static void warn_of_models(const struct job *job)
{
    for (size_t g = 1; g < job->n_groups; g++) {
        if (strcmp(job->groups[0].model, job->groups[g].model) != 0) {
            cli_warn(&job->voice, "%s is of model %s, %s of model %s",
                     job->groups[0].label, job->groups[0].model,
                     job->groups[g].label, job->groups[g].model);
        }
    }
}

/* ---- saying it ----------------------------------------------------------- */

enum { CELL = 24 };

static void format_measure(char out[CELL], int m, double value)
{
    if (isnan(value)) {
        (void)snprintf(out, CELL, "-");
    } else if (m == M_ESS) {
        (void)snprintf(out, CELL, "%.0f", value);
    } else if (m == M_DIVERGENT) {
        (void)snprintf(out, CELL, "%.*f %%", value > 0.0 && value < 0.1 ? 2 : 1,
                       value);
    } else {
        (void)snprintf(out, CELL, "%.*f",
                       value < 10.0     ? 2
                       : value < 1000.0 ? 1
                                        : 0,
                       value);
    }
}

static void print_table(const struct job *job)
{
    static const char *const heads[N_MEASURES] = {"min ESS", "ESS/1000 grad",
                                                  "ESS/s", "divergent"};
    static const int widths[N_MEASURES] = {9, 16, 10, 12};
    int label = 15;
    size_t most = 0;

    for (size_t g = 0; g < job->n_groups; g++) {
        const struct group *group = &job->groups[g];
        const int n = (int)strlen(group->label);

        label = n > label ? n : label;
        most = group->n_best > most ? group->n_best : most;
    }
    (void)printf("%*s", label, "");
    for (int m = 0; m < N_MEASURES; m++) {
        (void)printf("%*s", widths[m], heads[m]);
    }
    for (size_t g = 0; g < job->n_groups; g++) {
        const struct group *group = &job->groups[g];

        (void)printf("\n%-*s", label, group->label);
        for (int m = 0; m < N_MEASURES; m++) {
            char cell[CELL];

            format_measure(cell, m, group->measures[m]);
            (void)printf("%*s", widths[m], cell);
        }
        if (most > 0 && group->n_best == most) {
            (void)printf("   <- best in %zu of %zu", most, job->n_contests);
        }
    }
    (void)putchar('\n');
}

static json_t *json_group(const struct group *g)
{
    json_t *files = json_array();

    for (size_t i = 0; i < g->n_paths; i++) {
        (void)json_array_append_new(files, json_string(g->paths[i]));
    }
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "label",
        g->label, "model", g->model, "files", files, "draws",
        (json_int_t)g->n_draws, "min_ess_bulk", config_real(g->ess_bulk),
        "min_ess_tail", config_real(g->ess_tail), "gradients",
        config_real(g->n_steps), "seconds_sampling", config_real(g->seconds),
        "divergent", config_real(g->n_divergent), "ess_per_1000_gradients",
        config_real(g->measures[M_ESS_GRAD]), "ess_per_second",
        config_real(g->measures[M_ESS_SECOND]), "best_in",
        (json_int_t)g->n_best);
}

static void print_json(const struct job *job)
{
    json_t *runs = json_array();

    for (size_t g = 0; g < job->n_groups; g++) {
        (void)json_array_append_new(runs, json_group(&job->groups[g]));
    }
    json_t *root =
        json_pack("{s:s, s:I, s:o}", "relmc_version", relmc_version(),
                  "contests", (json_int_t)job->n_contests, "runs", runs);
    char *text = config_print(root);

    (void)printf("%s\n", text);
    free(text);
    json_decref(root);
}

/* ---- the command --------------------------------------------------------- */

static int run(struct opt_set *set)
{
    struct job job = {
        .set = set,
        .voice = {.has_colour = cli_wants_colour(STDERR_FILENO,
                                                 set->values[P_COLOR].text)},
    };
    int code = make_groups(&job);

    for (size_t g = 0; g < job.n_groups && !code; g++) {
        code = read_group(&job, g);
    }
    if (!code) {
        warn_of_models(&job);
        find_best(&job);
        if (set->values[P_JSON].is_on) {
            print_json(&job);
        } else {
            print_table(&job);
        }
    }
    for (size_t g = 0; g < job.n_groups; g++) {
        free(job.groups[g].base);
        free(job.groups[g].label);
        free(job.groups[g].paths);
        free(job.groups[g].model);
    }
    free(job.groups);
    return code;
}

const struct command cmd_compare = {
    .name = "compare",
    .argument = "FILE...",
    .doc = "runs side by side: effective draws per gradient and second",
    .examples =
        "relmc compare nuts_*.csv rnuts_*.csv\n"
        "relmc compare a_*.csv b_*.csv --label Newtonian --label relativistic\n"
        "relmc compare --label old old/*.csv --label new new/*.csv\n",
    .options = options,
    .run = run,
};
