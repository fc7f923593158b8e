/* sample_report.c - the summary of a run: numbers, table, checks, JSON. */
#include "draws/column.h"
#include "job/sample.h"
#include "job/temperature_check.h"
#include "job/tuning.h"
#include "relmc_diag.h"
#include "relmc_format.h"
#include "tool/config.h"
#include "tool/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 20 };

/* ---- taking stock -------------------------------------------------------- */

static void take_reports(struct sample_report *out, const relmc_run *run)
{
    double warm = 0.0, all = 0.0, accept = 0.0, speed = 0.0;
    size_t n_sampling = 0;

    for (size_t k = 0; k < out->n_chains; k++) {
        relmc_progress r = {.size = sizeof r};

        if (relmc_run_progress(run, (uint32_t)k, &r, NULL)) {
            continue;
        }
        out->n_done += r.done;
        out->n_total += r.total;
        out->n_grad += r.n_grad;
        out->n_sampled += r.done > r.warmup ? r.done - r.warmup : 0;
        out->n_divergent += r.n_divergent;
        out->n_clamped += r.n_clamped;
        out->step_sizes[k] = r.step_size;
        warm += r.seconds_warmup;
        all += r.seconds_warmup + r.seconds_sampling;
        if (!isnan(r.accept_prob)) {
            accept += r.accept_prob;
            speed += r.speed;
            n_sampling++;
        }
    }
    out->accept_prob = accept / (double)n_sampling; /* NaN if none did */
    out->speed = speed / (double)n_sampling;
    /* chains run side by side: their shares of the elapsed time */
    out->seconds_warmup = all > 0.0 ? out->seconds * warm / all : 0.0;
}

static char *chain_name(const void *ctx, size_t k)
{
    const struct sample_plan *plan = ctx;

    return cli_text("chain %zu", plan->options.first_chain + k + 1);
}

static void take_settings(struct checks *c, const struct sample_plan *plan,
                          const relmc_run *run, size_t n_each, size_t dim)
{
    checks_init(c);
    c->n_chains = plan->options.chains;
    c->n_each = n_each;
    c->dim = dim;
    c->kinetic = plan->kinetic;
    c->target_accept = plan->is_adaptive ? plan->target_accept : CLI_NAN;
    c->may_exceed_it = spec_has_engines(plan->sampler);
    c->warmup = plan->options.warmup > 0 ? (double)plan->options.warmup : 0.0;
    c->thin = (double)plan->options.thin;
    c->is_unadjusted = spec_is_unadjusted(plan->sampler);
    c->is_path = spec_optimises(plan->sampler);
    c->max_depth = spec_number("sampler", plan->sampler, "max_depth");
    c->chain_name = chain_name;
    c->ctx = plan;
    tuning_choice(run, &c->engine, &c->energy);
    if (!c->engine) {
        c->engine =
            cli_text("%.*s", (int)strcspn(plan->sampler, ":"), plan->sampler);
    }
}

/* "x.1", as files have it */
static char *output(const relmc_target *target, size_t i)
{
    char name[CLI_NAME];

    relmc_target_output_name(target, i, name, sizeof name);
    return cli_text("%s", name);
}

/* ---- from the draws ------------------------------------------------------ */

static bool take_column(struct sample_report *out, const char *name,
                        const double *draws, bool has_row)
{
    const relmc_series series = {draws, out->n_chains, out->n_each, 1,
                                 out->n_each};
    relmc_summary s = RELMC_INIT(relmc_summary);

    if (!has_row) {
        checks_take(&out->checks, name, &series, NULL);
        return true;
    }
    if (relmc_summarise(&s, &series, NULL)) {
        return false;
    }
    summary_table_add(&out->rows, name, &s, &series);
    checks_take(&out->checks, name, &series, &s);
    return true;
}

static bool take_draws(struct sample_report *out, const struct record *record)
{
    const size_t n = out->n_each;
    double *draws = cli_alloc(out->n_chains * n, sizeof *draws);
    bool is_fine = true;

    for (size_t j = 0; j < N_STATS && is_fine; j++) {
        record_gather_stat(draws, record, n, j);
        is_fine = take_column(out, record_stats[j], draws, j == STAT_LP);
    }
    for (size_t i = 0; i < out->n_outputs && is_fine; i++) {
        char *name = output(out->target, i);

        record_gather(draws, record, n, i);
        is_fine = take_column(out, name, draws, true);
        free(name);
    }
    free(draws);
    return is_fine;
}

/* Without a Metropolis step, only the distribution of the draws shows that the
 * steps were too long. The exact gradients for this check may take a quarter of
 * the work of the run, in rows of data. */
