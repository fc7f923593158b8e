/* team.c - several processes for one command: the side of the leader. */
#define _POSIX_C_SOURCE 200809L

#include "job/team.h"
#include "relmc_team.h"

#include "tool/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The draws depend on it: it decides the order of sums. */
enum { N_SHARDS = 64 };

static bool is_asked;   /* the workers have the options and prepare */
static bool is_serving; /* the workers are ready and wait for work */

bool team_shares_data(const struct opt_set *set)
{
    const int i = opt_find(set->command, "mpi");

    return i != OPT_NONE && set->values[i].text &&
           !strcmp(set->values[i].text, "data");
}

relmc_team team_of_run(const struct opt_set *set)
{
    return team_shares_data(set) ? (relmc_team)RELMC_INIT(relmc_team) : *team();
}

/* There is a process per processor. With shared data only one thread of the
 * leader may ask for sums. */
uint32_t team_threads(const struct opt_set *set, uint64_t given, uint32_t usual)
{
    const bool is_team = team()->n_members > 1;

    return is_team && team_shares_data(set) ? 1
           : given                          ? (uint32_t)given
           : is_team                        ? 1
                                            : usual;
}

/* Sends the options. Workers do not read configuration files. */
static void ask_others(const struct opt_set *set)
{
    const relmc_team *all = team();
    char *text = config_text(set, NULL);
    uint64_t bytes = strlen(text) + 1;

    all->tell(all->ctx, &bytes, sizeof bytes);
    all->tell(all->ctx, text, bytes);
    free(text);
    is_asked = true;
}

int team_lead(relmc_target *target, const struct opt_set *set)
{
    relmc_error err = {0};

    const bool is_leader = team()->rank == 0;
    const relmc_status status =
        team_shares_data(set)
            ? relmc_target_shard(target, N_SHARDS, team(), &err)
            : RELMC_OK;

    if (status) {
        return cli_fail(cli_code(status), set->who, "--mpi data: %s",
                        err.message);
    }
    if (is_leader && team()->n_members > 1) {
        ask_others(set);
    }
    return is_leader && team_shares_data(set) ? team_agree(CLI_OK) : CLI_OK;
}

/* ---- are all of them ready? ---------------------------------------------- */

struct verdict {
    int64_t code;
    uint64_t bytes; /* of its messages */
};

/* The messages of a worker, whose standard error is a file. */
static char *take_said(uint64_t *bytes)
{
    (void)fflush(stderr);
    const off_t n = lseek(STDERR_FILENO, 0, SEEK_END);
    char *text = cli_alloc(n > 0 ? (size_t)n + 1 : 1, 1);
    const ssize_t got = n > 0 ? pread(STDERR_FILENO, text, (size_t)n, 0) : 0;

    *bytes = got > 0 ? (uint64_t)got : 0;
    return text;
}

static void report(int code)
{
    const relmc_team *all = team();
    struct verdict mine = {.code = code};
    char *said = code ? take_said(&mine.bytes) : NULL;

    all->give(all->ctx, &mine, sizeof mine);
    all->give(all->ctx, said, mine.bytes);
    free(said);
}

/* Prints the messages of the first worker that is not ready, unless the leader
 * has failed itself. */
static int hear(int code)
{
    const relmc_team *all = team();

    for (uint32_t r = 1; r < all->n_members; r++) {
        struct verdict theirs;

        all->take(all->ctx, r, &theirs, sizeof theirs);
        char *said = cli_alloc(theirs.bytes + 1, 1);
        all->take(all->ctx, r, said, theirs.bytes);
        if (theirs.code && !code) {
            code = (int)theirs.code;
            (void)fprintf(stderr, "process %u of %u:\n%s", r + 1,
                          all->n_members, said);
        }
        free(said);
    }
    return code;
}

int team_agree(int code)
{
    const relmc_team *all = team();
    int64_t final = code;

    if (all->rank > 0) {
        report(code);
    } else if (!is_asked) {
        return code;
    } else {
        final = hear(code);
        is_asked = false;
        is_serving = !final;
    }
    all->tell(all->ctx, &final, sizeof final);
    return (int) final;
}

void team_release(relmc_run *run, const relmc_target *target)
{
    if (!is_serving) {
        return;
    }
    is_serving = false;
    relmc_run_release(run);
    relmc_target_release(target);
}

void team_dismiss(void)
{
    const relmc_team *all = team();
    uint64_t none = 0;

    if (all->n_members > 1) {
        all->tell(all->ctx, &none, sizeof none);
    }
}
