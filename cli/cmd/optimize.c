/* optimize.c - relmc optimize: the mode of a model, by steps. */
#define _POSIX_C_SOURCE 200809L

#include "job/optimize.h"
#include "job/job_options.h"
#include "relmc_team.h"

#include "draws/overwrite_check.h"
#include "job/model.h"
#include "job/team.h"
#include "report/result.h"
#include "tool/component_spec.h"
#include "tool/config.h"
#include "tool/npy.h"
#include "tool/seed.h"
#include "tool/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options --------------------------------------------------------------- */

static const struct opt options[] = {
    {.name = "optimizer",
     .also = {"optimiser", "sampler"},
     .kind = OPT_SPEC,
     .value = "SPEC",
     .choices = "sampler",
     .is_offered = spec_optimises,
     .doc = "such as adam:lr=0.001 (default: sgd, which is "
            "RSGD with linear friction); networks are "
            "trained in single precision unless it has "
            "precision=double",
     .group = "Method:"},
    {.name = "kinetic",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .choices = "kinetic",
     .doc = "of sgd; newtonian is plain momentum (default: "
            "separable)"},
    {.name = "epochs",
     .kind = OPT_COUNT,
     .value = "E",
     .min = 1,
     .max = 1e12,
     .doc = "how often to go through the data (default: 20, or "
            "1000 without minibatches; 10000 steps without "
            "data)",
     .group = "Run:"},
    {.name = "steps",
     .kind = OPT_COUNT,
     .value = "S",
     .min = 1,
     .max = 1e12,
     .doc = "how many steps, in place of --epochs"},
    {.name = "patience",
     .kind = OPT_COUNT,
     .value = "P",
     .min = 1,
     .max = 1e9,
     .doc = "stop when the test loss has not fallen for so "
            "many reports, and keep the best point"},
    {.name = "every",
     .kind = OPT_COUNT,
     .value = "N",
     .min = 1,
     .max = 1e12,
     .doc = "report after every N epochs (default: every one, or "
            "20 times in all if there are more than 100)"},
    OPT_TIME_LIMIT(.doc = "stop after this time: 90, 30s, 10m, 3h50m"),
    OPT_CHECKPOINT(.doc = "keep the run in FILE, so that relmc resume FILE "
                          "can go on with it"),
    OPT_CHECKPOINT_EVERY(
            .fallback = "60s",
            .doc = "how often FILE is written anew: 90, 30s, 10m, 3h50m"),
    {.name = "chains",
     .letter = 'c',
     .kind = OPT_COUNT,
     .value = "K",
     .fallback = "1",
     .min = 1,
     .max = 100000,
     .doc = "so many at once, each from its own start"},
    OPT_SEED(.doc = "same seed, same path (default: a random one, which "
                    "is told)"),
    {.name = "init",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "start at the points of an npy or JSON file (default: "
            "where the model says)"},
    ON_DATA_OPTIONS,
    BY_BATCH_OPTIONS,
    {.name = "output",
     .letter = 'o',
     .kind = OPT_TEXT,
     .value = "BASE",
     .doc = "write BASE_curve.csv and BASE_theta.npy (default: "
            "MODEL_OPTIMIZER, here)",
     .group = "Output:"},
    OPT_NO_OUTPUT(.doc = "write no files"),
    OPT_JSON(.doc = "print the result as JSON, and no table"),
    OPT_QUIET(.doc = "no table, notes or warnings: only errors"),
    OPT_CORES(.doc = "threads (default: one per chain, at most one per "
                     "processor)"),
    OPT_MPI,
    OPT_COMMON,
    {0},
};

/* ---- the job --------------------------------------------------------------- */

struct job {
    struct opt_set *set;
    const struct resumed *from; /* NULL: it begins */
    struct checkpoint checkpoint;
    char *note; /* its configuration */
    struct voice voice;
    struct on_data data;
    relmc_target *target;
    struct journey journey;
    struct curve curve;
    relmc_run *run;
    int64_t n_steps; /* made */
    bool is_patient; /* it was ended by --patience */
    bool is_late;    /* ... by --time-limit */
    double seconds;
};

