/* checks.c - convergence checks: statistics of the draws, pass or fail, and
 * advice. */
#define _POSIX_C_SOURCE 200809L

#include "report/checks.h"
#include "relmc_diag.h"
#include "relmc_format.h"

#include "draws/column.h"
#include "draws/draws.h"
#include "tool/spec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limits of R-hat and effective sizes are those of Vehtari et al. (2021),
 * that of E-BFMI is Betancourt's (2016), the others come from experience. */
static const double RHAT_LIMIT = 1.01;
static const double ESS_LIMIT = 400.0, ESS_PER_CHAIN = 100.0;
static const double EBFMI_LIMIT = 0.3; /* of the value to expect */
static const double ACCEPT_SLACK = 0.15;
static const double STEP_RATIO = 5.0;
static const double CRUISE_SLACK = 0.05;
static const double HEAT_SLACK = 0.1;
/* A place where divergences gather is named if the probability of this by
 * chance is smaller. */
static const double CHANCE = 0.01;

/* ---- from the draws ------------------------------------------------------ */

void checks_init(struct checks *checks)
{
    *checks = (struct checks){
        .target_accept = CLI_NAN,
        .warmup = CLI_NAN,
        .thin = CLI_NAN,
        .max_depth = CLI_NAN,
        .accept = CLI_NAN,
        .speed = CLI_NAN,
        .heat = CLI_NAN,
        .heat_error = CLI_NAN,
    };
}

void checks_clear(struct checks *c)
{
    free(c->engine);
    free(c->energy);
    free(c->ebfmi);
    free(c->steps);
    free(c->rhat.name);
    free(c->bulk.name);
    free(c->tail.name);
    free(c->is_divergent);
    free(c->place.name);
    for (size_t i = 0; i < c->n_verdicts; i++) {
        free(c->verdicts[i].text);
        free(c->verdicts[i].advice);
    }
}

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
                       const char *name)
{
    const bool is_worse =
        !worst->name || isnan(value) || sign * value < sign * worst->value;

    if (is_worse && !(worst->name && isnan(worst->value))) {
        free(worst->name);
        *worst = (struct worst){value, column_pretty(name)};
    }
}

/* The share of draws that lie where all divergent ones do, beyond the least
 * extreme of these. */
static void look_for_place(struct checks *c, const char *name,
                           const relmc_series *series)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    size_t n_above = 0, n_below = 0;

    for (size_t i = 0; i < c->n_draws; i++) {
        if (c->is_divergent[i]) {
            low = fmin(low, series->draws[i]);
            high = fmax(high, series->draws[i]);
        }
    }
    for (size_t i = 0; i < c->n_draws; i++) {
        n_above += series->draws[i] >= low;
        n_below += series->draws[i] <= high;
    }
    const bool is_above = n_above < n_below;
    const double share =
        (double)(is_above ? n_above : n_below) / (double)c->n_draws;
    if (share > 0.0 && (!c->place.name || share < c->place.share)) {
        free(c->place.name);
        c->place = (struct place){column_pretty(name), is_above ? low : high,
                                  is_above, share};
    }
}

void checks_take_estimates(struct checks *c, const char *name, double rhat,
                           double ess)
{
    c->n_parameters++;
    keep_worst(&c->rhat, rhat, -1.0, name);
    keep_worst(&c->bulk, ess, 1.0, name);
}

static void take_parameter(struct checks *c, const char *name,
                           const relmc_series *series,
                           const relmc_summary *known)
{
    relmc_summary s = RELMC_INIT(relmc_summary);

    c->n_parameters++;
    if (draws_are_constant(series)) { /* the diagonal of a correlation matrix */
        c->n_constant++;
        return;
    }
    if (known) {
        s = *known;
    } else if (relmc_summarise(&s, series, NULL)) {
        c->has_failed = true;
        return;
    }
    keep_worst(&c->rhat, s.rhat, -1.0, name);
    keep_worst(&c->bulk, s.ess_bulk, 1.0, name);
    /* a quantity that is 0 or 1 has no tails */
    if (!isnan(s.ess_tail) || isnan(s.ess_bulk)) {
        keep_worst(&c->tail, s.ess_tail, 1.0, name);
    }
    if (c->n_divergent > 0) {
        look_for_place(c, name, series);
    }
}

