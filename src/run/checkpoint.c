/*
 * checkpoint.c - a run in a file, and the way back.
 *
 * The file: a head (magic, order of bytes, format, length, checksum), the note of
 * the caller, the manifest, what all chains have in common, every chain, every
 * sink.  Chains are kept one by one, so that a run with other lanes and threads
 * can go on.  Numbers are as they are in memory; a machine with another order of
 * bytes refuses the file.
 *
 * It is written under another name, reaches the disk, and only then takes the
 * place of the one before, which stays as PATH.1: whenever the machine fails,
 * there is a complete one.
 */
#include "run/run.h"

#include "base/archive.h"
#include "relmc_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GET(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define SET(counter, value) \
    atomic_store_explicit(&(counter), value, memory_order_relaxed)

/* ---- the head ------------------------------------------------------------- */

enum { HEAD = RELMC_CHECKPOINT_HEAD };

/* The checksum, the last 8 bytes, is that of the content and then of the rest of
 * the head. */
static void make_head(unsigned char head[HEAD], const relmc_archive *a)
{
    const uint32_t order = RELMC_CHECKPOINT_ORDER,
                   format = RELMC_CHECKPOINT_VERSION;
    const uint64_t length = a->bytes + HEAD;

    memcpy(head, RELMC_CHECKPOINT_MAGIC, 8);
    memcpy(head + RELMC_CHECKPOINT_AT_ORDER, &order, 4);
    memcpy(head + RELMC_CHECKPOINT_AT_VERSION, &format, 4);
    memcpy(head + RELMC_CHECKPOINT_AT_LENGTH, &length, 8);
    struct rmc_hash all = a->hash;
    rmc_hash_add(&all, head, HEAD - 8);
    const uint64_t hash = rmc_hash_end(&all);
    memcpy(head + RELMC_CHECKPOINT_AT_HASH, &hash, 8);
}

static relmc_status damaged(const char *path, const char *how, relmc_error *err)
{
    return rmc_fail(err, RELMC_EIO, "%s is damaged: %s", path, how);
}

static relmc_status check_head(const unsigned char *file, size_t bytes,
                               const char *path, relmc_error *err)
{
    struct rmc_hash all = {0};
    uint32_t order, format;
    uint64_t length, hash;

    if (bytes < HEAD || memcmp(file, RELMC_CHECKPOINT_MAGIC, 8) != 0) {
        return rmc_fail(err, RELMC_EIO, "%s is not a checkpoint of relmc",
                        path);
    }
    memcpy(&order, file + RELMC_CHECKPOINT_AT_ORDER, 4);
    memcpy(&format, file + RELMC_CHECKPOINT_AT_VERSION, 4);
    memcpy(&length, file + RELMC_CHECKPOINT_AT_LENGTH, 8);
    memcpy(&hash, file + RELMC_CHECKPOINT_AT_HASH, 8);
    if (length != bytes) {
        return damaged(path, "its length is not what it should be", err);
    }
    rmc_hash_add(&all, file + HEAD, bytes - HEAD);
    rmc_hash_add(&all, file, HEAD - 8);
    if (rmc_hash_end(&all) != hash) {
        return damaged(path, "its checksum does not match", err);
    }
    if (order != RELMC_CHECKPOINT_ORDER) {
        return rmc_fail(err, RELMC_EIO,
                        "%s comes from a machine with another order of bytes",
                        path);
    }
    return format == RELMC_CHECKPOINT_VERSION
               ? RELMC_OK
               : rmc_fail(err, RELMC_EIO,
                          "%s has format %u of checkpoints; this is for %d",
                          path, format, RELMC_CHECKPOINT_VERSION);
}

/* ---- what moves ----------------------------------------------------------- */

static int64_t visit_signed(relmc_archive *a, int64_t n)
{
    return (int64_t)relmc_archive_count(a, (uint64_t)n, INT64_MAX);
}

static double visit_real(relmc_archive *a, double x)
{
    relmc_archive_reals(a, &x, 1);
    return x;
}

