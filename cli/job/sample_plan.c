/* sample_plan.c - turns the options of `relmc sample` into those of the
 * library. */
#define _POSIX_C_SOURCE 200809L

#include "job/sample.h"

#include "job/model.h"
#include "job/team.h"
#include "tool/seed.h"
#include "tool/spec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers ------------------------------------------------------------- */

/* To the library zero means the default. */
static int64_t count_or_none(const struct opt_value *v)
{
    return v->count ? (int64_t)v->count : RELMC_ZERO;
}

static uint32_t default_threads(uint64_t chains)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t cpus = online > 0 ? (uint64_t)online : 1;

    return (uint32_t)(chains < cpus ? chains : cpus);
}

static double real_or_none(const struct opt_set *set, const char *name)
{
    return opt_is_given(set, name) ? opt_get(set, name)->real : CLI_NAN;
}

/* The stop rules; --samples is then the largest number of draws. */
static int plan_rules(struct sample_plan *plan, struct opt_set *set)
{
    static const char limit[] = "100000";

    plan->rules = (struct stop_rules){
        .ess = real_or_none(set, "until-ess"),
        .rhat = real_or_none(set, "until-rhat"),
    };
    return stop_rules_are_given(&plan->rules) && !opt_is_given(set, "samples")
               ? opt_assign(set, opt_place(set, "samples"), limit, OPT_DEFAULT,
                            "--samples")
               : CLI_OK;
}

static int plan_numbers(struct sample_plan *plan, struct opt_set *set)
{
    relmc_options *o = &plan->options;
    int code;

    if ((code = plan_rules(plan, set))) {
        return code;
    }
    o->chains = (uint32_t)opt_get(set, "chains")->count;
    o->warmup = count_or_none(opt_get(set, "warmup"));
    o->draws = count_or_none(opt_get(set, "samples"));
    o->thin = (uint32_t)opt_get(set, "thin")->count;
    o->keep =
        opt_get(set, "save-warmup")->is_on ? RELMC_KEEP_WARMUP : RELMC_ZERO;
    o->first_chain = (uint32_t)opt_get(set, "chain-id")->count - 1;
    o->lanes = (uint32_t)opt_get(set, "lanes")->count;
    o->threads = team_threads(set, opt_get(set, "cores")->count,
                              default_threads(o->chains));
    o->isa = getenv("RELMC_ISA");
    o->clock = cli_clock;
    if (o->warmup < 0 && o->draws < 0) {
        return cli_fail(CLI_USAGE, set->who,
                        "--warmup 0 and --samples 0: nothing is left to do");
    }
    if ((code = seed_settle(set))) {
        return code;
    }
    o->seed = opt_get(set, "seed")->count;
    return CLI_OK;
}

/* ---- memory -------------------------------------------------------------- */

static double half_of_memory(void)
{
    const double pages = (double)sysconf(_SC_PHYS_PAGES);
    const double bytes = (double)sysconf(_SC_PAGESIZE);

    return pages > 0.0 && bytes > 0.0 ? 0.5 * pages * bytes : HUGE_VAL;
}

/* Bytes of the draws and their statistics. */
static double bytes_of_draws(const relmc_options *o, size_t dim)
{
    double rows = o->draws > 0 ? (double)o->draws : 0.0;

    rows +=
        o->keep == RELMC_KEEP_WARMUP && o->warmup > 0 ? (double)o->warmup : 0.0;
    return rows / (double)o->thin * (double)o->chains *
           (double)(dim + N_STATS) * (double)sizeof(double);
}

/* Bytes of running estimates, about: a sketch has some levels of 8 points times
 * doubles; there are batches, too. */
static double bytes_of_estimates(const relmc_options *o, size_t dim,
                                 size_t points)
{
    const double level = 64.0 * (double)points;
    const double n_levels =
        2.0 + fmax(0.0, log2((double)o->draws / level) / 3.0);

    return (double)o->chains * (double)(dim + 1) *
           (5000.0 + (n_levels + 1.0) * level);
}

void sample_plan_keep(struct sample_plan *plan)
{
    relmc_options *o = &plan->options;
    const int warmup = o->keep > 0 ? o->keep & RELMC_KEEP_WARMUP : 0;
    const int rows = plan->keeps_draws ? RELMC_KEEP_OUTPUTS
                     : plan->points    ? RELMC_KEEP_RUNNING
                                       : 0;

    o->keep = rows | warmup ? rows | warmup : RELMC_ZERO;
    o->keep_points = (uint32_t)plan->points;
}

