/* measure_training.h - the data of experiments that train networks. */
#ifndef RELMC_CLI_REPRODUCE_TRAINING_H
#define RELMC_CLI_REPRODUCE_TRAINING_H

#include "data/data_options.h"
#include "reproduce.h"

/* How many seeds a cell has. */
static inline double training_seeds(const struct experiment *e,
                                    const struct cell *cell)
{
    return experiment_number(e, cell, "chains", 3);
}

/* Fills e->shared with all data its cells need, read once; the cells only look
 * at them.  As measure.open and .close. */
int training_data_open(struct experiment *e);
void training_data_close(struct experiment *e);

/* The rows that seed k of a cell trains on and is tested on; borrowed.
 *
 * "data" names a set, which is scaled by "scale".  "test" is another set, or a
 * number of rows of it that are split off at random, others for every seed.
 * "train_rows": [from, to] takes only those of what there is to train on, and
 * "test_rows" the same of the test rows or, without "test", of the data. */
void training_data_of(struct data_split *out, const struct experiment *e,
                      const struct cell *cell, size_t k);

#endif
