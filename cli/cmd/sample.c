/* sample.c - relmc sample: draws from a model. */
#define _POSIX_C_SOURCE 200809L

#include "job/sample.h"
#include "cmd/help.h"
#include "job/job_options.h"
#include "relmc_team.h"

#include "draws/convert.h"
#include "job/model.h"
#include "job/progress.h"
#include "job/team.h"
#include "job/tuning.h"
#include "tool/component_spec.h"
#include "tool/config.h"
#include "tool/seed.h"
#include "tool/signals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ------------------------------------------------------------- */

static const struct opt options[] = {
    {.name = "chains",
     .letter = 'c',
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "4",
     .min = 1,
     .max = 100000,
     .doc = "number of chains",
     .group = "Run:"},
    {.name = "warmup",
     .also = {"tune", "num-warmup"},
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "500",
     .max = 1e12,
     .doc = "warm-up iterations of each chain"},
    {.name = "samples",
     .also = {"draws", "num-samples"},
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "1000",
     .max = 1e12,
     .doc = "draws of each chain; 0 for warm-up only; at most so "
            "many with --until-ess or --until-rhat (default "
            "there: 100000)"},
    OPT_SEED(.doc = "same seed, same draws (default: random, and printed)"),
    {.name = "init",
     .kind = OPT_TEXT,
     .value = "R|FILE",
     .fallback = "2",
     .doc = "start uniformly in (-R, R), or at the points of a "
            "JSON file: {\"x\": [1, 2]}, of a Stan model "
            "{\"mu\": 1, ...}, or a list with one for each chain"},
    {.name = "thin",
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "1",
     .min = 1,
     .max = 1e9,
     .doc = "keep every N-th draw"},
    {.name = "save-warmup",
     .kind = OPT_FLAG,
     .doc = "write warm-up draws, too"},
    {.name = "chain-id",
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "1",
     .min = 1,
     .max = 1e9,
     .doc = "number of the first chain"},
    {.name = "until-ess",
     .kind = OPT_REAL,
     .value = "N",
     .min = 1,
     .max = 1e15,
     .doc = "stop when every parameter has this effective "
            "sample size"},
    {.name = "until-rhat",
     .kind = OPT_REAL,
     .value = "R",
     .min = 1,
     .max = 100,
     .doc = "stop when every parameter has this R-hat, or "
            "less; with --until-ess, when both hold"},
    OPT_TIME_LIMIT(.doc = "stop after this time, warm-up included: 90, "
                          "30s, 10m, 3h50m"),
    OPT_CHECKPOINT(.doc = "keep the run in FILE, so that relmc resume FILE "
                          "can go on with it, and make it longer"),
    OPT_CHECKPOINT_EVERY(
            .fallback = "60s",
            .doc = "how often FILE is written anew: 90, 30s, 10m, 3h50m"),
    {.name = "sampler",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .fallback = "auto",
     .choices = "sampler",
     .doc = "such as nuts, or hmc:steps=20",
     .group = "Method:"},
    {.name = "kinetic",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .fallback = "relativistic:cruise=0.79",
     .choices = "kinetic",
     .doc = "kinetic energy, such as separable:m=1,c=2"},
    {.name = "integrator",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .fallback = "leapfrog",
     .choices = "integrator",
     .doc = "how trajectories are followed"},
    {.name = "step-size",
     .also = {"stepsize"},
     .kind = OPT_REAL,
     .value = "E",
     .min = 1e-12,
     .max = 1e12,
     .doc = "step size eps; the first guess when it is "
            "adapted"},
    {.name = "max-step",
     .kind = OPT_REAL,
     .value = "X",
     .min = 1e-12,
     .max = 1e12,
     .doc = "eps times c, the longest step of a coordinate (of "
            "x over its scale, with a metric); with --fix"},
    {.name = "speed",
     .kind = OPT_PARAM,
     .choices = "kinetic",
     .key = "c",
     .value = "C",
     .doc = "speed of light c"},
    {.name = "mass",
     .kind = OPT_PARAM,
     .choices = "kinetic",
     .key = "m",
     .value = "M",
     .doc = "rest mass m"},
    {.name = "cruise",
     .kind = OPT_PARAM,
     .choices = "kinetic",
     .key = "cruise",
     .value = "V",
     .doc = "wanted mean speed over c, in place of --mass"},
    {.name = "leapfrog",
     .kind = OPT_PARAM,
     .choices = "sampler",
     .key = "steps",
     .value = "L",
     .doc = "integrator steps of a trajectory"},
    {.name = "int-time",
     .kind = OPT_PARAM,
     .choices = "sampler",
     .key = "time",
     .value = "T",
     .doc = "integration time eps L, in place of --leapfrog"},
    {.name = "jitter",
     .kind = OPT_PARAM,
     .choices = "sampler",
     .key = "jitter",
     .value = "J",
     .doc = "vary L at random by this fraction"},
    {.name = "friction",
     .kind = OPT_PARAM,
     .choices = "sampler",
     .key = "friction",
     .value = "D",
     .doc = "friction of stochastic-gradient samplers"},
    {.name = "adapt",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .fallback = "auto",
     .choices = "adapt",
     .doc = "what is tuned in warm-up",
     .group = "Adaptation:"},
    {.name = "target-accept",
     .also = {"adapt-delta"},
     .kind = OPT_PARAM,
     .choices = "adapt",
     .key = "delta",
     .value = "P",
     .doc = "wanted mean acceptance probability"},
    {.name = "fix",
     .kind = OPT_FLAG,
     .doc = "no adaptation; the step size is 1 unless given"},
    {.name = "metric",
     .kind = OPT_CHOICE,
     .value = "KIND",
     .choices = "unit_e|diag_e|dense_e",
     .doc = "kind of mass matrix to adapt, or that FILE holds"},
    {.name = "inv-metric",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "its inverse, from JSON: {\"inv_metric\": [...]}"},
    ON_DATA_OPTIONS,
    BY_BATCH_OPTIONS,
    {.name = "control-variates",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "less noise near a point, such as a mode, "
            "from a JSON or npy file"},
    {.name = "output",
     .letter = 'o',
     .kind = OPT_TEXT,
     .value = "BASE",
     .doc = "write BASE_1.csv ... and BASE_config.json (default: "
            "the name of the model, here); BASE.rmc: plain "
            "numbers, BASE_1.rmc ...; BASE.nc: one NetCDF file",
     .group = "Output:"},
    OPT_NO_OUTPUT(.doc = "write no files, print the summary only"),
    {.name = "sig-figs",
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "8",
     .min = 1,
     .max = 17,
     .doc = "significant digits in files; 17 keep every bit"},
    {.name = "no-summary",
     .kind = OPT_FLAG,
     .doc = "write the draws only: none are kept, and nothing "
            "is computed of them"},
    OPT_JSON(.doc = "print the summary as JSON"),
    OPT_STRICT,
    OPT_PROGRESS(.fallback = "auto"),
    {.name = "refresh",
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "100",
     .max = 1e12,
     .doc = "a plain line every N iterations; 0 for none"},
    OPT_QUIET(.doc = "no progress, notes or warnings: only errors"),
    OPT_CORES(.doc = "threads (default: one per chain, at most one per "
                     "processor)",
              .group = "Execution (does not change the draws):"),
    OPT_LANES(.doc = "chains advanced in lockstep (default: chosen)"),
    {.name = "memory",
     .kind = OPT_REAL,
     .value = "MB",
     .min = 0,
     .max = 1e12,
     .doc = "keep the draws for the summary if they need at most "
            "this much (default: half of the memory), else only "
            "running estimates"},
    OPT_MPI,
    {.name = "config",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "options from the BASE_config.json of an earlier "
            "run; those given here override it",
     .group = "Other:"},
    OPT_COMMON,
    {0},
};

