/* sample.c - the job of `relmc sample`: draws from a model. */
#include "job/sample.h"

#include "job/model.h"
#include "job/progress.h"
#include "job/tuning.h"
#include "tool/signals.h"
#include "tool/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- preparing ----------------------------------------------------------- */

static int make_plan(struct job *job)
{
    struct sample *s = job->self;
    const int code =
        sample_plan_make(&s->plan, job->set, job->target, &job->voice);

    job->options = &s->plan.options;
    return code;
}

/* A resumed run keeps the kind of summary with which it began. */
static void recall_memory(const struct job *job)
{
    struct sample *s = job->self;
    json_t *root = json_loads(job->from->note, 0, NULL);
    const json_t *summary = json_object_get(root, "summary");
    const json_t *draws = json_object_get(summary, "draws");
    const json_t *points = json_object_get(summary, "points");

    s->plan.keeps_draws = json_is_true(draws);
    s->plan.points = (size_t)json_integer_value(points);
    sample_plan_keep(&s->plan);
    json_decref(root);
}

static void note(const struct job *job, json_t *root)
{
    const struct sample *s = job->self;

    (void)json_object_set_new(root, "summary",
                              json_pack("{s:b, s:I}", "draws",
                                        (int)s->plan.keeps_draws, "points",
                                        (json_int_t)s->plan.points));
}

static int claim(struct job *job)
{
    if (job->from) {
        recall_memory(job);
    }
    return sample_files_claim(job);
}

/* Room for all draws, even if a rule may end the run earlier. */
static bool open_record(struct job *job)
{
    struct sample *s = job->self;
    const relmc_options *o = &s->plan.options;
    const size_t room =
        s->plan.keeps_draws ? ((size_t)o->draws + o->thin - 1) / o->thin : 0;
    const bool is_fine =
        record_init(&s->record, o, relmc_target_n_outputs(job->target), room);

    s->record.run = job->run;
    if (is_fine && job->from &&
        !checkpoint_restore(&s->record, job->from, room)) {
        return false;
    }
    return is_fine;
}

static relmc_status add_sinks(struct job *job, relmc_error *err)
{
    struct sample *s = job->self;
    relmc_status status =
        relmc_run_observe(job->run, record_draw, &s->record, err);

    if (!status && s->plan.base) {
        char *spec =
            s->plan.format == CHAIN_CSV
                ? cli_text(
                      "csv:%s,digits=%llu", s->plan.rows,
                      (unsigned long long)opt_get(job->set, "sig-figs")->count)
                : cli_text("raw:%s", s->plan.rows);

        status = relmc_run_write(job->run, spec, err);
        free(spec);
    }
    return status;
}

static int open_run(struct job *job)
{
    relmc_error err = {0};

    if (!open_record(job)) {
        return cli_fail(CLI_NUMERIC, job->set->who, "out of memory");
    }
    const relmc_status status = add_sinks(job, &err);
    return status ? cli_fail_status(job->set->who, status, &err)
                  : sample_files_write_config(job);
}

static size_t keep(const void *self, char *to)
{
    const struct sample *s = self;

    return checkpoint_keep_record(&s->record, to);
}

/* ---- running ------------------------------------------------------------- */

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void announce(struct job *job)
{
    const struct sample *s = job->self;
    const struct opt_set *set = job->set;
    const size_t dim = relmc_target_dim(job->target);
    const uint64_t chains = opt_get(set, "chains")->count;
    const char *name = relmc_target_name(job->target);
    const char *most = stop_rules_are_given(&s->plan.rules) ? " at most" : "";
    char *method = spec_method(s->plan.sampler, s->plan.kinetic);

    sample_files_tidy(job);
    cli_say(&job->voice,
            "%.*s: %zu parameter%s, %s, %llu chain%s, %llu+%llu draws%s, seed "
            "%llu",
            (int)strcspn(name, ":"), name, dim, plural(dim), method,
            (unsigned long long)chains, plural(chains),
            (unsigned long long)opt_get(set, "warmup")->count,
            (unsigned long long)opt_get(set, "samples")->count, most,
            (unsigned long long)opt_get(set, "seed")->count);
    free(method);
}

static struct progress *show(const struct job *job)
{
    const struct sample *s = job->self;
    const struct opt_set *set = job->set;
    const struct progress_setup setup = {
        .mode = job->voice.is_quiet ? "none" : opt_get(set, "progress")->text,
        .run = job->run,
        .n_chains = job->options->chains,
        .first_chain = job->options->first_chain,
        .refresh = (int64_t)opt_get(set, "refresh")->count,
        .speed_of_light = s->plan.speed_of_light,
        .has_colour = job->voice.has_colour,
        .signal = signals_caught(),
    };

    return progress_start(&setup);
}

static int64_t next_look(const struct job *job, int64_t done)
{
    const struct sample *s = job->self;
    const int64_t warmup = job->options->warmup > 0 ? job->options->warmup : 0;

    return stop_rules_are_given(&s->plan.rules)
               ? stop_rules_next_look(warmup, done)
               : job->checkpoint.total;
}