/* Arrays that were given: not their values, but whether they are the same. */
static void visit_given(const relmc_run *run, relmc_archive *a)
{
    const relmc_options *o = &run->opts;
    const size_t dim = run->target->dim;
    const struct {
        const double *values;
        size_t n;
        const char *why;
    } given[] = {
        {o->inv_metric, dim, "the inverse metric was another one"},
        {o->inv_metric_dense, dim * dim, "the inverse metric was another one"},
        {o->center, dim, "the centre of the control variates was another one"},
    };

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct rmc_hash hash = {0};

        if (given[i].values) {
            rmc_hash_add(&hash, given[i].values, given[i].n * sizeof(double));
        }
        const uint64_t here = rmc_hash_end(&hash);

        if (relmc_archive_count(a, here, UINT64_MAX) != here) {
            relmc_archive_fail(a, given[i].why);
        }
    }
}

/* The kinetic energy in use is one of two. */
static void visit_tuning(relmc_run *run, relmc_archive *a)
{
    const relmc_system *first = &run->ensembles[0].sys;
    const uint64_t is_newtonian =
        relmc_archive_count(a, first->kinetic.self == first->newtonian.self, 1);
    const uint64_t engine =
        relmc_archive_count(a, (uint64_t)first->engine, RELMC_N_ENGINES - 1);
    const double time = visit_real(a, first->time);
    const uint64_t depth =
        relmc_archive_count(a, (uint64_t)first->max_depth, INT32_MAX);
    const uint64_t epoch = relmc_archive_count(a, first->epoch, UINT32_MAX);

    for (size_t n = 0; n < run->n_ensembles; n++) {
        relmc_system *sys = &run->ensembles[n].sys;

        sys->kinetic = is_newtonian ? sys->newtonian : sys->wanted;
        sys->engine = (int)engine;
        sys->time = time;
        sys->max_depth = (int32_t)depth;
        sys->epoch = (uint32_t)epoch;
    }
}

void rmc_archive_common(relmc_run *run, relmc_archive *a)
{
    const relmc_meeting m = rmc_meeting_of(run);
    const struct rmc_ensemble *first = &run->ensembles[0];

    visit_given(run, a);
    run->position = visit_signed(a, run->position);
    const int has_started =
        (int)relmc_archive_count(a, (uint64_t)first->has_started, 1);
    const int has_met =
        (int)relmc_archive_count(a, (uint64_t)first->has_met, 1);
    for (size_t n = 0; n < run->n_ensembles; n++) {
        run->ensembles[n].has_started = has_started;
        run->ensembles[n].has_met = has_met;
    }
    visit_tuning(run, a);
    if (run->adapt->archive_common) {
        run->adapt->archive_common(&m, a);
    }
}

/* The counters, and the time its ensemble has worked. */
void rmc_archive_counters(struct rmc_ensemble *e, size_t k, relmc_archive *a)
{
    struct rmc_chain *c = &e->chains[k];

    SET(c->done, visit_signed(a, GET(c->done)));
    SET(c->n_grad, visit_signed(a, GET(c->n_grad)));
    SET(c->n_grad_sampling, visit_signed(a, GET(c->n_grad_sampling)));
    SET(c->n_divergent, visit_signed(a, GET(c->n_divergent)));
    SET(c->n_clamped, visit_signed(a, GET(c->n_clamped)));
    SET(c->sum_accept, visit_real(a, GET(c->sum_accept)));
    SET(c->sum_speed, visit_real(a, GET(c->sum_speed)));
    SET(c->step_size, visit_real(a, GET(c->step_size)));
    SET(c->seconds_warmup, visit_real(a, GET(c->seconds_warmup)));
    const double seconds = visit_real(a, e->seconds);
    e->seconds = k == 0 ? seconds : e->seconds;
    e->sys.warming[k] = GET(c->done) < e->run->opts.warmup;
}

