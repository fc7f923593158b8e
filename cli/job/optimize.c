/* optimize.c - the job of `relmc optimize`: the mode of a model, by steps. */
#include "job/optimize.h"

#include "draws/overwrite_check.h"
#include "report/result.h"
#include "tool/config.h"
#include "tool/npy.h"
#include "tool/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct optimize {
    struct optimize_plan plan;
    struct learning_curve curve;
    int64_t n_steps; /* steps made */
    double seconds;  /* in all, also before a resume */
};

static bool is_given(const struct job *job, const char *option)
{
    return opt_is_given(job->set, option);
}

/* According to the manifest. */
static bool is_single(const struct job *job)
{
    return strstr(relmc_run_manifest_json(job->run),
                  "\"precision\": \"single\"") != NULL;
}

/* ---- preparing ----------------------------------------------------------- */

static int make_plan(struct job *job)
{
    struct optimize *o = job->self;
    const int code = optimize_plan_make(&o->plan, job->set, job->target);

    job->options = &o->plan.options;
    job->scale = o->plan.steps;
    if (!code && is_given(job, "patience") && !job->data.has_test) {
        return cli_fail(CLI_USAGE, job->set->who,
                        "--patience needs data to test on: --test FILE or "
                        "--test 0.2");
    }
    return code;
}

static int claim(struct job *job)
{
    const struct optimize *o = job->self;
    static const char *const tails[] = {"theta.npy", "curve.csv"};
    const char *base = o->plan.base;
    int code = job->from ? CLI_OK : checkpoint_guard(job->set);

    for (size_t i = 0; base && i < sizeof tails / sizeof *tails && !code; i++) {
        char *path = cli_text("%s_%s", base, tails[i]);

        code = job->from ? overwrite_check_lock(job->set->who, path)
                         : overwrite_check_output(job->set, "output", path);
        free(path);
    }
    return code;
}

static int open_run(struct job *job)
{
    struct optimize *o = job->self;
    const char *who = job->set->who;
    int code =
        learning_curve_open(&o->curve, &job->data, job->target, &o->plan, who);
    relmc_error err = {0};

    if (!code && job->from && !learning_curve_restore(&o->curve, job->from)) {
        code = cli_fail(CLI_USAGE, who,
                        "%s: its learning curve is that of another run",
                        job->from->file);
    }
    if (code) {
        return code;
    }
    const relmc_status status =
        relmc_run_observe(job->run, learning_curve_watch, &o->curve, &err);
    return status ? cli_fail_status(who, status, &err) : CLI_OK;
}

static size_t keep(const void *self, char *to)
{
    const struct optimize *o = self;

    return learning_curve_keep(&o->curve, to);
}

/* ---- running ------------------------------------------------------------- */

static bool is_printed(const struct job *job)
{
    return !job->voice.is_quiet && !opt_get(job->set, "json")->is_on;
}

static void announce(struct job *job)
{
    const struct optimize *o = job->self;
    const struct optimize_plan *j = &o->plan;
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
}

/* The table, which goes to standard output. */
static struct progress *show(const struct job *job)
{
    const struct optimize *o = job->self;

    if (is_printed(job)) {
        learning_curve_print_heads(&o->curve, o->plan.has_epochs);
    }
    return NULL;
}

/* Steps of the first chain; at a report all chains have made as many. */
static void count_steps(struct job *job)
{
    struct optimize *o = job->self;
    relmc_progress done = {.size = sizeof done};

    (void)relmc_run_progress(job->run, 0, &done, NULL);
    o->n_steps = done.done * o->plan.steps;
}

static relmc_status report(struct job *job, relmc_error *err)
{
    struct optimize *o = job->self;
    count_steps(job);
    return learning_curve_report(&o->curve, o->n_steps,
                                 (double)o->n_steps / (double)o->plan.per_epoch,
                                 is_printed(job), err);
}

/* Reports have fixed places; checkpoints between them do not move these. */
static int64_t next_look(const struct job *job, int64_t done)
{
    const struct optimize *o = job->self;

    return (done + o->plan.every - 1) / o->plan.every * o->plan.every;
}

/* Has every chain made steps since the last report? A run may be resumed at
 * the place of a report that was already made, and some chains may be ahead
 * of it. */
static bool is_due(const struct learning_curve *curve)
{
    bool is_due = true;

    for (size_t k = 0; k < curve->n_chains; k++) {
        is_due = is_due && curve->n_lp[k] > 0;
    }
    return is_due;
}

