/* command.c - relmc reproduce: the figures of the paper by one command. */
#define _POSIX_C_SOURCE 200809L

#include "report/result.h"
#include "reproduce.h"

#include "tool/config.h"
#include "tool/datadir.h"
#include "tool/file_lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- options --------------------------------------------------------------- */

static const struct opt options[] = {
    {.name = "list",
     .kind = OPT_FLAG,
     .doc = "show the figures, and how long they take here"},
    {.name = "scale",
     .kind = OPT_CHOICE,
     .value = "SCALE",
     .fallback = "quick",
     .choices = "quick|paper",
     .doc = "how much work: that of the paper, or less of it"},
    {.name = "check",
     .kind = OPT_FLAG,
     .doc = "exit with 1 if a claim that we reproduced holds no "
            "longer"},
    OPT_OUTPUT(.value = "DIR", .fallback = "reproduced",
               .doc = "folder for tables, pictures and claims.json; cells "
                      "that are in it are not measured again"),
    {.name = "seed",
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "1",
     .max = 0x1p53,
     .doc = "of all random numbers"},
    {.name = "no-plots", .kind = OPT_FLAG, .doc = "draw no pictures"},
    {.name = "cores",
     .kind = OPT_COUNT,
     .value = "N",
     .min = 1,
     .max = 4096,
     .doc = "threads (default: one per processor); results do not "
            "depend on it"},
    OPT_QUIET(.doc = "no progress or notes"),
    OPT_COMMON,
    {0},
};

struct job {
    const struct opt_set *set;
    struct voice voice;
    const char *folder, *scale;
    size_t n_threads;
    char *share;       /* of experiments */
    json_t *findings;  /* of claims.json: figure -> what was found */
    size_t n_broken;   /* claims that --check misses */
    size_t n_left_out; /* figures whose data are not here */
};

/* ---- the list -------------------------------------------------------------- */

/* How fast this machine is: seconds of a core for a piece of work that takes
 * CALIBRATION_SECONDS where the times in experiments/ were measured. */
#define CALIBRATION_SECONDS 0.04

