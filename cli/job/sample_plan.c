/* sample_plan.c - turns the options of `relmc sample` into those of the library. */
#define _POSIX_C_SOURCE 200809L

#include "job/sample.h"

#include "job/model.h"
#include "job/team.h"
#include "tool/component_spec.h"
#include "tool/seed.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct opt_value *value(const struct opt_set *set, int i)
{
    return &set->values[i];
}

/* Given by the user, and not just to say no. */
static bool is_wanted(const struct opt_set *set, int i)
{
    return opt_is_given(set, i) &&
           (set->command->options[i].kind != OPT_FLAG || value(set, i)->is_on);
}

static void drop(struct opt_set *set, int i)
{
    free(set->values[i].text);
    set->values[i] = (struct opt_value){0};
}

/* ---- options that exclude each other ------------------------------------- */

/* Two ways to say one thing. */
static const int rivals[][2] = {
    {S_MASS, S_CRUISE},          {S_SPEED, S_MAX_STEP},
    {S_LEAPFROG, S_INT_TIME},    {S_FIX, S_ADAPT},
    {S_FIX, S_TARGET_ACCEPT},    {S_OUTPUT, S_NO_OUTPUT},
    {S_NO_SUMMARY, S_UNTIL_ESS}, {S_NO_SUMMARY, S_UNTIL_RHAT},
};
enum { N_RIVALS = sizeof rivals / sizeof *rivals };

/* The stronger source wins, equal ones clash. */
static int settle(struct opt_set *set, int a, int b)
{
    const struct opt *options = set->command->options;

    if (!is_wanted(set, a) || !is_wanted(set, b)) {
        return CLI_OK;
    }
    if (value(set, a)->source == value(set, b)->source) {
        return cli_fail(CLI_USAGE, set->who,
                        "--%s and --%s exclude each other: give one of them",
                        options[a].name, options[b].name);
    }
    drop(set, value(set, a)->source < value(set, b)->source ? a : b);
    return CLI_OK;
}

static int settle_rivals(struct opt_set *set)
{
    int code = CLI_OK;

    for (size_t i = 0; i < N_RIVALS && !code; i++) {
        code = settle(set, rivals[i][0], rivals[i][1]);
    }
    return code;
}

/* ---- shorthands for parameters of components ------------------------------ */

/* An option that sets a parameter of a component, and the option that names
 * the component. */
struct shorthand {
    int option, component;
    const char *key;
    const char *text; /* the value */
};

static int no_such_param(const struct opt_set *set, const struct shorthand *s,
                         const char *spec)
{
    const struct opt *options = set->command->options;
    const char *role = options[s->component].choices;
    const relmc_info *info;
    char others[200] = "";
    size_t n = 0;

    for (size_t i = 0; (info = relmc_info_at(role, i)); i++) {
        if (spec_param(info, s->key) && n < sizeof others) {
            n += (size_t)snprintf(others + n, sizeof others - n, "%s%s",
                                  n ? ", " : "", info->name);
        }
    }
    return cli_fail(CLI_USAGE, set->who,
                    "--%s: %s has no parameter %s (%s: --%s %s)",
                    options[s->option].name, spec_info(role, spec)->name,
                    s->key, n ? "these have it" : "none has it",
                    options[s->component].name, n ? others : "...");
}

static int check_param(const struct opt_set *set, const struct shorthand *s,
                       const relmc_param *param)
{
    double number = 0.0;

    if (param->kind == RELMC_VECTOR && *s->text == '[') {
        return CLI_OK; /* the library reads lists */
    }
    if (opt_parse_real(s->text, &number) && number >= param->min &&
        number <= param->max &&
        (param->kind != RELMC_INTEGER || number == floor(number))) {
        return CLI_OK;
    }
    return cli_fail(
        CLI_USAGE, set->who, "--%s: \"%s\" is not a %snumber from %g to %g",
        set->command->options[s->option].name, s->text,
        param->kind == RELMC_INTEGER ? "whole " : "", param->min, param->max);
}

/* The key whose place in the spec a shorthand takes: its own, or that of a
 * rival; NULL if neither is there. */
static const char *key_in_the_way(const struct opt_set *set,
                                  const struct shorthand *s, const char *spec)
{
    const struct opt *options = set->command->options;
    size_t n = 0;

    if (spec_get(spec, s->key, &n)) {
        return s->key;
    }
    for (size_t i = 0; i < N_RIVALS; i++) {
        for (int side = 0; side < 2; side++) {
            const char *key = options[rivals[i][1 - side]].key;

            if (rivals[i][side] == s->option && key &&
                spec_get(spec, key, &n)) {
                return key;
            }
        }
    }
    return NULL;
}