static void more_help(void)
{
    (void)printf(
        "MODEL is a .stan file, a .so file with the BridgeStan ABI, or the "
        "name\n"
        "of a built-in model (relmc models).  Names and SPECs are NAME or\n"
        "NAME:key=value,...; the names are\n");
    help_component_names();
    (void)printf(
        "\nAn option may also be set as RELMC_NAME in the environment, and in\n"
        "$XDG_CONFIG_HOME/relmc/config.json: {\"sample\": {\"chains\": 8}}.\n");
}

/* ---- the job ------------------------------------------------------------- */

struct job {
    struct opt_set *set;
    const struct resumed *from; /* NULL: it begins */
    struct checkpoint checkpoint;
    char *note; /* its configuration */
    struct voice voice;
    struct on_data data;
    relmc_target *target;
    size_t dim;
    struct plan plan;
    relmc_run *run;
    struct record record;
    enum ending ending;
    char *config, *tuning; /* files written, or NULL */
    char *whole;           /* the one file of all draws, or NULL */
    bool has_rows;         /* the files it was made of are still there */
};

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void say_start(const struct job *job)
{
    const struct opt_set *set = job->set;
    const uint64_t chains = opt_get(set, "chains")->count;
    const char *name = relmc_target_name(job->target);
    const char *most = stop_has_rule(&job->plan.rules) ? " at most" : "";
    char *method =
        spec_method(job->plan.sampler, spec_info("kinetic", job->plan.kinetic));

    cli_say(&job->voice,
            "%.*s: %zu parameter%s, %s, %llu chain%s, %llu+%llu draws%s, seed "
            "%llu",
            (int)strcspn(name, ":"), name, job->dim, plural(job->dim), method,
            (unsigned long long)chains, plural(chains),
            (unsigned long long)opt_get(set, "warmup")->count,
            (unsigned long long)opt_get(set, "samples")->count, most,
            (unsigned long long)opt_get(set, "seed")->count);
    if (job->from) {
        cli_say(&job->voice, "%s: going on after iteration %lld",
                job->from->file, (long long)relmc_run_position(job->run));
    }
    free(method);
}