/* The draws are kept if they fit, else the best sketch that fits. With a stop
 * rule the run rarely reaches its limit, and all that is kept is written with
 * every checkpoint: so less memory is allowed. */
static void plan_memory(struct sample_plan *plan, const struct opt_set *set,
                        size_t dim)
{
    enum { MOST_POINTS = 256, LEAST_POINTS = 16 };
    const relmc_options *o = &plan->options;
    const double most = half_of_memory();
    const double room = opt_is_given(set, "memory")
                            ? 1e6 * opt_get(set, "memory")->real
                        : opt_get(set, "checkpoint")->text   ? fmin(most, 64e6)
                        : stop_rules_are_given(&plan->rules) ? fmin(most, 1e9)
                                                             : most;

    plan->is_plain = opt_get(set, "no-summary")->is_on;
    if (o->draws <= 0 || plan->is_plain) {
        return;
    }
    plan->keeps_draws = bytes_of_draws(o, dim) <= room;
    for (size_t points = MOST_POINTS; points >= LEAST_POINTS && !plan->points;
         points /= 2) {
        plan->points = bytes_of_estimates(o, dim, points) <= most ? points : 0;
    }
    sample_plan_keep(plan);
}

/* ---- files --------------------------------------------------------------- */

static int plan_init(struct sample_plan *plan, const struct opt_set *set,
                     const relmc_target *target)
{
    const size_t dim = relmc_target_dim(target);
    const char *text = opt_get(set, "init")->text;
    const size_t chains = plan->options.chains;
    struct points points = {0};
    double radius = 0.0;

    if (opt_parse_real(text, &radius)) {
        if (!(radius >= 0.0 && radius <= 1e6)) {
            return cli_fail(CLI_USAGE, set->who,
                            "--init: \"%s\" is not a radius from 0 to 1e+06 "
                            "or a file",
                            text);
        }
        plan->options.init_radius = radius > 0.0 ? radius : RELMC_ZERO;
        return CLI_OK;
    }
    const int code = model_is_stan(set->argument)
                         ? model_read_points(&points, target, text, set->who)
                         : init_points_read(&points, text, dim, set->who);
    if (code) {
        return code;
    }
    if (points.n != 1 && points.n != chains) {
        free(points.values);
        return cli_fail(CLI_MODEL, set->who,
                        "%s: %zu starting points for %zu chains: one for all "
                        "or one for each is needed",
                        text, points.n, chains);
    }
    plan->init = cli_alloc(chains * dim, sizeof *plan->init);
    for (size_t k = 0; k < chains; k++) {
        memcpy(plan->init + k * dim,
               points.values + (points.n > 1 ? k * dim : 0),
               dim * sizeof *plan->init);
    }
    free(points.values);
    plan->options.init = plan->init;
    return CLI_OK;
}

/* Control variates of minibatches. */
static int plan_center(struct sample_plan *plan, const struct opt_set *set,
                       size_t dim)
{
    const char *path = opt_get(set, "control-variates")->text;
    struct points points = {0};

    if (!path) {
        return CLI_OK;
    }
    if (!plan->options.batch_rows) {
        return cli_fail(CLI_USAGE, set->who,
                        "--control-variates is for minibatches: give "
                        "--batch-size N, too");
    }
    const int code = init_points_read(&points, path, dim, set->who);
    if (code) {
        return code;
    }
    plan->center = points.values;
    plan->options.center = plan->center;
    return points.n == 1
               ? CLI_OK
               : cli_fail(CLI_MODEL, set->who,
                          "%s: %zu points, but control variates need one", path,
                          points.n);
}

static int plan_metric(struct sample_plan *plan, const struct opt_set *set,
                       size_t dim)
{
    const char *kind = opt_get(set, "metric")->text;
    const char *path = opt_get(set, "inv-metric")->text;
    struct metric *metric = &plan->metric;
    int code = CLI_OK;

    if (!path && kind && !strcmp(kind, "unit_e")) {
        metric->values = cli_alloc(dim, sizeof *metric->values);
        for (size_t i = 0; i < dim; i++) {
            metric->values[i] = 1.0;
        }
        plan->options.inv_metric = metric->values; /* given, so it stays */
    }
    if (!path) {
        return CLI_OK;
    }
    if ((code = init_points_read_metric(metric, path, dim, set->who))) {
        return code;
    }
    const char *found = metric->is_dense ? "dense_e" : "diag_e";
    if (kind && strcmp(kind, found) != 0) {
        return cli_fail(CLI_USAGE, set->who, "--metric %s, but %s holds a %s",
                        kind, path, found);
    }
    if (metric->is_dense) {
        plan->options.inv_metric_dense = metric->values;
    } else {
        plan->options.inv_metric = metric->values;
    }
    return CLI_OK;
}

