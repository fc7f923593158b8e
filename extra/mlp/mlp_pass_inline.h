/*
 * mlp_pass_inline.h - forward and backward through a network.  Inlined because it is
 * written over a type `real`: mlp_float.c and mlp_double.c include it once each, and
 * define
 *
 *   PASS             the name of the table at the end
 *   GEMM             cblas_sgemm or cblas_dgemm
 *   exp_of(x)        exp, for x <= 0
 *   input_of(data)   the inputs as reals, or NULL if the data have none
 *
 * Activations of a block of data stay in memory, a row per observation:
 *
 *   A_l = h(A_(l-1) W_l + b_l),  l = 1 .. L - 1,    Z = A_(L-1) W_L + b_L
 *   D_L = d log p(y | Z) / dZ,   D_l = (D_(l+1) W_(l+1)') h'(A_l)
 *   dW_l = A_(l-1)' D_l,         db_l = column sums of D_l             [mlp]
 *
 * D_l overwrites A_l, which is not needed any more then.
 */
#include "mlp/mlp.h"

#include "mlp/mlp_sparse_inline.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define ALIGNED ((size_t)64)

/* ---- memory --------------------------------------------------------------- */

struct room {
    real *w, *g;  /* dim: parameters and gradient */
    real *input;  /* a block of rows, gathered */
    real *output; /* of one layer: D_(l+1) W_(l+1)' */
    real *act;    /* of all layers, one after another */
    struct lists_room lists;
    size_t bytes;
};

static void *take(void *scratch, size_t n, size_t size, size_t *bytes)
{
    unsigned char *at = scratch ? (unsigned char *)scratch + *bytes : NULL;

    *bytes += (n * size + ALIGNED - 1) / ALIGNED * ALIGNED;
    return at;
}

static size_t units(const struct rmc_mlp *m)
{
    size_t n = 0;

    for (size_t l = 1; l <= m->n_layers; l++) {
        n += m->width[l];
    }
    return n;
}

static struct lists_room divide_lists(const struct rmc_mlp *m, void *scratch,
                                      size_t *bytes)
{
    const size_t each = sizeof(size_t), rows = m->max_rows;
    const size_t columns = m->width[0], cells = rows * m->sparse.longest;
    struct lists_room r = {0};

    r.row_at = take(scratch, rows, each, bytes);
    r.row_end = take(scratch, rows, each, bytes);
    r.column_at = take(scratch, columns, each, bytes);
    r.column_end = take(scratch, columns, each, bytes);
    r.row = take(scratch, cells, sizeof *r.row, bytes);
    r.value = take(scratch, cells, sizeof *r.value, bytes);
    return r;
}

static struct room divide(const struct rmc_mlp *m, void *scratch)
{
    const size_t rows = m->max_rows, each = sizeof(real);
    struct room r = {0};

    r.w = take(scratch, m->dim, each, &r.bytes);
    r.g = take(scratch, m->dim, each, &r.bytes);
    r.input = take(scratch, rows * m->width[0], each, &r.bytes);
    r.output = take(scratch, rows * m->widest, each, &r.bytes);
    r.act = take(scratch, rows * units(m) + PACK, each, &r.bytes);
    if (m->sparse.start) {
        r.lists = divide_lists(m, scratch, &r.bytes);
    }
    return r;
}

static size_t scratch_bytes(const struct rmc_mlp *m)
{
    return divide(m, NULL).bytes;
}

/* ---- parameters and rows --------------------------------------------------- */

/* Parameter i of load(); returns its square. */
static inline double load_one(size_t i, size_t ld, real factor,
                              const double *restrict x, const real *restrict w,
                              real *restrict copy, real *restrict g)
{
    const double at = x ? x[i * ld] : (double)w[i];
    const real rounded = x ? (real)at : w[i];

    if (copy) {
        copy[i] = rounded;
    }
    g[i] = factor * rounded;
    return at * at;
}

