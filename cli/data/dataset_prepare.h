/* dataset_prepare.h - what is done to data before a model sees them. */
#ifndef RELMC_CLI_DATASET_PREPARE_H
#define RELMC_CLI_DATASET_PREPARE_H

#include "data/dataset.h"

enum dataset_scale {
    DATASET_SCALE_NONE,
    DATASET_SCALE_SD,  /* mean 0, standard deviation 1 (n - 1 in it) */
    DATASET_SCALE_MAX, /* largest absolute value 1 */
    DATASET_SCALE_BYTE /* divided by 255: images */
};
/* As they are written in an option of kind OPT_CHOICE. */
#define DATASET_SCALES "none|sd|max|byte"
enum dataset_scale dataset_scale_named(const char *name);

/* x becomes (x - shift) / scale, column by column. */
struct dataset_scaling {
    size_t n_columns;
    double *shift, *scale;
};
/* From the training data; 0, or the exit code after a message that calls the
 * data `source`. */
int dataset_scaling_learn(struct dataset_scaling *out,
                          const struct dataset *train, enum dataset_scale how,
                          const char *who, const char *source);
void dataset_scaling_apply(const struct dataset_scaling *scaling,
                           struct dataset *set);
void dataset_scaling_clear(struct dataset_scaling *scaling);

/* Some rows become test data, the same ones for a seed on any machine; of each
 * class the same share, if there are classes.  Rows keep their order.  `test` is
 * a number of rows (>= 1) or a share of them (< 1); both parts must get a row. */
int dataset_split(struct dataset *train, struct dataset *test_out, double test,
                  uint64_t seed, const char *who);

/* A first column of ones, called "intercept". */
int dataset_add_intercept(struct dataset *set, const char *who);

#endif
