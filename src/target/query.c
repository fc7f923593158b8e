/*
 * query.c - what can be asked of a target without a run: sizes and names, values at
 * points, exact moments and draws, predictions.
 */
#include "target/target.h"

#include "relmc_diag.h"

#include <stdio.h>
#include <string.h>

static const relmc_model_ops *ops_of(const relmc_target *target)
{
    return target->ops[rmc_isa_best()];
}

/* ---- sizes and names ------------------------------------------------------ */

size_t relmc_target_dim(const relmc_target *target)
{
    return target->dim;
}

size_t relmc_target_n_data(const relmc_target *target)
{
    return target->n_data;
}

size_t relmc_target_n_outputs(const relmc_target *target)
{
    return target->n_outputs;
}

const char *relmc_target_name(const relmc_target *target)
{
    return target->name;
}

static size_t no_name(char *out, size_t room)
{
    if (room) {
        *out = '\0';
    }
    return 0;
}

size_t relmc_target_coordinate_name(const relmc_target *target, size_t i,
                                    char *out, size_t room)
{
    const relmc_model_ops *ops = ops_of(target);

    return i >= target->dim ? no_name(out, room)
           : ops->coordinate_name
               ? ops->coordinate_name(target->self, i, out, room)
               : (size_t)snprintf(out, room, "x.%zu", i + 1);
}

size_t relmc_target_output_name(const relmc_target *target, size_t i, char *out,
                                size_t room)
{
    const relmc_model_ops *ops = ops_of(target);

    return !ops->output ? relmc_target_coordinate_name(target, i, out, room)
           : i >= target->n_outputs
               ? no_name(out, room)
               : ops->output_name(target->self, i, out, room);
}

/* ---- at points ------------------------------------------------------------ */

static relmc_status failed(const relmc_error *said, int code, relmc_error *err)
{
    return said->status < 0
               ? rmc_fail(err, said->status, "%s", said->message)
               : rmc_fail(err, RELMC_ETARGET,
                          "target: the log density failed (status %d)", code);
}

/* No density here: code says so, or lp. */
static relmc_status rejected(const relmc_error *said, int code, double *lp,
                             relmc_error *err)
{
    const int is_nan = code == 0 && *lp != *lp;

    *lp = -HUGE_VAL;
    return rmc_fail(err, RELMC_REJECT, "target: no density at this point%s%s",
                    said->status || is_nan ? ": " : "",
                    is_nan ? "it is not a number" : said->message);
}

/* At one point; RELMC_REJECT, and why, if there is no density. */
static relmc_status eval_one(const struct rmc_subject *of, const double *x,
                             double *lp, double *grad, relmc_error *err)
{
    relmc_error said = {0};
    const int code = rmc_eval_point(of, x, lp, grad, &said);

    if (code < 0) {
        return failed(&said, code, err);
    }
    if (code > 0 || !(*lp > -HUGE_VAL)) {
        memset(grad, 0, of->dim * sizeof *grad);
        return rejected(&said, code, lp, err);
    }
    return RELMC_OK;
}

/* Points as lanes, so many at once. */
enum { BLOCK = 8 };

/* n <= BLOCK points, the gradients of which may be left out.  `room` is (2 dim + 1)
 * x BLOCK. */
static relmc_status eval_block(const struct rmc_subject *of, size_t n,
                               const double *x, double *lp, double *grad,
                               double *room, relmc_error *err)
{
    const relmc_shape s = {of->dim, n, rmc_leading(n)};
    double *at = room, *slope = at + of->dim * BLOCK;
    double *density = slope + of->dim * BLOCK;
    relmc_error said = {0};
    relmc_status status = RELMC_OK;

    memset(at, 0, rmc_cells(&s) * sizeof *at);
    for (size_t j = 0; j < n * s.dim; j++) {
        at[j % s.dim * s.ld + j / s.dim] = x[j];
    }
    const int code =
        of->ops->lanes
            ? of->ops->lanes(of->self, &s, at, density, slope, &said)
            : of->ops->rows(of->self, &s, at, &of->rows, density, slope, &said);
    if (code < 0) {
        return failed(&said, code, err);
    }
    for (size_t k = 0; k < n; k++) {
        const int is_empty = code > 0 || !(density[k] > -HUGE_VAL);

        lp[k] = density[k];
        for (size_t i = 0; grad && i < s.dim; i++) {
            grad[k * s.dim + i] = is_empty ? 0.0 : slope[i * s.ld + k];
        }
        if (is_empty) {
            status = rejected(&said, code, &lp[k], status ? NULL : err);
        }
    }
    return status;
}

/* An error, or the first reject. */
static int is_first(relmc_status here, relmc_status before)
{
    return here < 0 || (here && !before);
}

static void pass_on(const relmc_error *why, relmc_error *err)
{
    if (err) {
        *err = *why;
    }
}

static int takes_lanes(const relmc_model_ops *ops)
{
    return ops->lanes || (ops->rows && !ops->is_one_by_one);
}

