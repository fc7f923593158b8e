/*
 * density.c - makes a target from the callbacks of a relmc_density.
 *
 * Random numbers in outputs: every draw has a stream of its own, whose seed is one
 * word of the chain's, so that a draw has as many as it wants and a checkpoint needs
 * only the number of the draw.
 */
#include "base/sized_struct.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

struct density {
    relmc_density of;
    relmc_model_ops ops;    /* for the callbacks that are there */
    const uint32_t *number; /* 0, 1, ..., n_data - 1 */
    struct rmc_complaints rejected, failed;
};

/* What one chain keeps. */
struct chain {
    relmc_chain about;
    uint64_t n_drawn;
};

/* ---- calls ---------------------------------------------------------------- */

/* The text of a call that has none would be that of an earlier one. */
static relmc_error *cleared(relmc_error *err)
{
    err->status = RELMC_OK;
    err->message[0] = '\0';
    return err;
}

/* A callback has answered, of n points: a text without a status has one now. */
static int take_answer(const struct density *d, int code, size_t n,
                       relmc_error *err)
{
    err->message[sizeof err->message - 1] = '\0';
    if (code > 0) {
        rmc_complain(rmc_mutable(&d->rejected), (int64_t)n, err->message);
        err->status = RELMC_REJECT;
    } else if (code < 0 && err->status >= 0 && *err->message) {
        err->status = RELMC_ETARGET;
    }
    return code;
}

static int point(const void *self, void *chain, const double *x, double *lp,
                 double *grad, relmc_error *err)
{
    const struct density *d = self;

    (void)chain;
    return take_answer(d, d->of.point(d->of.ctx, x, lp, grad, cleared(err)), 1,
                       err);
}

static int lanes(const void *self, const relmc_shape *s, const double *x,
                 double *lp, double *grad, relmc_error *err)
{
    const struct density *d = self;

    return take_answer(
        d, d->of.lanes(d->of.ctx, s->lanes, s->ld, x, lp, grad, cleared(err)),
        s->lanes, err);
}

static int rows(const void *self, const relmc_shape *s, const double *x,
                const relmc_rows *some, double *lp, double *grad,
                relmc_error *err)
{
    const struct density *d = self;
    const uint32_t *row = some->row ? some->row : d->number;

    (void)s;
    return take_answer(d,
                       d->of.rows(d->of.ctx, x, row, some->n, some->scale, lp,
                                  grad, cleared(err)),
                       1, err);
}

/* ---- outputs -------------------------------------------------------------- */

static double uniform(void *stream)
{
    return relmc_uniform(stream);
}

static relmc_status output(const void *self, void *chain, const double *x,
                           double *out, relmc_error *err)
{
    const struct density *d = self;
    struct chain *c = chain;
    relmc_stream word = {c->about.seed, c->n_drawn++, c->about.number,
                         RELMC_FOR_MODEL};
    relmc_stream own = {relmc_bits(&word), 0, c->about.number, RELMC_FOR_MODEL};
    const int code =
        d->of.outputs(d->of.ctx, x, uniform, &own, out, cleared(err));

    err->message[sizeof err->message - 1] = '\0';
    if (code > 0) {
        rmc_complain(rmc_mutable(&d->failed), 1, err->message);
        for (size_t i = 0; i < d->of.n_outputs; i++) {
            out[i] = (double)NAN;
        }
        (void)cleared(err);
    }
    if (code >= 0) {
        return RELMC_OK;
    }
    if (!*err->message) {
        return rmc_fail(err, RELMC_ETARGET,
                        "target: its outputs failed for good (status %d)",
                        code);
    }
    err->status = err->status < 0 ? err->status : RELMC_ETARGET;
    return err->status;
}

static relmc_status chain_open(const void *self, relmc_arena *arena,
                               const relmc_chain *about, void **out,
                               relmc_error *err)
{
    struct chain *c = relmc_arena_get(arena, sizeof *c);

    (void)self;
    if (!c) {
        return relmc_arena_check(arena, err);
    }
    *c = (struct chain){*about, about->n_drawn};
    *out = c;
    return RELMC_OK;
}

static void chain_close(const void *self, void *chain)
{
    (void)self, (void)chain;
}

static void chain_archive(const void *self, void *chain, relmc_archive *a)
{
    struct chain *c = chain;

    (void)self;
    c->n_drawn = relmc_archive_count(a, c->n_drawn, UINT64_MAX);
}

/* ---- names ---------------------------------------------------------------- */

static size_t name_or(const char *name, size_t i, char *out, size_t room)
{
    return name ? (size_t)snprintf(out, room, "%s", name)
                : (size_t)snprintf(out, room, "x.%zu", i + 1);
}

static size_t coordinate_name(const void *self, size_t i, char *out,
                              size_t room)
{
    const relmc_density *of = &((const struct density *)self)->of;

    return name_or(of->coordinate_name(of->ctx, i), i, out, room);
}