/* Reads n parameters of a lane, doubles x or reals w.  g becomes the gradient of
 * their prior, -precision x, a product of reals; `copy`, unless it is NULL, becomes
 * the parameters as reals.  Returns the log density of the prior, summed in an order
 * that does not depend on ld. */
static inline double load(size_t n, size_t ld, double sd,
                          const double *restrict x, const real *restrict w,
                          real *restrict copy, real *restrict g)
{
    enum { SUMS = 16 };
    const double precision = 1.0 / (sd * sd);
    const real factor = (real)-precision;
    double sum[SUMS] = {0}, total = 0.0;
    size_t i = 0;

    for (; ld == 1 && i + SUMS <= n; i += SUMS) {
        for (size_t j = 0; j < SUMS; j++) {
            sum[j] += load_one(i + j, 1, factor, x, w, copy, g);
        }
    }
    for (; i < n; i++) {
        sum[i % SUMS] += load_one(i, ld, factor, x, w, copy, g);
    }
    for (size_t j = 0; j < SUMS; j++) {
        total += sum[j];
    }
    return -0.5 * precision * total;
}

/* Loads all parameters of a lane, doubles, into r->w and their prior into r->g. */
static double load_all(const struct rmc_mlp *m, size_t ld, const double *x,
                       const struct room *r)
{
    double lp = 0.0;

    for (size_t l = 0; l < m->n_layers; l++) {
        const size_t at = m->offset[l], bias = rmc_mlp_biases(m, l);

        lp +=
            load(bias - at, ld, m->sd, x + at * ld, NULL, r->w + at, r->g + at);
        lp += load(m->width[l + 1], ld, m->bias_sd, x + bias * ld, NULL,
                   r->w + bias, r->g + bias);
    }
    return lp;
}

/* The same for parameters w that are reals. */
static double slope_of_prior(const struct rmc_mlp *m, const real *w, real *g)
{
    double lp = 0.0;

    for (size_t l = 0; l < m->n_layers; l++) {
        const size_t at = m->offset[l], bias = rmc_mlp_biases(m, l);

        lp += load(bias - at, 1, m->sd, NULL, w + at, NULL, g + at);
        lp += load(m->width[l + 1], 1, m->bias_sd, NULL, w + bias, NULL,
                   g + bias);
    }
    return lp;
}

/* A block of inputs: all of them, or lists of those that are not zero. */
struct input {
    size_t n;
    const real *all;
    struct lists sparse;
};

/* n rows, one after another in memory; copied only if `row` selects them. */
static const real *gather(const real *x, size_t width, const uint32_t *row,
                          size_t first, size_t n, real *out)
{
    if (!row) {
        return x + first * width;
    }
    for (size_t r = 0; r < n; r++) {
        memcpy(out + r * width, x + row[first + r] * width,
               width * sizeof(real));
    }
    return out;
}

/* n rows of data, converted from the other precision. */
static const real *convert(const relmc_data *data, size_t first, size_t n,
                           real *out)
{
    const size_t at = first * data->n_columns, end = n * data->n_columns;

    for (size_t j = 0; j < end; j++) {
        out[j] = data->x ? (real)data->x[at + j] : (real)data->x_float[at + j];
    }
    return out;
}

/* ---- forward --------------------------------------------------------------- */

static inline real tanh_of(real x)
{
    const real size = x < 0 ? -x : x;
    const real e = exp_of(-2 * size), t = (1 - e) / (1 + e);

    return x < 0 ? -t : t;
}

static inline real sigmoid_of(real x)
{
    const real e = exp_of(x < 0 ? x : -x);

    return (x < 0 ? e : 1) / (1 + e);
}

static void activate(int kind, size_t n, real *a)
{
    if (kind == RMC_MLP_RELU) {
        for (size_t j = 0; j < n; j++) {
            a[j] = a[j] > 0 ? a[j] : 0;
        }
    } else if (kind == RMC_MLP_TANH) {
        for (size_t j = 0; j < n; j++) {
            a[j] = tanh_of(a[j]);
        }
    } else {
        for (size_t j = 0; j < n; j++) {
            a[j] = sigmoid_of(a[j]);
        }
    }
}

