/*
 * shards.c - the rows of the data in a fixed number of shards, which the members
 * of a team share.
 *
 *   [shards]  lp = prior + sum over shards s of (lp_s - prior), and so the gradient,
 *             where lp_s is the model's own on the rows of shard s, and the sum is
 *             taken in a binary tree: that of some shards is the sum of those of
 *             both halves.
 *
 * Neither the shards nor the tree depend on the members, so a log density is the
 * same to the last bit for any number of them.  A member has neighbouring shards.
 * It adds up each subtree whose leaves are all its own and sends these sums, a few in
 * all.  A row of a minibatch belongs to the shard that holds it.
 */
#include "base/team.h"
#include "target/target.h"

#include <string.h>

enum { MOST_SHARDS = 1 << 16, USUAL_LANES = 8 };

struct rmc_shards {
    const relmc_model_ops *inner; /* of the best code path ... */
    const void *inner_self;
    relmc_model_ops ops; /* ... and those that stand in for them */
    size_t n, dim, n_data;
    size_t lanes;         /* at once, at most */
    size_t levels;        /* of the tree: the leaves are one, too */
    size_t inner_scratch; /* bytes */
    relmc_team team;      /* of one or more */
};

/* ---- a sum: gradient, lp and status of some lanes, one block of numbers -------- */

/* What is asked for: lanes at x, on some rows or all of them. */
struct question {
    const struct rmc_shards *of;
    relmc_shape shape;
    relmc_rows rows; /* its scratch is the model's */
    const double *x;
    relmc_error *err;
    double *prior;  /* block */
    uint32_t *pick; /* room for rows of a shard */
};

static size_t block_size(const relmc_shape *s)
{
    return (s->dim + 1) * s->ld + 1;
}

static double *lp_of(const relmc_shape *s, double *block)
{
    return block + s->dim * s->ld;
}

static double *code_of(const relmc_shape *s, double *block)
{
    return block + block_size(s) - 1;
}

/* A failure is worse than a place without density. */
static double worse(double a, double b)
{
    return a < 0.0 || b < 0.0 ? fmin(a, b) : fmax(a, b);
}

static void add(const relmc_shape *s, double *restrict to,
                const double *restrict from)
{
    const size_t n = block_size(s) - 1;

    for (size_t j = 0; j < n; j++) {
        to[j] += from[j];
    }
    to[n] = worse(to[n], from[n]);
}

static void evaluate(const struct question *q, const relmc_rows *rows,
                     double *out)
{
    const struct rmc_shards *of = q->of;
    const relmc_shape *s = &q->shape;

    *code_of(s, out) = (double)of->inner->rows(of->inner_self, s, q->x, rows,
                                               lp_of(s, out), out, q->err);
}

/* On no rows. */
static void find_prior(const struct question *q)
{
    const relmc_rows none = {q->pick, 0, q->rows.scale, q->rows.scratch};

    evaluate(q, &none, q->prior);
}

/* ---- shards -------------------------------------------------------------------- */

static size_t first_row(const struct rmc_shards *of, size_t shard)
{
    return of->n_data * shard / of->n;
}

/* The rows of a shard among those that are asked for, in their order. */
static relmc_rows rows_of(const struct question *q, size_t shard)
{
    const size_t from = first_row(q->of, shard);
    const size_t to = first_row(q->of, shard + 1);
    relmc_rows rows = q->rows;

    rows.row = q->pick;
    rows.n = 0;
    if (!q->rows.row) {
        for (size_t r = from; r < to; r++) {
            q->pick[rows.n++] = (uint32_t)r;
        }
        return rows;
    }
    for (size_t j = 0; j < q->rows.n; j++) {
        if (q->rows.row[j] >= from && q->rows.row[j] < to) {
            q->pick[rows.n++] = q->rows.row[j];
        }
    }
    return rows;
}