static bool is_given(const struct job *job, const char *option)
{
    return opt_is_given(job->set, option);
}

/* As the manifest says. */
static bool is_single(const struct job *job)
{
    return strstr(relmc_run_manifest_json(job->run),
                  "\"precision\": \"single\"") != NULL;
}

static void say_start(const struct job *job)
{
    const struct journey *j = &job->journey;
    const size_t dim = relmc_target_dim(job->target);
    const size_t n = relmc_target_n_data(job->target);
    const long long n_steps = j->options.draws * j->steps;
    char rows[80] = "";

    if (n) {
        (void)snprintf(rows, sizeof rows, ", %zu rows%s", n,
                       j->options.batch_rows ? "" : " at every step");
    }
    cli_say(&job->voice,
            "%.*s: %zu parameter%s%s, %.*s%s, %lld steps, %u chain%s, seed "
            "%llu",
            (int)strcspn(job->set->argument, ":"), job->set->argument, dim,
            dim == 1 ? "" : "s", rows, (int)strcspn(j->optimizer, ":"),
            j->optimizer, is_single(job) ? " in single precision" : "", n_steps,
            j->options.chains, j->options.chains == 1 ? "" : "s",
            (unsigned long long)j->options.seed);
    if (job->from) {
        cli_say(&job->voice, "%s: going on after step %lld", job->from->file,
                relmc_run_position(job->run) * (long long)j->steps);
    }
}

/* As of `relmc sample`: the first one is written before the first step. */
static int open_checkpoint(struct job *job)
{
    relmc_error err = {0};

    job->note = config_text(job->set, relmc_run_manifest_json(job->run));
    job->checkpoint = (struct checkpoint){
        .path = opt_get(job->set, "checkpoint")->text,
        .every = job->journey.checkpoint_every,
        .config = job->note,
        .keep = curve_keep,
        .state = &job->curve,
        .run = job->run,
        .total = job->journey.options.draws,
    };
    const relmc_status status = checkpoint_write(&job->checkpoint, &err);
    return status ? cli_fail_status(job->set->who, status, &err) : CLI_OK;
}

static int open_curve(struct job *job)
{
    const char *who = job->set->who;
    const int code =
        curve_open(&job->curve, &job->data, job->target, &job->journey, who);

    if (code || !job->from || curve_restore(&job->curve, job->from)) {
        return code;
    }
    return cli_fail(CLI_USAGE, who,
                    "%s: its learning curve is that of another "
                    "run",
                    job->from->file);
}

static int guard_files(const struct job *job)
{
    static const char *const tails[] = {"theta.npy", "curve.csv"};
    const char *base = job->journey.base;
    int code = job->from ? CLI_OK : checkpoint_guard(job->set);

    for (size_t i = 0; base && i < sizeof tails / sizeof *tails && !code; i++) {
        char *path = cli_text("%s_%s", base, tails[i]);

        code = job->from ? guard_lock(job->set->who, path)
                         : guard_output(job->set, "output", path);
        free(path);
    }
    return code;
}

static int prepare(struct job *job)
{
    struct opt_set *set = job->set;
    relmc_error err = {0};
    int code;

    if (!set->argument) {
        return cli_fail(CLI_USAGE, set->who,
                        "which model? relmc optimize MODEL (relmc models lists "
                        "them)");
    }
    const struct model_source from = {
        .set = set, .seed = opt_get(set, "seed")->count, .voice = &job->voice};
    if ((code = model_open(&job->target, &job->data, &from)) ||
        (code = journey_plan(&job->journey, set, job->target))) {
        return code;
    }
    if (is_given(job, "patience") && !job->data.has_test) {
        return cli_fail(CLI_USAGE, set->who,
                        "--patience needs data to test on: --test FILE or "
                        "--test 0.2");
    }
    if ((code = guard_files(job)) || (code = team_lead(job->target, set))) {
        return code;
    }
    const relmc_team all = team_of_run(set);
    relmc_status status = relmc_run_create_team(
        &job->run, job->target, &job->journey.options, &all, &err);
    if (!status && job->from) {
        status = relmc_run_load(job->run, job->from->file, &err);
    }
    if (status) {
        return cli_fail_status(set->who, status, &err);
    }
    return (code = open_curve(job)) ? code : open_checkpoint(job);
}

