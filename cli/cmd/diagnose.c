/* diagnose.c - relmc diagnose: convergence checks of the draws in files. */
#define _POSIX_C_SOURCE 200809L

#include "draws/draws.h"
#include "relmc_diag.h"
#include "relmc_format.h"
#include "report/checks.h"
#include "report/result.h"
#include "tool/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt options[] = {
    DRAWS_OPT_INCLUDE,
    OPT_JSON(.doc = "print JSON"),
    DRAWS_OPT_MEMORY,
    OPT_COMMON,
    {0},
};

struct job {
    const struct opt_set *set;
    struct draws draws;
    struct checks checks;
};

static void take_column(void *ctx, size_t column, const relmc_series *series)
{
    struct job *job = ctx;

    checks_take(&job->checks, draws_name(&job->draws, column), series, NULL);
}

/* ---- settings of the run, from its files --------------------------------- */

static char *path_of(const void *ctx, size_t k)
{
    const struct draws *draws = ctx;

    return cli_text("%s", draws->files[k].path);
}

/* The target of the adaptation; NaN if nothing was adapted. */
static double target_accept(const struct draws *draws)
{
    const char *ours = draws_setting(draws, RELMC_KEY_ADAPT);

    if (draws_number(draws, RELMC_KEY_ENGAGED) == 0.0) {
        return CLI_NAN;
    }
    return ours && spec_name("adapt", ours)
               ? spec_number("adapt", ours, "delta")
               : draws_number(draws, RELMC_KEY_DELTA);
}

static char *copy_of(const struct draws *draws, const char *key)
{
    const char *value = draws_setting(draws, key);

    return value ? cli_text("%s", value) : NULL;
}

static void take_settings(struct checks *checks, const struct draws *draws)
{
    const char *engine = draws_setting(draws, RELMC_KEY_ENGINE);
    const bool is_static = engine && !strcmp(engine, "static");

    checks->n_chains = draws->n_files;
    checks->kinetic = draws_setting(draws, RELMC_KEY_KINETIC);
    const char *sampler = draws_setting(draws, RELMC_KEY_SAMPLER);
    checks->engine = copy_of(draws, "relmc_engine");
    checks->energy = copy_of(draws, "relmc_energy");
    checks->is_unadjusted = sampler && spec_is_unadjusted(sampler);
    checks->is_path = sampler && spec_optimises(sampler);
    checks->target_accept = target_accept(draws);
    checks->may_exceed_it = sampler && spec_has_engines(sampler);
    checks->warmup = draws_number(draws, RELMC_KEY_WARMUP);
    checks->thin = draws_number(draws, RELMC_KEY_THIN);
    checks->max_depth =
        is_static ? CLI_NAN : draws_number(draws, RELMC_KEY_MAX_DEPTH);
    checks->chain_name = path_of;
    checks->ctx = draws;
    /* of a Stan model, whose columns are not its coordinates */
    const double dim = draws_number(draws, RELMC_KEY_COORDINATES);
    checks->dim = dim >= 1.0 ? (size_t)dim : 0;
    for (size_t j = 0; isnan(dim) && j < draws->files[0].n_columns; j++) {
        checks->dim += !draws_is_sampler(draws, j);
    }
}

/* ---- the command --------------------------------------------------------- */

/* A line for each check, and advice below those that failed. */
static void print_verdicts(const struct checks *checks, bool has_colour)
{
    for (size_t i = 0; i < checks->n_verdicts; i++) {
        const struct verdict *v = &checks->verdicts[i];
        const char *colour = !has_colour ? ""
                             : v->is_ok  ? "\x1b[32m"
                                         : "\x1b[31m";

        (void)printf("%s%-4s%s  %-16s  %s\n", colour, v->is_ok ? "ok" : "FAIL",
                     has_colour ? "\x1b[0m" : "", v->check, v->text);
        if (!v->is_ok) {
            (void)printf("%24s%s\n", "", v->advice);
        }
    }
    (void)printf("%zu of %zu checks failed.\n", checks->n_bad,
                 checks->n_verdicts);
}

static void print_json(const struct checks *checks)
{
    result_print_json(json_pack(
        "{s:s, s:I, s:I, s:I, s:o}", "relmc_version", CLI_VERSION, "draws",
        (json_int_t)checks->n_draws, "n_checks", (json_int_t)checks->n_verdicts,
        "n_failed", (json_int_t)checks->n_bad, "checks", checks_json(checks)));
}

static int conclude(struct job *job)
{
    const struct opt_set *set = job->set;
    struct checks *checks = &job->checks;

    if (checks->has_failed) {
        return cli_fail(CLI_NUMERIC, job->set->who, "out of memory");
    }
    checks->n_each = job->draws.n_each;
    checks_judge(checks);
    if (opt_get(set, "json")->is_on) {
        print_json(checks);
    } else {
        print_verdicts(checks, cli_wants_colour(STDOUT_FILENO,
                                                opt_get(set, "color")->text));
    }
    return checks->n_bad ? CLI_CHECK : CLI_OK;
}

/* -i chooses among parameters: the sampler's columns are always needed. */
static int choose(struct job *job)
{
    const struct opt_set *set = job->set;
    struct draws *d = &job->draws;
    int code = draws_choose(d, opt_get(set, "include"), opt_get(set, "memory"));

    if (code || opt_get(set, "include")->n_items == 0) {
        return code;
    }
    size_t *chosen = cli_alloc(d->files[0].n_columns, sizeof *chosen);
    size_t n = 0;
    for (size_t j = 0; j < d->files[0].n_columns; j++) {
        if (draws_is_sampler(d, j)) {
            chosen[n++] = j;
        }
    }
    for (size_t i = 0; i < d->n_chosen; i++) {
        if (!draws_is_sampler(d, d->chosen[i])) {
            chosen[n++] = d->chosen[i];
        }
    }
    free(d->chosen);
    d->chosen = chosen;
    d->n_chosen = n;
    return CLI_OK;
}

static int run(struct opt_set *set)
{
    const struct voice voice = {
        .has_colour =
            cli_wants_colour(STDERR_FILENO, opt_get(set, "color")->text)};
    struct job job = {.set = set};
    int code = draws_open(&job.draws, (const char *const *)set->arguments,
                          set->n_arguments, set, &voice);

    checks_init(&job.checks);
    if (!code) {
        code = choose(&job);
    }
    if (!code) {
        take_settings(&job.checks, &job.draws);
        code = draws_visit(&job.draws, take_column, &job);
    }
    if (!code) {
        code = conclude(&job);
    }
    checks_clear(&job.checks);
    draws_clear(&job.draws);
    return code;
}

const struct command cmd_diagnose = {
    .name = "diagnose",
    .argument = "FILE...",
    .doc = "convergence checks of the draws in files, with advice",
    .examples = "relmc diagnose banana_*.csv\n"
                "relmc diagnose run_*.csv --json\n"
                "relmc diagnose run_*.csv -i x && echo fine\n",
    .options = options,
    .run = run,
};