/* out = biases + below W.  `below` is the layer below, NULL if that is the sparse
 * inputs. */
static void forward_layer(const struct rmc_mlp *m, size_t l, const real *w,
                          const struct input *in, const real *below, real *out)
{
    const size_t from = m->width[l], to = m->width[l + 1];
    const real *bias = w + rmc_mlp_biases(m, l);

    for (size_t r = 0; r < in->n; r++) {
        memcpy(out + r * to, bias, to * sizeof(real));
    }
    if (below) {
        GEMM(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)in->n, (int)to,
             (int)from, 1, below, (int)from, w + m->offset[l], (int)to, 1, out,
             (int)to);
    } else {
        add_products(&in->sparse, w + m->offset[l], to, 1, out);
    }
}

/* Returns the outputs, n rows of them; in act the hidden activations precede them. */
static real *forward(const struct rmc_mlp *m, const real *w,
                     const struct input *in, real *act)
{
    const real *below = in->all;

    for (size_t l = 0; l < m->n_layers; l++) {
        const size_t cells = in->n * m->width[l + 1];

        forward_layer(m, l, w, in, below, act);
        if (l + 1 < m->n_layers) {
            activate((int)m->activation, cells, act);
        }
        below = act;
        act += cells;
    }
    return act - in->n * m->width[m->n_layers];
}

/* ---- the likelihood -------------------------------------------------------- */

/* Subtracts its largest number from each row, so that exp does not overflow. */
static void exp_rows(size_t n, size_t k, real *z)
{
    for (size_t r = 0; r < n; r++) {
        real *row = z + r * k, top = row[0];

        for (size_t j = 1; j < k; j++) {
            top = row[j] > top ? row[j] : top;
        }
        for (size_t j = 0; j < k; j++) {
            row[j] -= top;
        }
    }
}

static void exp_cells(size_t n, real *z)
{
    for (size_t j = 0; j < n; j++) {
        z[j] = exp_of(z[j]);
    }
}

static real sum_row(size_t k, const real *row)
{
    real sum = 0;

    for (size_t j = 0; j < k; j++) {
        sum += row[j];
    }
    return sum;
}

/* z becomes y - p; returns the sum of log p_y. */
static double judge_softmax(size_t n, size_t k, const double *y,
                            const uint32_t *row, size_t first, real *z)
{
    double total = 0.0;

    exp_rows(n, k, z);
    for (size_t r = 0; r < n; r++) {
        const size_t at = row ? row[first + r] : first + r;

        total += (double)z[r * k + (size_t)y[at]];
    }
    exp_cells(n * k, z);
    for (size_t r = 0; r < n; r++) {
        const size_t at = row ? row[first + r] : first + r;
        const real sum = sum_row(k, z + r * k), over = -1 / sum;

        for (size_t j = 0; j < k; j++) {
            z[r * k + j] *= over;
        }
        z[r * k + (size_t)y[at]] += 1;
        total -= rmc_log((double)sum);
    }
    return total;
}

/* One output, the log odds of class 1; by cases, so that nothing cancels. */
static double judge_binary(size_t n, const double *y, const uint32_t *row,
                           size_t first, real *z)
{
    double total = 0.0;

    for (size_t r = 0; r < n; r++) {
        const size_t at = row ? row[first + r] : first + r;
        const int is_one = y[at] > 0.0, is_right = (z[r] > 0) == is_one;
        const real size = z[r] < 0 ? -z[r] : z[r], e = exp_of(-size);
        const real missed = (is_right ? e : 1) / (1 + e);

        total -= (is_right ? 0.0 : (double)size) + rmc_log1p((double)e);
        z[r] = is_one ? missed : -missed;
    }
    return total;
}

static double judge_normal(size_t n, double noise, const double *y,
                           const uint32_t *row, size_t first, real *z)
{
    const double precision = 1.0 / (noise * noise);
    double total = 0.0;

    for (size_t r = 0; r < n; r++) {
        const size_t at = row ? row[first + r] : first + r;
        const double error = y[at] - (double)z[r];

        total -= 0.5 * precision * error * error;
        z[r] = (real)(precision * error);
    }
    return total;
}

