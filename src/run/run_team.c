/* run_team.c - runs one run in P processes: member r advances ensembles r, r +
 * P, r + 2P, ...
 *
 * Every member has memory for all chains.  Members exchange the state of chains
 * at sync points, where the leader calls the adaptation as in one process, and
 * for checkpoints; between these, only a member's own chains are up to date.
 * They send the state of a chain as a checkpoint stores it, so that samplers
 * and adaptations need no code for teams.
 *
 * Workers log draws and milestones; at the end of a turn the leader replays them
 * to its observers and sinks, chain by chain, in the order of a run in one
 * process.
 */
#include "relmc_team.h"
#include "run/run.h"

#include "base/archive.h"
#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

#define GET(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define SET(counter, value) \
    atomic_store_explicit(&(counter), value, memory_order_relaxed)

/* ---- messages --------------------------------------------------------------- */

enum order { ADVANCE, GATHER, SCATTER, RELEASE };

/* From the leader to all workers. */
struct message {
    uint64_t order;
    int64_t position; /* where their turn ends */
    uint64_t bytes;   /* that follow */
};

/* From a worker, about one of its ensembles. */
struct answer {
    relmc_error error; /* how the turn ended */
    uint64_t bytes;    /* that follow */
};

static int is_leader(const relmc_run *run)
{
    return run->team.n_members > 1 && run->team.rank == 0;
}

static void send_order(const relmc_run *run, enum order order, uint64_t bytes)
{
    struct message message = {(uint64_t)order, run->position, bytes};

    run->team.tell(run->team.ctx, &message, sizeof message);
}

static relmc_status no_memory(relmc_error *err)
{
    return rmc_fail(err, RELMC_ENOMEM, "out of memory");
}

/* ---- the log of an ensemble --------------------------------------------------- */

enum event { DRAW, WARMED_UP, ENDED, LAST };

static relmc_archive log_of(struct rmc_ensemble *e)
{
    if (!e->log) {
        e->log = open_memstream(&e->log_text, &e->log_bytes);
    }
    return (relmc_archive){.out = e->log, .why = e->log ? NULL : "no log"};
}

static relmc_status log_status(struct rmc_ensemble *e, const relmc_archive *a)
{
    return a->why ? no_memory(&e->error) : RELMC_OK;
}

relmc_status rmc_team_log_draw(struct rmc_ensemble *e, const relmc_draw *draw)
{
    const relmc_target *target = e->run->target;
    relmc_archive a = log_of(e);

    (void)relmc_archive_count(&a, DRAW, LAST);
    rmc_archive_put(&a, draw, sizeof *draw);
    rmc_archive_put(&a, draw->stats, sizeof e->stats);
    rmc_archive_put(&a, draw->coordinates, target->dim * sizeof(double));
    if (draw->outputs != draw->coordinates) {
        rmc_archive_put(&a, draw->outputs, target->n_outputs * sizeof(double));
    }
    return log_status(e, &a);
}

relmc_status rmc_team_log_milestone(struct rmc_ensemble *e,
                                    const relmc_milestone *m, int is_end)
{
    relmc_archive a = log_of(e);

    (void)relmc_archive_count(&a, is_end ? ENDED : WARMED_UP, LAST);
    rmc_archive_put(&a, m, sizeof *m);
    if (m->inv_metric) {
        rmc_archive_put(&a, m->inv_metric,
                        e->run->target->dim * sizeof(double));
    }
    return log_status(e, &a);
}

/* The log ends with the counters of the chains. */
static relmc_status finish_log(struct rmc_ensemble *e)
{
    relmc_archive a = log_of(e);

    (void)relmc_archive_count(&a, LAST, LAST);
    for (size_t k = 0; k < e->sys.shape.lanes; k++) {
        rmc_archive_counters(e, k, &a);
    }
    return !a.why && fflush(e->log) ? no_memory(&e->error) : log_status(e, &a);
}

/* ---- the leader replays it ------------------------------------------------------ */

static relmc_status replay_draw(struct rmc_ensemble *e, relmc_archive *a)
{
    const relmc_target *target = e->run->target;
    relmc_draw draw;

    relmc_archive_bytes(a, &draw, sizeof draw);
    relmc_archive_reals(a, e->stats, RELMC_N_STATS);
    relmc_archive_reals(a, e->row, target->dim);
    if (e->outputs != e->row) {
        relmc_archive_reals(a, e->outputs, target->n_outputs);
    }
    draw.coordinates = e->row;
    draw.outputs = e->outputs;
    draw.stats = e->stats;
    return rmc_run_deliver(e, &draw);
}

