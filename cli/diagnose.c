/* diagnose.c - relmc diagnose: checks of the draws in files, with advice. */
#define _POSIX_C_SOURCE 200809L

#include "config.h"
#include "draws.h"
#include "spec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { D_INCLUDE, D_JSON, D_MEMORY, D_COLOR };

static const struct opt options[] = {
    [D_INCLUDE] = DRAWS_OPT_INCLUDE,
    [D_JSON] = {.name = "json", .kind = OPT_FLAG, .doc = "as JSON"},
    [D_MEMORY] = DRAWS_OPT_MEMORY,
    OPT_COMMON,
    {0},
};

/* What a run is held to: R-hat and effective sizes after Vehtari et al. (2021),
 * E-BFMI after Betancourt (2016), the others from experience. */
static const double RHAT_LIMIT = 1.01;
static const double ESS_LIMIT = 400.0, ESS_PER_CHAIN = 100.0;
static const double EBFMI_LIMIT = 0.3; /* of the value to expect */
static const double ACCEPT_SLACK = 0.15;
static const double STEP_RATIO = 5.0;
static const double CRUISE_SLACK = 0.05;
/* A place where divergences gather is named if chance would do the same more
 * rarely than this. */
static const double CHANCE = 0.01;

/* ---- what the draws say -------------------------------------------------- */

/* The worst value so far and whose it is. */
struct worst {
    double value;
    size_t column;
    bool is_set;
};

/* Where all divergent transitions ended: beyond a limit. */
struct place {
    size_t column;
    double limit;
    bool is_above;
    double share; /* of all draws that are there, too */
    bool is_set;
};

struct job {
    const struct opt_set *set;
    struct draws draws;

    size_t n_draws;     /* of all chains */
    bool *is_divergent; /* one per draw, chain by chain; NULL: not told */
    size_t n_divergent;
    size_t n_deep; /* at the limit of tree depth */
    bool has_depth;
    double *ebfmi;                 /* one per chain; NULL: not told */
    double *steps;                 /* mean step size of each chain, or NULL */
    double accept, speed;          /* means; NaN: not told */
    struct worst rhat, bulk, tail; /* of parameters that vary */
    size_t n_constant, n_parameters;
    struct place place;
    bool has_failed;

    json_t *checks;
    size_t n_checks, n_bad;
    bool is_json, has_colour;
};

static double mean(const double *x, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum / (double)n;
}

/* NaN is worse than anything.  sign: 1 if small values are bad. */
static void keep_worst(struct worst *worst, double value, double sign,
                       size_t column)
{
    const bool is_worse =
        !worst->is_set || isnan(value) || sign * value < sign * worst->value;

    if (is_worse && !(worst->is_set && isnan(worst->value))) {
        *worst = (struct worst){value, column, true};
    }
}

/* The share of draws that lie where all divergent ones do, beyond the least
 * extreme of these. */
static void look_for_place(struct job *job, size_t column,
                           const relmc_series *series)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    size_t n_above = 0, n_below = 0;

    for (size_t i = 0; i < job->n_draws; i++) {
        if (job->is_divergent[i]) {
            low = fmin(low, series->draws[i]);
            high = fmax(high, series->draws[i]);
        }
    }
    for (size_t i = 0; i < job->n_draws; i++) {
        n_above += series->draws[i] >= low;
        n_below += series->draws[i] <= high;
    }
    const bool is_above = n_above < n_below;
    const double share =
        (double)(is_above ? n_above : n_below) / (double)job->n_draws;
    if (share > 0.0 && (!job->place.is_set || share < job->place.share)) {
        job->place = (struct place){column, is_above ? low : high, is_above,
                                    share, true};
    }
}

static void take_parameter(struct job *job, size_t column,
                           const relmc_series *series)
{
    relmc_summary s;

    job->n_parameters++;
    if (draws_are_constant(series)) { /* the diagonal of a correlation matrix */
        job->n_constant++;
        return;
    }
    if (relmc_summarise(&s, series, NULL)) {
        job->has_failed = true;
        return;
    }
    keep_worst(&job->rhat, s.rhat, -1.0, column);
    keep_worst(&job->bulk, s.ess_bulk, 1.0, column);
    keep_worst(&job->tail, s.ess_tail, 1.0, column);
    if (job->n_divergent > 0) {
        look_for_place(job, column, series);
    }
}