/* Outputs z become D_L; returns the log likelihood. */
static double judge(const struct rmc_mlp *m, const uint32_t *row, size_t first,
                    size_t n, real *z)
{
    const double *y = m->data.y;

    switch (m->likelihood) {
    case RMC_MLP_BINARY:
        return judge_binary(n, y, row, first, z);
    case RMC_MLP_SOFTMAX:
        return judge_softmax(n, m->width[m->n_layers], y, row, first, z);
    default:
        return judge_normal(n, m->noise, y, row, first, z);
    }
}

/* ---- backward -------------------------------------------------------------- */

/* a, which is h, becomes d h': all three activations have h' in terms of h. */
static void chain_rule(int kind, size_t n, const real *restrict d,
                       real *restrict a)
{
    if (kind == RMC_MLP_RELU) {
        for (size_t j = 0; j < n; j++) {
            a[j] = a[j] > 0 ? d[j] : 0;
        }
    } else if (kind == RMC_MLP_TANH) {
        for (size_t j = 0; j < n; j++) {
            a[j] = d[j] * (1 - a[j] * a[j]);
        }
    } else {
        for (size_t j = 0; j < n; j++) {
            a[j] = d[j] * (a[j] * (1 - a[j]));
        }
    }
}

static void add_rows(size_t n, size_t width, real scale, const real *restrict d,
                     real *restrict sum)
{
    for (size_t r = 0; r < n; r++) {
        for (size_t j = 0; j < width; j++) {
            sum[j] += scale * d[r * width + j];
        }
    }
}

/* Adds scale times the gradient of the weights of layer l; `below` is that of
 * forward_layer. */
static void add_weights(const struct rmc_mlp *m, const struct room *r, size_t l,
                        const struct input *in, const real *below,
                        const real *out, real scale, real *g)
{
    const size_t from = m->width[l], to = m->width[l + 1];

    if (below) {
        GEMM(CblasRowMajor, CblasTrans, CblasNoTrans, (int)from, (int)to,
             (int)in->n, scale, below, (int)from, out, (int)to, 1,
             g + m->offset[l], (int)to);
    } else {
        const struct lists columns = turn(&in->sparse, from, &r->lists);

        add_products(&columns, out, to, scale, g + m->offset[l]);
    }
}

/* Adds scale times the gradient to g.  `out` is D_L, behind the hidden activations. */
static void backward(const struct rmc_mlp *m, const struct room *r,
                     const real *w, const struct input *in, real *out,
                     real scale, real *g)
{
    const size_t n = in->n;

    for (size_t l = m->n_layers; l-- > 0;) {
        const size_t from = m->width[l], to = m->width[l + 1];
        real *hidden = l ? out - n * from : NULL;

        add_rows(n, to, scale, out, g + rmc_mlp_biases(m, l));
        add_weights(m, r, l, in, l ? hidden : in->all, out, scale, g);
        if (l) { /* the inputs need no gradient */
            GEMM(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)from,
                 (int)to, 1, out, (int)to, w + m->offset[l], (int)to, 0,
                 r->output, (int)from);
            chain_rule((int)m->activation, n * from, r->output, hidden);
        }
        out = hidden;
    }
}

static struct input inputs_of(const struct rmc_mlp *m, const uint32_t *row,
                              size_t first, size_t n, const struct room *r)
{
    struct input in = {.n = n};

    if (m->sparse.start) {
        in.sparse = pick_rows(m, row, first, n, &r->lists);
    } else {
        in.all = gather(m->x, m->width[0], row, first, n, r->input);
    }
    return in;
}

static double add_slope(const struct rmc_mlp *m, const relmc_rows *rows,
                        const void *w, void *g)
{
    const struct room r = divide(m, rows->scratch);
    double total = 0.0;

    for (size_t at = 0; at < rows->n; at += m->max_rows) {
        const size_t left = rows->n - at;
        const size_t n = left < m->max_rows ? left : m->max_rows;
        const struct input in = inputs_of(m, rows->row, at, n, &r);
        real *out = forward(m, w, &in, r.act);

        total += judge(m, rows->row, at, n, out);
        backward(m, &r, w, &in, out, (real)rows->scale, g);
    }
    return rows->scale * total;
}