static void take_divergent(struct checks *c, const relmc_series *series)
{
    c->has_divergent = true;
    c->is_divergent = cli_alloc(c->n_draws, sizeof *c->is_divergent);
    for (size_t i = 0; i < c->n_draws; i++) {
        c->is_divergent[i] = series->draws[i] > 0.0;
        c->n_divergent += c->is_divergent[i];
    }
}

static void take_depth(struct checks *c, const relmc_series *series)
{
    const double limit = c->max_depth;

    c->has_depth = true;
    for (size_t i = 0; i < c->n_draws; i++) {
        c->n_deep += series->draws[i] >= limit;
    }
}

static void take_energy(struct checks *c, const relmc_series *series)
{
    double pooled;

    c->ebfmi = cli_alloc(series->n_chains, sizeof *c->ebfmi);
    if (relmc_ebfmi(c->ebfmi, &pooled, series, NULL)) {
        free(c->ebfmi);
        c->ebfmi = NULL;
    }
}

static void take_steps(struct checks *c, const relmc_series *series)
{
    c->steps = cli_alloc(series->n_chains, sizeof *c->steps);
    for (size_t k = 0; k < series->n_chains; k++) {
        c->steps[k] =
            mean(series->draws + k * series->n_draws, series->n_draws);
    }
}

static void take_accept(struct checks *c, const relmc_series *series)
{
    c->accept = mean(series->draws, c->n_draws);
}

static void take_speed(struct checks *c, const relmc_series *series)
{
    c->speed = mean(series->draws, c->n_draws);
}

static const struct {
    const char *name;
    void (*take)(struct checks *, const relmc_series *);
} statistics[] = {
    {RELMC_COLUMN_DIVERGENT, take_divergent},
    {RELMC_COLUMN_TREE_DEPTH, take_depth},
    {RELMC_COLUMN_ENERGY, take_energy},
    {RELMC_COLUMN_STEP_SIZE, take_steps},
    {RELMC_COLUMN_ACCEPT_PROB, take_accept},
    {RELMC_COLUMN_SPEED, take_speed},
};

void checks_take(struct checks *c, const char *name, const relmc_series *series,
                 const relmc_summary *known)
{
    c->n_draws = series->n_chains * series->n_draws;
    c->n_transitions = c->n_draws;
    if (!column_is_sampler(name)) {
        take_parameter(c, name, series, known);
    }
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++) {
        if (!strcmp(statistics[i].name, name)) {
            statistics[i].take(c, series);
        }
    }
}

/* ---- verdicts ------------------------------------------------------------ */

enum { TEXT = 400 };

void checks_add(struct checks *c, const char *check, bool is_ok,
                const char *text, const char *advice)
{
    if (c->n_verdicts < MAX_VERDICTS) {
        c->verdicts[c->n_verdicts++] = (struct verdict){
            check, is_ok, cli_text("%s", text), cli_text("%s", advice)};
        c->n_bad += !is_ok;
    }
}

json_t *checks_json(const struct checks *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->n_verdicts; i++) {
        const struct verdict *v = &c->verdicts[i];

        (void)json_array_append_new(
            list, json_pack("{s:s, s:b, s:s, s:o}", "check", v->check, "ok",
                            (int)v->is_ok, "text", v->text, "advice",
                            v->is_ok ? json_null() : json_string(v->advice)));
    }
    return list;
}

/* Cuts the text off where the array ends. */
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

static bool is_engine(const struct checks *c, const char *name)
{
    return c->engine && !strcmp(c->engine, name);
}