static relmc_status look(struct job *job, relmc_error *err)
{
    struct optimize *o = job->self;
    const relmc_status status = is_due(&o->curve) ? report(job, err) : RELMC_OK;

    if (is_given(job, "patience") &&
        o->curve.n_worse >= (int)opt_get(job->set, "patience")->count &&
        relmc_run_position(job->run) < job->options->draws) {
        job->ending = ENDED_BY_RULE;
    }
    return status;
}

/* A run that was stopped between two reports makes one more. The checkpoint is
 * already written: a resumed run does not have this report. */
static relmc_status settle(struct job *job, relmc_error *err)
{
    struct optimize *o = job->self;

    count_steps(job);
    const relmc_status status = o->curve.n_lp[0] ? report(job, err) : RELMC_OK;
    o->seconds = cli_clock() - o->curve.start;
    return status;
}

/* ---- what came out ------------------------------------------------------- */

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
    const struct optimize *o = job->self;
    return is_given(job, "patience") && !isnan(o->curve.best_epoch)
               ? o->curve.best
               : o->curve.x;
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
    struct optimize *o = job->self;
    const struct optimize_plan *j = &o->plan;
    const size_t dim = relmc_target_dim(job->target);

    if (!j->base) {
        return CLI_OK;
    }
    char *path = cli_text("%s_theta.npy", j->base);
    int code =
        npy_write(path, job->set->who, j->options.chains, dim, kept_point(job));
    if (!code) {
        code = learning_curve_write(&o->curve, j->base, job->set->who);
    }
    if (!code) {
        cli_say(&job->voice, "wrote %s_curve.csv, %s", j->base, path);
    }
    free(path);
    return code;
}

static json_t *json_place(const struct job *job, const struct standing *p)
{
    const struct optimize *o = job->self;
    const struct learning_curve *c = &o->curve;

    return json_pack(
        "{s:s, s:s, s:s, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, "
        "s:b}",
        "model", job->set->argument, "optimizer", o->plan.optimizer,
        "precision", is_single(job) ? "single" : "double", "steps",
        (json_int_t)o->n_steps, "seconds", o->seconds, "train_loss",
        config_real(p->loss), "train_error", config_real(p->train_error),
        "test_loss", config_real(p->test_loss), "test_error",
        config_real(p->test_error), "best_epoch", config_real(c->best_epoch),
        "best_test_loss", config_real(c->best_loss), "best_test_error",
        config_real(c->best_error), "divergent", (json_int_t)p->n_divergent,
        "stopped_early", (int)(job->ending == ENDED_BY_RULE));
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
    const struct optimize *o = job->self;
    const struct learning_curve *c = &o->curve;

    if (p->n_divergent) {
        cli_warn(&job->voice,
                 "%lld steps led to a place without a finite density or "
                 "gradient and were taken back: a smaller lr may help",
                 (long long)p->n_divergent);
    }
    if (job->ending == ENDED_BY_RULE) {
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

static void say_ending(const struct job *job)
{
    const struct optimize *o = job->self;
    const char *how = job_stopped_how();

    if (how) {
        cli_say(&job->voice, "%s after %lld steps", how, (long long)o->n_steps);
    } else if (job->ending == ENDED_BY_TIME) {
        cli_say(&job->voice, "the time limit ended the run after %lld steps",
                (long long)o->n_steps);
    }
}

static int conclude(struct job *job)
{
    const struct optimize *o = job->self;
    const struct standing p = learning_curve_mean(&o->curve);
    double lp = CLI_NAN, norm = CLI_NAN;
    relmc_error err = {0};

    if (o->n_steps == 0) {
        cli_say(&job->voice, "interrupted before the first report");
        job_say_next(job);
        return job_ending_code(job, false);
    }
    const relmc_status status =
        evaluate(job, kept_point(job), &lp, &norm, &err);
    if (status < 0) {
        return cli_fail_status(job->set->who, status, &err);
    }
    say_ending(job);
    say_result(job, &p);
    if (opt_get(job->set, "json")->is_on) {
        print_json(job, &p, lp, norm);
    } else if (!job->voice.is_quiet) {
        print_point(job, kept_point(job));
        (void)printf("lp %.9g, norm of its gradient %.3g\n", lp, norm);
    }
    const int code = write_files(job);
    job_say_next(job);
    return code ? code : job_ending_code(job, true);
}

static void clear(void *self)
{
    struct optimize *o = self;

    learning_curve_clear(&o->curve);
    optimize_plan_clear(&o->plan);
}

const struct job_kind job_optimize = {
    .bytes = sizeof(struct optimize),
    .unit = "step",
    .plan = make_plan,
    .claim = claim,
    .open = open_run,
    .keep = keep,
    .announce = announce,
    .show = show,
    .next_look = next_look,
    .look = look,
    .settle = settle,
    .conclude = conclude,
    .clear = clear,
};