static void sum_shard(const struct question *q, size_t shard, double *out)
{
    const relmc_rows rows = rows_of(q, shard);
    const size_t n = block_size(&q->shape) - 1;

    if (rows.n == 0) {
        memset(out, 0, (n + 1) * sizeof *out);
        return;
    }
    evaluate(q, &rows, out);
    for (size_t j = 0; j < n; j++) {
        out[j] -= q->prior[j];
    }
}

/* The sums that are complete stand one after the other, those of more shards
 * first.  Number `index` of its level is the last of them: it joins the one before
 * if that is its sibling, and so on.  Returns where the next one goes. */
static double *join(const struct question *q, size_t index, double *end)
{
    const size_t size = block_size(&q->shape);

    for (; index & 1; index >>= 1) {
        end -= size;
        add(&q->shape, end - size, end);
    }
    return end;
}

/* n shards from `first` on, a subtree; `out` is followed by room for a block per
 * level. */
static void sum_here(const struct question *q, size_t first, size_t n,
                     double *out)
{
    for (size_t i = 0; i < n; i++) {
        sum_shard(q, first + i, out);
        out = join(q, i, out + block_size(&q->shape));
    }
}

/* ---- the team ------------------------------------------------------------------ */

/* Member r has shards n r / P and on. */
static uint32_t owner_of(const struct rmc_shards *of, size_t shard)
{
    const size_t size = of->team.n_members;

    return (uint32_t)(((shard + 1) * size - 1) / of->n);
}

/* The largest subtree that begins with this shard and has one owner. */
static size_t subtree_at(const struct rmc_shards *of, size_t shard)
{
    size_t n = 1;

    while (shard % (2 * n) == 0 && shard + 2 * n <= of->n &&
           owner_of(of, shard) == owner_of(of, shard + 2 * n - 1)) {
        n *= 2;
    }
    return n;
}

/* All shards, with what others have from there. */
static void sum_all(const struct question *q, double *out)
{
    const relmc_team *team = &q->of->team;
    const size_t size = block_size(&q->shape);
    size_t n;

    for (size_t first = 0; first < q->of->n; first += n) {
        const uint32_t owner = owner_of(q->of, first);

        n = subtree_at(q->of, first);
        if (owner == 0) {
            sum_here(q, first, n, out);
        } else {
            team->take(team->ctx, owner, out, size * sizeof *out);
        }
        out = join(q, first / n, out + size);
    }
}

/* Those of this member, for the leader. */
static void give_mine(const struct question *q, double *out)
{
    const relmc_team *team = &q->of->team;
    size_t n;

    for (size_t first = 0; first < q->of->n; first += n) {
        n = subtree_at(q->of, first);
        if (owner_of(q->of, first) == team->rank) {
            sum_here(q, first, n, out);
            team->give(team->ctx, out, block_size(&q->shape) * sizeof *out);
        }
    }
}

/* From the leader; no lanes: that was all. */
struct message {
    uint64_t lanes, ld, n_rows;
    uint64_t has_rows; /* else: all of them */
    double scale;
};

/* ---- room ----------------------------------------------------------------------- */

