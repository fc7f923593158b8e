/* team_worker.c - a process that does what the leader of its team wants. */
#define _POSIX_C_SOURCE 200809L

#include "job/model.h"
#include "job/optimize.h"
#include "job/sample.h"
#include "job/team.h"
#include "relmc_team.h"
#include "tool/config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct follower {
    struct opt_set set;
    struct voice voice;
    struct on_data data;
    relmc_target *target;
    struct plan plan;       /* of relmc sample ... */
    struct journey journey; /* ... or relmc optimize */
    relmc_run *run;
};

/* What the leader says is heard once; what this process has to say is kept, for the
 * case that it cannot go on.  And the leader decides when to stop. */
static void be_quiet(void)
{
    FILE *kept = tmpfile();
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    if (kept) {
        (void)dup2(fileno(kept), STDOUT_FILENO);
        (void)dup2(fileno(kept), STDERR_FILENO);
    }
    (void)sigaction(SIGINT, &ignore, NULL);
    (void)sigaction(SIGTERM, &ignore, NULL);
    (void)sigaction(SIGHUP, &ignore, NULL);
    (void)sigaction(SIGUSR1, &ignore, NULL);
}

static bool is_optimize(const struct follower *f)
{
    return f->set.command == &cmd_optimize;
}

static int open_model(struct follower *f)
{
    const struct model_source from = {
        .set = &f->set,
        .seed = opt_get(&f->set, "seed")->count,
        .voice = &f->voice,
    };

    return model_open(&f->target, &f->data, &from);
}

static int open_run(struct follower *f)
{
    const relmc_team all = team_of_run(&f->set);
    relmc_error err = {0};
    const int code = is_optimize(f)
                         ? journey_plan(&f->journey, &f->set, f->target)
                         : plan_make(&f->plan, &f->set, f->target, &f->voice);

    if (code) {
        return code;
    }
    const relmc_options *o =
        is_optimize(f) ? &f->journey.options : &f->plan.options;
    const relmc_status status =
        relmc_run_create_team(&f->run, f->target, o, &all, &err);
    return status ? cli_fail_status(f->set.who, status, &err) : CLI_OK;
}

static int prepare(struct follower *f, const char *options)
{
    int code;

    if ((code = config_read_text(&f->set, "options", options)) ||
        (code = open_model(f)) || (code = team_lead(f->target, &f->set))) {
        return code;
    }
    return team_shares_data(&f->set) ? CLI_OK : open_run(f);
}

static void serve(struct follower *f)
{
    relmc_error err = {0};
    const relmc_status status = f->run ? relmc_run_serve(f->run, &err)
                                       : relmc_target_serve(f->target, &err);

    if (status) {
        team_abort(cli_code(status));
    }
}

static void follow(command_table commands, const char *options)
{
    json_t *root = json_loads(options, 0, NULL);
    const char *name = json_string_value(json_object_get(root, "command"));
    const struct command *command = name ? command_find(commands, name) : NULL;
    struct follower f = {.voice = {.is_quiet = true}};

    opt_init(&f.set, command ? command : &cmd_sample, commands);
    json_decref(root);
    if (!team_agree(prepare(&f, options))) {
        serve(&f);
    }
    relmc_run_destroy(f.run);
    relmc_target_destroy(f.target);
    on_data_clear(&f.data);
    plan_clear(&f.plan);
    journey_clear(&f.journey);
    opt_clear(&f.set);
}

int team_follow(command_table commands)
{
    const relmc_team *all = team();
    uint64_t bytes = 0;

    be_quiet();
    for (;;) {
        all->tell(all->ctx, &bytes, sizeof bytes);
        if (!bytes) {
            return CLI_OK;
        }
        char *options = cli_alloc(bytes + 1, 1);
        all->tell(all->ctx, options, bytes);
        follow(commands, options);
        free(options);
    }
}
