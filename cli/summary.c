/* summary.c - what came out of a run: numbers, table, warnings, JSON. */
#include "config.h"
#include "sample.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a run is held to, after Vehtari et al. (2021). */
static const double RHAT_LIMIT = 1.01;
static const double ESS_LIMIT = 400.0;
/* A mean acceptance further than this from its target was not adapted. */
static const double ACCEPT_SLACK = 0.15;

enum { MAX_ROWS = 20 };

/* ---- taking stock -------------------------------------------------------- */

static void take_reports(struct outcome *out, const relmc_run *run)
{
    double warm = 0.0, all = 0.0, accept = 0.0;
    size_t n_accept = 0;

    for (size_t k = 0; k < out->n_chains; k++) {
        relmc_chain_report r = {.size = sizeof r};

        if (relmc_run_report(run, k, &r, NULL)) {
            continue;
        }
        out->n_done += r.done;
        out->n_total += r.total;
        out->n_grad += r.n_grad;
        out->n_sampled += r.done > r.warmup ? r.done - r.warmup : 0;
        out->n_divergent += r.n_divergent;
        out->step_sizes[k] = r.step_size;
        warm += r.seconds_warmup;
        all += r.seconds_warmup + r.seconds_sampling;
        if (!isnan(r.accept_prob)) {
            accept += r.accept_prob;
            n_accept++;
        }
    }
    out->accept_prob = n_accept ? accept / (double)n_accept : CLI_NAN;
    /* chains share the time that went by */
    out->seconds_warmup = all > 0.0 ? out->seconds * warm / all : 0.0;
}

/* Coordinate i of the last n_each draws of every chain, chain by chain. */
static void gather(double *to, const struct outcome *out, const relmc_run *run,
                   const size_t *kept, size_t i)
{
    for (size_t k = 0; k < out->n_chains; k++) {
        size_t n = 0;
        const double *draws = relmc_run_draws(run, k, &n);
        const double *first = draws + (n - kept[k]) * out->dim;

        for (size_t t = 0; t < out->n_each; t++) {
            to[k * out->n_each + t] = first[t * out->dim + i];
        }
    }
}

static void take_rows(struct outcome *out, const relmc_run *run,
                      const size_t *kept)
{
    double *draws = cli_alloc(out->n_chains * out->n_each, sizeof *draws);
    const relmc_series series = {draws, out->n_chains, out->n_each, 1,
                                 out->n_each};

    out->rows = cli_alloc(out->dim, sizeof *out->rows);
    for (size_t i = 0; i < out->dim; i++) {
        gather(draws, out, run, kept, i);
        if (relmc_summarise(&out->rows[i], &series, NULL)) {
            out->rows[i] = (relmc_summary){
                .mean = CLI_NAN,
                .sd = CLI_NAN,
                .median = CLI_NAN,
                .q5 = CLI_NAN,
                .q95 = CLI_NAN,
                .mcse_mean = CLI_NAN,
                .ess_bulk = CLI_NAN,
                .ess_tail = CLI_NAN,
                .rhat = CLI_NAN,
            };
        }
    }
    free(draws);
}

void outcome_take(struct outcome *out, const relmc_run *run,
                  const struct plan *plan, const relmc_target *target,
                  const size_t *kept, double seconds)
{
    *out = (struct outcome){
        .target = target,
        .dim = relmc_target_dim(target),
        .n_chains = plan->options.chains,
        .n_each = SIZE_MAX,
        .seconds = seconds,
        .step_sizes = cli_alloc(plan->options.chains, sizeof(double)),
    };
    take_reports(out, run);
    for (size_t k = 0; k < out->n_chains; k++) {
        out->n_kept += (int64_t)kept[k];
        out->n_each = kept[k] < out->n_each ? kept[k] : out->n_each;
    }
    if (plan->keeps_draws && out->n_each > 0) {
        take_rows(out, run, kept);
    }
}

void outcome_clear(struct outcome *out)
{
    free(out->step_sizes);
    free(out->rows);
}

/* ---- saying it ----------------------------------------------------------- */