/* Merge one shorthand into the spec of its component.  What comes from a
 * stronger source stays, what comes from a weaker one gives way. */
static int merge(struct opt_set *set, const struct shorthand *s, char **spec)
{
    const struct opt *options = set->command->options;
    const struct opt_value *whole = value(set, s->component);
    const enum opt_source source = value(set, s->option)->source;
    const relmc_info *info = spec_info(options[s->component].choices, *spec);
    const relmc_param *param = spec_param(info, s->key);
    int code;

    if (source < whole->source) {
        drop(set, s->option);
        return CLI_OK;
    }
    if (!param) {
        return no_such_param(set, s, *spec);
    }
    if ((code = check_param(set, s, param))) {
        return code;
    }
    const char *old = key_in_the_way(set, s, whole->text);
    if (old && source == whole->source) {
        return cli_fail(CLI_USAGE, set->who,
                        "--%s and %s= in --%s %s: give one of them",
                        options[s->option].name, old,
                        options[s->component].name, whole->text);
    }
    char *cleared = old ? spec_without(*spec, old) : cli_text("%s", *spec);
    free(*spec);
    *spec = spec_with(cleared, s->key, s->text);
    free(cleared);
    return CLI_OK;
}

static int merge_all(struct opt_set *set, int component, char **spec)
{
    const struct opt *options = set->command->options;
    int code = CLI_OK;

    for (int i = 0; options[i].name && !code; i++) {
        if (options[i].kind == OPT_PARAM && opt_is_given(set, i) &&
            !strcmp(options[i].choices, options[component].choices)) {
            char *text = cli_text("%s", value(set, i)->text);
            const struct shorthand s = {i, component, options[i].key, text};

            code = merge(set, &s, spec);
            free(text);
        }
    }
    return code;
}

/* --max-step is eps c, so it needs an eps that stays: with adaptation a given one
 * is but a first guess. */
static int merge_max_step(struct opt_set *set, struct plan *plan)
{
    if (!opt_is_given(set, S_MAX_STEP)) {
        return CLI_OK;
    }
    if (plan->is_adaptive) {
        return cli_fail(CLI_USAGE, set->who,
                        "--max-step is step size times c, and the step size "
                        "is adapted: give --fix and --step-size E with it, or "
                        "--speed C in its place");
    }
    char *c = cli_text("%.17g",
                       value(set, S_MAX_STEP)->real / plan->options.step_size);
    const struct shorthand s = {S_MAX_STEP, S_KINETIC, "c", c};
    const int code = merge(set, &s, &plan->kinetic);

    free(c);
    return code;
}

/* A Metropolis step makes any step size right.  Without one there is no default
 * that would not be wrong on most targets. */
static int need_step(const struct plan *plan, const struct opt_set *set)
{
    const char *sampler = plan->sampler;
    size_t n = 0;

    if (!spec_is_unadjusted(sampler) || spec_optimises(sampler) ||
        spec_get(sampler, "lr", &n)) {
        return CLI_OK;
    }
    return cli_fail(CLI_USAGE, set->who,
                    "%s has no Metropolis step and tunes nothing: give it a "
                    "--step-size, such as a tenth of the smallest standard "
                    "deviation you expect, less with minibatches",
                    spec_info("sampler", sampler)->name);
}

/* Parameters without a default stand in place of something: lr of sghmc in place
 * of the step size; that of adam is but a factor. */
static int check_rate(const struct plan *plan, const struct opt_set *set)
{
    const char *sampler = plan->sampler;
    const relmc_info *info = spec_info("sampler", sampler);
    const relmc_param *lr = spec_param(info, "lr");
    size_t n = 0;

    return lr && isnan(lr->fallback) && spec_get(sampler, "lr", &n) &&
                   value(set, S_STEP_SIZE)->source == OPT_ARGUMENT
               ? cli_fail(CLI_USAGE, set->who,
                          "--step-size and lr= in --sampler %s: give one of "
                          "them",
                          sampler)
               : CLI_OK;
}