/* There is room for all draws, even if a rule may end the run before. */
static bool open_record(struct job *job)
{
    const relmc_options *o = &job->plan.options;
    const size_t room =
        job->plan.keeps_draws ? ((size_t)o->draws + o->thin - 1) / o->thin : 0;
    const bool is_fine =
        record_init(&job->record, o, relmc_target_n_outputs(job->target), room);

    job->record.run = job->run;
    if (is_fine && job->from &&
        !checkpoint_restore(&job->record, job->from, room)) {
        return false;
    }
    return is_fine;
}

static relmc_status add_sinks(struct job *job, relmc_error *err)
{
    relmc_status status =
        relmc_run_observe(job->run, record_draw, &job->record, err);

    if (!status && job->plan.keeps_draws) {
        status = relmc_run_write(job->run, "memory", err);
    } else if (!status && job->plan.points) {
        char *spec = cli_text("online:points=%zu", job->plan.points);

        status = relmc_run_write(job->run, spec, err);
        free(spec);
    }
    if (!status && job->plan.base) {
        char *spec =
            job->plan.format == CHAIN_CSV
                ? cli_text(
                      "csv:%s,digits=%llu", job->plan.rows,
                      (unsigned long long)opt_get(job->set, "sig-figs")->count)
                : cli_text("raw:%s", job->plan.rows);

        status = relmc_run_write(job->run, spec, err);
        free(spec);
    }
    return status;
}

static int create_run(struct job *job)
{
    relmc_error err = {0};
    const char *said = NULL;
    const relmc_team all = team_of_run(job->set);
    relmc_status status = relmc_run_create_team(&job->run, job->target,
                                                &job->plan.options, &all, &err);

    if (!status && job->from) {
        status = relmc_run_load(job->run, job->from->file, &err);
    }
    if (!status && !open_record(job)) {
        return cli_fail(CLI_NUMERIC, job->set->who, "out of memory");
    }
    if (!status) {
        status = add_sinks(job, &err);
    }
    if (status) {
        (void)cli_fail_status(job->set->who, status, &err);
    }
    if (status == RELMC_EINIT && relmc_target_rejections(job->target, &said)) {
        (void)fprintf(stderr, "  the model said: %s\n", said ? said : "");
    }
    if (status == RELMC_EINIT) {
        (void)fprintf(stderr,
                      "  try another --init: a radius, or a JSON file with a "
                      "point\n");
    }
    return cli_code(status);
}

static int write_config(struct job *job)
{
    if (!job->plan.base) {
        return CLI_OK;
    }
    char *text = config_text(job->set, relmc_run_manifest_json(job->run));

    job->config = cli_text("%s_config.json", job->plan.base);
    const int code = config_write_text(job->config, job->set->who, text);
    free(text);
    return code;
}

/* The summary of a longer run is of the kind that was begun. */
static void recall_memory(struct job *job)
{
    json_t *root = json_loads(job->from->note, 0, NULL);
    const json_t *summary = json_object_get(root, "summary");
    const json_t *draws = json_object_get(summary, "draws");
    const json_t *points = json_object_get(summary, "points");

    job->plan.keeps_draws = json_is_true(draws);
    job->plan.points = (size_t)json_integer_value(points);
    json_decref(root);
}

/* The first one is written before the first draw: what cannot be written shows
 * at once, and there is always one to go on from. */