static void take_divergent(struct job *job, const relmc_series *series)
{
    job->is_divergent = cli_alloc(job->n_draws, sizeof *job->is_divergent);
    for (size_t i = 0; i < job->n_draws; i++) {
        job->is_divergent[i] = series->draws[i] > 0.0;
        job->n_divergent += job->is_divergent[i];
    }
}

static void take_depth(struct job *job, const relmc_series *series)
{
    const double limit = draws_number(&job->draws, "max_depth");

    job->has_depth = true;
    for (size_t i = 0; i < job->n_draws; i++) {
        job->n_deep += series->draws[i] >= limit;
    }
}

static void take_energy(struct job *job, const relmc_series *series)
{
    double pooled;

    job->ebfmi = cli_alloc(series->n_chains, sizeof *job->ebfmi);
    if (relmc_ebfmi(job->ebfmi, &pooled, series, NULL)) {
        free(job->ebfmi);
        job->ebfmi = NULL;
    }
}

static void take_steps(struct job *job, const relmc_series *series)
{
    job->steps = cli_alloc(series->n_chains, sizeof *job->steps);
    for (size_t k = 0; k < series->n_chains; k++) {
        job->steps[k] =
            mean(series->draws + k * series->n_draws, series->n_draws);
    }
}

static void take_accept(struct job *job, const relmc_series *series)
{
    job->accept = mean(series->draws, job->n_draws);
}

static void take_speed(struct job *job, const relmc_series *series)
{
    job->speed = mean(series->draws, job->n_draws);
}

static const struct {
    const char *name;
    void (*take)(struct job *, const relmc_series *);
} statistics[] = {
    {"divergent__", take_divergent}, {"treedepth__", take_depth},
    {"energy__", take_energy},       {"stepsize__", take_steps},
    {"accept_stat__", take_accept},  {"speed__", take_speed},
};

/* The sampler's columns come before the parameters. */
static void take_column(void *ctx, size_t column, const relmc_series *series)
{
    struct job *job = ctx;
    const char *name = draws_name(&job->draws, column);

    job->n_draws = series->n_chains * series->n_draws;
    if (!stan_csv_is_sampler(name)) {
        take_parameter(job, column, series);
    }
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++) {
        if (!strcmp(statistics[i].name, name)) {
            statistics[i].take(job, series);
        }
    }
}

/* ---- verdicts ------------------------------------------------------------ */

enum { TEXT = 400 };

/* A line, and advice below it if the check failed. */
static void verdict(struct job *job, const char *check, bool is_ok,
                    const char *text, const char *advice)
{
    const char *colour = !job->has_colour ? ""
                         : is_ok          ? "\x1b[32m"
                                          : "\x1b[31m";

    job->n_checks++;
    job->n_bad += !is_ok;
    if (job->is_json) {
        (void)json_array_append_new(
            job->checks, json_pack("{s:s, s:b, s:s, s:o}", "check", check, "ok",
                                   (int)is_ok, "text", text, "advice",
                                   is_ok ? json_null() : json_string(advice)));
        return;
    }
    (void)printf("%s%-4s%s  %-16s  %s\n", colour, is_ok ? "ok" : "FAIL",
                 job->has_colour ? "\x1b[0m" : "", check, text);
    if (!is_ok) {
        (void)printf("%24s%s\n", "", advice);
    }
}

static char *name_of(const struct job *job, size_t column)
{
    return stan_csv_pretty(draws_name(&job->draws, column));
}

/* Stops at the end of the room. */
static void append(char text[TEXT], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(char text[TEXT], const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text + n, TEXT - n, format, args);
    va_end(args);
}

/* "1.05 0.98 1.11 1.02"; of many, the first and how many more. */
static void append_values(char text[TEXT], const double *values, size_t n)
{
    enum { SHOWN = 8 };

    for (size_t k = 0; k < n && k < SHOWN; k++) {
        append(text, "%s%#.3g", k ? " " : "", values[k]);
    }
    if (n > SHOWN) {
        append(text, " and %zu more", n - SHOWN);
    }
}

/* Counts as a share in percent, never rounded to none or to all. */
static void append_share(char text[TEXT], size_t n, size_t all)
{
    const double percent = 100.0 * (double)n / (double)all;

    if (n == 0) {
        append(text, "0 of %zu", all);
    } else if (percent < 0.01) {
        append(text, "%zu of %zu (< 0.01 %%)", n, all);
    } else {
        append(text, "%zu of %zu (%.*f %%)", n, all, percent < 0.1 ? 2 : 1,
               n < all ? fmin(percent, 99.9) : 100.0);
    }
}

