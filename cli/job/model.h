/* model.h - opens what MODEL names: a built-in model, a library, a Stan
 * program. */
#ifndef RELMC_CLI_MODEL_H
#define RELMC_CLI_MODEL_H

#include "data/data_options.h"
#include "job/init_points.h"

struct model_source {
    const struct opt_set *set; /* its argument: "gaussian:dim=2",
                                  "path/model.so", "path/model.stan" */
    uint64_t seed;             /* of a Stan model's transformed data */
    const struct voice *voice;
};

/* Opens the model and reads its data, which must outlive the target; call
 * data_options_clear in any case. 0, or the exit code after a message. */
int model_open(relmc_target **out, struct data_split *data,
               const struct model_source *from);
bool model_is_stan(const char *spec);
/* Opens a built-in model without data. */
int model_open_plain(relmc_target **out, const char *spec, const char *who);

/* Points from a JSON file with the values of a Stan model's parameters: an
 * object, or a list of such. */
int model_read_points(struct points *out, const relmc_target *target,
                      const char *path, const char *who);

/* Warns of points that the model rejected, and of outputs that failed. */
void model_say_trouble(const relmc_target *target, const struct voice *voice);

#endif