static void take_heat(struct sample_report *out, const struct record *record,
                      const struct sample_plan *plan)
{
    struct checks *c = &out->checks;
    const double n_data = (double)relmc_target_n_data(out->target);
    const double batch = (double)plan->options.batch_rows;
    const double share = batch > 0.0 ? batch / n_data : 1.0;
    const double most = fmin(1000.0, 0.25 * share * (double)out->n_grad);
    const double asked = spec_number("sampler", plan->sampler, "temperature");

    if (!c->is_unadjusted || c->is_path || asked == 0.0) {
        return;
    }
    const struct heat heat =
        temperature_check(out->target, record, out->n_each, (size_t)most,
                          isnan(asked) ? 1.0 : asked);
    c->heat = heat.ratio;
    c->heat_error = heat.error;
}

/* Includes divergences of draws that thinning left out. */
static void take_all_transitions(struct sample_report *out)
{
    struct checks *c = &out->checks;

    c->has_divergent = true;
    c->n_divergent = (size_t)out->n_divergent;
    c->n_transitions = (size_t)out->n_sampled;
    free(c->place.name);
    c->place.name = NULL;
}

/* ---- from running estimates ---------------------------------------------- */

/* Output i, or lp if i is n_outputs. */
static bool take_running(struct sample_report *out, const struct record *record,
                         const char *name, size_t i)
{
    double levels[MAX_PERCENTILES], quantiles[MAX_PERCENTILES];
    relmc_online online = RELMC_INIT(relmc_online);

    for (size_t j = 0; j < out->rows.n_percents; j++) {
        levels[j] = 0.01 * out->rows.percents[j];
    }
    if (relmc_run_online(&online, quantiles, record->run, i,
                         out->rows.n_percents, levels, NULL)) {
        return false;
    }
    summary_table_add_running(&out->rows, name, &online, quantiles);
    out->rank_error = fmax(out->rank_error, online.rank_error);
    if (i == out->n_outputs) {
        return true;
    }
    if (online.sd == 0.0) {
        out->checks.n_constant++;
    } else {
        checks_take_estimates(&out->checks, name, online.rhat, online.ess);
    }
    return true;
}

static bool take_estimates(struct sample_report *out,
                           const struct record *record)
{
    struct checks *c = &out->checks;
    bool is_fine = take_running(out, record, RELMC_COLUMN_LP, out->n_outputs);

    for (size_t i = 0; i < out->n_outputs && is_fine; i++) {
        char *name = output(out->target, i);

        is_fine = take_running(out, record, name, i);
        free(name);
    }
    c->n_draws = (size_t)out->n_kept;
    c->accept = out->accept_prob;
    c->speed = out->speed;
    c->ebfmi = cli_alloc(out->n_chains, sizeof *c->ebfmi);
    c->steps = cli_alloc(out->n_chains, sizeof *c->steps);
    for (size_t k = 0; k < out->n_chains; k++) {
        c->ebfmi[k] = record_ebfmi(&record->chains[k]);
        c->steps[k] = out->step_sizes[k];
    }
    return is_fine;
}

/* ---- all of it ----------------------------------------------------------- */

/* Adds the stop rule as a check. */
static void judge_rules(struct sample_report *out,
                        const struct stop_rules *rules)
{
    const bool is_ok = out->ending == ENDED_BY_RULE;
    char text[120] = "";
    size_t n = 0;

    if (!stop_rules_are_given(rules)) {
        return;
    }
    if (!isnan(rules->ess)) {
        n = (size_t)snprintf(text, sizeof text, "ESS >= %.10g", rules->ess);
    }
    if (!isnan(rules->rhat)) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%sR-hat <= %.10g",
                              n ? " and " : "", rules->rhat);
    }
    (void)snprintf(text + n, sizeof text - n, " %s after %zu draws per chain",
                   is_ok ? "held" : "did not hold", out->n_each);
    checks_add(&out->checks, "stop rule", is_ok, text,
               "Raise --samples, which is the limit, or --time-limit.");
}

bool sample_report_take(struct sample_report *out, const struct record *record,
                        const struct sample_plan *plan,
                        const relmc_target *target, double seconds,
                        enum ending ending)
{
    bool is_fine = true;

    *out = (struct sample_report){
        .target = target,
        .n_outputs = relmc_target_n_outputs(target),
        .n_chains = plan->options.chains,
        .n_each = record_least(record),
        .seconds = seconds,
        .step_sizes = cli_alloc(plan->options.chains, sizeof(double)),
        .ending = ending,
        .is_running = !plan->keeps_draws,
        .rows = {.percents = {5.0, 50.0, 95.0}, .n_percents = 3, .figures = 3},
    };
    take_reports(out, record->run);
    take_settings(&out->checks, plan, record->run, out->n_each,
                  relmc_target_dim(target));
    out->checks.n_clamped = (size_t)out->n_clamped;
    for (size_t k = 0; k < out->n_chains; k++) {
        out->n_kept += (int64_t)record->chains[k].n;
    }
    if (out->n_each > 0 && plan->keeps_draws) {
        is_fine = take_draws(out, record);
        take_heat(out, record, plan);
    } else if (out->n_each > 0 && plan->points) {
        is_fine = take_estimates(out, record);
    }
    if (out->n_each > 0 && (plan->options.thin > 1 || out->is_running)) {
        take_all_transitions(out);
    }
    if (out->n_each > 0) {
        checks_judge(&out->checks);
        judge_rules(out, &plan->rules);
    }
    return is_fine && !out->checks.has_failed;
}