/* What is adapted, and the step size it starts from. */
static int plan_adaptation(struct plan *plan, struct opt_set *set,
                           const struct voice *voice)
{
    int code = merge_all(set, S_ADAPT, &plan->adapt);

    if (code) {
        return code;
    }
    if (is_wanted(set, S_FIX)) {
        free(plan->adapt);
        plan->adapt = cli_text("none");
    }
    plan->is_adaptive = strcmp(plan->adapt, "none") != 0;
    plan->target_accept = spec_number("adapt", plan->adapt, "delta");
    plan->options.step_size = value(set, S_STEP_SIZE)->real;
    if (!plan->is_adaptive && !opt_is_given(set, S_STEP_SIZE)) {
        if ((code = need_step(plan, set))) {
            return code;
        }
        cli_say(voice, "note: no adaptation and no --step-size: it is 1");
        plan->options.step_size = 1.0;
    }
    return CLI_OK;
}

/* For the record, the spec of the component says it all: the shorthands are in
 * it, and a run repeated from the record needs no arbiter. */
static int record(struct opt_set *set, int component, const char *spec)
{
    const struct opt *options = set->command->options;
    enum opt_source strongest = value(set, component)->source;

    for (int i = 0; options[i].name; i++) {
        const bool is_shorthand =
            (options[i].kind == OPT_PARAM &&
             !strcmp(options[i].choices, options[component].choices)) ||
            (component == S_KINETIC && i == S_MAX_STEP) ||
            (component == S_ADAPT && i == S_FIX);

        if (is_shorthand && is_wanted(set, i)) {
            strongest = value(set, i)->source > strongest
                            ? value(set, i)->source
                            : strongest;
            drop(set, i);
        }
    }
    return opt_assign(set, (size_t)component, spec, strongest, "spec");
}

/* --leapfrog and its kin mean trajectories of a given length: plain HMC, unless
 * a sampler was named. */
static const char *sampler_of(struct opt_set *set)
{
    static const int of_hmc[] = {S_LEAPFROG, S_INT_TIME, S_JITTER};

    for (size_t i = 0; i < sizeof of_hmc / sizeof *of_hmc; i++) {
        if (opt_is_given(set, of_hmc[i]) && !opt_is_given(set, S_SAMPLER)) {
            return "hmc";
        }
    }
    return value(set, S_SAMPLER)->text;
}

/* --metric without a file is a wish to the adaptation. */
static int plan_adapted_metric(struct plan *plan, struct opt_set *set)
{
    static const struct {
        const char *kind, *number;
    } kinds[] = {{"diag_e", "0"}, {"dense_e", "2"}};
    const char *kind = value(set, S_METRIC)->text;
    size_t n = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!kind || value(set, S_INV_METRIC)->text ||
            strcmp(kind, kinds[i].kind) != 0 ||
            spec_get(plan->adapt, "metric", &n)) {
            continue;
        }
        if (!spec_param(spec_info("adapt", plan->adapt), "metric")) {
            return cli_fail(CLI_USAGE, set->who,
                            "--metric %s needs --adapt auto, or a file: "
                            "--inv-metric FILE",
                            kind);
        }
        char *adapt = spec_with(plan->adapt, "metric", kinds[i].number);
        free(plan->adapt);
        plan->adapt = adapt;
    }
    return CLI_OK;
}

/* Without a Metropolis step there is nothing to adapt to, and the library's
 * defaults are others. */
static void choose_components(struct plan *plan, struct opt_set *set)
{
    const char *sampler = sampler_of(set);
    const bool is_unadjusted = spec_is_unadjusted(sampler);
    const char *usual_kinetic =
        spec_has_momentum(sampler) ? "separable" : "newtonian";

    plan->sampler = cli_text("%s", sampler);
    plan->kinetic =
        cli_text("%s", is_unadjusted && !opt_is_given(set, S_KINETIC)
                           ? usual_kinetic
                           : value(set, S_KINETIC)->text);
    plan->adapt = cli_text("%s", is_unadjusted && !opt_is_given(set, S_ADAPT)
                                     ? "none"
                                     : value(set, S_ADAPT)->text);
}

static int plan_components(struct plan *plan, struct opt_set *set,
                           const struct voice *voice)
{
    int code;

    choose_components(plan, set);
    if ((code = spec_refuse_idle(set, plan->sampler)) ||
        (code = check_rate(plan, set)) ||
        (code = plan_adaptation(plan, set, voice)) ||
        (code = plan_adapted_metric(plan, set)) ||
        (code = merge_all(set, S_SAMPLER, &plan->sampler)) ||
        (code = merge_all(set, S_KINETIC, &plan->kinetic)) ||
        (code = merge_max_step(set, plan)) ||
        (code = record(set, S_ADAPT, plan->adapt)) ||
        (code = record(set, S_SAMPLER, plan->sampler)) ||
        (code = record(set, S_KINETIC, plan->kinetic))) {
        return code;
    }
    plan->speed_of_light = spec_number("kinetic", plan->kinetic, "c");
    plan->options.sampler = plan->sampler;
    plan->options.kinetic = plan->kinetic;
    plan->options.adapt = plan->adapt;
    plan->options.integrator = value(set, S_INTEGRATOR)->text;
    return CLI_OK;
}