/* What the last transition said: a sampler need not say everything again. */
static void visit_transition(relmc_transition *t, size_t k, relmc_archive *a)
{
    int32_t *const counts[] = {t->n_steps, t->n_grad, t->depth, t->divergent,
                               t->n_clamped};

    t->accept_prob[k] = visit_real(a, t->accept_prob[k]);
    t->energy[k] = visit_real(a, t->energy[k]);
    t->speed[k] = visit_real(a, t->speed[k]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        relmc_archive_bytes(a, &counts[i][k], sizeof *counts[i]);
    }
}

/* Shared minibatches belong to all lanes: if these come from ensembles that were
 * stopped at different places, there is no telling which. */
static void visit_batch(relmc_system *sys, size_t k, relmc_archive *a)
{
    relmc_batch *b = &sys->batch;
    const size_t owner = b->is_shared ? 0 : k;
    const uint64_t word = b->shared.word;

    if (!b->n_rows) {
        return;
    }
    b->shared.word = relmc_archive_count(a, word, UINT64_MAX);
    if (relmc_archive_is_reading(a) && b->is_shared && k > 0 &&
        b->shared.word != word) {
        relmc_archive_fail(a, "its chains are at different minibatches: give "
                              "them one lane each, or as many as before");
    }
    const uint64_t most = b->has_replacement ? 0 : sys->n_data;
    b->at[owner] = (size_t)relmc_archive_count(a, b->at[owner], most);
    uint32_t *order = b->order + owner * b->stride;
    relmc_archive_bytes(a, order, b->stride * sizeof *order);
    for (size_t i = 0; relmc_archive_is_reading(a) && i < b->stride; i++) {
        if (order[i] >= sys->n_data) {
            relmc_archive_fail(a, "a row of data in it does not exist");
            order[i] = 0;
        }
    }
}

void rmc_archive_chain(struct rmc_ensemble *e, size_t k, relmc_archive *a)
{
    const relmc_run *run = e->run;
    const relmc_shape *s = &e->sys.shape;

    rmc_archive_counters(e, k, a);
    relmc_archive_lane(a, s, k, e->z.x);
    relmc_archive_lane(a, s, k, e->z.p);
    relmc_archive_lane(a, s, k, e->z.g);
    e->z.lp[k] = visit_real(a, e->z.lp[k]);
    e->sys.eps[k] = visit_real(a, e->sys.eps[k]);
    for (size_t i = 0; i < RELMC_N_PURPOSES; i++) {
        uint64_t *word = &e->sys.streams[i][k].word;
        *word = relmc_archive_count(a, *word, UINT64_MAX);
    }
    visit_transition(&e->out, k, a);
    visit_batch(&e->sys, k, a);
    if (e->sys.model->chain_archive) {
        e->sys.model->chain_archive(e->sys.model_self, e->sys.model_chain[k],
                                    a);
    }
    if (run->sampler->archive) {
        run->sampler->archive(e->sampler, &e->sys, k, a);
    }
    if (run->adapt->archive) {
        run->adapt->archive(e->adapt, &e->sys, k, a);
    }
}

static void visit_chains(relmc_run *run, relmc_archive *a)
{
    for (size_t n = 0; n < run->n_ensembles; n++) {
        struct rmc_ensemble *e = &run->ensembles[n];

        for (size_t k = 0; k < e->sys.shape.lanes; k++) {
            rmc_archive_chain(e, k, a);
        }
    }
}

static void visit_text(relmc_archive *a, const void *text, size_t bytes)
{
    (void)relmc_archive_count(a, bytes, UINT64_MAX);
    rmc_archive_put(a, text, bytes);
}

/* ---- is it the same target? ------------------------------------------------ */

static int has_exact_states(const relmc_run *run)
{
    return (run->sampler->flags & RELMC_NEEDS_EXACT) != 0;
}

static size_t n_differing(size_t n, const double *a, const double *b)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        found += a[i] != b[i] && !(a[i] != a[i] && b[i] != b[i]);
    }
    return found;
}