/* The target of the adaptation; NaN if nothing was adapted. */
static double target_accept(const struct job *job)
{
    const char *ours = draws_setting(&job->draws, "relmc_adapt");

    if (draws_number(&job->draws, "engaged") == 0.0) {
        return CLI_NAN;
    }
    return ours && spec_info("adapt", ours)
               ? spec_number("adapt", ours, "delta")
               : draws_number(&job->draws, "delta");
}

static double speed_of_light(const struct job *job)
{
    const char *kinetic = draws_setting(&job->draws, "relmc_kinetic");

    return kinetic && spec_info("kinetic", kinetic)
               ? spec_number("kinetic", kinetic, "c")
               : CLI_NAN;
}

/* ---- checks -------------------------------------------------------------- */

static void check_depth(struct job *job)
{
    const char *engine = draws_setting(&job->draws, "engine");
    const double limit = draws_number(&job->draws, "max_depth");
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (!job->has_depth || isnan(limit) ||
        (engine && !strcmp(engine, "static"))) {
        return;
    }
    append(text, "%zu of %zu transitions reached the limit %.0f", job->n_deep,
           job->n_draws, limit);
    append(advice,
           "Trajectories are cut short: raise the limit (max_depth, now %.0f), "
           "or adapt the metric longer (--warmup).",
           limit);
    verdict(job, "tree depth", job->n_deep == 0, text, advice);
}

/* Independent divergences fall into a part of the draws that large with
 * probability share^n, on either side of any parameter. */
static bool is_no_chance(const struct job *job)
{
    const double n_sides = 2.0 * (double)job->n_parameters;

    return job->place.is_set &&
           n_sides * pow(job->place.share, (double)job->n_divergent) < CHANCE;
}

static void advise_on_divergences(const struct job *job, char advice[TEXT])
{
    const double target = target_accept(job);
    const double c = speed_of_light(job);
    double step = 0.0;

    for (size_t k = 0; job->steps && k < job->draws.n_files; k++) {
        step = fmax(step, job->steps[k]);
    }
    if (!isnan(target)) {
        append(advice, "Raise --target-accept (now %.2f)", target);
    } else {
        append(advice, "Lower --step-size (now %.3g)", step);
    }
    if (!isnan(target) && !isnan(c)) {
        append(advice, ", or lower the speed limit (--speed, now %.3g)", c);
    } else if (!isnan(c) && step > 0.0) {
        append(advice, ", or the maximal step (--max-step, now %.3g)",
               step * c);
    }
    append(advice, ".");
}

static void check_divergences(struct job *job)
{
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (!job->is_divergent) {
        return;
    }
    append_share(text, job->n_divergent, job->n_draws);
    if (job->n_divergent > 0 && is_no_chance(job)) {
        char *name = name_of(job, job->place.column);

        append(text, ", all with %s %s %.3g", name,
               job->place.is_above ? ">=" : "<=", job->place.limit);
        free(name);
    }
    advise_on_divergences(job, advice);
    verdict(job, "divergences", job->n_divergent == 0, text, advice);
}

/* [ebfmi] What to expect of a normal target under the momentum law; 1 for
 * normal momenta, which is what the usual limit stands for. */
static double expected_ebfmi(const struct job *job)
{
    const char *spec = draws_setting(&job->draws, "relmc_kinetic");
    const relmc_info *kinetic = spec ? spec_info("kinetic", spec) : NULL;
    size_t dim = 0;

    for (size_t j = 0; j < job->draws.files[0].n_columns; j++) {
        dim += !draws_is_sampler(&job->draws, j);
    }
    if (!kinetic || dim == 0) {
        return CLI_NAN;
    }
    const bool is_joint = !strcmp(kinetic->name, "relativistic");
    if (!is_joint && strcmp(kinetic->name, "separable") != 0) {
        return CLI_NAN;
    }
    const size_t unit = is_joint ? dim : 1;
    const double cruise = spec_number("kinetic", spec, "cruise");
    const double c = spec_number("kinetic", spec, "c");
    const double m = spec_number("kinetic", spec, "m");
    const double beta = !isnan(cruise) ? relmc_cruise_beta(unit, cruise)
                                       : (isnan(m) ? 1.0 : m) * c * c;
    const double n_units = is_joint ? 1.0 : (double)dim;
    return relmc_ebfmi_expected(dim,
                                n_units * relmc_kinetic_variance(unit, beta));
}

