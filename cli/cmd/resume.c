/* resume.c - relmc resume: goes on with a run of `relmc sample` or `relmc
 * optimize` that was stopped, or adds draws to one that has ended. */
#include "draws/overwrite_check.h"
#include "job/job.h"
#include "job/job_options.h"
#include "tool/config.h"

#include <stdlib.h>
#include <string.h>

/* Options have the names and meanings of the command that is resumed; "samples"
 * is the first. */
static const struct opt options[] = {
    OPT_SAMPLES(.doc = "draws of each chain in all; a larger number makes the "
                       "run longer, "
                       "with the draws of a run that long from the start",
                .group = "Run:"),
    OPT_TIME_LIMIT(.doc = "stop after this time: 90, 30s, 10m, 3h50m (default: "
                          "as before)"),
    OPT_CHECKPOINT_EVERY(
            .doc = "how often the file is written anew (default: as before)"),
    OPT_JSON(.doc = "print the summary as JSON", .group = "Output:"),
    OPT_STRICT,
    OPT_PROGRESS(),
    OPT_REFRESH(),
    OPT_QUIET(.doc = "errors only"),
    OPT_CORES(.doc = "threads (default: as before)",
              .group = "Execution (does not change the draws):"),
    OPT_LANES(.doc = "chains advanced in lockstep (default: as before)"),
    OPT_COMMON,
    {0},
};

/* Options given to resume replace those of the checkpoint. The number of draws
 * changes the results, so it must be given on the command line. */
static int hand_over(struct opt_set *to, const struct opt_set *from)
{
    int code = CLI_OK;

    for (size_t i = 0; from->command->options[i].name && !code; i++) {
        const char *name = from->command->options[i].name;
        const struct opt_value *v = &from->values[i];
        const int place = opt_find(to->command, name);
        const bool is_meant =
            v->source >
            (strcmp(name, "samples") ? OPT_DEFAULT : OPT_ENVIRONMENT);

        if (place == OPT_NONE && v->source == OPT_ARGUMENT) {
            code = cli_fail(CLI_USAGE, from->who,
                            "--%s is not for a run of relmc %s", name,
                            to->command->name);
        } else if (is_meant && place != OPT_NONE) {
            char *label = cli_text("--%s", name);

            code = opt_assign(to, (size_t)place, v->text, OPT_ARGUMENT, label);
            free(label);
        }
    }
    return code;
}

static int go_on(struct opt_set *to, const struct opt_set *set,
                 const struct resumed *from)
{
    const int place = opt_find(to->command, "checkpoint");
    int code;

    if ((code = hand_over(to, set)) ||
        (code =
             opt_assign(to, (size_t)place, from->path, OPT_ARGUMENT, "FILE")) ||
        (code = config_read_text(to, from->file, from->note))) {
        return code;
    }
    return job_run(to->command->job, to, from);
}

/* The command that wrote the checkpoint. NULL after a message. */
static const struct command *command_of(const struct resumed *from,
                                        const struct opt_set *set)
{
    json_t *root = json_loads(from->note, 0, NULL);
    const char *name = json_string_value(json_object_get(root, "command"));
    const struct command *command =
        name ? command_find(set->commands, name) : NULL;

    if (!command || !command->job) {
        (void)cli_fail(CLI_USAGE, set->who,
                       "%s was written by \"%s\", which is no command of this "
                       "relmc",
                       from->file, name ? name : "?");
        command = NULL;
    }
    json_decref(root);
    return command;
}

static int resume(const struct resumed *from, const struct opt_set *set)
{
    const struct command *command = command_of(from, set);
    struct opt_set before;

    if (!command) {
        return CLI_USAGE;
    }
    opt_init(&before, command, set->commands);
    free(before.who);
    before.who = cli_text("%s", set->who);
    const int code = go_on(&before, set, from);
    opt_clear(&before);
    return code;
}

static int run(struct opt_set *set)
{
    const struct voice voice = {.is_quiet = opt_get(set, "quiet")->is_on};
    struct resumed from = {0};
    int code;

    if (!set->argument) {
        return cli_fail(CLI_USAGE, set->who,
                        "FILE is missing: relmc resume FILE, which relmc "
                        "sample --checkpoint FILE has written");
    }
    code = overwrite_check_lock(set->who, set->argument);
    if (!code &&
        !(code = checkpoint_read(&from, set->argument, set->who, &voice))) {
        code = resume(&from, set);
    }
    checkpoint_clear(&from);
    return code;
}

const struct command cmd_resume = {
    .name = "resume",
    .argument = "FILE",
    .doc = "go on with a run that was stopped, bit for bit",
    .examples = "relmc sample banana --checkpoint run.ckpt --samples 1e6\n"
                "relmc resume run.ckpt\n"
                "relmc resume run.ckpt --samples 2e6\n"
                "relmc resume run.ckpt --time-limit 3h50m --cores 8\n",
    .options = options,
    .run = run,
};
