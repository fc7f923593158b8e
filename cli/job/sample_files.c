/* sample_files.c - the files of a run of `relmc sample`: names, checks before,
 * clean-up after. */
#include "job/sample.h"

#include "draws/convert.h"
#include "draws/overwrite_check.h"
#include "tool/config.h"
#include "tool/open_files.h"

#include <stdio.h>
#include <stdlib.h>

/* The file of the k-th chain, from 0; yours. */
static char *rows_of(const struct sample_plan *plan, size_t k)
{
    return cli_text("%s_%zu%s", plan->rows, plan->options.first_chain + k + 1,
                    sample_plan_suffix(plan));
}

/* ---- before the run ------------------------------------------------------ */

/* Frees `path`. */
static int claim_one(const struct job *job, char *path)
{
    const int code = job->from
                         ? overwrite_check_lock(job->set->who, path)
                         : overwrite_check_output(job->set, "output", path);

    free(path);
    return code;
}

static int claim_all(const struct job *job)
{
    const struct sample *s = job->self;
    const struct sample_plan *plan = &s->plan;
    const char *base = plan->base;
    int code = job->from ? CLI_OK : checkpoint_guard(job->set);

    for (size_t k = 0; base && k < plan->options.chains && !code; k++) {
        code = claim_one(job, rows_of(plan, k));
    }
    if (base && !code) {
        code = claim_one(job, cli_text("%s_config.json", base));
    }
    if (base && !code && plan->is_adaptive) {
        code = claim_one(job, cli_text("%s_metric.json", base));
    }
    if (base && !code && plan->format == CHAIN_NC) {
        code = claim_one(job, cli_text("%s.nc", base));
    }
    return code;
}

int sample_files_write_config(struct job *job)
{
    struct sample *s = job->self;

    if (!s->plan.base) {
        return CLI_OK;
    }
    char *text = config_text(job->set, relmc_run_manifest_json(job->run));

    s->config = cli_text("%s_config.json", s->plan.base);
    const int code = config_write_text(s->config, job->set->who, text);
    free(text);
    return code;
}

/* ---- an earlier run ------------------------------------------------------ */

/* The number of chains of an earlier run with this BASE and the same first
 * chain; 0 if there was none. */
static size_t count_before(const struct sample_plan *plan)
{
    char *path = plan->base ? cli_text("%s_config.json", plan->base) : NULL;
    json_t *root = path ? json_load_file(path, 0, NULL) : NULL;
    json_int_t n = 0, first = 0;
    const bool is_it = !json_unpack(root, "{s:{s:I, s:I}}", "options", "chains",
                                    &n, "chain_id", &first);

    json_decref(root);
    free(path);
    return is_it && n > 0 && first == (json_int_t)plan->options.first_chain + 1
               ? (size_t)n
               : 0;
}

/* Files that this command reads are kept. */
static bool drop(const struct opt_set *set, const char *path)
{
    return !overwrite_check_is_named(set, "output", path) && !remove(path);
}

/* Removes the draws of chains that this run does not have. Returns the names of
 * the first and the last; yours. */
static char *drop_rows(const struct sample_plan *plan,
                       const struct opt_set *set, size_t n_before)
{
    char *first = NULL, *last = NULL;

    for (size_t k = plan->options.chains; k < n_before; k++) {
        char *path = rows_of(plan, k);

        if (!chain_is_it(path) || !drop(set, path)) {
            free(path);
        } else if (!first) {
            first = path;
        } else {
            free(last);
            last = path;
        }
    }
    char *text = last ? cli_text("%s ... %s", first, last)
                      : cli_text("%s", first ? first : "");
    free(first);
    free(last);
    return text;
}

/* Every chain has a file, which is open until the end. */
static int claim_room(const struct job *job)
{
    const struct sample *s = job->self;
    const size_t n = job->options->chains;

    if (!s->plan.base) {
        return CLI_OK;
    }
    char *what = cli_text("--chains %zu, with a file for each,", n);
    const int code = open_files_allow(job->set->who, n, what);

    free(what);
    return code;
}

int sample_files_claim(struct job *job)
{
    struct sample *s = job->self;
    int code = claim_room(job);

    code = code ? code : claim_all(job);

    s->n_before = code || job->from ? 0 : count_before(&s->plan);
    return code;
}