void sample_report_clear(struct sample_report *out)
{
    free(out->step_sizes);
    summary_table_clear(&out->rows);
    checks_clear(&out->checks);
}

/* ---- saying it ----------------------------------------------------------- */

static void say_totals(const struct sample_report *out,
                       const struct voice *voice)
{
    const int decimals = out->seconds < 0.1 ? 3 : out->seconds < 1.0 ? 2 : 1;
    const double sampling = out->seconds - out->seconds_warmup;
    char grads[32];

    cli_say(voice,
            "%s%lld draws in %.*f s (warm-up %.*f s, sampling %.*f s; %s "
            "gradients)",
            voice->is_json ? "" : "\n", (long long)out->n_kept, decimals,
            out->seconds, decimals, out->seconds_warmup, decimals, sampling,
            result_grouped_digits(grads, out->n_grad));
}

static void say_step_sizes(const struct sample_report *out,
                           const struct voice *voice)
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

static void say_kind(const struct sample_report *out,
                     const struct sample_plan *plan, const struct voice *voice)
{
    if (plan->options.draws < 0) {
        cli_say(voice, "warm-up only (--samples 0): there are no draws");
        say_step_sizes(out, voice);
    } else if (!plan->keeps_draws && !plan->points && !plan->is_plain) {
        cli_warn(voice, "neither the draws nor running estimates fit into "
                        "memory: no summary of them");
    } else if (out->is_running && out->rows.n) {
        cli_say(voice,
                "running estimates, the draws were not kept: ESS of the mean, "
                "R-hat without ranks, quantiles to %.2g %% of the draws",
                100.0 * out->rank_error);
    }
}

void sample_report_print(const struct sample_report *out,
                         const struct sample_plan *plan,
                         const struct voice *voice)
{
    say_totals(out, voice);
    say_kind(out, plan, voice);
    if (out->rows.n) {
        summary_table_print(&out->rows, MAX_ROWS);
        (void)fflush(stdout);
    }
}

void sample_report_say_checks(const struct sample_report *out,
                              const struct voice *voice)
{
    const struct checks *c = &out->checks;

    for (size_t i = 0; i < c->n_verdicts; i++) {
        const struct verdict *v = &c->verdicts[i];

        if (!v->is_ok) {
            cli_warn(voice, "%s: %s. %s", v->check, v->text, v->advice);
        }
    }
    if (c->n_verdicts) {
        cli_say(voice, "%zu of %zu checks failed.", c->n_bad, c->n_verdicts);
    }
}

/* ---- JSON ---------------------------------------------------------------- */

static const char *const endings[] = {
    [ENDED_IN_FULL] = "full",
    [ENDED_BY_RULE] = "rule",
    [ENDED_BY_TIME] = "time",
};

void sample_report_print_json(const struct sample_report *out,
                              const struct sample_plan *plan, const char *model)
{
    json_t *steps = json_array();

    for (size_t k = 0; k < out->n_chains; k++) {
        (void)json_array_append_new(steps, config_real(out->step_sizes[k]));
    }
    json_t *root = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:s, "
        "s:b, "
        "s:o, s:o, s:o}",
        "relmc_version", CLI_VERSION, "model", model, "chains",
        (json_int_t)out->n_chains, "draws", (json_int_t)out->n_kept,
        "iterations", (json_int_t)out->n_done, "iterations_wanted",
        (json_int_t)out->n_total, "gradients", (json_int_t)out->n_grad,
        "divergent", (json_int_t)out->n_divergent, "accept_prob",
        config_real(out->accept_prob), "seconds", config_real(out->seconds),
        "seconds_warmup", config_real(out->seconds_warmup), "step_sizes", steps,
        "ending", endings[out->ending], "running_estimates",
        (int)(out->is_running && out->rows.n), "sampler",
        summary_table_json(&out->rows, true), "parameters",
        summary_table_json(&out->rows, false), "checks",
        checks_json(&out->checks));
    (void)json_object_set_new(
        root, "seed",
        plan->options.seed <= INT64_MAX
            ? json_integer((json_int_t)plan->options.seed)
            : json_sprintf("%llu", (unsigned long long)plan->options.seed));
    result_print_json(root);
}
