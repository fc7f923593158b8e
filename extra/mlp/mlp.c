/*
 * mlp.c - the model `mlp`: a feed-forward network with normal priors, on data.
 *
 *   [mlp]  lp = -|W|^2 / (2 sd^2) - |b|^2 / (2 sd_b^2) + sum_r log p(y_r | z_r)
 *
 * with z_r the outputs for row r: log odds of class 1, logits of the classes, or
 * the mean of a normal law.  The arithmetic is in mlp_pass_inline.h, in single
 * precision unless the spec says otherwise; lp is summed in double.  Parameters and
 * gradients are double, or single in rows_float.
 */
#include "mlp/mlp.h"

#include "component/cpu.h"
#include "mlp/blas_library.h"

#include <limits.h>
#include <stdio.h>

static const char who[] = "mlp";

enum { DEFAULT_HIDDEN = 100 };

/* ---- shape ----------------------------------------------------------------- */

static const char *const likelihoods[] = {
    [RMC_MLP_AUTO] = "auto",
    [RMC_MLP_BINARY] = "binary",
    [RMC_MLP_SOFTMAX] = "softmax",
    [RMC_MLP_NORMAL] = "normal",
};

/* Sets the likelihood: that of the spec, which must suit the response; by default
 * the one that suits it. */
static relmc_status choose_likelihood(struct rmc_mlp *m, const relmc_data *data,
                                      relmc_error *err)
{
    const size_t k = data->n_classes;
    const int wanted = (int)m->output;
    const int has_classes =
        wanted == RMC_MLP_BINARY || wanted == RMC_MLP_SOFTMAX;

    if (k == 1 || (wanted == RMC_MLP_BINARY && k != 2) ||
        (wanted == RMC_MLP_SOFTMAX && k == 0) ||
        (wanted == RMC_MLP_NORMAL && k != 0)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "%s: output=%s needs a response with %s, not with %zu "
                        "classes",
                        who, likelihoods[wanted],
                        wanted == RMC_MLP_BINARY ? "2 classes"
                        : has_classes || !wanted ? "at least 2 classes"
                                                 : "no classes, numbers",
                        k);
    }
    m->likelihood = wanted   ? wanted
                    : k == 0 ? RMC_MLP_NORMAL
                    : k == 2 ? RMC_MLP_BINARY
                             : RMC_MLP_SOFTMAX;
    return RELMC_OK;
}

static relmc_status check_widths(const struct rmc_mlp *m,
                                 const relmc_data *data, relmc_error *err)
{
    for (size_t l = 0; l < m->hidden.n; l++) {
        const double units = m->hidden.values[l];

        if (units != floor(units)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "%s: hidden must be integers, not %g", who, units);
        }
    }
    if (data->n_columns > INT_MAX || data->n_classes > INT_MAX) {
        return rmc_fail(err, RELMC_EINVAL,
                        "%s: %zu columns and %zu classes are too many, BLAS "
                        "counts up to %d",
                        who, data->n_columns, data->n_classes, INT_MAX);
    }
    return RELMC_OK;
}

/* Sets width, offset, widest and dim. */
static relmc_status lay_out(struct rmc_mlp *m, relmc_arena *arena,
                            const relmc_data *data, relmc_error *err)
{
    const size_t n_hidden = m->hidden.values ? m->hidden.n : 1;

    m->n_layers = n_hidden + 1;
    m->width = relmc_arena_get(arena, (n_hidden + 2) * sizeof *m->width);
    m->offset = relmc_arena_get(arena, m->n_layers * sizeof *m->offset);
    const relmc_status status = relmc_arena_check(arena, err);
    if (status) {
        return status;
    }
    m->width[0] = data->n_columns;
    for (size_t l = 1; l <= n_hidden; l++) {
        m->width[l] = m->hidden.values ? (size_t)m->hidden.values[l - 1]
                                       : (size_t)DEFAULT_HIDDEN;
        m->widest = m->width[l] > m->widest ? m->width[l] : m->widest;
    }
    m->width[m->n_layers] =
        m->likelihood == RMC_MLP_SOFTMAX ? data->n_classes : 1;
    for (size_t l = 0; l < m->n_layers && m->dim <= UINT32_MAX; l++) {
        m->offset[l] = m->dim;
        m->dim = rmc_mlp_biases(m, l) + m->width[l + 1];
    }
    return m->dim <= UINT32_MAX
               ? RELMC_OK
               : rmc_fail(err, RELMC_EINVAL,
                          "%s: that network has more than 2^32 parameters",
                          who);
}

/* ---- data ------------------------------------------------------------------ */

static const struct rmc_mlp_pass *choose_pass(int is_double)
{
#ifdef RMC_HAS_AVX512
    if (rmc_cpu_has_avx512()) {
        return is_double ? &rmc_mlp_double_avx512 : &rmc_mlp_float_avx512;
    }
#endif
#ifdef RMC_HAS_AVX2
    if (rmc_cpu_has_avx2()) {
        return is_double ? &rmc_mlp_double_avx2 : &rmc_mlp_float_avx2;
    }
#endif
    return is_double ? &rmc_mlp_double_baseline : &rmc_mlp_float_baseline;
}