void sample_files_tidy(const struct job *job)
{
    const struct sample *s = job->self;

    if (!s->n_before) {
        return;
    }
    char *rows = drop_rows(&s->plan, job->set, s->n_before);
    char *metric = cli_text("%s_metric.json", s->plan.base);
    const bool is_said = drop(job->set, metric) && !s->plan.is_adaptive;

    if (*rows || is_said) {
        cli_say(&job->voice, "removed %s%s%s of an earlier run", rows,
                *rows && is_said ? ", " : "", is_said ? metric : "");
    }
    free(rows);
    free(metric);
}

/* ---- one file of all draws ----------------------------------------------- */

static bool have_one_length(const struct chain_file *chains, size_t n)
{
    for (size_t k = 1; k < n; k++) {
        if (chains[k].n_rows != chains[0].n_rows) {
            return false;
        }
    }
    return true;
}

/* Removes the files of draws, unless the run may go on or the single file lacks
 * some of them. */
static void remove_rows(const struct sample *s)
{
    for (size_t k = 0; k < s->plan.options.chains && !s->has_rows; k++) {
        char *path = rows_of(&s->plan, k);

        (void)remove(path);
        free(path);
    }
}

/* A NetCDF file cannot be shortened to the draws of a checkpoint. So a run
 * writes plain numbers, and the file is made from them at the end. */
static int make_whole(struct job *job)
{
    struct sample *s = job->self;
    const size_t n = s->plan.options.chains;
    const struct conversion how = {
        .to = CHAIN_NC, .may_replace = true, .who = job->set->who};
    struct chain_file *chains = cli_alloc(n, sizeof *chains);
    char message[CHAIN_MESSAGE];
    int code = CLI_OK;

    for (size_t k = 0; k < n && !code; k++) {
        char *path = rows_of(&s->plan, k);

        if ((code = chain_open(&chains[k], path, 0, message))) {
            (void)cli_fail(code, job->set->who, "%s", message);
        }
        free(path);
    }
    if (!code) {
        code = convert_chains(&how, s->plan.base, chains, n);
    }
    s->has_rows = code || job->checkpoint.path || !have_one_length(chains, n);
    if (!code) {
        s->whole = cli_text("%s.nc", s->plan.base);
        remove_rows(s);
    }
    for (size_t k = 0; k < n; k++) {
        chain_clear(&chains[k]);
    }
    free(chains);
    return code;
}

/* A run that is to go on keeps its files as they are. */
int sample_files_conclude(struct job *job, bool has_draws)
{
    struct sample *s = job->self;
    const bool is_kept = job->checkpoint.path && job_goes_on(job);

    s->has_rows = true;
    return s->plan.format == CHAIN_NC && !is_kept && has_draws ? make_whole(job)
                                                               : CLI_OK;
}

static void say_whole(const struct job *job)
{
    const struct sample *s = job->self;
    const char *comma = s->tuning ? ", " : "";
    char *first = rows_of(&s->plan, 0);

    cli_say(&job->voice, "wrote %s, %s%s%s", s->whole, s->config, comma,
            s->tuning ? s->tuning : "");
    if (s->has_rows) {
        cli_say(&job->voice, "%s%s %s for relmc resume", first,
                s->plan.options.chains > 1 ? " ..." : "",
                s->plan.options.chains > 1 ? "stay" : "stays");
    }
    free(first);
}

void sample_files_say(const struct job *job)
{
    const struct sample *s = job->self;
    const char *base = s->plan.rows;
    const char *suffix = sample_plan_suffix(&s->plan);
    const unsigned first = s->plan.options.first_chain + 1;
    const unsigned n = s->plan.options.chains;
    const char *comma = s->tuning ? ", " : "";
    const char *tuning = s->tuning ? s->tuning : "";

    if (!base) {
        return;
    }
    if (s->whole) {
        say_whole(job);
    } else if (n == 1) {
        cli_say(&job->voice, "wrote %s_%u%s, %s%s%s", base, first, suffix,
                s->config, comma, tuning);
    } else {
        cli_say(&job->voice, "wrote %s_%u%s%s %s_%u%s, %s%s%s", base, first,
                suffix, n > 2 ? " ..." : ",", base, first + n - 1, suffix,
                s->config, comma, tuning);
    }
}