/* ---- numbers ------------------------------------------------------------- */

/* Zero means "default" to the library. */
static int64_t count_or_none(const struct opt_value *v)
{
    return v->count ? (int64_t)v->count : RELMC_NONE;
}

static uint32_t default_threads(uint64_t chains)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t cpus = online > 0 ? (uint64_t)online : 1;

    return (uint32_t)(chains < cpus ? chains : cpus);
}

static double real_or_none(const struct opt_set *set, int i)
{
    return opt_is_given(set, i) ? value(set, i)->real : CLI_NAN;
}

/* When to stop; --samples is then the limit. */
static int plan_rules(struct plan *plan, struct opt_set *set)
{
    static const char limit[] = "100000";
    int code;

    plan->rules = (struct stop_rules){
        .ess = real_or_none(set, S_UNTIL_ESS),
        .rhat = real_or_none(set, S_UNTIL_RHAT),
        .seconds = CLI_NAN,
    };
    if ((code = stop_read_time(&plan->rules.seconds, set, S_TIME_LIMIT)) ||
        (code = stop_read_time(&plan->checkpoint_every, set,
                               S_CHECKPOINT_EVERY)) ||
        (code = opt_need(set, S_CHECKPOINT_EVERY, S_CHECKPOINT))) {
        return code;
    }
    return stop_has_rule(&plan->rules) && !opt_is_given(set, S_SAMPLES)
               ? opt_assign(set, S_SAMPLES, limit, OPT_DEFAULT, "--samples")
               : CLI_OK;
}

static int plan_numbers(struct plan *plan, struct opt_set *set)
{
    relmc_options *o = &plan->options;
    int code;

    if ((code = plan_rules(plan, set))) {
        return code;
    }
    o->chains = (uint32_t)value(set, S_CHAINS)->count;
    o->warmup = count_or_none(value(set, S_WARMUP));
    o->draws = count_or_none(value(set, S_SAMPLES));
    o->thin = (uint32_t)value(set, S_THIN)->count;
    o->save_warmup = value(set, S_SAVE_WARMUP)->is_on;
    o->first_chain = (uint32_t)value(set, S_CHAIN_ID)->count - 1;
    o->lanes = (uint32_t)value(set, S_LANES)->count;
    o->threads = team_threads(set, value(set, S_CORES)->count,
                              default_threads(o->chains));
    o->isa = getenv("RELMC_ISA");
    o->clock = cli_clock;
    if (o->warmup < 0 && o->draws < 0) {
        return cli_fail(CLI_USAGE, set->who,
                        "--warmup 0 and --samples 0: nothing is left to do");
    }
    if ((code = seed_settle(set, S_SEED))) {
        return code;
    }
    o->seed = value(set, S_SEED)->count;
    return CLI_OK;
}

/* ---- memory -------------------------------------------------------------- */

static double half_of_memory(void)
{
    const double pages = (double)sysconf(_SC_PHYS_PAGES);
    const double bytes = (double)sysconf(_SC_PAGESIZE);

    return pages > 0.0 && bytes > 0.0 ? 0.5 * pages * bytes : HUGE_VAL;
}

/* What the draws need, and the statistics beside them. */
static double bytes_of_draws(const relmc_options *o, size_t dim)
{
    double rows = o->draws > 0 ? (double)o->draws : 0.0;

    rows += o->save_warmup && o->warmup > 0 ? (double)o->warmup : 0.0;
    return rows / (double)o->thin * (double)o->chains *
           (double)(dim + N_STATS) * (double)sizeof(double);
}

/* What running estimates need, roughly: a sketch has some levels of 8 points
 * times doubles, beside it are the batches. */
static double bytes_of_estimates(const relmc_options *o, size_t dim,
                                 size_t points)
{
    const double level = 64.0 * (double)points;
    const double n_levels =
        2.0 + fmax(0.0, log2((double)o->draws / level) / 3.0);

    return (double)o->chains * (double)(dim + 1) *
           (5000.0 + (n_levels + 1.0) * level);
}

/* The draws are kept if they fit, else as good a sketch as does.  A limit that
 * a stop rule will hardly reach is not worth much memory, and what is kept is
 * written with every checkpoint. */