/* Data have x or x_float. */
static double input_at(const relmc_data *data, size_t j)
{
    return data->x         ? data->x[j]
           : data->x_float ? (double)data->x_float[j]
                           : 0.0;
}

static void put(const struct rmc_mlp *m, void *reals, size_t j, double x)
{
    if ((int)m->precision == RMC_MLP_DOUBLE) {
        ((double *)reals)[j] = x;
    } else {
        ((float *)reals)[j] = (float)x;
    }
}

/* The inputs in the precision of the arithmetic: borrowed, or a copy if the data
 * have the other one. */
static relmc_status take_dense(struct rmc_mlp *m, relmc_arena *arena,
                               const relmc_data *data, relmc_error *err)
{
    const size_t n = data->n_rows * data->n_columns;
    const int is_double = (int)m->precision == RMC_MLP_DOUBLE;

    if (is_double ? data->x != NULL : data->x_float != NULL) {
        m->x = is_double ? (const void *)data->x : (const void *)data->x_float;
        return RELMC_OK;
    }
    void *copy = relmc_arena_get(arena, n * m->pass->real_size);
    const relmc_status status = relmc_arena_check(arena, err);
    for (size_t j = 0; j < n && !status; j++) {
        put(m, copy, j, input_at(data, j));
    }
    m->x = copy;
    return status;
}

/* Keeps the inputs that are not zero. */
static relmc_status take_sparse(struct rmc_mlp *m, relmc_arena *arena,
                                const relmc_data *data, size_t n_cells,
                                relmc_error *err)
{
    struct rmc_mlp_sparse *s = &m->sparse;
    const size_t width = data->n_columns;
    size_t at = 0;

    s->start = relmc_arena_get(arena, (data->n_rows + 1) * sizeof *s->start);
    s->column = relmc_arena_get(arena, n_cells * sizeof *s->column);
    s->value = relmc_arena_get(arena, n_cells * m->pass->real_size);
    const relmc_status status = relmc_arena_check(arena, err);
    if (status) {
        return status;
    }
    for (size_t r = 0; r < data->n_rows; r++) {
        s->start[r] = at;
        for (size_t j = 0; j < width; j++) {
            const double x = input_at(data, r * width + j);

            if (x != 0.0) {
                s->column[at] = (uint32_t)j;
                put(m, s->value, at++, x);
            }
        }
        s->longest =
            at - s->start[r] > s->longest ? at - s->start[r] : s->longest;
    }
    s->start[data->n_rows] = at;
    return RELMC_OK;
}

/* Sparse if at most a third of the inputs are not zero, and the first layer has at
 * least NARROW units, which fill vectors. */
static relmc_status take_inputs(struct rmc_mlp *m, relmc_arena *arena,
                                const relmc_data *data, relmc_error *err)
{
    enum { NARROW = 8, SHARE = 3 };
    const size_t n = data->n_rows * data->n_columns;
    size_t n_cells = 0;

    if ((int)m->inputs == RMC_MLP_AS_SUITS && m->width[1] >= NARROW) {
        for (size_t j = 0; j < n; j++) {
            n_cells += input_at(data, j) != 0.0;
        }
        if (n_cells <= n / SHARE) {
            return take_sparse(m, arena, data, n_cells, err);
        }
    }
    return take_dense(m, arena, data, err);
}

static relmc_status bind(void *self, relmc_arena *arena, const relmc_data *data,
                         relmc_size *size, relmc_error *err)
{
    struct rmc_mlp *m = self;
    relmc_status status;

    if ((status = check_widths(m, data, err)) ||
        (status = choose_likelihood(m, data, err)) ||
        (status = lay_out(m, arena, data, err))) {
        return status;
    }
    if (m->bias_sd != m->bias_sd) {
        m->bias_sd = m->sd;
    }
    m->data = *data;
    m->pass = choose_pass((int)m->precision == RMC_MLP_DOUBLE);
    m->max_rows =
        data->n_rows < (size_t)m->block ? data->n_rows : (size_t)m->block;
    rmc_blas_use_one_thread();
    if ((status = take_inputs(m, arena, data, err))) {
        return status;
    }
    size->dim = m->dim;
    size->n_data = data->n_rows;
    size->scratch = m->pass->scratch(m);
    size->is_float = (int)m->precision == RMC_MLP_SINGLE;
    return RELMC_OK;
}

/* ---- evaluation ------------------------------------------------------------ */

/* One lane: each has its own weights, so lanes share no matrix product, and the bits
 * of one do not depend on the others. */
static int rows(const void *self, const relmc_shape *s, const double *x,
                const relmc_rows *some, double *lp, double *grad,
                relmc_error *err)
{
    const struct rmc_mlp *m = self;

    (void)err;
    m->pass->lane(m, s, 0, x, some, grad, lp);
    return RELMC_OK;
}