static int open_checkpoint(struct job *job)
{
    const relmc_options *o = &job->plan.options;
    relmc_error err = {0};
    char *text = config_text(job->set, relmc_run_manifest_json(job->run));
    json_t *root = json_loads(text, 0, NULL);

    (void)json_object_set_new(root, "summary",
                              json_pack("{s:b, s:I}", "draws",
                                        (int)job->plan.keeps_draws, "points",
                                        (json_int_t)job->plan.points));
    job->note = config_print(root);
    json_decref(root);
    free(text);
    job->checkpoint = (struct checkpoint){
        .path = opt_get(job->set, "checkpoint")->text,
        .every = job->plan.checkpoint_every,
        .config = job->note,
        .keep = checkpoint_keep_record,
        .state = &job->record,
        .run = job->run,
        .total =
            (o->warmup > 0 ? o->warmup : 0) + (o->draws > 0 ? o->draws : 0),
    };
    const relmc_status status = checkpoint_write(&job->checkpoint, &err);
    return status ? cli_fail_status(job->set->who, status, &err) : CLI_OK;
}

static int prepare(struct job *job)
{
    int code;

    if (!job->set->argument) {
        return cli_fail(CLI_USAGE, job->set->who,
                        "which model? relmc sample MODEL (relmc models lists "
                        "them)");
    }
    if ((code = seed_settle(job->set))) {
        return code;
    }
    const struct model_source from = {.set = job->set,
                                      .seed = opt_get(job->set, "seed")->count,
                                      .voice = &job->voice};
    if ((code = model_open(&job->target, &job->data, &from))) {
        return code;
    }
    job->dim = relmc_target_dim(job->target);
    if ((code = plan_make(&job->plan, job->set, job->target, &job->voice))) {
        return code;
    }
    if (job->from) {
        recall_memory(job);
    }
    code = job->from ? files_lock(&job->plan, job->set->who)
                     : files_guard(&job->plan, job->set);
    if (code) {
        return code;
    }
    const size_t n_before = job->from ? 0 : files_before(&job->plan);
    if ((code = team_lead(job->target, job->set)) || (code = create_run(job)) ||
        (code = write_config(job)) || (code = open_checkpoint(job))) {
        return code;
    }
    files_tidy(&job->plan, job->set, n_before, &job->voice);
    return CLI_OK;
}

/* ---- running ------------------------------------------------------------- */

/* The run was stopped, and has more to do. */
static bool goes_on(const struct job *job)
{
    return *signals_caught() || job->ending == ENDED_BY_TIME;
}

static relmc_status turn_the_crank(struct job *job, double *seconds,
                                   relmc_error *err)
{
    const struct opt_set *set = job->set;
    const struct progress_setup setup = {
        .mode = opt_get(set, "quiet")->is_on ? "none"
                                             : opt_get(set, "progress")->text,
        .run = job->run,
        .n_chains = job->plan.options.chains,
        .first_chain = job->plan.options.first_chain,
        .refresh = (int64_t)opt_get(set, "refresh")->count,
        .speed_of_light = job->plan.speed_of_light,
        .has_colour = job->voice.has_colour,
        .signal = signals_caught(),
    };
    struct signals old;
    const double start = cli_clock();

    signals_catch(&old, job->run);
    struct progress *progress = progress_start(&setup);
    relmc_status status =
        stop_run(&job->ending, job->run, &job->plan.rules, &job->record,
                 &job->plan.options, &job->checkpoint, err);
    progress_finish(progress);
    *seconds = cli_clock() - start;
    if (status >= 0) { /* before the files are closed: they may go on */
        job->checkpoint.is_finished = !goes_on(job);
        const relmc_status kept = checkpoint_write(&job->checkpoint, err);
        status = kept ? kept : status;
    }
    if (status >= 0) {
        const relmc_status closed = relmc_run_finish(job->run, err);
        status = closed ? closed : status;
    } else {
        (void)relmc_run_finish(job->run, NULL);
    }
    signals_release(&old);
    return status;
}

/* ---- one file of all draws ------------------------------------------------- */

static bool have_one_length(const struct chain_file *chains, size_t n)
{
    for (size_t k = 1; k < n; k++) {
        if (chains[k].n_rows != chains[0].n_rows) {
            return false;
        }
    }
    return true;
}

/* The files of draws are needed no more: unless the run may go on, or not all of
 * them is in the other. */
static void remove_rows(struct job *job)
{
    for (size_t k = 0; k < job->plan.options.chains && !job->has_rows; k++) {
        char *path = files_rows(&job->plan, k);

        (void)remove(path);
        free(path);
    }
}