/* The name of the kinetic energy asked for, if it is the one in use. */
static const char *kinetic_of(const struct checks *c)
{
    const char *name = c->kinetic ? spec_name("kinetic", c->kinetic) : NULL;

    return name && c->energy && strcmp(name, c->energy) != 0 ? NULL : name;
}

/* A parameter of the kinetic energy; NaN if it has none, or one per coordinate.
 */
static double kinetic_number(const struct checks *c, const char *key)
{
    return kinetic_of(c) ? spec_number("kinetic", c->kinetic, key) : CLI_NAN;
}

/* ---- checks -------------------------------------------------------------- */

static void check_depth(struct checks *c)
{
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (!c->has_depth || isnan(c->max_depth)) {
        return;
    }
    append(text, "%zu of %zu transitions reached the limit %.0f", c->n_deep,
           c->n_draws, c->max_depth);
    append(advice,
           "Trajectories are cut short: raise the limit (max_depth, now %.0f), "
           "or adapt the metric longer (--warmup).",
           c->max_depth);
    checks_add(c, "tree depth", c->n_deep == 0, text, advice);
}

/* Independent divergences fall into a part of the draws that large with
 * probability share^n, on either side of any parameter. */
static bool is_no_chance(const struct checks *c)
{
    const double n_sides = 2.0 * (double)c->n_parameters;

    return c->place.name &&
           n_sides * pow(c->place.share, (double)c->n_divergent) < CHANCE;
}

static void advise_on_divergences(const struct checks *c, char advice[TEXT])
{
    const double target = c->target_accept;
    const double light = kinetic_number(c, "c");
    double step = 0.0;

    for (size_t k = 0; c->steps && k < c->n_chains; k++) {
        step = fmax(step, c->steps[k]);
    }
    if (!isnan(target)) {
        append(advice, "Raise --target-accept (now %.2f)", target);
    } else {
        append(advice, "Lower --step-size (now %.3g)", step);
    }
    if (!isnan(target) && !isnan(light)) {
        append(advice, ", or lower the speed limit (--speed, now %.3g)", light);
    } else if (!isnan(light) && step > 0.0) {
        append(advice, ", or the maximal step (--max-step, now %.3g)",
               step * light);
    }
    append(advice, ".");
}

static void check_divergences(struct checks *c)
{
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (!c->has_divergent) {
        return;
    }
    append_share(text, c->n_divergent, c->n_transitions);
    if (c->n_divergent > 0 && is_no_chance(c)) {
        append(text, ", all with %s %s %.3g", c->place.name,
               c->place.is_above ? ">=" : "<=", c->place.limit);
    }
    advise_on_divergences(c, advice);
    checks_add(c, "divergences", c->n_divergent == 0, text, advice);
}

/* [ebfmi] What to expect of a normal target under the momentum law; 1 for
 * normal momenta, which is what the usual limit stands for. */
static double expected_ebfmi(const struct checks *c)
{
    const char *kinetic = kinetic_of(c);

    if (!kinetic || c->dim == 0) {
        return CLI_NAN;
    }
    const bool is_joint = !strcmp(kinetic, "relativistic");
    if (!is_joint && strcmp(kinetic, "separable") != 0) {
        return CLI_NAN;
    }
    const size_t unit = is_joint ? c->dim : 1;
    const double cruise = kinetic_number(c, "cruise");
    const double light = kinetic_number(c, "c");
    const double m = kinetic_number(c, "m");
    const double beta = !isnan(cruise) ? relmc_cruise_beta(unit, cruise)
                                       : (isnan(m) ? 1.0 : m) * light * light;
    const double n_units = is_joint ? 1.0 : (double)c->dim;
    return relmc_ebfmi_expected(c->dim,
                                n_units * relmc_kinetic_variance(unit, beta));
}