static int rows_float(const void *self, const float *x, const relmc_rows *some,
                      double *lp, float *grad, relmc_error *err)
{
    const struct rmc_mlp *m = self;

    (void)err;
    m->pass->point(m, x, some, grad, lp);
    return RELMC_OK;
}

static relmc_status predict(const void *self, const double *x,
                            const relmc_data *data, void *scratch, double *out,
                            relmc_error *err)
{
    const struct rmc_mlp *m = self;

    if (data->n_columns != m->width[0] || !data->x == !data->x_float) {
        return rmc_fail(err, RELMC_EINVAL,
                        "%s: predictions need rows of %zu columns, not of %zu",
                        who, m->width[0], data->n_columns);
    }
    m->pass->predict(m, x, data, scratch, out);
    return RELMC_OK;
}

/* ---- starts and names ------------------------------------------------------ */

/* Weights are uniform with variance 1 / inputs or normal with variance 2 / inputs;
 * biases are 0. */
static void start(const void *self, relmc_stream *stream, double *x)
{
    const struct rmc_mlp *m = self;
    const int is_he = (int)m->start == RMC_MLP_HE;

    for (size_t l = 0; l < m->n_layers; l++) {
        const size_t bias = rmc_mlp_biases(m, l);
        const double r = sqrt((is_he ? 2.0 : 3.0) / (double)m->width[l]);

        for (size_t i = m->offset[l]; i < bias; i++) {
            x[i] = r * (is_he ? relmc_normal(stream)
                              : 2.0 * relmc_uniform(stream) - 1.0);
        }
        for (size_t i = 0; i < m->width[l + 1]; i++) {
            x[bias + i] = 0.0;
        }
    }
}

/* w.LAYER.FROM.TO and b.LAYER.TO, all counted from 1 */
static size_t coordinate_name(const void *self, size_t i, char *out,
                              size_t room)
{
    const struct rmc_mlp *m = self;
    size_t l = m->n_layers - 1;

    while (m->offset[l] > i) {
        l--;
    }
    const size_t at = i - m->offset[l], to = m->width[l + 1];
    const size_t bias = rmc_mlp_biases(m, l);
    if (i < bias) {
        return (size_t)snprintf(out, room, "w.%zu.%zu.%zu", l + 1, at / to + 1,
                                at % to + 1);
    }
    return (size_t)snprintf(out, room, "b.%zu.%zu", l + 1, i - bias + 1);
}

static const relmc_param params[] = {
    {"hidden", "units of every hidden layer", 1, 1e6, DEFAULT_HIDDEN,
     offsetof(struct rmc_mlp, hidden), RELMC_VECTOR},
    {"activation", "h, of the hidden units", 0, 2, RMC_MLP_RELU,
     offsetof(struct rmc_mlp, activation), RELMC_CHOICE, "relu|tanh|sigmoid"},
    {"output", "likelihood; auto: by the number of classes", 0, 3, RMC_MLP_AUTO,
     offsetof(struct rmc_mlp, output), RELMC_CHOICE,
     "auto|binary|softmax|normal"},
    {"sd", "standard deviation of the normal prior of weights; inf: flat", 1e-6,
     HUGE_VAL, 1, offsetof(struct rmc_mlp, sd), RELMC_REAL},
    {"bias_sd", "the same of biases; default: that of weights", 1e-6, HUGE_VAL,
     (double)NAN, offsetof(struct rmc_mlp, bias_sd), RELMC_REAL},
    {"noise", "standard deviation of numbers around the output", 1e-6, 1e6, 1,
     offsetof(struct rmc_mlp, noise), RELMC_REAL},
    {"start", "weights at first: U(+-sqrt(3/inputs)) or N(0, 2/inputs)", 0, 1,
     RMC_MLP_XAVIER, offsetof(struct rmc_mlp, start), RELMC_CHOICE,
     "xavier|he"},
    {"precision", "of the arithmetic", 0, 1, RMC_MLP_SINGLE,
     offsetof(struct rmc_mlp, precision), RELMC_CHOICE, "single|double"},
    {"block", "rows worked on at a time", 1, 1e6, 512,
     offsetof(struct rmc_mlp, block), RELMC_INTEGER},
    {"inputs", "auto: zeros are left out if they are two thirds or more", 0, 1,
     RMC_MLP_AS_SUITS, offsetof(struct rmc_mlp, inputs), RELMC_CHOICE,
     "auto|dense"},
    {0},
};

const relmc_model_ops rmc_model_mlp = {
    .info = {"model", "mlp", "feed-forward network on data", params},
    .state_size = sizeof(struct rmc_mlp),
    .bind = bind,
    .rows = rows,
    .rows_float = rows_float,
    .is_one_by_one = 1,
    .predict = predict,
    .start = start,
    .coordinate_name = coordinate_name,
};