static void plan_memory(struct plan *plan, const struct opt_set *set,
                        size_t dim)
{
    enum { MOST_POINTS = 256, LEAST_POINTS = 16 };
    const relmc_options *o = &plan->options;
    const double most = half_of_memory();
    const double room = opt_is_given(set, S_MEMORY)
                            ? 1e6 * value(set, S_MEMORY)->real
                        : value(set, S_CHECKPOINT)->text ? fmin(most, 64e6)
                        : stop_has_rule(&plan->rules)    ? fmin(most, 1e9)
                                                         : most;

    plan->is_plain = value(set, S_NO_SUMMARY)->is_on;
    if (o->draws <= 0 || plan->is_plain) {
        return;
    }
    plan->keeps_draws = bytes_of_draws(o, dim) <= room;
    for (size_t points = MOST_POINTS; points >= LEAST_POINTS && !plan->points;
         points /= 2) {
        plan->points = bytes_of_estimates(o, dim, points) <= most ? points : 0;
    }
}

/* ---- files --------------------------------------------------------------- */

static int plan_init(struct plan *plan, const struct opt_set *set,
                     const relmc_target *target)
{
    const size_t dim = relmc_target_dim(target);
    const char *text = value(set, S_INIT)->text;
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
        plan->options.init_radius = radius > 0.0 ? radius : RELMC_NONE;
        return CLI_OK;
    }
    const int code = model_is_stan(set->argument)
                         ? model_read_points(&points, target, text, set->who)
                         : points_read(&points, text, dim, set->who);
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
static int plan_center(struct plan *plan, const struct opt_set *set, size_t dim)
{
    const char *path = value(set, S_CONTROL_VARIATES)->text;
    struct points points = {0};

    if (!path) {
        return CLI_OK;
    }
    if (!plan->options.batch) {
        return cli_fail(CLI_USAGE, set->who,
                        "--control-variates is for minibatches: give "
                        "--batch-size N, too");
    }
    const int code = points_read(&points, path, dim, set->who);
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

static int plan_metric(struct plan *plan, const struct opt_set *set, size_t dim)
{
    const char *kind = value(set, S_METRIC)->text;
    const char *path = value(set, S_INV_METRIC)->text;
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
    if ((code = points_read_metric(metric, path, dim, set->who))) {
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

const char *plan_suffix(const struct plan *plan)
{
    return chain_suffix(plan->format == CHAIN_CSV ? CHAIN_CSV : CHAIN_RAW);
}

static bool ends_with(const char *text, const char *tail)
{
    const size_t n = strlen(text), m = strlen(tail);

    return n > m && !strcmp(text + n - m, tail);
}

static int check_folder(const struct plan *plan, const char *who)
{
    const char *base = plan->rows;
    const char *suffix = plan_suffix(plan);
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

static int plan_base(struct plan *plan, const struct opt_set *set,
                     const relmc_target *target)
{
    static const char *const others[] = {".zarr", ".npz", ".npy", ".json"};
    const char *name = relmc_target_name(target); /* up to the parameters */
    const int length = (int)strcspn(name, ":");
    const char *text = value(set, S_OUTPUT)->text;

    if (value(set, S_NO_OUTPUT)->is_on) {
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
    if (plan->format == CHAIN_NC && !strcmp(cdf_library(), "no")) {
        return cli_fail(CLI_USAGE, set->who,
                        "--output %s: this relmc was built without NetCDF "
                        "(libnetcdf-dev); %s.rmc and %s.csv can be written",
                        text, plan->base, plan->base);
    }
    plan->rows = cli_text("%s", plan->format == CHAIN_NC ? text : plan->base);
    return check_folder(plan, set->who);
}

/* ---- all of it ----------------------------------------------------------- */

int plan_make(struct plan *plan, struct opt_set *set,
              const relmc_target *target, const struct voice *voice)
{
    const size_t dim = relmc_target_dim(target);
    int code;

    *plan = (struct plan){.options = RELMC_OPTIONS_INIT};
    if ((code = settle_rivals(set)) || (code = plan_numbers(plan, set)) ||
        (code = on_data_batches(&plan->options, set, S_BATCHES, target)) ||
        (code = plan_components(plan, set, voice)) ||
        (code = plan_init(plan, set, target)) ||
        (code = plan_center(plan, set, dim)) ||
        (code = plan_metric(plan, set, dim)) ||
        (code = plan_base(plan, set, target))) {
        return code;
    }
    plan_memory(plan, set, relmc_target_n_outputs(target));
    return CLI_OK;
}

void plan_clear(struct plan *plan)
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