/* Of one that is aligned to 64 bytes. */
static size_t aligned(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t block_bytes(const struct rmc_shards *of)
{
    return ((of->dim + 1) * of->lanes + 1) * sizeof(double);
}

/* The model's scratch, x of some lanes, prior, sums, rows. */
static size_t room_of(const struct rmc_shards *of)
{
    return aligned(of->inner_scratch) + aligned(of->n_data * sizeof(uint32_t)) +
           (2 + of->levels) * block_bytes(of);
}

static struct question open_question(const struct rmc_shards *of, void *room,
                                     double **x, double **sums)
{
    char *at = room;
    struct question q = {.of = of, .rows = {.scratch = at}};

    at += aligned(of->inner_scratch);
    q.pick = (uint32_t *)(void *)at;
    at += aligned(of->n_data * sizeof(uint32_t));
    *x = (double *)(void *)at;
    q.x = *x;
    at += block_bytes(of);
    q.prior = (double *)(void *)at;
    at += block_bytes(of);
    *sums = (double *)(void *)at;
    return q;
}

/* ---- the model that stands in ----------------------------------------------------- */

static void ask(const struct question *q, double *x)
{
    const relmc_team *team = &q->of->team;
    const relmc_shape *s = &q->shape;
    struct message message = {s->lanes, s->ld, q->rows.n, q->rows.row != NULL,
                              q->rows.scale};

    if (team->n_members < 2) {
        return;
    }
    team->tell(team->ctx, &message, sizeof message);
    team->tell(team->ctx, x, s->dim * s->ld * sizeof *x);
    if (q->rows.row) {
        team->tell(team->ctx, rmc_mutable(q->rows.row),
                   q->rows.n * sizeof *q->rows.row);
    }
}

/* Some lanes, their coordinates next to each other. */
static int on_some(struct question *q, const relmc_shape *all,
                   const double *from, double *x, double *sums, double *grad,
                   double *lp)
{
    const relmc_shape *s = &q->shape;

    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < s->ld; k++) {
            x[i * s->ld + k] = k < s->lanes ? from[i * all->ld + k] : 0.0;
        }
    }
    ask(q, x);
    find_prior(q);
    sum_all(q, sums);
    add(s, sums, q->prior);
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < s->lanes; k++) {
            grad[i * all->ld + k] = sums[i * s->ld + k];
        }
    }
    memcpy(lp, lp_of(s, sums), s->lanes * sizeof *lp);
    return (int)*code_of(s, sums);
}

static int rows(const void *self, const relmc_shape *s, const double *x,
                const relmc_rows *some, double *lp, double *grad,
                relmc_error *err)
{
    const struct rmc_shards *of = self;
    double *at, *sums;
    struct question q = open_question(of, some->scratch, &at, &sums);
    int code = 0;

    q.err = err;
    q.rows.row = some->row;
    q.rows.n = some->n;
    q.rows.scale = some->scale;
    for (size_t k = 0; k < s->lanes && code >= 0; k += of->lanes) {
        const size_t left = s->lanes - k;
        const size_t lanes = left < of->lanes ? left : of->lanes;

        q.shape = (relmc_shape){s->dim, lanes, s->ld == 1 ? 1 : of->lanes};
        const int here = on_some(&q, s, x + k, at, sums, grad + k, lp + k);
        code = (int)worse(code, here);
    }
    return code;
}

static relmc_status predict(const void *self, const double *x,
                            const relmc_data *data, void *scratch, double *out,
                            relmc_error *err)
{
    const struct rmc_shards *of = self;

    return of->inner->predict(of->inner_self, x, data, scratch, out, err);
}

static void start(const void *self, relmc_stream *stream, double *x)
{
    const struct rmc_shards *of = self;

    of->inner->start(of->inner_self, stream, x);
}

static void moments(const void *self, double *mean, double *variance)
{
    const struct rmc_shards *of = self;

    of->inner->moments(of->inner_self, mean, variance);
}

static size_t coordinate_name(const void *self, size_t i, char *out,
                              size_t room)
{
    const struct rmc_shards *of = self;

    return of->inner->coordinate_name(of->inner_self, i, out, room);
}

static void close_inner(void *self)
{
    const struct rmc_shards *of = self;

    of->inner->close(rmc_mutable(of->inner_self));
}

static relmc_model_ops ops_of(const relmc_model_ops *inner)
{
    return (relmc_model_ops){
        .info = inner->info,
        .rows = rows,
        .is_one_by_one = inner->is_one_by_one,
        .predict = inner->predict ? predict : NULL,
        .start = inner->start ? start : NULL,
        .moments = inner->moments ? moments : NULL,
        .coordinate_name = inner->coordinate_name ? coordinate_name : NULL,
        .close = inner->close ? close_inner : NULL,
    };
}