static void check_ebfmi(struct checks *c)
{
    const double expected = expected_ebfmi(c);
    const double limit = EBFMI_LIMIT * (isnan(expected) ? 1.0 : expected);
    char text[TEXT] = "";
    size_t n_known = 0, n_bad = 0;

    for (size_t k = 0; c->ebfmi && k < c->n_chains; k++) {
        n_known += isnan(c->ebfmi[k]) ? 0 : 1;
        n_bad += c->ebfmi[k] >= limit ? 0 : 1; /* NaN: a chain at rest */
    }
    /* There is no limit for thinned draws, nor for momenta that are kept in
     * part. */
    if (n_known == 0 || c->thin > 1.0 || is_engine(c, "ghmc")) {
        return;
    }
    append_values(text, c->ebfmi, c->n_chains);
    append(text, " (limit %.2f", limit);
    if (!isnan(expected)) {
        append(text, ", expected %.2f", expected);
    }
    append(text, ")");
    checks_add(c, "E-BFMI", n_bad == 0, text,
               "The energy changes slowly, as with heavy tails or funnels: "
               "reparametrise the model, or draw more (--samples).");
}

static void append_constant(const struct checks *c, char text[TEXT])
{
    if (c->n_constant > 0) {
        append(text, "; %zu constant left out", c->n_constant);
    }
}

static void check_rhat(struct checks *c)
{
    const double rhat = c->rhat.value;
    const char *name = c->rhat.name;
    char text[TEXT] = "";

    if (isnan(rhat)) {
        append(text, "that of %s is undefined, limit %.2f", name, RHAT_LIMIT);
    } else {
        append(text, "largest %.3f (%s), limit %.2f", rhat, name, RHAT_LIMIT);
    }
    append_constant(c, text);
    checks_add(
        c, "R-hat", rhat <= RHAT_LIMIT, text,
        isnan(rhat)
            ? "It needs 4 draws and finite values: draw more (--samples), "
              "or look at that variable."
            : "The chains do not agree: try a longer --warmup and more "
              "--samples, and look for several modes.");
}

/* A round number of draws that should reach the limit. */
static double enough_draws(const struct checks *c, double ess, double limit)
{
    const double wanted = 1.2 * (double)c->n_each * limit / fmax(ess, 1.0);
    const double unit = pow(10.0, floor(log10(wanted)));

    return ceil(wanted / unit) * unit * (c->thin > 1.0 ? c->thin : 1.0);
}

/* Running estimates have no tail. */
static void check_ess(struct checks *c)
{
    const double limit = fmin(ESS_LIMIT, ESS_PER_CHAIN * (double)c->n_chains);
    const double bulk = c->bulk.value;
    const double tail = c->tail.name ? c->tail.value : HUGE_VAL;
    const bool is_known = !isnan(bulk) && !isnan(tail);
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (!is_known) {
        append(text, "that of %s is undefined, limit %.0f",
               isnan(bulk) ? c->bulk.name : c->tail.name, limit);
        append(advice, "It needs 12 draws per chain and finite values: draw "
                       "more (--samples), or look at that variable.");
    } else if (c->tail.name) {
        append(text, "smallest bulk %.0f (%s), tail %.0f (%s), limit %.0f",
               bulk, c->bulk.name, tail, c->tail.name, limit);
    } else {
        append(text, "smallest %.0f (%s), limit %.0f", bulk, c->bulk.name,
               limit);
    }
    if (is_known) {
        append(advice, "Try --samples %.0f, or longer trajectories.",
               enough_draws(c, fmin(bulk, tail), limit));
    }
    append_constant(c, text);
    checks_add(c, "ESS", bulk >= limit && tail >= limit, text, advice);
}

static void check_acceptance(struct checks *c)
{
    const double target = c->target_accept, warmup = c->warmup;
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (isnan(target) || isnan(c->accept) || !(warmup > 0.0) || !c->steps) {
        return; /* without step sizes nothing can have adapted them */
    }
    if (c->may_exceed_it && is_engine(c, "walnuts")) {
        return; /* `accept` is its share of whole steps, which is not adapted */
    }
    if (c->may_exceed_it) {
        append(text, "%.2f on average, limit %.2f", c->accept,
               target - ACCEPT_SLACK);
    } else {
        append(text, "%.2f on average, target %.2f +- %.2f", c->accept, target,
               ACCEPT_SLACK);
    }
    append(advice,
           "The step size was not adapted well: try a longer --warmup (now "
           "%.0f).",
           warmup);
    const bool is_high = c->may_exceed_it && c->accept > target;
    checks_add(c, "acceptance",
               is_high || fabs(c->accept - target) <= ACCEPT_SLACK, text,
               advice);
}