static relmc_status other_target(size_t chain, relmc_error *err)
{
    return rmc_fail(err, RELMC_EINVAL,
                    "checkpoint: the log density or its gradient is not what "
                    "it was where chain %zu is: the model or its data are "
                    "others",
                    chain + 1);
}

/* All chains, where they are. */
static relmc_status check_states(relmc_run *run, double *lp, relmc_error *err)
{
    for (size_t n = 0; n < run->n_ensembles; n++) {
        struct rmc_ensemble *e = &run->ensembles[n];
        const relmc_shape *s = &e->sys.shape;

        memset(e->sys.busy, 1, s->lanes);
        const relmc_status status = relmc_eval(&e->sys, e->z.x, lp, e->sys.v);
        memset(e->sys.busy, 0, s->lanes);
        if (status) {
            return rmc_fail(err, status, "%s", e->sys.error.message);
        }
        for (size_t k = 0; k < s->lanes; k++) {
            size_t bad = n_differing(1, &lp[k], &e->z.lp[k]);

            for (size_t i = k; i < s->dim * s->ld; i += s->ld) {
                bad += n_differing(1, &e->sys.v[i], &e->z.g[i]);
            }
            if (bad) {
                return other_target(run->opts.first_chain + e->first + k, err);
            }
        }
    }
    return RELMC_OK;
}

/* Where states are those of minibatches: all the data, at the first chain.  2 dim
 * + 2 numbers at `work`. */
static relmc_status visit_witness(relmc_run *run, relmc_archive *a,
                                  double *work, relmc_error *err)
{
    const struct rmc_ensemble *e = &run->ensembles[0];
    const size_t dim = run->target->dim;
    double *then = work + dim + 1;
    relmc_status status;

    for (size_t i = 0; i < dim; i++) {
        e->row[i] = e->z.x[i * e->sys.shape.ld];
    }
    status = relmc_target_eval(run->target, e->row, work + dim, work, err);
    if (status < 0) {
        return status;
    }
    memcpy(then, work, (dim + 1) * sizeof *then);
    relmc_archive_reals(a, then, dim + 1);
    return !a->why && n_differing(dim + 1, work, then)
               ? other_target(run->opts.first_chain, err)
               : RELMC_OK;
}

/* ---- the manifest: key by key ----------------------------------------------- */

struct span {
    const char *at;
    size_t n;
};

/* A JSON string or number at *at, of a text that this library has written. */
static struct span take_value(const char **at)
{
    const char *from = *at, *s = from;

    if (*s == '"') {
        for (s++; *s && *s != '"'; s++) {
            s += *s == '\\' && s[1];
        }
        s += *s == '"';
    } else {
        s += strcspn(s, ",}");
    }
    *at = s;
    return (struct span){from, (size_t)(s - from)};
}

/* "key": value, and on to the next; the key is empty at the end. */
static struct span take_pair(const char **at, struct span *value)
{
    *at += strspn(*at, "{}, ");
    const struct span key = take_value(at);

    *at += strspn(*at, ": ");
    *value = take_value(at);
    return key;
}

static int is_same(struct span a, struct span b)
{
    return a.n == b.n && !memcmp(a.at, b.at, a.n);
}

/* More draws, or fewer, are the same run. */
static relmc_status compare_manifests(const char *then, const char *now,
                                      relmc_error *err)
{
    static const struct span draws = {"\"draws\"", 7};
    struct span key, value_then, value_now;

    do {
        key = take_pair(&then, &value_then);
        const struct span key_now = take_pair(&now, &value_now);

        if (!is_same(key, key_now)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "checkpoint: it tells of %.*s where this run tells "
                            "of %.*s",
                            (int)key.n, key.at, (int)key_now.n, key_now.at);
        }
        if (!is_same(value_then, value_now) && !is_same(key, draws)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "checkpoint: %.*s was %.*s, and now it is %.*s",
                            (int)key.n, key.at, (int)value_then.n,
                            value_then.at, (int)value_now.n, value_now.at);
        }
    } while (key.n);
    return RELMC_OK;
}