static void say_totals(const struct outcome *out, const struct voice *voice)
{
    const int decimals = out->seconds < 0.1 ? 3 : out->seconds < 1.0 ? 2 : 1;
    const double sampling = out->seconds - out->seconds_warmup;
    char grads[32];
    char phases[80] = "";

    if (out->n_done == out->n_total) { /* a run that stops early cannot tell */
        (void)snprintf(phases, sizeof phases,
                       "warm-up %.*f s, sampling %.*f s; ", decimals,
                       out->seconds_warmup, decimals, sampling);
    }
    cli_say(voice, "%s%lld draws in %.*f s (%s%s gradients)",
            voice->is_json ? "" : "\n", (long long)out->n_kept, decimals,
            out->seconds, phases, table_grouped(grads, out->n_grad));
}

static void say_step_sizes(const struct outcome *out, const struct voice *voice)
{
    enum { SHOWN = 8 };
    char text[200] = "";
    size_t n = 0;

    for (size_t k = 0; k < out->n_chains && k < SHOWN; k++) {
        n += (size_t)snprintf(text + n, sizeof text - n, " %.4g",
                              out->step_sizes[k]);
    }
    cli_say(voice, "step sizes:%s%s", text,
            out->n_chains > SHOWN ? " ..." : "");
}

void outcome_print(const struct outcome *out, const struct plan *plan,
                   const struct voice *voice)
{
    say_totals(out, voice);
    if (plan->options.draws < 0) {
        cli_say(voice, "warm-up only (--samples 0): there are no draws");
        say_step_sizes(out, voice);
    } else if (!plan->keeps_draws) {
        cli_warn(voice, "the draws do not fit into memory: no summary of them");
    }
    if (out->rows) {
        table_print_summary(out->rows, out->target, MAX_ROWS);
        (void)fflush(stdout);
    }
}

/* ---- checks -------------------------------------------------------------- */

static int check_divergences(const struct outcome *out, const struct plan *plan,
                             const struct voice *voice)
{
    const double share =
        100.0 * (double)out->n_divergent / (double)out->n_sampled;
    const double target = plan->target_accept;
    char advice[120] = "Try a smaller --step-size";

    if (out->n_divergent == 0) {
        return 0;
    }
    if (plan->is_adaptive && !isnan(target)) {
        const double higher = target < 0.9    ? 0.9
                              : target < 0.95 ? 0.95
                              : target < 0.99 ? 0.99
                                              : 0.5 + 0.5 * target;
        (void)snprintf(advice, sizeof advice, "Try --target-accept %.4g",
                       higher);
    }
    cli_warn(voice, "%lld of %lld transitions diverged (%s%.1f %%). %s%s",
             (long long)out->n_divergent, (long long)out->n_sampled,
             share < 0.05 ? "< " : "", share < 0.05 ? 0.1 : share, advice,
             isnan(plan->speed_of_light) ? "."
             : plan->is_adaptive         ? ", or a smaller --speed."
                                         : ", or a smaller --max-step.");
    return 1;
}

/* The coordinate that is worst, NaN being worse than anything. */
static size_t worst_rhat(const struct outcome *out)
{
    size_t worst = 0;

    for (size_t i = 1; i < out->dim && !isnan(out->rows[worst].rhat); i++) {
        if (!(out->rows[i].rhat <= out->rows[worst].rhat)) {
            worst = i;
        }
    }
    return worst;
}

static double least_ess(const relmc_summary *s)
{
    return s->ess_bulk < s->ess_tail || isnan(s->ess_bulk) ? s->ess_bulk
                                                           : s->ess_tail;
}

static size_t worst_ess(const struct outcome *out)
{
    size_t worst = 0;

    for (size_t i = 1; i < out->dim && !isnan(least_ess(&out->rows[worst]));
         i++) {
        if (!(least_ess(&out->rows[i]) >= least_ess(&out->rows[worst]))) {
            worst = i;
        }
    }
    return worst;
}

static int check_rhat(const struct outcome *out, const struct voice *voice)
{
    const size_t i = worst_rhat(out);
    const double rhat = out->rows[i].rhat;
    char name[64];

    if (rhat <= RHAT_LIMIT) {
        return 0;
    }
    if (isnan(rhat)) {
        cli_warn(voice,
                 "R-hat of %s cannot be told: too few draws, or all of "
                 "them equal.",
                 table_coordinate(name, out->target, i));
    } else {
        cli_warn(voice,
                 "R-hat of %s is %.3f, above %.2f: the chains do not "
                 "agree. Try a longer --warmup and more --samples.",
                 table_coordinate(name, out->target, i), rhat, RHAT_LIMIT);
    }
    return 1;
}