/* Of this thread: those of other libraries may be waiting busily. */
static double thread_seconds(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double slowness(void)
{
    enum { PARTS = 10 };
    const relmc_options small = {
        .size = sizeof small,
        .sampler = "hmc:steps=10,jitter=0",
        .kinetic = "separable:m=1,c=1",
        .adapt = "none",
        .chains = 64,
        .draws = 5000,
        .warmup = RELMC_ZERO,
        .step_size = 0.5,
        .seed = 1,
        .threads = 1,
    };
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    double seconds = CLI_NAN;

    if (!relmc_target_open(&target, "gmm1", NULL, NULL) &&
        !relmc_run_create(&run, target, &small, NULL)) {
        for (int part = 0; part < PARTS; part++) { /* the fastest counts */
            const double start = thread_seconds();

            (void)relmc_run_advance(run, small.draws / PARTS, NULL);
            seconds = fmin(seconds, PARTS * (thread_seconds() - start));
        }
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return seconds / CALIBRATION_SECONDS;
}

static char *path_of(const struct job *job, const char *name,
                     const char *suffix)
{
    return cli_text("%s/%s%s", job->share, name, suffix);
}

static int open_experiment(struct experiment *e, const struct job *job,
                           const char *name)
{
    char *path = path_of(job, name, ".json");

    *e = (struct experiment){
        .who = job->set->who,
        .name = name,
        .scale = job->scale,
        .seed = opt_get(job->set, "seed")->count,
    };
    const int code = experiment_open(e, path);

    free(path);
    return code;
}

static void add_duration(struct result *result, double seconds)
{
    if (seconds < 90.0) {
        result_text(result, "%.0f s", ceil(seconds));
    } else {
        result_text(result, "%.0f min", ceil(seconds / 60.0));
    }
}

static int list(struct job *job)
{
    const double factor = slowness() / (double)job->n_threads;
    static const struct field fields[] = {
        {.head = "figure", .width = -14},
        {.head = "cells", .width = 8},
        {.head = "quick", .width = 9},
        {.head = "paper", .width = 9},
        {.head = " what it shows", .width = -30},
    };
    const struct figure *figure;
    struct result result = {0};
    int code = CLI_OK;

    result_fields(&result, fields, sizeof fields / sizeof *fields);
    for (size_t i = 0; !code && (figure = figure_at(i)); i++) {
        struct experiment e;

        code = open_experiment(&e, job, figure->name);
        if (!code) {
            const json_t *seconds = json_object_get(e.file, "seconds");
            const char *title =
                json_string_value(json_object_get(e.file, "title"));

            result_text(&result, "%s", figure->name);
            result_count(&result, (int64_t)e.n_cells);
            add_duration(&result, factor * json_number_value(json_object_get(
                                               seconds, "quick")));
            add_duration(&result, factor * json_number_value(json_object_get(
                                               seconds, "paper")));
            result_text(&result, " %s", title ? title : "");
        }
        experiment_clear(&e);
    }
    if (!code) {
        result_print(&result);
        (void)printf("\ncells are those of --scale %s; times are expected on "
                     "%zu cores of this machine\n",
                     job->scale, job->n_threads);
    }
    result_clear(&result);
    return code;
}

/* ---- claims ---------------------------------------------------------------- */

/* Was it reproduced when the committed verdicts were made? */
static bool should_hold(const json_t *committed, const char *figure,
                        const char *id)
{
    const json_t *claims =
        json_object_get(json_object_get(committed, figure), "claims");
    const json_t *claim;
    size_t i;

    json_array_foreach(claims, i, claim)
    {
        const char *name = json_string_value(json_object_get(claim, "id"));
        const char *verdict =
            json_string_value(json_object_get(claim, "verdict"));

        if (name && verdict && !strcmp(name, id)) {
            return !strcmp(verdict, verdict_name(VERDICT_REPRODUCED));
        }
    }
    return false;
}

static void judge(struct job *job, const struct figure *figure,
                  const struct sheet *sheet, const json_t *committed)
{
    json_t *claims = json_array();

    for (const struct claim *c = figure->claims; c && c->id; c++) {
        const struct finding found = claim_judge(c, sheet);
        const bool is_broken = found.verdict != VERDICT_REPRODUCED &&
                               should_hold(committed, figure->name, c->id);

        (void)printf("%-13s %-15s %8.3g +- %-8.2g %s: %s%s\n", figure->name,
                     verdict_name(found.verdict), found.value, found.se, c->id,
                     c->says, is_broken ? "  <- was reproduced" : "");
        job->n_broken += is_broken;
        (void)json_array_append_new(claims, finding_json(&found));
    }
    (void)fflush(stdout);
    (void)json_object_set_new(
        job->findings, figure->name,
        json_pack("{s:s, s:I, s:o}", "scale", sheet->experiment->scale, "seed",
                  (json_int_t)sheet->experiment->seed, "claims", claims));
}

static int save_findings(const struct job *job)
{
    char *path = cli_text("%s/claims.json", job->folder);
    char *text = config_print(job->findings);
    const int code = config_write_text(path, job->set->who, text);

    free(path);
    free(text);
    return code;
}

static int load_findings(struct job *job)
{
    char *path = cli_text("%s/claims.json", job->folder);
    int code = CLI_OK;

    if (!access(path, R_OK)) {
        code = config_load(&job->findings, path, job->set->who, CLI_IO);
    } else {
        job->findings = json_object();
    }
    free(path);
    return code;
}

/* ---- a figure -------------------------------------------------------------- */

static int finish(struct job *job, const struct figure *figure,
                  const struct sheet *sheet)
{
    char *script = path_of(job, figure->name, ".gp");
    char *path = cli_text("%s/claims-%s.json", job->share, job->scale);
    json_t *committed = NULL;
    int code = CLI_OK;

    if (opt_get(job->set, "check")->is_on) {
        code = config_load(&committed, path, job->set->who, CLI_IO);
    }
    if (!code) {
        judge(job, figure, sheet, committed);
        code = save_findings(job);
    }
    if (!code && !opt_get(job->set, "no-plots")->is_on) {
        code = draw_figure(script, job->folder, figure->name, &job->voice);
    }
    json_decref(committed);
    free(path);
    free(script);
    return code;
}

static int reproduce(struct job *job, const struct figure *figure)
{
    struct experiment e;
    struct sheet sheet = {0};
    char *csv = cli_text("%s/%s.csv", job->folder, figure->name);
    const struct work_setup setup = {
        .measure = figure->measure,
        .n_threads = job->n_threads,
        .path = csv,
        .voice = job->voice,
    };
    const struct measure *measure = figure->measure;
    int code = open_experiment(&e, job, figure->name);

    if (!code && measure->open) {
        code = measure->open(&e);
    }
    if (!code) {
        sheet_init(&sheet, &e, measure->columns);
        code = work_run(&sheet, &setup);
    }
    if (!code) {
        code = finish(job, figure, &sheet);
    }
    sheet_clear(&sheet);
    if (measure->close) {
        measure->close(&e);
    }
    experiment_clear(&e);
    free(csv);
    job->n_left_out += code == LEFT_OUT;
    return code == LEFT_OUT ? CLI_OK : code;
}

/* ---- the command ----------------------------------------------------------- */

static bool is_wanted(const struct opt_set *set, const struct figure *figure)
{
    const char *name = figure->name;

    for (size_t i = 0; i < set->n_arguments; i++) {
        const char *word = set->arguments[i];
        const size_t n = strlen(word);

        /* "fig1" is all figures whose names begin so */
        if (!strcmp(word, name) ||
            (!figure->is_extra &&
             (!strcmp(word, "all") ||
              (!strncmp(word, name, n) && name[n] == '-')))) {
            return true;
        }
    }
    return false;
}

static int check_names(const struct opt_set *set)
{
    for (size_t i = 0; i < set->n_arguments; i++) {
        struct nearest nearest = {.wanted = set->arguments[i]};
        const struct opt_set one = {.arguments = &set->arguments[i],
                                    .n_arguments = 1};
        const struct figure *figure;
        bool is_known = false;

        for (size_t k = 0; (figure = figure_at(k)); k++) {
            is_known = is_known || is_wanted(&one, figure);
            cli_nearest_offer(&nearest, figure->name);
        }
        if (!is_known && nearest.word) {
            return cli_fail(CLI_USAGE, set->who,
                            "no figure \"%s\" (did you mean \"%s\"?)",
                            set->arguments[i], nearest.word);
        }
        if (!is_known) {
            return cli_fail(CLI_USAGE, set->who,
                            "no figure \"%s\" (relmc reproduce --list shows "
                            "them)",
                            set->arguments[i]);
        }
    }
    return CLI_OK;
}

static int run_all(struct job *job)
{
    const struct figure *figure;
    int code = CLI_OK;

    if (mkdir(job->folder, 0777) && errno != EEXIST) {
        return cli_fail(CLI_IO, job->set->who, "cannot make the folder %s: %s",
                        job->folder, strerror(errno));
    }
    char *findings = cli_text("%s/claims.json", job->folder);
    if (!(code = file_lock_take(job->set->who, findings, NULL))) {
        code = load_findings(job);
    }
    free(findings);
    for (size_t i = 0; !code && (figure = figure_at(i)); i++) {
        if (is_wanted(job->set, figure)) {
            code = reproduce(job, figure);
        }
    }
    if (!code && job->n_broken) {
        return cli_fail(CLI_CHECK, job->set->who,
                        "%zu claim%s reproduced before no longer hold%s",
                        job->n_broken, job->n_broken == 1 ? "" : "s",
                        job->n_broken == 1 ? "s" : "");
    }
    if (!code) {
        cli_say(&job->voice, "tables, pictures and claims.json are in %s/",
                job->folder);
    }
    if (!code && job->n_left_out) {
        return cli_fail(CLI_MODEL, job->set->who,
                        "%zu figure%s left out; the others are done",
                        job->n_left_out,
                        job->n_left_out == 1 ? " was" : "s were");
    }
    return code;
}

static int run(struct opt_set *set)
{
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct job job = {
        .set = set,
        .voice = {.is_quiet = opt_get(set, "quiet")->is_on,
                  .has_colour = cli_wants_colour(STDERR_FILENO,
                                                 opt_get(set, "color")->text)},
        .folder = opt_get(set, "output")->text,
        .scale = opt_get(set, "scale")->text,
        .n_threads = opt_is_given(set, "cores") ? opt_get(set, "cores")->count
                     : n_cores > 0              ? (size_t)n_cores
                                                : 1,
    };
    int code = check_names(set);

    if (!code && !set->n_arguments && !opt_get(set, "list")->is_on) {
        code =
            cli_fail(CLI_USAGE, set->who,
                     "which figure? (all, or one of relmc reproduce --list)");
    }
    if (!code &&
        !(job.share = datadir_find_folder("experiments", "fig1-gmm1.json"))) {
        code = CLI_IO;
    }
    if (!code) {
        code = opt_get(set, "list")->is_on ? list(&job) : run_all(&job);
    }
    json_decref(job.findings);
    free(job.share);
    return code;
}

const struct command paper_reproduce = {
    .name = "reproduce",
    .argument = "[FIGURE...]",
    .doc = "the figures of the paper, with a verdict on each of its claims",
    .examples = "  relmc reproduce --list\n"
                "  relmc reproduce all\n"
                "  relmc reproduce fig3 --scale paper -o results\n"
                "  relmc reproduce all --check\n",
    .options = options,
    .run = run,
};