/* ---- sinks ------------------------------------------------------------------ */

static relmc_status write_sinks(relmc_run *run, relmc_archive *a,
                                relmc_error *err)
{
    relmc_status status = RELMC_OK;
    uint64_t n = 0;

    for (size_t w = 0; w < run->n_watchers; w++) {
        n += run->watchers[w].sink != NULL;
    }
    (void)relmc_archive_count(a, n, UINT64_MAX);
    for (size_t w = 0; w < run->n_watchers && !status; w++) {
        const struct rmc_watcher *watcher = &run->watchers[w];

        if (watcher->sink) {
            const char *name = watcher->sink->info.name;

            visit_text(a, name, strlen(name));
            if (watcher->sink->archive) {
                status = watcher->sink->archive(watcher->self, a, err);
            }
        }
    }
    return status;
}

/* Text of an archive that is read, borrowed from it. */
static struct span read_text(relmc_archive *a)
{
    const size_t n = (size_t)relmc_archive_count(a, 0, SIZE_MAX);
    const struct span text = {(const char *)a->at, n};

    if (n > (size_t)(a->end - a->at)) {
        relmc_archive_fail(a, "it ends too early");
        return (struct span){"", 0};
    }
    a->at += n;
    return text;
}

relmc_status rmc_checkpoint_expect(relmc_run *run, const relmc_sink_ops *ops,
                                   relmc_error *err)
{
    relmc_archive ahead = *run->loaded.archive;
    const struct span mine = {ops->info.name, strlen(ops->info.name)};
    const struct span name =
        run->loaded.n_sinks ? read_text(&ahead) : (struct span){"", 0};

    if (is_same(name, mine)) {
        return RELMC_OK;
    }
    run->has_failed = 1;
    return rmc_fail(
        err, RELMC_EINVAL, "checkpoint: the next sink was %.*s, not %s",
        name.n ? (int)name.n : 4, name.n ? name.at : "none", mine.at);
}

relmc_status rmc_checkpoint_sink(relmc_run *run, const relmc_sink_ops *ops,
                                 void *self, relmc_error *err)
{
    relmc_archive *a = run->loaded.archive;
    relmc_status status = RELMC_OK;

    (void)read_text(a); /* its name */
    if (ops->archive) {
        status = ops->archive(self, a, err);
    }
    if (!status && a->why) {
        status = rmc_fail(err, RELMC_EINVAL, "checkpoint: sink %s: %s",
                          ops->info.name, a->why);
    }
    run->loaded.n_sinks--;
    run->has_failed |= status != RELMC_OK;
    return status;
}

void rmc_checkpoint_close(relmc_run *run)
{
    run->loaded.archive = NULL;
    rmc_arena_release(&run->loaded.arena);
}

/* ---- writing ---------------------------------------------------------------- */

struct paths {
    const char *path;
    char *fresh, *old;
};

static char *join(relmc_arena *arena, const char *path, const char *tail)
{
    const size_t bytes = strlen(path) + strlen(tail) + 1;
    rmc_text text = {relmc_arena_get(arena, bytes), bytes, 0};

    if (text.out) {
        rmc_text_add(&text, "%s%s", path, tail);
    }
    return text.out;
}

static relmc_status cannot_write(const char *path, relmc_error *err)
{
    return rmc_fail(err, RELMC_EIO, "cannot write %s: %s", path,
                    strerror(errno ? errno : EIO));
}

static relmc_status write_content(relmc_run *run, relmc_archive *a,
                                  const void *note, size_t note_bytes,
                                  double *work, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    visit_text(a, note, note_bytes);
    visit_text(a, run->manifest, strlen(run->manifest) + 1);
    rmc_archive_common(run, a);
    visit_chains(run, a);
    if (!has_exact_states(run)) {
        status = visit_witness(run, a, work, err);
    }
    return status ? status : write_sinks(run, a, err);
}