/* ---- a lane, a point ------------------------------------------------------- */

static void store(size_t n, size_t ld, const real *restrict g,
                  double *restrict grad)
{
    if (ld == 1) { /* a constant, so that the loop vectorises */
        for (size_t i = 0; i < n; i++) {
            grad[i] = (double)g[i];
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        grad[i * ld] = (double)g[i];
    }
}

static void lane(const struct rmc_mlp *m, const relmc_shape *s, size_t k,
                 const double *x, const relmc_rows *rows, double *grad,
                 double *lp)
{
    const struct room r = divide(m, rows->scratch);
    const double prior = load_all(m, s->ld, x + k, &r);

    lp[k] = prior + add_slope(m, rows, r.w, r.g);
    if (!rmc_is_finite(lp[k])) {
        lp[k] = -HUGE_VAL; /* an overflow: reject */
    }
    store(m->dim, s->ld, r.g, grad + k);
}

static void point(const struct rmc_mlp *m, const void *x,
                  const relmc_rows *rows, void *grad, double *lp)
{
    const double prior = slope_of_prior(m, x, grad);

    *lp = prior + add_slope(m, rows, x, grad);
    if (!rmc_is_finite(*lp)) {
        *lp = -HUGE_VAL;
    }
}

/* ---- predictions ----------------------------------------------------------- */

static void tell_softmax(size_t n, size_t k, real *z, double *out)
{
    exp_rows(n, k, z);
    exp_cells(n * k, z);
    for (size_t r = 0; r < n; r++) {
        double sum = 0.0;

        for (size_t j = 0; j < k; j++) {
            sum += (double)z[r * k + j];
        }
        for (size_t j = 0; j < k; j++) {
            out[r * k + j] = (double)z[r * k + j] / sum;
        }
    }
}

/* Makes the predictions of relmc_target_predict from the outputs z of n rows. */
static void tell(const struct rmc_mlp *m, size_t n, real *z, double *out)
{
    if (m->likelihood == RMC_MLP_SOFTMAX) {
        tell_softmax(n, m->width[m->n_layers], z, out);
        return;
    }
    for (size_t r = 0; r < n; r++) {
        const double size = fabs((double)z[r]), e = rmc_exp(-size);
        const double likely = 1.0 / (1.0 + e), unlikely = e / (1.0 + e);

        if (m->likelihood == RMC_MLP_NORMAL) {
            out[2 * r] = (double)z[r];
            out[2 * r + 1] = m->noise;
        } else {
            out[2 * r] = z[r] > 0 ? unlikely : likely;
            out[2 * r + 1] = z[r] > 0 ? likely : unlikely;
        }
    }
}

static void predict(const struct rmc_mlp *m, const double *x,
                    const relmc_data *data, void *scratch, double *out)
{
    const struct room r = divide(m, scratch);
    const size_t columns =
        m->likelihood == RMC_MLP_SOFTMAX ? m->width[m->n_layers] : 2;
    const real *all = input_of(data);

    (void)load_all(m, 1, x, &r);
    for (size_t at = 0; at < data->n_rows; at += m->max_rows) {
        const size_t left = data->n_rows - at;
        const size_t n = left < m->max_rows ? left : m->max_rows;
        const struct input in = {
            .n = n,
            .all = all ? gather(all, m->width[0], NULL, at, n, r.input)
                       : convert(data, at, n, r.input)};

        tell(m, n, forward(m, r.w, &in, r.act), out + at * columns);
    }
}

const struct rmc_mlp_pass RMC_ISA(PASS) = {
    .real_size = sizeof(real),
    .scratch = scratch_bytes,
    .add_slope = add_slope,
    .lane = lane,
    .point = point,
    .predict = predict,
};