static size_t output_name(const void *self, size_t i, char *out, size_t room)
{
    const relmc_density *of = &((const struct density *)self)->of;

    return name_or(of->output_name ? of->output_name(of->ctx, i) : NULL, i, out,
                   room);
}

/* Names are columns of CSV files, the id is in their comments. */
static relmc_status check_name(const char *name, const char *what, size_t i,
                               relmc_error *err)
{
    const char *c = name ? name : "x";

    while ((unsigned char)*c > ' ' && !strchr(",\"#\x7f", *c)) {
        c++;
    }
    return *c || (name && !*name)
               ? rmc_fail(err, RELMC_EINVAL,
                          "density: %s %zu must have a name without blanks, "
                          "commas, quotes and #",
                          what, i + 1)
               : RELMC_OK;
}

static relmc_status check_names(const relmc_density *d, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t i = 0; d->coordinate_name && i < d->dim && !status; i++) {
        status =
            check_name(d->coordinate_name(d->ctx, i), "coordinate", i, err);
    }
    for (size_t i = 0; d->output_name && i < d->n_outputs && !status; i++) {
        status = check_name(d->output_name(d->ctx, i), "output", i, err);
    }
    return status ? status : check_name(d->id, "id", 0, err);
}

/* ---- making and ending ---------------------------------------------------- */

static relmc_status check(const relmc_density *d, relmc_error *err)
{
    if (!d->point && !d->rows && !d->lanes) {
        return rmc_fail(err, RELMC_EINVAL,
                        "density: give point, rows or lanes");
    }
    if (d->dim == 0 || d->dim > UINT32_MAX) {
        return rmc_fail(err, RELMC_EINVAL,
                        "density: dim must be in [1, 2^32), not %zu", d->dim);
    }
    if (d->rows ? d->n_data == 0 || d->n_data > UINT32_MAX : d->n_data != 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        d->rows
                            ? "density: n_data must be in [1, 2^32), not %zu"
                            : "density: n_data is %zu, and rows is missing",
                        d->n_data);
    }
    if (!d->outputs != !d->n_outputs || (d->output_name && !d->outputs) ||
        d->n_outputs > UINT32_MAX) {
        return rmc_fail(err, RELMC_EINVAL,
                        "density: n_outputs and outputs go together, with or "
                        "without output_name");
    }
    return check_names(d, err);
}

static void close(void *self)
{
    struct density *d = self;

    if (d->of.release) {
        d->of.release(d->of.ctx);
    }
}

static relmc_model_ops ops_of(const relmc_density *d)
{
    relmc_model_ops ops = {
        .info = {"model", "callback", "a density by its callbacks", NULL},
        .state_size = sizeof(struct density),
        .point = d->point ? point : NULL,
        .lanes = d->lanes ? lanes : NULL,
        .rows = d->rows ? rows : NULL,
        .is_one_by_one = d->rows != NULL,
        .coordinate_name = d->coordinate_name ? coordinate_name : NULL,
        .close = close,
    };

    if (d->outputs) {
        ops.output = output;
        ops.output_name = output_name;
        ops.chain_open = chain_open;
        ops.chain_close = chain_close;
        ops.chain_archive = chain_archive;
    }
    return ops;
}

static relmc_status make(relmc_target **out, const relmc_density *given,
                         relmc_arena *arena, relmc_error *err)
{
    relmc_target *t = relmc_arena_get(arena, sizeof *t);
    struct density *d = relmc_arena_get(arena, sizeof *d);
    uint32_t *number =
        given->n_data ? relmc_arena_get(arena, given->n_data * sizeof *number)
                      : NULL;
    const char *name =
        rmc_arena_copy_text(arena, given->id ? given->id : "callback");
    const relmc_status status = relmc_arena_check(arena, err);

    if (status) {
        return status;
    }
    for (size_t i = 0; i < given->n_data; i++) {
        number[i] = (uint32_t)i;
    }
    d->of = *given;
    d->ops = ops_of(given);
    d->number = number;
    *t = (relmc_target){
        .arena = *arena,
        .self = d,
        .dim = given->dim,
        .n_data = given->n_data,
        .n_outputs = given->outputs ? given->n_outputs : given->dim,
        .name = name,
        .rejected = &d->rejected,
        .failed = &d->failed,
    };
    for (int isa = 0; isa < RMC_N_ISA; isa++) {
        t->ops[isa] = &d->ops;
    }
    *out = t;
    return RELMC_OK;
}

relmc_status relmc_target_create(relmc_target **out,
                                 const relmc_density *density, relmc_error *err)
{
    relmc_arena arena = {0};
    relmc_density given;
    relmc_status status =
        rmc_sized_read(&given, sizeof given, density,
                       offsetof(relmc_density, release) + sizeof given.release,
                       "relmc_density", err);

    if (!status) {
        status = check(&given, err);
    }
    if (!status) {
        status = make(out, &given, &arena, err);
    }
    if (status) {
        rmc_arena_release(&arena);
    }
    return status;
}