/* Everything, and then the head that vouches for it. */
static relmc_status write_file(relmc_run *run, FILE *out, const char *path,
                               const void *note, size_t note_bytes,
                               double *work, relmc_error *err)
{
    relmc_archive a = {.out = out};
    unsigned char head[HEAD] = {0};

    errno = 0;
    if (fwrite(head, 1, HEAD, out) != HEAD) {
        return cannot_write(path, err);
    }
    const relmc_status status =
        write_content(run, &a, note, note_bytes, work, err);
    if (status) {
        return status;
    }
    make_head(head, &a);
    if (a.why) {
        errno = a.error;
        return cannot_write(path, err);
    }
    if (fseek(out, 0, SEEK_SET) || fwrite(head, 1, HEAD, out) != HEAD ||
        fflush(out) || fsync(fileno(out))) {
        return cannot_write(path, err);
    }
    return RELMC_OK;
}

/* The present one becomes the old one and stays where it is, too, until the fresh
 * one takes its place; where files cannot have two names it moves. */
static relmc_status put_in_place(const struct paths *p, relmc_error *err)
{
    if (!access(p->path, F_OK)) {
        (void)remove(p->old);
        if (link(p->path, p->old)) {
            (void)rename(p->path, p->old);
        }
    }
    if (rename(p->fresh, p->path)) {
        return cannot_write(p->path, err);
    }
    rmc_sync_folder(p->fresh);
    return RELMC_OK;
}

static relmc_status save(relmc_run *run, const struct paths *p,
                         const void *note, size_t note_bytes, double *work,
                         relmc_error *err)
{
    FILE *out = fopen(p->fresh, "wb");

    if (!out) {
        return cannot_write(p->fresh, err);
    }
    relmc_status status =
        write_file(run, out, p->fresh, note, note_bytes, work, err);
    if (fclose(out) && !status) {
        status = cannot_write(p->fresh, err);
    }
    if (!status) {
        status = put_in_place(p, err);
    }
    if (status) {
        (void)remove(p->fresh);
    }
    return status;
}

relmc_status relmc_run_save(relmc_run *run, const char *path, const void *note,
                            size_t note_bytes, relmc_error *err)
{
    relmc_arena arena = {.allocator = run->arena.allocator};

    if (run->is_finished || run->has_failed) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: it %s and cannot be kept in a checkpoint",
                        run->is_finished ? "is finished" : "has failed");
    }
    const struct paths p = {
        .path = path,
        .fresh = join(&arena, path, ".tmp"),
        .old = join(&arena, path, ".1"),
    };
    double *work =
        relmc_arena_get(&arena, (2 * run->target->dim + 2) * sizeof *work);
    relmc_status status = rmc_team_gather(run, err);
    if (status) {
        rmc_arena_release(&arena);
        return status;
    }
    status = p.fresh && p.old && work
                 ? save(run, &p, note, note_bytes, work, err)
                 : rmc_fail(err, RELMC_ENOMEM, "out of memory");
    rmc_arena_release(&arena);
    return status;
}

/* ---- reading ---------------------------------------------------------------- */

static relmc_status cannot_read(const char *path, relmc_error *err)
{
    return rmc_fail(err, RELMC_EIO, "cannot read %s: %s", path,
                    strerror(errno ? errno : EIO));
}

/* The whole file, checked; the archive is at its content. */
static relmc_status read_stream(relmc_archive *a, relmc_arena *arena, FILE *in,
                                const char *path, relmc_error *err)
{
    errno = 0;
    const long size = fseek(in, 0, SEEK_END) ? -1 : ftell(in);
    if (size < 0 || fseek(in, 0, SEEK_SET)) {
        return cannot_read(path, err);
    }
    const size_t bytes = (size_t)size;
    unsigned char *file = relmc_arena_get(arena, bytes + 1);
    relmc_status status = relmc_arena_check(arena, err);
    if (status) {
        return status;
    }
    if (fread(file, 1, bytes, in) != bytes) {
        return cannot_read(path, err);
    }
    if ((status = check_head(file, bytes, path, err))) {
        return status;
    }
    *a = (relmc_archive){.at = file + HEAD, .end = file + bytes};
    return RELMC_OK;
}