static relmc_status look(struct job *job, relmc_error *err)
{
    struct sample *s = job->self;

    (void)err;
    if (stop_rules_are_given(&s->plan.rules) &&
        stop_rules_hold(&s->plan.rules, &s->record, &s->suspect)) {
        job->ending = ENDED_BY_RULE;
    }
    return RELMC_OK;
}

static void failed(const struct job *job)
{
    const struct sample *s = job->self;

    if (s->plan.base) {
        (void)fprintf(stderr, "  what was written before stays in %s_*%s\n",
                      s->plan.rows, sample_plan_suffix(&s->plan));
    }
}

/* ---- what came out ------------------------------------------------------- */

/* Says why the run ended early, if it did. */
static void say_ending(const struct job *job, const struct sample_report *out)
{
    const struct sample *s = job->self;
    const char *done = s->plan.base ? "written" : "made";
    const char *how = job_stopped_how();

    if (how) {
        cli_say(&job->voice,
                "%s after %lld of %lld iterations; %lld draws were %s", how,
                (long long)out->n_done, (long long)out->n_total,
                (long long)out->n_kept, done);
    } else if (job->ending == ENDED_BY_RULE) {
        cli_say(&job->voice,
                "the stop rule holds: ended after %zu draws of each chain",
                out->n_each);
    } else if (job->ending == ENDED_BY_TIME) {
        cli_say(&job->voice,
                "the time limit ended the %s after %lld of %lld iterations; "
                "%lld draws were %s",
                out->n_sampled ? "run" : "warm-up", (long long)out->n_done,
                (long long)out->n_total, (long long)out->n_kept, done);
    }
}

static bool has_warmed_up(const struct job *job)
{
    bool has = true;

    for (size_t k = 0; k < job->options->chains && has; k++) {
        relmc_progress report = {.size = sizeof report};

        has = !relmc_run_progress(job->run, (uint32_t)k, &report, NULL) &&
              report.done >= report.warmup;
    }
    return has;
}

/* Writes the metric if warm-up is over and files are wanted. */
static int write_tuning(struct job *job)
{
    struct sample *s = job->self;
    if (!s->plan.base || !s->plan.is_adaptive || !has_warmed_up(job)) {
        return CLI_OK;
    }
    s->tuning = cli_text("%s_metric.json", s->plan.base);
    return tuning_write(s->tuning, job->set->who, job->run,
                        relmc_target_dim(job->target));
}

static void say_next(const struct job *job)
{
    const struct sample *s = job->self;

    job_say_next(job);
    if (job_goes_on(job)) {
        return;
    }
    if (job->checkpoint.path) {
        cli_say(&job->voice,
                "next: relmc resume %s --samples N    for more draws",
                job->checkpoint.path);
    }
    if (s->config) {
        cli_say(&job->voice, "next: relmc sample --config %s    repeats it",
                s->config);
    }
}

static void print_outcome(const struct job *job,
                          const struct sample_report *out)
{
    const struct sample *s = job->self;

    if (opt_get(job->set, "json")->is_on) {
        sample_report_print_json(out, &s->plan, job->set->argument);
    } else {
        sample_report_print(out, &s->plan, &job->voice);
    }
}

static int conclude(struct job *job)
{
    struct sample *s = job->self;
    struct sample_report out;

    if (!sample_report_take(&out, &s->record, &s->plan, job->target,
                            job->seconds, job->ending)) {
        sample_report_clear(&out);
        return cli_fail(CLI_NUMERIC, job->set->who,
                        "out of memory for the summary");
    }
    const int tuned = write_tuning(job); /* before printing, which may fail */
    int code = job_ending_code(job, out.n_sampled > 0);
    say_ending(job, &out);
    tuning_say(&job->voice, job->run, job->target);
    print_outcome(job, &out);
    model_say_trouble(job->target, &job->voice);
    sample_report_say_checks(&out, &job->voice);
    if (out.checks.n_bad && !code && opt_get(job->set, "strict")->is_on) {
        code = CLI_CHECK;
    }
    const int made = sample_files_conclude(job, out.n_each > 0);
    code = made ? made : tuned ? tuned : code;
    sample_files_say(job);
    say_next(job);
    sample_report_clear(&out);
    return code;
}

static void clear(void *self)
{
    struct sample *s = self;

    sample_plan_clear(&s->plan);
    record_clear(&s->record);
    free(s->config);
    free(s->tuning);
    free(s->whole);
}

const struct job_kind job_sample = {
    .bytes = sizeof(struct sample),
    .unit = "iteration",
    .plan = make_plan,
    .claim = claim,
    .open = open_run,
    .keep = keep,
    .note = note,
    .announce = announce,
    .show = show,
    .next_look = next_look,
    .look = look,
    .failed = failed,
    .conclude = conclude,
    .clear = clear,
};