static void check_ebfmi(struct job *job)
{
    const double expected = expected_ebfmi(job);
    const double limit = EBFMI_LIMIT * (isnan(expected) ? 1.0 : expected);
    char text[TEXT] = "";
    size_t n_told = 0, n_bad = 0;

    for (size_t k = 0; job->ebfmi && k < job->draws.n_files; k++) {
        n_told += isnan(job->ebfmi[k]) ? 0 : 1;
        n_bad += job->ebfmi[k] >= limit ? 0 : 1; /* NaN: a chain at rest */
    }
    if (n_told == 0) {
        return;
    }
    append_values(text, job->ebfmi, job->draws.n_files);
    append(text, " (limit %.2f", limit);
    if (!isnan(expected)) {
        append(text, ", expected %.2f", expected);
    }
    append(text, ")");
    verdict(job, "E-BFMI", n_bad == 0, text,
            "The energy changes slowly, as with heavy tails or funnels: "
            "reparametrise the model, or draw more (--samples).");
}

static bool has_parameters(const struct job *job)
{
    return job->rhat.is_set;
}

static void append_constant(const struct job *job, char text[TEXT])
{
    if (job->n_constant > 0) {
        append(text, "; %zu constant left out", job->n_constant);
    }
}

static void check_rhat(struct job *job)
{
    const double rhat = job->rhat.value;
    char *name = name_of(job, job->rhat.column);
    char text[TEXT] = "";

    if (isnan(rhat)) {
        append(text, "that of %s cannot be told, limit %.2f", name, RHAT_LIMIT);
    } else {
        append(text, "largest %.3f (%s), limit %.2f", rhat, name, RHAT_LIMIT);
    }
    append_constant(job, text);
    verdict(job, "R-hat", rhat <= RHAT_LIMIT, text,
            isnan(rhat)
                ? "It needs 4 draws and finite values: draw more (--samples), "
                  "or look at that variable."
                : "The chains do not agree: try a longer --warmup and more "
                  "--samples, and look for several modes.");
    free(name);
}

/* A round number of draws that should reach the limit. */
static double enough_draws(const struct job *job, double ess, double limit)
{
    const double wanted =
        1.2 * (double)job->draws.n_each * limit / fmax(ess, 1.0);
    const double unit = pow(10.0, floor(log10(wanted)));

    return ceil(wanted / unit) * unit;
}

static void check_ess(struct job *job)
{
    const double limit =
        fmin(ESS_LIMIT, ESS_PER_CHAIN * (double)job->draws.n_files);
    const double bulk = job->bulk.value, tail = job->tail.value;
    const double least = bulk < tail ? bulk : tail;
    const double thin = draws_number(&job->draws, "thin");
    char *names[] = {name_of(job, job->bulk.column),
                     name_of(job, job->tail.column)};
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (isnan(bulk) || isnan(tail)) {
        append(text, "that of %s cannot be told, limit %.0f",
               names[!isnan(bulk)], limit);
        append(advice, "It needs 12 draws per chain and finite values: draw "
                       "more (--samples), or look at that variable.");
    } else {
        append(text, "smallest bulk %.0f (%s), tail %.0f (%s), limit %.0f",
               bulk, names[0], tail, names[1], limit);
        append(advice, "Try --samples %.0f, or longer trajectories.",
               enough_draws(job, least, limit) * (thin > 1.0 ? thin : 1.0));
    }
    append_constant(job, text);
    verdict(job, "ESS", bulk >= limit && tail >= limit, text, advice);
    free(names[0]);
    free(names[1]);
}

static void check_acceptance(struct job *job)
{
    const double target = target_accept(job);
    const double warmup = draws_number(&job->draws, "num_warmup");
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (isnan(target) || isnan(job->accept) || !(warmup > 0.0) || !job->steps) {
        return; /* without step sizes nothing can have adapted them */
    }
    append(text, "%.2f on average, target %.2f +- %.2f", job->accept, target,
           ACCEPT_SLACK);
    append(advice,
           "The step size was not adapted well: try a longer --warmup (now "
           "%.0f).",
           warmup);
    verdict(job, "acceptance", fabs(job->accept - target) <= ACCEPT_SLACK, text,
            advice);
}