static relmc_status replay_milestone(struct rmc_ensemble *e, relmc_archive *a,
                                     int is_end)
{
    const relmc_run *run = e->run;
    relmc_milestone m;

    relmc_archive_bytes(a, &m, sizeof m);
    if (m.inv_metric) {
        relmc_archive_reals(a, e->row, run->target->dim);
        m.inv_metric = e->row;
    }
    m.chol = e->sys.frame.scale.chol;
    m.engine = rmc_run_engine(e);
    m.kinetic = e->sys.move.kinetic.ops->info.name;
    if (is_end) {
        run->chains[m.chain - run->opts.first_chain].has_ended = 1;
    }
    return rmc_run_announce(e, &m, is_end);
}

/* Replays a log up to an error, as if the chains were advanced here. */
static relmc_status replay_log(struct rmc_ensemble *e, relmc_archive *a)
{
    relmc_status status = RELMC_OK;

    for (;;) {
        const enum event event = (enum event)relmc_archive_count(a, 0, LAST);

        if (a->why || event == LAST || status < 0) {
            break;
        }
        const relmc_status here = event == DRAW
                                      ? replay_draw(e, a)
                                      : replay_milestone(e, a, event == ENDED);

        status = here < 0 || !status ? here : status;
    }
    for (size_t k = 0; k < e->sys.shape.lanes && status >= 0; k++) {
        rmc_archive_counters(e, k, a);
    }
    return a->why && status >= 0
               ? rmc_fail(&e->error, RELMC_EINVAL, "team: a log: %s", a->why)
               : status;
}

/* Receives member r's answer about ensemble n; the bytes go to an arena. */
static relmc_status take_answer(const relmc_run *run, size_t n,
                                struct answer *answer, relmc_arena *arena,
                                relmc_archive *a, relmc_error *err)
{
    const relmc_team *team = &run->team;
    const uint32_t from = (uint32_t)(n % team->n_members);

    team->take(team->ctx, from, answer, sizeof *answer);
    unsigned char *bytes = relmc_arena_get(arena, (size_t)answer->bytes + 1);
    if (!bytes) {
        return no_memory(err);
    }
    team->take(team->ctx, from, bytes, (size_t)answer->bytes);
    *a = (relmc_archive){.at = bytes, .end = bytes + answer->bytes};
    return RELMC_OK;
}

static relmc_status replay_ensemble(relmc_run *run, size_t n, relmc_error *err)
{
    struct rmc_ensemble *e = &run->ensembles[n];
    relmc_arena arena = {.memory = run->arena.memory};
    struct answer answer;
    relmc_archive a = {0};
    const relmc_status status = take_answer(run, n, &answer, &arena, &a, err);

    if (!status) {
        e->has_started = 1;
        e->has_synced = 0;
        e->status = replay_log(e, &a);
        if (e->status >= 0 && answer.error.status) {
            e->status = answer.error.status;
            e->error = answer.error;
        }
        if (e->status) {
            relmc_run_stop(run);
        }
    }
    rmc_arena_release(&arena);
    return status;
}

/* ---- the leader ---------------------------------------------------------------- */

relmc_status rmc_team_call(relmc_run *run, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    if (!is_leader(run)) {
        return RELMC_OK;
    }
    if (!run->is_spread && (status = rmc_team_scatter(run, err))) {
        return status;
    }
    send_order(run, ADVANCE, 0);
    return RELMC_OK;
}

relmc_status rmc_team_replay(relmc_run *run, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t n = 0; is_leader(run) && n < run->n_ensembles && !status; n++) {
        status = rmc_is_mine(run, n) ? RELMC_OK : replay_ensemble(run, n, err);
    }
    return status;
}

static relmc_status gather_ensemble(relmc_run *run, size_t n, relmc_error *err)
{
    struct rmc_ensemble *e = &run->ensembles[n];
    relmc_arena arena = {.memory = run->arena.memory};
    struct answer answer;
    relmc_archive a = {0};
    relmc_status status = take_answer(run, n, &answer, &arena, &a, err);

    if (!status && answer.error.status) {
        status = rmc_fail(err, answer.error.status, "%s", answer.error.message);
    }
    for (size_t k = 0; k < e->sys.shape.lanes && !status; k++) {
        rmc_archive_chain(e, k, &a);
    }
    if (!status && a.why) {
        status = rmc_fail(err, RELMC_EINVAL, "team: the state of a chain: %s",
                          a.why);
    }
    rmc_arena_release(&arena);
    return status;
}

relmc_status rmc_team_gather(relmc_run *run, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    if (!is_leader(run) || !run->is_spread) {
        return RELMC_OK;
    }
    send_order(run, GATHER, 0);
    for (size_t n = 0; n < run->n_ensembles && !status; n++) {
        status = rmc_is_mine(run, n) ? RELMC_OK : gather_ensemble(run, n, err);
    }
    return status;
}

