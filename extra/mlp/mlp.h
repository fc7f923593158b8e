/* mlp.h - a feed-forward network: its shape, its data and its arithmetic. */
#ifndef RMC_EXTRA_MLP_H
#define RMC_EXTRA_MLP_H

#include "base/base.h"

/* Numbered as the words in the table of parameters. */
enum { RMC_MLP_RELU, RMC_MLP_TANH, RMC_MLP_SIGMOID };
enum { RMC_MLP_AUTO, RMC_MLP_BINARY, RMC_MLP_SOFTMAX, RMC_MLP_NORMAL };
enum { RMC_MLP_XAVIER, RMC_MLP_HE };
enum { RMC_MLP_SINGLE, RMC_MLP_DOUBLE };
enum { RMC_MLP_AS_SUITS, RMC_MLP_DENSE };

extern const relmc_model_ops rmc_model_mlp;

struct rmc_mlp;

/* The arithmetic in one precision; `real` is float or double. */
struct rmc_mlp_pass {
    size_t real_size;
    /* bytes of scratch memory */
    size_t (*scratch)(const struct rmc_mlp *);
    /* w and g have dim reals.  Returns the log likelihood of the rows and adds its
     * gradient to g, both times rows->scale */
    double (*add_slope)(const struct rmc_mlp *, const relmc_rows *,
                        const void *w, void *g);
    /* lane k, prior included, as relmc_model_ops.rows */
    void (*lane)(const struct rmc_mlp *, const relmc_shape *, size_t k,
                 const double *x, const relmc_rows *, double *grad, double *lp);
    /* x and grad are reals, prior included; relmc_model_ops.rows_float if these
     * are float */
    void (*point)(const struct rmc_mlp *, const void *x, const relmc_rows *,
                  void *grad, double *lp);
    /* relmc_model_ops.predict */
    void (*predict)(const struct rmc_mlp *, const double *x, const relmc_data *,
                    void *scratch, double *out);
};

extern const struct rmc_mlp_pass rmc_mlp_float_baseline,
    rmc_mlp_double_baseline;
extern const struct rmc_mlp_pass rmc_mlp_float_avx2, rmc_mlp_double_avx2;
extern const struct rmc_mlp_pass rmc_mlp_float_avx512, rmc_mlp_double_avx512;

/* Inputs most of which are zero: row r has value[i] in column[i], start[r] <= i
 * < start[r + 1]. */
struct rmc_mlp_sparse {
    size_t *start; /* n_rows + 1, or NULL: inputs are dense */
    uint32_t *column;
    void *value;    /* reals */
    size_t longest; /* row, in cells */
};

struct rmc_mlp {
    relmc_vector hidden;
    double activation, output, sd, bias_sd, noise, start, precision, block,
        inputs;
    /* bind sets the rest. */
    const struct rmc_mlp_pass *pass;
    int likelihood;  /* as `output`, but never RMC_MLP_AUTO */
    size_t n_layers; /* of weights */
    size_t *width;   /* n_layers + 1: inputs, units of each layer */
    size_t *offset;  /* n_layers: where weights start, inputs x outputs, row by
                        row; the biases of the outputs follow them */
    size_t widest;   /* units of the widest hidden layer */
    size_t dim;
    size_t max_rows; /* of one pass */
    relmc_data data;
    const void *x; /* reals: all the inputs, or NULL if they are sparse */
    struct rmc_mlp_sparse sparse;
};

/* Where the biases of layer l begin. */
static inline size_t rmc_mlp_biases(const struct rmc_mlp *m, size_t l)
{
    return m->offset[l] + m->width[l] * m->width[l + 1];
}

#endif
