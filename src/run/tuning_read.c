/* tuning_read.c - starts a run from the tuning of another: fills in options,
 * starting points and the system of each ensemble.
 */
#include "run/tuning.h"

#include "base/linalg.h"
#include "base/spec.h"
#include "transform/warp.h"

#include <stdlib.h>
#include <string.h>

/* ---- the bytes ----------------------------------------------------------- */

static relmc_status check_head(const unsigned char *from, size_t bytes,
                               relmc_error *err)
{
    static const char *const wrong[] = {
        [RMC_HEAD_FOREIGN] = "it is not a tuning of relmc",
        [RMC_HEAD_LENGTH] = "its length is not what it should be",
        [RMC_HEAD_HASH] = "its checksum does not match",
        [RMC_HEAD_ORDER] =
            "it comes from a machine with another order of bytes",
    };
    uint32_t version = 0;
    const enum rmc_head_verdict verdict =
        rmc_head_check(&rmc_tuning_head, from, bytes, &version);

    return verdict == RMC_HEAD_GOOD ? RELMC_OK
           : verdict == RMC_HEAD_VERSION
               ? rmc_fail(err, RELMC_EINVAL,
                          "tuning: it has format %u; this is for %u", version,
                          rmc_tuning_head.version)
               : rmc_fail(err, RELMC_EINVAL, "tuning: %s", wrong[verdict]);
}

static relmc_status read(struct rmc_tuning *t, relmc_run *run, relmc_error *err)
{
    const unsigned char *from = run->opts.tuning;
    const size_t bytes = run->opts.tuning_bytes, dim = run->target->dim;
    const relmc_status status = check_head(from, bytes, err);
    relmc_archive a = {.at = from + RMC_HEAD_BYTES, .end = from + bytes};

    if (status) {
        return status;
    }
    t->dim = (size_t)relmc_archive_count(&a, 0, SIZE_MAX);
    if (t->dim != dim) {
        return rmc_fail(err, RELMC_EINVAL,
                        "tuning: it is of a target with %zu coordinates; this "
                        "one has %zu",
                        t->dim, dim);
    }
    rmc_tuning_archive(t, &run->arena, &a);
    if (a.why) {
        return rmc_fail(err, RELMC_EINVAL, "tuning: %s", a.why);
    }
    return RELMC_OK;
}

/* ---- options ------------------------------------------------------------- */

static int is_same_name(const char *a, const char *b)
{
    const size_t n = rmc_spec_name_length(a);

    return n == rmc_spec_name_length(b) && !memcmp(a, b, n);
}

relmc_status rmc_tuning_open(relmc_run *run, relmc_error *err)
{
    relmc_options *o = &run->opts;
    struct rmc_tuning *t;
    relmc_status status;

    if (!o->tuning) {
        return RELMC_OK;
    }
    if (o->inv_metric || o->inv_metric_dense) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: give an inverse metric or a tuning, not both");
    }
    void *copy = relmc_arena_get(&run->arena, o->tuning_bytes + 1);
    t = relmc_arena_get(&run->arena, sizeof *t);
    if ((status = relmc_arena_check(&run->arena, err))) {
        return status;
    }
    memcpy(copy, o->tuning, o->tuning_bytes);
    o->tuning = copy;
    run->tuning = t;
    if ((status = read(t, run, err))) {
        return status;
    }
    o->sampler = o->sampler ? o->sampler : t->sampler;
    o->kinetic = o->kinetic ? o->kinetic : t->kinetic;
    o->integrator = o->integrator ? o->integrator : t->integrator;
    o->warmup = o->warmup ? o->warmup : RELMC_ZERO;
    return RELMC_OK;
}

static relmc_status is_other(const char *role, const char *then,
                             const char *now, relmc_error *err)
{
    return rmc_fail(err, RELMC_EINVAL,
                    "tuning: it is for the %s %s, not %s; leave it out of the "
                    "options",
                    role, then, now);
}

relmc_status rmc_tuning_check(const relmc_run *run, relmc_error *err)
{
    const struct rmc_tuning *t = run->tuning;
    const relmc_options *o = &run->opts;

    if (!t) {
        return RELMC_OK;
    }
    return !is_same_name(t->sampler, run->sampler->info.name)
               ? is_other("sampler", t->sampler, o->sampler, err)
           : strcmp(t->kinetic, o->kinetic) != 0
               ? is_other("kinetic energy", t->kinetic, o->kinetic, err)
           : strcmp(t->integrator, o->integrator) != 0
               ? is_other("integrator", t->integrator, o->integrator, err)
               : RELMC_OK;
}

/* ---- another number of chains -------------------------------------------- */

/* The median of n rows, column by column, in the first row; `work` has room for
 * n numbers. */
static void pool_medians(double *rows, size_t n, size_t width, double *work)
{
    for (size_t i = 0; i < width; i++) {
        for (size_t c = 0; c < n; c++) {
            work[c] = rows[c * width + i];
        }
        qsort(work, n, sizeof *work, rmc_ascending);
        rows[i] = 0.5 * (work[n / 2] + work[(n - 1) / 2]);
    }
}

/* Replaces the first factor by that of the mean of all L L'; `work` is a
 * matrix. */
static void pool_matrices(double *chol, size_t n, size_t dim, double *work)
{
    memset(work, 0, dim * dim * sizeof *work);
    for (size_t c = 0; c < n; c++) {
        const double *l = chol + c * dim * dim;

        for (size_t i = 0; i < dim; i++) {
            for (size_t j = 0; j <= i; j++) {
                for (size_t k = 0; k <= j; k++) {
                    work[i * dim + j] +=
                        l[i * dim + k] * l[j * dim + k] / (double)n;
                }
            }
        }
    }
    (void)rmc_cholesky(dim, work, chol); /* the sum is positive definite, too */
}