static void check_steps(struct checks *c)
{
    const size_t n = c->n_chains;
    size_t least = 0, most = 0;
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (!c->steps || n < 2 || isnan(mean(c->steps, n))) {
        return;
    }
    for (size_t k = 1; k < n; k++) {
        least = c->steps[k] < c->steps[least] ? k : least;
        most = c->steps[k] > c->steps[most] ? k : most;
    }
    char *names[] = {c->chain_name(c->ctx, least), c->chain_name(c->ctx, most)};

    append_values(text, c->steps, n);
    append(text, " (limit: %.0f times the smallest)", STEP_RATIO);
    append(advice,
           "A chain may be stuck elsewhere (%s has %.3g, %s %.3g): try a "
           "longer --warmup or another --init.",
           names[0], c->steps[least], names[1], c->steps[most]);
    checks_add(c, "step sizes", c->steps[most] <= STEP_RATIO * c->steps[least],
               text, advice);
    free(names[0]);
    free(names[1]);
}

static void check_cruise(struct checks *c)
{
    const double asked = kinetic_number(c, "cruise");
    char text[TEXT] = "";

    if (isnan(asked) || isnan(c->speed)) {
        return;
    }
    append(text, "%.2f of c, asked %.2f +- %.2f", c->speed, asked,
           CRUISE_SLACK);
    checks_add(c, "cruising speed", fabs(c->speed - asked) <= CRUISE_SLACK,
               text,
               "Momenta do not follow their law: please report it, with the "
               "_config.json of the run.");
}

static void check_noise(struct checks *c)
{
    char text[TEXT] = "";

    if (c->n_clamped == 0) {
        return;
    }
    append(text,
           "in %zu steps the gradients were noisier than the friction can "
           "damp",
           c->n_clamped);
    checks_add(c, "gradient noise", false, text,
               "Raise --friction, lower --step-size, or take larger "
               "minibatches (--batch-size).");
}

/* Too hot, or too cold, by more than chance and by more than HEAT_SLACK. */
static void check_heat(struct checks *c)
{
    const double off = fabs(c->heat - 1.0);
    char text[TEXT] = "";
    char advice[TEXT] = "";

    if (isnan(c->heat) || isnan(c->heat_error)) {
        return;
    }
    append(text, "%.3g +- %.2g of what was asked for, limit 1 +- %.1f", c->heat,
           c->heat_error, HEAT_SLACK);
    append(advice, "Lower --step-size");
    if (c->steps && !isnan(c->steps[0])) {
        append(advice, " (now %.3g)", c->steps[0]);
    }
    append(advice, ", or draw more (--samples) if the chains do not agree; the "
                   "noise of minibatches heats, too (--batch-size, "
                   "--sampler sghmc:noise=estimate, --control-variates).");
    checks_add(c, "temperature",
               off <= HEAT_SLACK || off <= 3.0 * c->heat_error, text, advice);
}

/* E-BFMI, acceptance and speeds make sense for samplers that refresh momenta
 * and may reject. */
void checks_judge(struct checks *c)
{
    check_depth(c);
    check_divergences(c);
    check_noise(c);
    check_heat(c);
    if (!c->is_unadjusted) {
        check_ebfmi(c);
    }
    if (c->rhat.name && !c->is_path) {
        check_rhat(c);
        check_ess(c);
    }
    if (c->is_unadjusted) {
        return;
    }
    check_acceptance(c);
    check_steps(c);
    check_cruise(c);
}
