/* job.c - a run from options to files. */
#define _POSIX_C_SOURCE 200809L

#include "job/job.h"

#include "job/drive.h"
#include "job/model.h"
#include "job/progress.h"
#include "job/stop_rules.h"
#include "job/team.h"
#include "relmc_team.h"
#include "tool/config.h"
#include "tool/seed.h"
#include "tool/signals.h"

#include "relmc_diag.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- beginning and end --------------------------------------------------- */

struct job job_begin(const struct job_kind *kind, struct opt_set *set,
                     const struct resumed *from)
{
    const int progress = opt_find(set->command, "progress");
    const char *how = progress == OPT_NONE ? NULL : set->values[progress].text;

    return (struct job){
        .kind = kind,
        .self = cli_alloc(1, kind->bytes),
        .set = set,
        .from = from,
        .scale = 1,
        .voice = {.is_quiet = opt_get(set, "quiet")->is_on,
                  .has_colour = cli_wants_colour(STDERR_FILENO,
                                                 opt_get(set, "color")->text),
                  .is_json = how && !strcmp(how, "json")},
    };
}

void job_clear(struct job *job)
{
    relmc_run_destroy(job->run);
    relmc_target_destroy(job->target);
    data_options_clear(&job->data);
    job->kind->clear(job->self);
    free(job->self);
    free(job->note);
}

int job_open_model(struct job *job)
{
    const struct model_source from = {.set = job->set,
                                      .seed = opt_get(job->set, "seed")->count,
                                      .voice = &job->voice};

    return model_open(&job->target, &job->data, &from);
}

static void advise_start(const struct job *job)
{
    const char *said = NULL;

    if (relmc_target_rejections(job->target, &said)) {
        (void)fprintf(stderr, "  the model said: %s\n", said ? said : "");
    }
    (void)fprintf(stderr, "  try another --init: a radius, or a JSON file "
                          "with a point\n");
}

int job_create_run(struct job *job)
{
    relmc_error err = {0};
    const relmc_team all = team_of_run(job->set);
    const relmc_status status =
        job->from
            ? relmc_run_resume_team(&job->run, job->target, job->from->file,
                                    job->options, &all, &err)
            : relmc_run_create_team(&job->run, job->target, job->options, &all,
                                    &err);

    if (!status) {
        return CLI_OK;
    }
    const int code = cli_fail_status(job->set->who, status, &err);
    if (status == RELMC_EINIT) {
        advise_start(job);
    }
    return code;
}

/* ---- preparing ----------------------------------------------------------- */

static int read_times(struct job *job)
{
    const struct opt_set *set = job->set;
    int code;

    if ((code = stop_rules_read_time(&job->time_limit, set, "time-limit")) ||
        (code = stop_rules_read_time(&job->checkpoint.every, set,
                                     "checkpoint-every"))) {
        return code;
    }
    return opt_need(set, "checkpoint-every", "checkpoint");
}

static size_t keep(const void *state, char *to)
{
    const struct job *job = state;

    return job->kind->keep(job->self, to);
}

/* The first checkpoint is written before the first draw: a place that cannot be
 * written shows at once, and a killed run can always be resumed. */
static int open_checkpoint(struct job *job)
{
    const relmc_options *o = job->options;
    relmc_error err = {0};
    char *text = config_text(job->set, relmc_run_manifest_json(job->run));
    json_t *root = json_loads(text, 0, NULL);

    if (job->kind->note) {
        job->kind->note(job, root);
    }
    job->note = config_print(root);
    json_decref(root);
    free(text);
    job->checkpoint = (struct checkpoint){
        .path = opt_get(job->set, "checkpoint")->text,
        .every = job->checkpoint.every,
        .config = job->note,
        .keep = keep,
        .state = job,
        .run = job->run,
        .total =
            (o->warmup > 0 ? o->warmup : 0) + (o->draws > 0 ? o->draws : 0),
    };
    const relmc_status status = checkpoint_write(&job->checkpoint, &err);
    return status ? cli_fail_status(job->set->who, status, &err) : CLI_OK;
}

