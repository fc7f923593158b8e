/* model.h - opens what MODEL names: a built-in model, a library, a Stan program. */
#ifndef RELMC_CLI_MODEL_H
#define RELMC_CLI_MODEL_H

#include "opt.h"
#include "points.h"

struct model_source {
    const char *spec; /* "gaussian:dim=2", "path/model.so", "path/model.stan" */
    const char *data; /* path of its JSON data; NULL: none */
    uint64_t seed;    /* of transformed data */
    const char *who;
    const struct voice *voice;
};

/* The option that goes with MODEL. */
#define MODEL_DATA_OPTION                                                 \
    {                                                                     \
        .name = "data", .kind = OPT_TEXT, .value = "FILE",                \
        .doc = "JSON data of a Stan model (MODEL is a .stan or .so file)" \
    }

/* Its value; a setting for all runs does not count for built-in models. */
const char *model_data(const struct opt_set *set, int i);

/* 0, or the exit code after a message. */
int model_open(relmc_target **out, const struct model_source *from);
bool model_is_stan(const char *spec);

/* Points from a JSON file with the values of a Stan model's parameters: an
 * object, or a list of such. */
int model_read_points(struct points *out, const relmc_target *target,
                      const char *path, const char *who);

/* Points it rejected and outputs that failed, a warning each. */
void model_say_trouble(const relmc_target *target, const struct voice *voice);

#endif