/* NetCDF cannot be cut to a length, so that a run that may go on writes plain
 * numbers, and the file is made of them in the end. */
static int make_whole(struct job *job)
{
    const size_t n = job->plan.options.chains;
    const struct conversion how = {
        .to = CHAIN_NC, .may_replace = true, .who = job->set->who};
    struct chain_file *chains = cli_alloc(n, sizeof *chains);
    char message[CHAIN_MESSAGE];
    int code = CLI_OK;

    for (size_t k = 0; k < n && !code; k++) {
        char *path = files_rows(&job->plan, k);

        if ((code = chain_open(&chains[k], path, 0, message))) {
            (void)cli_fail(code, job->set->who, "%s", message);
        }
        free(path);
    }
    if (!code) {
        code = convert_chains(&how, job->plan.base, chains, n);
    }
    job->has_rows = code || job->checkpoint.path || !have_one_length(chains, n);
    if (!code) {
        job->whole = cli_text("%s.nc", job->plan.base);
        remove_rows(job);
    }
    for (size_t k = 0; k < n; k++) {
        chain_clear(&chains[k]);
    }
    free(chains);
    return code;
}

/* Not yet, if the run is to go on. */
static int conclude_files(struct job *job, const struct outcome *out)
{
    const bool is_kept = job->checkpoint.path && goes_on(job);

    job->has_rows = true;
    return job->plan.format == CHAIN_NC && !is_kept && out->n_each > 0
               ? make_whole(job)
               : CLI_OK;
}

static void say_whole(const struct job *job)
{
    const char *comma = job->tuning ? ", " : "";
    char *first = files_rows(&job->plan, 0);

    cli_say(&job->voice, "wrote %s, %s%s%s", job->whole, job->config, comma,
            job->tuning ? job->tuning : "");
    if (job->has_rows) {
        cli_say(&job->voice, "%s%s %s for relmc resume", first,
                job->plan.options.chains > 1 ? " ..." : "",
                job->plan.options.chains > 1 ? "stay" : "stays");
    }
    free(first);
}

static void say_files(const struct job *job)
{
    const char *base = job->plan.rows;
    const char *suffix = plan_suffix(&job->plan);
    const unsigned first = job->plan.options.first_chain + 1;
    const unsigned n = job->plan.options.chains;
    const char *comma = job->tuning ? ", " : "";
    const char *tuning = job->tuning ? job->tuning : "";

    if (!base) {
        return;
    }
    if (job->whole) {
        say_whole(job);
    } else if (n == 1) {
        cli_say(&job->voice, "wrote %s_%u%s, %s%s%s", base, first, suffix,
                job->config, comma, tuning);
    } else {
        cli_say(&job->voice, "wrote %s_%u%s%s %s_%u%s, %s%s%s", base, first,
                suffix, n > 2 ? " ..." : ",", base, first + n - 1, suffix,
                job->config, comma, tuning);
    }
}

static int run_failed(const struct job *job, relmc_status status,
                      const relmc_error *err)
{
    const int code = cli_fail_status(job->set->who, status, err);

    if (job->plan.base) {
        (void)fprintf(stderr, "  what was written before stays in %s_*%s\n",
                      job->plan.rows, plan_suffix(&job->plan));
    }
    if (job->checkpoint.is_written) {
        (void)fprintf(
            stderr, "  relmc resume %s        goes on after iteration %lld\n",
            job->checkpoint.path, (long long)job->checkpoint.position);
    }
    return code;
}

/* Why the run ended where it did, unless that is its end; the exit code. */
static int say_ending(const struct job *job, const struct outcome *out)
{
    const char *done = job->plan.base ? "written" : "made";
    const int caught = *signals_caught();

    if (caught) {
        cli_say(&job->voice,
                "%s after %lld of %lld iterations; %lld draws were %s",
                caught == SIGINT ? "interrupted" : "terminated",
                (long long)out->n_done, (long long)out->n_total,
                (long long)out->n_kept, done);
        return job->checkpoint.path && caught != SIGINT ? CLI_STOPPED
                                                        : CLI_SIGNAL + caught;
    }
    if (job->ending == ENDED_BY_RULE) {
        cli_say(&job->voice,
                "the stop rule holds: ended after %zu draws of "
                "each chain",
                out->n_each);
    }
    if (job->ending == ENDED_BY_TIME) {
        cli_say(&job->voice,
                "the time limit ended the %s after %lld of %lld iterations; "
                "%lld draws were %s",
                out->n_sampled ? "run" : "warm-up", (long long)out->n_done,
                (long long)out->n_total, (long long)out->n_kept, done);
        return out->n_sampled && !job->checkpoint.path ? CLI_OK : CLI_STOPPED;
    }
    return CLI_OK;
}