/* ---- running --------------------------------------------------------------- */

static bool is_printed(const struct job *job)
{
    return !job->voice.is_quiet && !opt_get(job->set, "json")->is_on;
}

/* Where the first chain is; at a report that is where all are. */
static void count_steps(struct job *job)
{
    relmc_progress done = {.size = sizeof done};

    (void)relmc_run_progress(job->run, 0, &done, NULL);
    job->n_steps = done.done * job->journey.steps;
}

static relmc_status report(struct job *job, relmc_error *err)
{
    count_steps(job);
    return curve_report(&job->curve, job->n_steps,
                        (double)job->n_steps / (double)job->journey.per_epoch,
                        is_printed(job), err);
}

static bool has_lost_patience(const struct job *job)
{
    return is_given(job, "patience") &&
           job->curve.n_worse >= (int)opt_get(job->set, "patience")->count;
}

/* Reports are at fixed places, which a checkpoint between them does not move. */
static relmc_status go_on(struct job *job, relmc_error *err)
{
    const struct journey *j = &job->journey;
    const int64_t total = j->options.draws,
                  first = relmc_run_position(job->run);
    const double start = cli_clock();
    int64_t at = first, block = 1;
    relmc_status status = RELMC_OK;

    while (!status && at < total) {
        const int64_t after = (at / j->every + 1) * j->every;
        const int64_t next = after < total ? after : total;
        const int64_t until = at + block < next ? at + block : next;

        job->is_patient = has_lost_patience(job);
        job->is_late = at > first && cli_clock() - start >= j->seconds;
        if (job->is_patient || job->is_late) {
            break;
        }
        if ((status = checkpoint_tend(&job->checkpoint, err)) ||
            (status = stop_advance(job->run, until - at, &block, err))) {
            break;
        }
        at = until;
        if (at == next) {
            status = report(job, err);
        }
    }
    return status;
}

/* Between two reports, a run that was stopped makes one more; not for the
 * checkpoint, which is written before. */
static relmc_status wind_up(struct job *job, relmc_status status,
                            relmc_error *err)
{
    if (status < 0) {
        return status;
    }
    job->checkpoint.is_finished = !*signals_caught() && !job->is_late;
    const relmc_status kept = checkpoint_write(&job->checkpoint, err);
    count_steps(job);
    if (kept || !job->curve.n_lp[0]) {
        return kept ? kept : status;
    }
    const relmc_status told = report(job, err);
    return told ? told : status;
}

static relmc_status run_it(struct job *job, relmc_error *err)
{
    struct signals old;
    relmc_status status =
        relmc_run_observe(job->run, curve_watch, &job->curve, err);

    if (status) {
        return status;
    }
    if (is_printed(job)) {
        curve_print_heads(&job->curve, job->journey.has_epochs);
    }
    signals_catch(&old, job->run);
    status = wind_up(job, go_on(job, err), err);
    signals_release(&old);
    job->seconds = cli_clock() - job->curve.start;
    return status;
}

static int run_failed(const struct job *job, relmc_status status,
                      const relmc_error *err)
{
    const int code = cli_fail_status(job->set->who, status, err);

    if (job->checkpoint.is_written) {
        (void)fprintf(stderr,
                      "  relmc resume %s        goes on after step %lld\n",
                      job->checkpoint.path,
                      job->checkpoint.position * (long long)job->journey.steps);
    }
    return code;
}