static relmc_status read_file(relmc_archive *a, relmc_arena *arena,
                              const char *path, relmc_error *err)
{
    FILE *in = fopen(path, "rb");

    if (!in) {
        return cannot_read(path, err);
    }
    const relmc_status status = read_stream(a, arena, in, path, err);
    (void)fclose(in);
    return status;
}

relmc_status relmc_checkpoint_note(const char *path, void *note, size_t room,
                                   size_t *note_bytes, relmc_error *err)
{
    relmc_arena arena = {0};
    relmc_archive a = {0};
    relmc_status status = read_file(&a, &arena, path, err);

    if (!status) {
        const struct span text = read_text(&a);

        if (a.why) {
            status = damaged(path, a.why, err);
        } else if (room) {
            memcpy(note, text.at, text.n < room ? text.n : room);
        }
        *note_bytes = text.n;
    }
    rmc_arena_release(&arena);
    return status;
}

static relmc_status check_length(const relmc_run *run, relmc_error *err)
{
    const int64_t total = run->opts.warmup + run->opts.draws;

    for (size_t k = 0; k < run->opts.chains; k++) {
        const int64_t done = GET(run->chains[k].done);

        if (done > total || done < run->position) {
            return rmc_fail(err, RELMC_EINVAL,
                            "checkpoint: chain %zu has made %lld iterations "
                            "already, which is more than the %lld of this run",
                            run->opts.first_chain + k + 1, (long long)done,
                            (long long)total);
        }
    }
    return RELMC_OK;
}

static relmc_status read_content(relmc_run *run, relmc_archive *a,
                                 const char *path, double *work,
                                 relmc_error *err)
{
    relmc_status status = RELMC_OK;

    (void)read_text(a);
    const struct span manifest = read_text(a);
    if (a->why || !manifest.n || manifest.at[manifest.n - 1]) {
        return damaged(path, "it has no manifest", err);
    }
    if ((status = compare_manifests(manifest.at, run->manifest, err))) {
        return status;
    }
    rmc_archive_common(run, a);
    visit_chains(run, a);
    if (!has_exact_states(run)) {
        status = visit_witness(run, a, work, err);
    }
    run->loaded.n_sinks = relmc_archive_count(a, 0, RMC_MAX_WATCHERS);
    if (!status && a->why) {
        status = rmc_fail(err, RELMC_EINVAL, "%s: %s", path, a->why);
    }
    if (!status) {
        status = check_length(run, err);
    }
    return !status && has_exact_states(run) ? check_states(run, work, err)
                                            : status;
}

static relmc_status load(relmc_run *run, const char *path, relmc_error *err)
{
    relmc_arena *arena = &run->loaded.arena;
    const size_t dim = run->target->dim, ld = run->ensembles[0].sys.shape.ld;
    const size_t n = 2 * dim + 2 > ld ? 2 * dim + 2 : ld;

    arena->allocator = run->arena.allocator;
    relmc_archive *a = relmc_arena_get(arena, sizeof *a);
    double *work = relmc_arena_get(arena, n * sizeof *work);
    relmc_status status = relmc_arena_check(arena, err);
    if (!status) {
        status = read_file(a, arena, path, err);
    }
    if (!status) {
        status = read_content(run, a, path, work, err);
    }
    run->loaded.archive = a;
    return status;
}

relmc_status relmc_run_load(relmc_run *run, const char *path, relmc_error *err)
{
    if (run->has_advanced || run->has_failed || run->is_finished ||
        run->n_watchers || run->loaded.archive) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: load a checkpoint right after relmc_run_create, "
                        "before observers, sinks and draws");
    }
    const relmc_status status = load(run, path, err);

    if (status) {
        run->has_failed = 1;
        rmc_checkpoint_close(run);
    }
    return status;
}