static bool has_warmed_up(const struct job *job)
{
    bool has = true;

    for (size_t k = 0; k < job->plan.options.chains && has; k++) {
        relmc_progress report = {.size = sizeof report};

        has = !relmc_run_progress(job->run, (uint32_t)k, &report, NULL) &&
              report.done >= report.warmup;
    }
    return has;
}

/* What was tuned, if it got so far and there is a place for it. */
static int write_tuning(struct job *job)
{
    if (!job->plan.base || !job->plan.is_adaptive || !has_warmed_up(job)) {
        return CLI_OK;
    }
    job->tuning = cli_text("%s_metric.json", job->plan.base);
    return tuning_write(job->tuning, job->set->who, job->run, job->dim);
}

static void say_how_to_go_on(const struct job *job)
{
    const char *path = job->checkpoint.path;

    if (path && goes_on(job)) {
        cli_say(&job->voice, "next: relmc resume %s    goes on", path);
    } else if (path) {
        cli_say(&job->voice,
                "next: relmc resume %s --samples N    for more draws", path);
    }
}

static int conclude(struct job *job, double seconds)
{
    const struct opt_set *set = job->set;
    struct outcome out;

    if (!outcome_take(&out, &job->record, &job->plan, job->target, seconds,
                      job->ending)) {
        outcome_clear(&out);
        return cli_fail(CLI_NUMERIC, job->set->who,
                        "out of memory for the summary");
    }
    const int tuned = write_tuning(job); /* before a reader can go away */
    int code = say_ending(job, &out);
    tuning_say(&job->voice, job->run, job->target);
    if (opt_get(set, "json")->is_on) {
        outcome_print_json(&out, &job->plan, job->set->argument);
    } else {
        outcome_print(&out, &job->plan, &job->voice);
    }
    model_say_trouble(job->target, &job->voice);
    outcome_say_checks(&out, &job->voice);
    if (out.checks.n_bad && !code && opt_get(set, "strict")->is_on) {
        code = CLI_CHECK;
    }
    const int made = conclude_files(job, &out);
    code = made ? made : tuned ? tuned : code;
    say_files(job);
    say_how_to_go_on(job);
    if (job->config && !goes_on(job)) {
        cli_say(&job->voice, "next: relmc sample --config %s    repeats it",
                job->config);
    }
    outcome_clear(&out);
    return code;
}

int sample_run(struct opt_set *set, const struct resumed *from)
{
    struct job job = {
        .set = set,
        .from = from,
        .voice = {.is_quiet = opt_get(set, "quiet")->is_on,
                  .has_colour = cli_wants_colour(STDERR_FILENO,
                                                 opt_get(set, "color")->text),
                  .is_json = !strcmp(opt_get(set, "progress")->text, "json")},
    };
    relmc_error err = {0};
    double seconds = 0.0;
    int code = team_agree(prepare(&job));

    if (!code) {
        say_start(&job);
        const relmc_status status = turn_the_crank(&job, &seconds, &err);
        code = status < 0 ? run_failed(&job, status, &err)
                          : conclude(&job, seconds);
    }
    team_release(job.run, job.target);
    relmc_run_destroy(job.run);
    relmc_target_destroy(job.target);
    on_data_clear(&job.data);
    plan_clear(&job.plan);
    record_clear(&job.record);
    free(job.config);
    free(job.tuning);
    free(job.whole);
    free(job.note);
    return code;
}

static int run(struct opt_set *set)
{
    return sample_run(set, NULL);
}

const struct command cmd_sample = {
    .name = "sample",
    .argument = "MODEL",
    .doc = "draw from a model",
    .examples =
        "relmc sample banana\n"
        "relmc sample gaussian:dim=10,rho=0.9 --seed 1 -o runs/g\n"
        "relmc sample model.stan --data data.json\n"
        "relmc sample funnel --kinetic relativistic --cruise 0.6 --chains 8\n"
        "relmc sample gmm1 --fix --step-size 0.5 --max-step 1\n"
        "relmc sample banana --until-ess 1000 --time-limit 10m\n"
        "relmc sample funnel --checkpoint run.ckpt --samples 1e6\n"
        "relmc sample --config banana_config.json\n",
    .options = options,
    .run = run,
    .help = more_help,
};