/* ---- what came out --------------------------------------------------------- */

/* lp of all the data, and the norm of its gradient. */
static relmc_status evaluate(const struct job *job, const double *x, double *lp,
                             double *norm, relmc_error *err)
{
    const size_t dim = relmc_target_dim(job->target);
    double *grad = cli_alloc(dim, sizeof *grad), sum = 0.0;
    const relmc_status status =
        relmc_target_eval(job->target, 1, x, lp, grad, err);

    for (size_t i = 0; i < dim; i++) {
        sum += grad[i] * grad[i];
    }
    *norm = sqrt(sum);
    free(grad);
    return status;
}

static const double *kept_point(const struct job *job)
{
    return is_given(job, "patience") && !isnan(job->curve.best_epoch)
               ? job->curve.best
               : job->curve.x;
}

/* The coordinates, if they are few. */
static void print_point(const struct job *job, const double *x)
{
    enum { MOST = 20 };
    static const struct field fields[] = {
        {.head = "", .width = -8},
        {.head = "", .width = 14, .digits = 9, .undefined = "nan"},
    };
    const size_t dim = relmc_target_dim(job->target);
    struct result result = {0};

    if (dim > MOST) {
        return;
    }
    result_fields(&result, fields, 2);
    for (size_t i = 0; i < dim; i++) {
        char name[CLI_NAME];

        relmc_target_coordinate_name(job->target, i, name, sizeof name);
        result_name(&result, name);
        result_real(&result, x[i]);
    }
    (void)putchar('\n');
    result_print(&result);
    result_clear(&result);
}

static int write_files(struct job *job)
{
    const struct journey *j = &job->journey;
    const size_t dim = relmc_target_dim(job->target);

    if (!j->base) {
        return CLI_OK;
    }
    char *path = cli_text("%s_theta.npy", j->base);
    int code =
        npy_write(path, job->set->who, j->options.chains, dim, kept_point(job));
    if (!code) {
        code = curve_write(&job->curve, j->base, job->set->who);
    }
    if (!code) {
        cli_say(&job->voice, "wrote %s_curve.csv, %s", j->base, path);
    }
    free(path);
    return code;
}

static json_t *json_place(const struct job *job, const struct standing *p)
{
    const struct curve *c = &job->curve;

    return json_pack(
        "{s:s, s:s, s:s, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, "
        "s:b}",
        "model", job->set->argument, "optimizer", job->journey.optimizer,
        "precision", is_single(job) ? "single" : "double", "steps",
        (json_int_t)job->n_steps, "seconds", job->seconds, "train_loss",
        config_real(p->loss), "train_error", config_real(p->train_error),
        "test_loss", config_real(p->test_loss), "test_error",
        config_real(p->test_error), "best_epoch", config_real(c->best_epoch),
        "best_test_loss", config_real(c->best_loss), "best_test_error",
        config_real(c->best_error), "divergent", (json_int_t)p->n_divergent,
        "stopped_early", (int)job->is_patient);
}

static void print_json(const struct job *job, const struct standing *p,
                       double lp, double norm)
{
    json_t *root = json_place(job, p);

    (void)json_object_set_new(root, "lp", config_real(lp));
    (void)json_object_set_new(root, "gradient_norm", config_real(norm));
    result_print_json(root);
}

static void say_result(const struct job *job, const struct standing *p)
{
    const struct curve *c = &job->curve;

    if (p->n_divergent) {
        cli_warn(&job->voice,
                 "%lld steps led to a place without a finite density or "
                 "gradient and were taken back: a smaller lr may help",
                 (long long)p->n_divergent);
    }
    if (job->is_patient) {
        cli_say(&job->voice,
                "stopped: the test loss has not fallen for %d reports",
                c->n_worse);
    }
    if (!isnan(c->best_epoch)) {
        const bool is_classes = c->some.n_classes > 0;

        cli_say(&job->voice, "least test loss %.4g, %s %.4g%s (epoch %g)",
                c->best_loss, is_classes ? "error" : "rmse",
                is_classes ? 100.0 * c->best_error : c->best_error,
                is_classes ? " %" : "", c->best_epoch);
    }
}