relmc_status relmc_target_eval(const relmc_target *target, size_t n,
                               const double *x, double *lp, double *grad,
                               relmc_error *err)
{
    relmc_arena arena = {0};
    const size_t dim = target->dim;
    const relmc_model_ops *ops = ops_of(target);
    const int is_one_by_one = n < 2 || !takes_lanes(ops);
    const size_t step = is_one_by_one ? 1 : BLOCK;
    const struct rmc_subject of = {
        .ops = ops,
        .self = target->self,
        .dim = dim,
        .rows = {NULL, target->n_data, 1.0,
                 target->scratch ? relmc_arena_get(&arena, target->scratch)
                                 : NULL},
    };
    double *room = relmc_arena_get(&arena, (2 * dim + 1) * step * sizeof *room);
    relmc_status status = relmc_arena_check(&arena, err);

    for (size_t t = 0; t < n && status >= 0; t += step) {
        const size_t left = n - t;
        double *g = grad ? grad + t * dim : NULL;
        relmc_error why = {0};
        const relmc_status here =
            is_one_by_one
                ? eval_one(&of, x + t * dim, &lp[t], g ? g : room, &why)
                : eval_block(&of, left < BLOCK ? left : BLOCK, x + t * dim,
                             &lp[t], g, room, &why);

        if (is_first(here, status)) {
            status = here;
            pass_on(&why, err);
        }
    }
    rmc_arena_release(&arena);
    return status;
}

relmc_status relmc_target_outputs(const relmc_target *target, uint64_t seed,
                                  uint32_t chain, int64_t first_draw, size_t n,
                                  const double *x, double *out,
                                  relmc_error *err)
{
    const relmc_model_ops *ops = ops_of(target);
    relmc_chain about = {.seed = seed, .number = chain, .threads = 1};
    relmc_arena arena = {0};
    void *state = NULL;
    relmc_status status = RELMC_OK;

    if (first_draw < 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "outputs: draws count from 0, not %lld",
                        (long long)first_draw);
    }
    if (!ops->output) {
        memcpy(out, x, n * target->dim * sizeof *out);
        return RELMC_OK;
    }
    about.n_drawn = (uint64_t)first_draw;
    if (ops->chain_open) {
        status = ops->chain_open(target->self, &arena, &about, &state, err);
    }
    for (size_t t = 0; t < n && !status; t++) {
        relmc_error why = {0};

        status = ops->output(target->self, state, x + t * target->dim,
                             out + t * target->n_outputs, &why);
        if (status) {
            (void)rmc_fail(err, status, "%s", why.message);
        }
    }
    if (state) {
        ops->chain_close(target->self, state);
    }
    rmc_arena_release(&arena);
    return status;
}

relmc_status relmc_target_predict(const relmc_target *target, const double *x,
                                  const relmc_data *data, double *out,
                                  relmc_error *err)
{
    const relmc_model_ops *ops = ops_of(target);
    relmc_arena arena = {0};
    relmc_data given;

    if (!ops->predict) {
        return rmc_fail(err, RELMC_EUNSUPP, "%s: it predicts nothing",
                        target->name);
    }
    relmc_status status = rmc_data_read(&given, data, err);
    if (status) {
        return status;
    }
    void *scratch =
        target->scratch ? relmc_arena_get(&arena, target->scratch) : NULL;
    status = relmc_arena_check(&arena, err);
    if (!status) {
        status = ops->predict(target->self, x, &given, scratch, out, err);
    }
    rmc_arena_release(&arena);
    return status;
}

/* ---- exact answers -------------------------------------------------------- */

relmc_status relmc_target_moments(const relmc_target *target, double *mean,
                                  double *variance, relmc_error *err)
{
    const relmc_model_ops *ops = ops_of(target);

    if (!ops->moments) {
        return rmc_fail(err, RELMC_EUNSUPP, "%s: no exact moments are known",
                        target->name);
    }
    ops->moments(target->self, mean, variance);
    return RELMC_OK;
}

relmc_status relmc_target_sample(const relmc_target *target, uint64_t seed,
                                 size_t n, double *x, relmc_error *err)
{
    const relmc_model_ops *ops = ops_of(target);
    relmc_stream stream = {seed, 0, 0, RELMC_FOR_MODEL};

    if (!ops->draw) {
        return rmc_fail(err, RELMC_EUNSUPP, "%s: it cannot be drawn exactly",
                        target->name);
    }
    for (size_t t = 0; t < n; t++) {
        ops->draw(target->self, &stream, x + t * target->dim);
    }
    return RELMC_OK;
}

/* ---- complaints ----------------------------------------------------------- */

int64_t relmc_target_rejections(const relmc_target *target, const char **first)
{
    return rmc_complaints(target->rejected, first);
}

int64_t relmc_target_output_failures(const relmc_target *target,
                                     const char **first)
{
    return rmc_complaints(target->failed, first);
}