static relmc_status check(const relmc_target *target, size_t n,
                          relmc_error *err)
{
    const relmc_model_ops *ops = target->ops[rmc_isa_best()];

    if (target->shards) {
        return rmc_fail(err, RELMC_EINVAL, "shards: the target has them");
    }
    if (!ops->rows || !target->n_data) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "%.*s has no rows of data that could be shared: models "
                        "on data have them",
                        (int)strcspn(target->name, ":"), target->name);
    }
    if (ops->output) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "shards: a density with outputs of its own cannot have "
                        "them");
    }
    return n >= 1 && n <= MOST_SHARDS && !(n & (n - 1))
               ? RELMC_OK
               : rmc_fail(err, RELMC_EINVAL,
                          "shards: there must be 1, 2, 4, ... or %d, not %zu",
                          MOST_SHARDS, n);
}

relmc_status relmc_target_shard(relmc_target *target, size_t n,
                                const relmc_team *team, relmc_error *err)
{
    relmc_team members;
    relmc_status status = check(target, n, err);

    if (status || (status = rmc_team_read(&members, team, err))) {
        return status;
    }
    struct rmc_shards *of = relmc_arena_get(&target->arena, sizeof *of);
    if ((status = relmc_arena_check(&target->arena, err))) {
        return status;
    }
    const relmc_model_ops *inner = target->ops[rmc_isa_best()];

    *of = (struct rmc_shards){
        .inner = inner,
        .inner_self = target->self,
        .ops = ops_of(inner),
        .n = n,
        .dim = target->dim,
        .n_data = target->n_data,
        .lanes = inner->is_one_by_one ? 1 : USUAL_LANES,
        .levels = 1,
        .inner_scratch = target->scratch,
        .team = members,
    };
    while ((size_t)1 << (of->levels - 1) < n) {
        of->levels++;
    }
    for (int isa = 0; isa <= rmc_isa_best(); isa++) {
        target->ops[isa] = &of->ops;
    }
    target->shards = of;
    target->self = of;
    target->scratch = room_of(of);
    target->is_float = 0;
    return RELMC_OK;
}

/* ---- the others -------------------------------------------------------------------- */

static void answer(const struct rmc_shards *of, const struct message *m,
                   void *room, uint32_t *row)
{
    const relmc_team *team = &of->team;
    double *x, *sums;
    struct question q = open_question(of, room, &x, &sums);
    relmc_error unused = {0}; /* the leader evaluates there, too */

    q.err = &unused;
    q.shape = (relmc_shape){of->dim, (size_t)m->lanes, (size_t)m->ld};
    q.rows.n = (size_t)m->n_rows;
    q.rows.scale = m->scale;
    team->tell(team->ctx, x, of->dim * (size_t)m->ld * sizeof *x);
    if (m->has_rows) {
        team->tell(team->ctx, row, (size_t)m->n_rows * sizeof *row);
        q.rows.row = row;
    }
    find_prior(&q);
    give_mine(&q, sums);
}

relmc_status relmc_target_serve(const relmc_target *target, relmc_error *err)
{
    const struct rmc_shards *of = target->shards;
    relmc_arena arena = {0};
    struct message message;

    if (!of || of->team.rank == 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "team: member 0 leads, the others serve");
    }
    void *room = relmc_arena_get(&arena, room_of(of));
    uint32_t *row = relmc_arena_get(&arena, of->n_data * sizeof *row);
    relmc_status status = relmc_arena_check(&arena, err);

    while (!status) {
        of->team.tell(of->team.ctx, &message, sizeof message);
        if (!message.lanes) {
            break;
        }
        answer(of, &message, room, row);
    }
    rmc_arena_release(&arena);
    return status;
}

void relmc_target_release(const relmc_target *target)
{
    struct rmc_shards *of = target->shards;
    struct message message = {0};

    if (of && of->team.n_members > 1 && of->team.rank == 0) {
        of->team.tell(of->team.ctx, &message, sizeof message);
        of->team.n_members = 1;
    }
}
