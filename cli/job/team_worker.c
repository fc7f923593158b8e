/* team_worker.c - a worker: a process that does what the leader sends. */
#define _POSIX_C_SOURCE 200809L

#include "job/job.h"
#include "job/team.h"
#include "relmc_team.h"
#include "tool/config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Output goes to a file: the leader prints it if this process fails. Signals
 * are ignored: the leader decides when to stop. */
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

static int prepare(struct job *job, const char *options)
{
    int code;

    if ((code = config_read_text(job->set, "options", options)) ||
        (code = job_open_model(job)) ||
        (code = team_lead(job->target, job->set))) {
        return code;
    }
    if (team_shares_data(job->set)) {
        return CLI_OK;
    }
    return (code = job->kind->plan(job)) ? code : job_create_run(job);
}

static void serve(const struct job *job)
{
    relmc_error err = {0};
    const relmc_status status = job->run
                                    ? relmc_run_serve(job->run, &err)
                                    : relmc_target_serve(job->target, &err);

    if (status) {
        team_abort(cli_code(status));
    }
}

/* One job of the leader, which sends the options. */
static void work(command_table commands, const char *options)
{
    json_t *root = json_loads(options, 0, NULL);
    const char *name = json_string_value(json_object_get(root, "command"));
    const struct command *command = name ? command_find(commands, name) : NULL;
    struct opt_set set;

    json_decref(root);
    if (!command || !command->job) { /* another version of the program */
        team_abort(CLI_USAGE);
        return;
    }
    opt_init(&set, command, commands);
    struct job job = job_begin(command->job, &set, NULL);
    job.voice = (struct voice){.is_quiet = true};
    if (!team_agree(prepare(&job, options))) {
        serve(&job);
    }
    job_clear(&job);
    opt_clear(&set);
}

int team_worker_run(command_table commands)
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
        work(commands, options);
        free(options);
    }
}