static void say_how_to_go_on(const struct job *job)
{
    if (job->checkpoint.path && (*signals_caught() || job->is_late)) {
        cli_say(&job->voice, "next: relmc resume %s    goes on",
                job->checkpoint.path);
    }
}

static int ending_code(const struct job *job)
{
    const bool is_kept = job->checkpoint.path;
    const int caught = *signals_caught();

    return caught
               ? is_kept && caught != SIGINT ? CLI_STOPPED : CLI_SIGNAL + caught
           : job->is_late && is_kept ? CLI_STOPPED
                                     : CLI_OK;
}

static int conclude(struct job *job)
{
    const struct standing p = curve_mean(&job->curve);
    const int caught = *signals_caught();
    double lp = CLI_NAN, norm = CLI_NAN;
    relmc_error err = {0};

    if (job->n_steps == 0) {
        cli_say(&job->voice, "interrupted before the first report");
        say_how_to_go_on(job);
        return ending_code(job);
    }
    const relmc_status status =
        evaluate(job, kept_point(job), &lp, &norm, &err);
    if (status < 0) {
        return cli_fail_status(job->set->who, status, &err);
    }
    if (caught) {
        cli_say(&job->voice, "%s after %lld steps",
                caught == SIGINT ? "interrupted" : "terminated",
                (long long)job->n_steps);
    } else if (job->is_late) {
        cli_say(&job->voice, "the time limit ended the run after %lld steps",
                (long long)job->n_steps);
    }
    say_result(job, &p);
    if (opt_get(job->set, "json")->is_on) {
        print_json(job, &p, lp, norm);
    } else if (!job->voice.is_quiet) {
        print_point(job, kept_point(job));
        (void)printf("lp %.9g, norm of its gradient %.3g\n", lp, norm);
    }
    const int code = write_files(job);
    say_how_to_go_on(job);
    return code ? code : ending_code(job);
}

int optimize_run(struct opt_set *set, const struct resumed *from)
{
    struct job job = {
        .set = set,
        .from = from,
        .voice = {.is_quiet = opt_get(set, "quiet")->is_on,
                  .has_colour = cli_wants_colour(STDERR_FILENO,
                                                 opt_get(set, "color")->text)},
    };
    relmc_error err = {0};
    int code = team_agree(prepare(&job));

    if (!code) {
        say_start(&job);
        const relmc_status status = run_it(&job, &err);
        code = status < 0 ? run_failed(&job, status, &err) : conclude(&job);
    }
    team_release(job.run, job.target);
    curve_clear(&job.curve);
    relmc_run_destroy(job.run);
    relmc_target_destroy(job.target);
    journey_clear(&job.journey);
    on_data_clear(&job.data);
    free(job.note);
    return code;
}

static int run(struct opt_set *set)
{
    const int code = seed_settle(set);

    return code ? code : optimize_run(set, NULL);
}

const struct command cmd_optimize = {
    .name = "optimize",
    .argument = "MODEL",
    .doc = "the mode of a model, by RSGD and its rivals",
    .examples =
        "relmc optimize banana --seed 1\n"
        "relmc optimize logistic --data pima --test 0.25 --standardize\n"
        "relmc optimize mlp:hidden=100 --data mnist --test mnist-test "
        "--scale byte \\\n"
        "    --batch-size 100 --epochs 20\n"
        "relmc optimize mlp --data train.csv --test 0.2 --optimizer "
        "adam:lr=0.001 \\\n"
        "    --batch-size 50 --epochs 200 --patience 10 -o net\n"
        "relmc optimize mlp --data mnist --batch-size 100 --checkpoint "
        "run.ckpt\n",
    .options = options,
    .run = run,
};