static int prepare(struct job *job)
{
    struct opt_set *set = job->set;
    int code;

    if (!set->argument) {
        return cli_fail(CLI_USAGE, set->who,
                        "MODEL is missing: relmc %s MODEL (relmc models lists "
                        "them)",
                        set->command->name);
    }
    if ((code = seed_settle(set)) || (code = read_times(job)) ||
        (code = job_open_model(job)) || (code = job->kind->plan(job)) ||
        (code = job->kind->claim(job)) ||
        (code = team_lead(job->target, set)) || (code = job_create_run(job)) ||
        (code = job->kind->open(job))) {
        return code;
    }
    return open_checkpoint(job);
}

/* ---- running ------------------------------------------------------------- */

bool job_goes_on(const struct job *job)
{
    return *signals_caught() || job->ending == ENDED_BY_TIME;
}

/* The checkpoint is written while the files are still open: a resumed run
 * continues them. */
static relmc_status finish(struct job *job, relmc_error *err)
{
    job->checkpoint.is_finished = !job_goes_on(job);
    const relmc_status status = checkpoint_write(&job->checkpoint, err);

    return status || !job->kind->settle ? status : job->kind->settle(job, err);
}

static relmc_status advance(struct job *job, relmc_error *err)
{
    const double start = cli_clock();
    struct signals old;

    signals_catch(&old, job->run);
    struct progress *progress = job->kind->show ? job->kind->show(job) : NULL;
    relmc_status status = drive_run(job, err);
    progress_finish(progress);
    job->seconds = cli_clock() - start;
    if (status >= 0) {
        const relmc_status finished = finish(job, err);
        status = finished ? finished : status;
    }
    const relmc_status closed =
        relmc_run_finish(job->run, status >= 0 ? err : NULL);
    signals_release(&old);
    return status >= 0 && closed ? closed : status;
}

static int fail(const struct job *job, relmc_status status,
                const relmc_error *err)
{
    const int code = cli_fail_status(job->set->who, status, err);

    if (job->kind->failed) {
        job->kind->failed(job);
    }
    if (job->checkpoint.is_written) {
        (void)fprintf(stderr,
                      "  relmc resume %s        goes on after %s %lld\n",
                      job->checkpoint.path, job->kind->unit,
                      (long long)job->checkpoint.position * job->scale);
    }
    return code;
}

int job_run(const struct job_kind *kind, struct opt_set *set,
            const struct resumed *from)
{
    struct job job = job_begin(kind, set, from);
    relmc_error err = {0};
    int code = team_agree(prepare(&job));

    if (!code) {
        kind->announce(&job);
        if (from) {
            cli_say(&job.voice, "%s: going on after %s %lld", from->file,
                    kind->unit,
                    (long long)relmc_run_position(job.run) * job.scale);
        }
        const relmc_status status = advance(&job, &err);
        code = status < 0 ? fail(&job, status, &err) : kind->conclude(&job);
    }
    team_release(job.run, job.target);
    job_clear(&job);
    return code;
}

int job_command(struct opt_set *set)
{
    return job_run(set->command->job, set, NULL);
}

/* ---- how it ended -------------------------------------------------------- */

const char *job_stopped_how(void)
{
    const int caught = *signals_caught();

    return !caught ? NULL : caught == SIGINT ? "interrupted" : "terminated";
}

int job_ending_code(const struct job *job, bool has_results)
{
    const bool is_kept = job->checkpoint.path;
    const int caught = *signals_caught();

    if (caught) {
        return is_kept && caught != SIGINT ? CLI_STOPPED : CLI_SIGNAL + caught;
    }
    return job->ending == ENDED_BY_TIME && (is_kept || !has_results)
               ? CLI_STOPPED
               : CLI_OK;
}

void job_say_next(const struct job *job)
{
    if (job->checkpoint.path && job_goes_on(job)) {
        cli_say(&job->voice, "next: relmc resume %s    goes on",
                job->checkpoint.path);
    }
}