const char *sample_plan_suffix(const struct sample_plan *plan)
{
    return chain_suffix(plan->format == CHAIN_CSV ? CHAIN_CSV : CHAIN_RAW);
}

static bool ends_with(const char *text, const char *tail)
{
    const size_t n = strlen(text), m = strlen(tail);

    return n > m && !strcmp(text + n - m, tail);
}

static int check_folder(const struct sample_plan *plan, const char *who)
{
    const char *base = plan->rows;
    const char *suffix = sample_plan_suffix(plan);
    const unsigned first = plan->options.first_chain + 1;
    const char *slash = strrchr(base, '/');
    struct stat status;

    if (!slash || slash == base) {
        return CLI_OK;
    }
    char *folder = cli_text("%.*s", (int)(slash - base), base);
    int code = CLI_OK;
    if (stat(folder, &status)) {
        code = cli_fail(CLI_IO, who, "cannot write %s_%u%s: %s: %s", base,
                        first, suffix, folder, strerror(errno));
    } else if (!S_ISDIR(status.st_mode)) {
        code =
            cli_fail(CLI_IO, who, "cannot write %s_%u%s: %s is not a directory",
                     base, first, suffix, folder);
    }
    free(folder);
    return code;
}

static int plan_base(struct sample_plan *plan, const struct opt_set *set,
                     const relmc_target *target)
{
    static const char *const others[] = {".zarr", ".npz", ".npy", ".json"};
    const char *name = relmc_target_name(target); /* up to the parameters */
    const int length = (int)strcspn(name, ":");
    const char *text = opt_get(set, "output")->text;

    if (opt_get(set, "no-output")->is_on) {
        return CLI_OK;
    }
    for (size_t i = 0; text && i < sizeof others / sizeof *others; i++) {
        if (ends_with(text, others[i])) {
            return cli_fail(CLI_USAGE, set->who,
                            "--output %s: only .csv, .rmc and .nc files can "
                            "be written",
                            text);
        }
    }
    if (!text) {
        plan->base = cli_text("%.*s", length, name);
    } else if (text[strlen(text) - 1] == '/') {
        plan->base = cli_text("%s%.*s", text, length, name);
    } else {
        const enum chain_format format = chain_format_of(text);
        const size_t n = strlen(text) - strlen(chain_suffix(format));

        plan->base = cli_text("%.*s", (int)n, text);
        plan->format = format == CHAIN_NONE ? CHAIN_CSV : format;
    }
    if (plan->format == CHAIN_NC && !strcmp(netcdf_library(), "no")) {
        return cli_fail(CLI_USAGE, set->who,
                        "--output %s: this relmc was built without NetCDF "
                        "(libnetcdf-dev); %s.rmc and %s.csv can be written",
                        text, plan->base, plan->base);
    }
    plan->rows = cli_text("%s", plan->format == CHAIN_NC ? text : plan->base);
    return check_folder(plan, set->who);
}

/* ---- all of it ----------------------------------------------------------- */

int sample_plan_make(struct sample_plan *plan, struct opt_set *set,
                     const relmc_target *target, const struct voice *voice)
{
    const size_t dim = relmc_target_dim(target);
    int code;

    *plan = (struct sample_plan){.options = RELMC_INIT(relmc_options)};
    if ((code = sample_method_settle(set)) ||
        (code = plan_numbers(plan, set)) ||
        (code = data_options_batches(&plan->options, set, target)) ||
        (code = sample_method_plan(plan, set, voice)) ||
        (code = plan_init(plan, set, target)) ||
        (code = plan_center(plan, set, dim)) ||
        (code = plan_metric(plan, set, dim)) ||
        (code = plan_base(plan, set, target))) {
        return code;
    }
    plan_memory(plan, set, relmc_target_n_outputs(target));
    return CLI_OK;
}

void sample_plan_clear(struct sample_plan *plan)
{
    free(plan->sampler);
    free(plan->kinetic);
    free(plan->adapt);
    free(plan->init);
    free(plan->center);
    free(plan->metric.values);
    free(plan->base);
    free(plan->rows);
}