/* A round number of draws that should reach the limit. */
static double enough_draws(double now, double ess)
{
    const double wanted = 1.2 * now * ESS_LIMIT / fmax(ess, 1.0);
    const double unit = pow(10.0, floor(log10(wanted)));

    return ceil(wanted / unit) * unit;
}

static int check_ess(const struct outcome *out, const struct voice *voice)
{
    const size_t i = worst_ess(out);
    const double ess = least_ess(&out->rows[i]);
    char name[64];

    if (ess >= ESS_LIMIT) {
        return 0;
    }
    if (isnan(ess)) {
        cli_warn(voice, "the effective sample size of %s cannot be told.",
                 table_coordinate(name, out->target, i));
    } else {
        cli_warn(
            voice,
            "the effective sample size of %s is %.0f, below %.0f. "
            "Try --samples %.0f, or longer trajectories (--leapfrog).",
            table_coordinate(name, out->target, i), ess, ESS_LIMIT,
            enough_draws((double)out->n_sampled / (double)out->n_chains, ess));
    }
    return 1;
}

static void check_acceptance(const struct outcome *out, const struct plan *plan,
                             const struct voice *voice)
{
    if (plan->is_adaptive && plan->options.warmup > 0 &&
        fabs(out->accept_prob - plan->target_accept) > ACCEPT_SLACK) {
        cli_warn(voice,
                 "mean acceptance is %.2f, far from the target %.2f. Try a "
                 "longer --warmup (now %lld).",
                 out->accept_prob, plan->target_accept,
                 (long long)plan->options.warmup);
    }
}

int outcome_check(const struct outcome *out, const struct plan *plan,
                  const struct voice *voice)
{
    int failed = check_divergences(out, plan, voice);

    if (out->rows) {
        failed += check_rhat(out, voice);
        failed += check_ess(out, voice);
    }
    check_acceptance(out, plan, voice);
    return failed;
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *json_row(const relmc_summary *s, const char *name)
{
    const struct {
        const char *key;
        double value;
    } fields[] = {
        {"mean", s->mean},         {"sd", s->sd},
        {"median", s->median},     {"q5", s->q5},
        {"q95", s->q95},           {"mcse_mean", s->mcse_mean},
        {"ess_bulk", s->ess_bulk}, {"ess_tail", s->ess_tail},
        {"rhat", s->rhat},
    };
    json_t *row = json_pack("{s:s}", "name", name);

    for (size_t j = 0; j < sizeof fields / sizeof *fields; j++) {
        (void)json_object_set_new(row, fields[j].key,
                                  config_real(fields[j].value));
    }
    return row;
}

void outcome_print_json(const struct outcome *out, const struct plan *plan,
                        const char *model)
{
    json_t *steps = json_array();
    json_t *rows = json_array();

    for (size_t k = 0; k < out->n_chains; k++) {
        (void)json_array_append_new(steps, config_real(out->step_sizes[k]));
    }
    for (size_t i = 0; out->rows && i < out->dim; i++) {
        char name[64];

        (void)json_array_append_new(
            rows,
            json_row(&out->rows[i], table_coordinate(name, out->target, i)));
    }
    json_t *root = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
        "relmc_version", relmc_version(), "model", model, "chains",
        (json_int_t)out->n_chains, "draws", (json_int_t)out->n_kept,
        "iterations", (json_int_t)out->n_done, "iterations_wanted",
        (json_int_t)out->n_total, "gradients", (json_int_t)out->n_grad,
        "divergent", (json_int_t)out->n_divergent, "accept_prob",
        config_real(out->accept_prob), "seconds", config_real(out->seconds),
        "seconds_warmup",
        config_real(out->n_done == out->n_total ? out->seconds_warmup
                                                : CLI_NAN),
        "step_sizes", steps, "parameters", rows);
    (void)json_object_set_new(
        root, "seed",
        plan->options.seed <= INT64_MAX
            ? json_integer((json_int_t)plan->options.seed)
            : json_sprintf("%llu", (unsigned long long)plan->options.seed));
    char *text = config_print(root);

    (void)printf("%s\n", text);
    (void)fflush(stdout);
    free(text);
    json_decref(root);
}
