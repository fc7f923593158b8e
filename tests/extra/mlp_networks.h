/*
 * mlp_networks.h - small neural networks on made-up data.  Include it after cmocka.h.
 */
#ifndef TESTS_EXTRA_MLP_NETWORKS_H
#define TESTS_EXTRA_MLP_NETWORKS_H

#include "mlp/mlp.h"
#include "relmc_extra.h"
#include "target/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 23, COLUMNS = 3, MAX_DIM = 256, MAX_CLASSES = 3 };

static double inputs[ROWS * COLUMNS], numbers[ROWS], classes[ROWS];
static float inputs_single[ROWS * COLUMNS];
static const double pairs[ROWS] = {0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0,
                                   1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0};

static inline int make_data(void **state)
{
    relmc_stream stream = {.seed = 11};

    (void)state;
    for (size_t j = 0; j < (size_t)ROWS * COLUMNS; j++) {
        inputs_single[j] = (float)relmc_normal(&stream);
        inputs[j] = (double)inputs_single[j];
    }
    for (size_t r = 0; r < ROWS; r++) {
        numbers[r] = relmc_normal(&stream);
        classes[r] = floor(MAX_CLASSES * relmc_uniform(&stream));
    }
    return 0;
}

/* n_classes: 0, 2 or 3 */
static inline relmc_data data_of(size_t n_classes, int is_single)
{
    const relmc_data data = {sizeof data,
                             ROWS,
                             COLUMNS,
                             is_single ? NULL : inputs,
                             is_single ? inputs_single : NULL,
                             n_classes == 0   ? numbers
                             : n_classes == 2 ? pairs
                                              : classes,
                             n_classes};

    return data;
}

static inline relmc_target *open_on(const char *spec, const relmc_data *data)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    if (relmc_target_open_ops(&t, relmc_extra_model(0), spec, data, &err)) {
        fail_msg("%s: %s", spec, err.message);
    }
    assert_in_range(relmc_target_dim(t), 1, MAX_DIM);
    return t;
}

static inline relmc_target *open_spec(const char *spec, size_t n_classes)
{
    const relmc_data data = data_of(n_classes, 0);

    return open_on(spec, &data);
}

/* A random point, biases included. */
static inline void some_point(const relmc_target *t, uint64_t seed, double *x)
{
    relmc_stream stream = {.seed = seed};

    for (size_t i = 0; i < relmc_target_dim(t); i++) {
        x[i] = relmc_normal(&stream);
    }
}

/* on_rows of one lane, with garbage in the scratch. */
static inline double on_rows(const relmc_target *t, const double *x,
                             const uint32_t *row, size_t n, double scale,
                             double *grad)
{
    const relmc_shape one = {t->dim, 1, 1};
    const relmc_rows rows = {row, n, scale, aligned_alloc(64, t->scratch)};
    double lp = 0.0;

    assert_non_null(rows.scratch);
    memset(rows.scratch, 0xff, t->scratch);
    assert_int_equal(
        rmc_model_mlp.rows(t->self, &one, x, &rows, &lp, grad, NULL), RELMC_OK);
    free(rows.scratch);
    return lp;
}

static inline double prior_of(const relmc_target *t, const double *x)
{
    double grad[MAX_DIM];

    return on_rows(t, x, NULL, 0, 1.0, grad);
}

static const struct kind {
    const char *output;
    size_t n_classes;
} kinds[] = {
    {"normal", 0}, {"binary", 2}, {"softmax", 2}, {"softmax", 3}, {"auto", 3}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };
static const char *const activations[] = {"relu", "tanh", "sigmoid"};
static const char *const hiddens[] = {"4", "[5,3]", "[3,1,4,2]"};

static inline void for_each_network(void (*check)(const char *spec,
                                                  size_t n_classes))
{
    for (size_t i = 0; i < N_KINDS; i++) {
        for (size_t a = 0; a < 3; a++) {
            for (size_t h = 0; h < 3; h++) {
                char spec[120];

                (void)snprintf(spec, sizeof spec,
                               "mlp:hidden=%s,activation=%s,output=%s,"
                               "sd=1.5,bias_sd=0.7,noise=0.6",
                               hiddens[h], activations[a], kinds[i].output);
                check(spec, kinds[i].n_classes);
            }
        }
    }
}

#endif