static void pool(struct rmc_tuning *t, double *work)
{
    if (t->n_eps > 1) {
        pool_medians(t->eps, t->n_eps, 1, work);
        t->n_eps = 1;
    }
    if (t->n_diag > 1) {
        pool_medians(t->diag, t->n_diag, t->dim, work);
        t->n_diag = 1;
    }
    if (t->n_chol > 1) {
        pool_matrices(t->chol, t->n_chol, t->dim, work);
        t->n_chol = 1;
    }
}

/* Chain c starts where chain c of the other run was, modulo their number. */
static void give_starts(relmc_run *run, double *init)
{
    const struct rmc_tuning *t = run->tuning;

    for (size_t c = 0; c < run->opts.chains; c++) {
        memcpy(init + c * t->dim, t->x + c % t->n_chains * t->dim,
               t->dim * sizeof *init);
    }
    run->opts.init = init;
}

relmc_status rmc_tuning_fit(relmc_run *run, relmc_error *err)
{
    struct rmc_tuning *t = run->tuning;
    relmc_arena *arena = &run->arena;

    if (!t) {
        return RELMC_OK;
    }
    const size_t n = run->opts.chains, square = t->dim * t->dim;
    const size_t room =
        t->n_chol > 1 && square > t->n_chains ? square : t->n_chains;
    double *work = relmc_arena_get(arena, room * sizeof *work);
    double *init = relmc_arena_get(arena, n * t->dim * sizeof *init);
    t->chol_t =
        relmc_arena_get(arena, t->n_chol * square * sizeof *t->chol_t + 1);
    const relmc_status status = relmc_arena_check(arena, err);
    if (status) {
        return status;
    }
    if (t->n_chains != n) {
        pool(t, work);
    }
    for (size_t c = 0; c < t->n_chol; c++) {
        rmc_transpose(t->dim, t->chol + c * square, t->chol_t + c * square);
    }
    if (!run->opts.init && !run->has_radius) {
        give_starts(run, init);
    }
    return RELMC_OK;
}

/* ---- the system of an ensemble ------------------------------------------- */

static void give_scale(const struct rmc_tuning *t, struct rmc_ensemble *e)
{
    relmc_arena *arena = &e->run->arena;
    relmc_scale *scale = &e->sys.frame.scale;
    const relmc_shape *s = &e->sys.shape;

    if (t->n_chol) {
        const size_t c = t->n_chol > 1 ? e->first : 0;

        scale->chol = t->chol + c * s->dim * s->dim;
        scale->chol_t = t->chol_t + c * s->dim * s->dim;
    }
    if (t->n_diag) {
        double *diag = rmc_lanes_new(arena, s);

        for (size_t j = 0; diag && j < rmc_cells(s); j++) {
            const size_t k = j % s->ld < s->lanes ? j % s->ld : 0;
            const size_t c = t->n_diag > 1 ? e->first + k : 0;

            diag[j] = t->diag[c * s->dim + j / s->ld];
        }
        scale->diag = diag;
    }
    if (t->rank) {
        scale->rank = t->rank;
        scale->low_rank = t->low_rank;
        scale->factor = t->factor;
        scale->room = relmc_arena_get(arena, t->rank * s->ld * sizeof(double));
    }
}

static relmc_status give_warp(const struct rmc_tuning *t,
                              struct rmc_ensemble *e, relmc_error *err)
{
    relmc_arena *arena = &e->run->arena;
    const relmc_shape *s = &e->sys.shape;
    const relmc_info *info = NULL;
    const relmc_status status =
        rmc_component_find(&info, "warp", "layers", e->run->isa, err);

    if (status) {
        return status;
    }
    const relmc_warp_ops *ops = (const relmc_warp_ops *)(const void *)info;
    e->sys.frame.warp = (relmc_warp){
        .n = t->n_layers,
        .layers = t->layers,
        .apply = ops->apply,
        .undo = ops->undo,
        .x = rmc_lanes_new(arena, s),
        .g = rmc_lanes_new(arena, s),
        .lp = rmc_per_lane_new(arena, s),
        .room = relmc_arena_get(arena, 6 * s->ld * sizeof(double)),
    };
    return RELMC_OK;
}

relmc_status rmc_tuning_give(struct rmc_ensemble *e, relmc_error *err)
{
    const struct rmc_tuning *t = e->run->tuning;
    relmc_move *move = &e->sys.move;
    relmc_status status = RELMC_OK;

    if (!t) {
        return RELMC_OK;
    }
    move->kinetic = t->is_newtonian ? move->newtonian : move->wanted;
    move->engine = t->engine;
    move->time = t->time;
    for (size_t k = 0; move->eps && k < e->sys.shape.lanes && !e->run->has_step;
         k++) {
        move->eps[k] = t->eps[t->n_eps > 1 ? e->first + k : 0];
    }
    e->sys.frame.has_own_scale = t->n_diag > 1 || t->n_chol > 1;
    give_scale(t, e);
    if (t->n_layers) {
        status = give_warp(t, e, err);
    }
    return status ? status : relmc_arena_check(&e->run->arena, err);
}

int rmc_tuning_is_dense_per_chain(const relmc_run *run)
{
    return run->tuning && run->tuning->n_chol > 1;
}

const char *rmc_tuning_metric_type(const relmc_run *run)
{
    const struct rmc_tuning *t = run->tuning;

    return t->n_chol ? "dense_e" : t->n_diag ? "diag_e" : "unit_e";
}