static void check_steps(struct job *job)
{
    const size_t n = job->draws.n_files;
    size_t least = 0, most = 0;
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (!job->steps || n < 2 || isnan(mean(job->steps, n))) {
        return;
    }
    for (size_t k = 1; k < n; k++) {
        least = job->steps[k] < job->steps[least] ? k : least;
        most = job->steps[k] > job->steps[most] ? k : most;
    }
    append_values(text, job->steps, n);
    append(text, " (limit: %.0f times the smallest)", STEP_RATIO);
    append(advice,
           "A chain may be stuck elsewhere (%s has %.3g, %s %.3g): try a "
           "longer --warmup or another --init.",
           job->draws.files[least].path, job->steps[least],
           job->draws.files[most].path, job->steps[most]);
    verdict(job, "step sizes",
            job->steps[most] <= STEP_RATIO * job->steps[least], text, advice);
}

static void check_cruise(struct job *job)
{
    const char *spec = draws_setting(&job->draws, "relmc_kinetic");
    const double asked = spec && spec_info("kinetic", spec)
                             ? spec_number("kinetic", spec, "cruise")
                             : CLI_NAN;
    char text[TEXT] = "";

    if (isnan(asked) || isnan(job->speed)) {
        return;
    }
    append(text, "%.2f of c, asked %.2f +- %.2f", job->speed, asked,
           CRUISE_SLACK);
    verdict(job, "cruising speed", fabs(job->speed - asked) <= CRUISE_SLACK,
            text,
            "Momenta do not follow their law: please report it, with the "
            "_config.json of the run.");
}

static void check_all(struct job *job)
{
    check_depth(job);
    check_divergences(job);
    check_ebfmi(job);
    if (has_parameters(job)) {
        check_rhat(job);
        check_ess(job);
    }
    check_acceptance(job);
    check_steps(job);
    check_cruise(job);
}

/* ---- the command --------------------------------------------------------- */

static int conclude(struct job *job)
{
    job->is_json = job->set->values[D_JSON].is_on;
    job->checks = json_array();
    check_all(job);
    if (job->is_json) {
        json_t *root =
            json_pack("{s:s, s:I, s:I, s:I, s:O}", "relmc_version",
                      relmc_version(), "draws", (json_int_t)job->n_draws,
                      "n_checks", (json_int_t)job->n_checks, "n_failed",
                      (json_int_t)job->n_bad, "checks", job->checks);
        char *text = config_print(root);

        (void)printf("%s\n", text);
        free(text);
        json_decref(root);
    } else {
        (void)printf("%zu of %zu checks failed.\n", job->n_bad, job->n_checks);
    }
    json_decref(job->checks);
    return job->n_bad ? CLI_CHECK : CLI_OK;
}

/* -i chooses among parameters: the sampler's columns are always needed. */
static int choose(struct job *job)
{
    const struct opt_value *values = job->set->values;
    struct draws *d = &job->draws;
    int code = draws_choose(d, &values[D_INCLUDE], &values[D_MEMORY]);

    if (code || values[D_INCLUDE].n_items == 0) {
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
    const char *colour = set->values[D_COLOR].text;
    const struct voice voice = {.has_colour =
                                    cli_wants_colour(STDERR_FILENO, colour)};
    struct job job = {
        .set = set,
        .accept = CLI_NAN,
        .speed = CLI_NAN,
        .has_colour = cli_wants_colour(STDOUT_FILENO, colour),
    };
    int code = draws_open(&job.draws, (const char *const *)set->arguments,
                          set->n_arguments, set, &voice);

    if (!code) {
        code = choose(&job);
    }
    if (!code) {
        code = draws_visit(&job.draws, take_column, &job);
    }
    if (!code) {
        code = job.has_failed ? cli_fail(CLI_NUMERIC, set->who, "out of memory")
                              : conclude(&job);
    }
    free(job.is_divergent);
    free(job.ebfmi);
    free(job.steps);
    draws_clear(&job.draws);
    return code;
}

const struct command cmd_diagnose = {
    .name = "diagnose",
    .argument = "FILE...",
    .doc = "checks of the draws in files, with advice",
    .examples = "relmc diagnose banana_*.csv\n"
                "relmc diagnose run_*.csv --json\n"
                "relmc diagnose run_*.csv -i x && echo fine\n",
    .options = options,
    .run = run,
};