static void visit_all(relmc_run *run, relmc_archive *a)
{
    rmc_archive_common(run, a);
    for (size_t n = 0; n < run->n_ensembles; n++) {
        struct rmc_ensemble *e = &run->ensembles[n];

        for (size_t k = 0; k < e->sys.shape.lanes; k++) {
            rmc_archive_chain(e, k, a);
        }
    }
}

relmc_status rmc_team_scatter(relmc_run *run, relmc_error *err)
{
    char *bytes = NULL;
    size_t n = 0;

    if (!is_leader(run)) {
        return RELMC_OK;
    }
    relmc_archive a = {.out = open_memstream(&bytes, &n)};
    if (!a.out) {
        return no_memory(err);
    }
    visit_all(run, &a);
    if (fclose(a.out) || a.why) {
        free(bytes);
        return no_memory(err);
    }
    send_order(run, SCATTER, n);
    run->team.tell(run->team.ctx, bytes, n);
    free(bytes);
    run->is_spread = 1;
    return RELMC_OK;
}

void relmc_run_release(relmc_run *run)
{
    if (is_leader(run)) {
        send_order(run, RELEASE, 0);
        run->team.n_members = 1;
    }
}

/* ---- the workers ----------------------------------------------------------------- */

static void give(const relmc_run *run, relmc_status status,
                 const relmc_error *error, const char *bytes, size_t n)
{
    struct answer answer = {.error = *error, .bytes = n};

    answer.error.status = status;
    run->team.give(run->team.ctx, &answer, sizeof answer);
    run->team.give(run->team.ctx, bytes, n);
}

/* A log is reused in every turn; its memory only grows. */
static void give_log(const relmc_run *run, struct rmc_ensemble *e)
{
    const relmc_status failed = finish_log(e);
    const size_t n = !failed && e->log ? e->log_bytes : 0;

    e->status = e->status < 0 ? e->status : failed ? failed : e->status;
    give(run, e->status, &e->error, e->log_text, n);
    if (e->log) {
        rewind(e->log);
    }
}

static void serve_advance(relmc_run *run)
{
    rmc_share_work(run->opts.threads, run->n_ensembles, rmc_run_turn, run);
    for (size_t n = 0; n < run->n_ensembles; n++) {
        if (rmc_is_mine(run, n)) {
            give_log(run, &run->ensembles[n]);
        }
    }
}

static void give_chains(const relmc_run *run, struct rmc_ensemble *e)
{
    relmc_error error = {0};
    char *bytes = NULL;
    size_t n = 0;
    relmc_archive a = {.out = open_memstream(&bytes, &n)};

    for (size_t k = 0; a.out && k < e->sys.shape.lanes; k++) {
        rmc_archive_chain(e, k, &a);
    }
    if (!a.out || fclose(a.out) || a.why) {
        (void)no_memory(&error);
        n = 0;
    }
    give(run, error.status, &error, bytes, n);
    free(bytes);
}

static void serve_gather(relmc_run *run)
{
    for (size_t n = 0; n < run->n_ensembles; n++) {
        if (rmc_is_mine(run, n)) {
            give_chains(run, &run->ensembles[n]);
        }
    }
}

static relmc_status serve_scatter(relmc_run *run, uint64_t bytes,
                                  relmc_error *err)
{
    relmc_arena arena = {.memory = run->arena.memory};
    unsigned char *all = relmc_arena_get(&arena, (size_t)bytes + 1);

    if (!all) {
        return no_memory(err);
    }
    run->team.tell(run->team.ctx, all, (size_t)bytes);
    relmc_archive a = {.at = all, .end = all + bytes};
    visit_all(run, &a);
    rmc_arena_release(&arena);
    return a.why ? rmc_fail(err, RELMC_EINVAL, "team: the state of the run: %s",
                            a.why)
                 : RELMC_OK;
}

relmc_status relmc_run_serve(relmc_run *run, relmc_error *err)
{
    relmc_status status = RELMC_OK;
    struct message message;

    if (run->team.rank == 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "team: member 0 is the leader, not a worker");
    }
    do {
        run->team.tell(run->team.ctx, &message, sizeof message);
        run->position = message.position;
        if (message.order == ADVANCE) {
            serve_advance(run);
        } else if (message.order == GATHER) {
            serve_gather(run);
        } else if (message.order == SCATTER) {
            status = serve_scatter(run, message.bytes, err);
        }
    } while (message.order != RELEASE && !status);
    run->is_finished = 1;
    return status;
}

void rmc_team_close(relmc_run *run)
{
    for (size_t n = 0; run->ensembles && n < run->n_ensembles; n++) {
        struct rmc_ensemble *e = &run->ensembles[n];

        if (e->log) {
            (void)fclose(e->log);
        }
        free(e->log_text);
    }
}
