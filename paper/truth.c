/* truth.c - mean and standard deviation of a model's coordinates: exact, or
 * from one long run, which all cells share. */
#define _POSIX_C_SOURCE 200809L

#include "relmc_diag.h"
#include "reproduce.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 8, DRAWS = 5000 };

struct known_model {
    char *spec;
    struct truth truth;
    struct known_model *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_model *known; /* for the life of the program */

static relmc_status sample_long(const relmc_target *target, struct truth *truth,
                                relmc_error *err)
{
    const relmc_options options = {
        .size = sizeof options,
        .sampler = "nuts",
        .chains = CHAINS,
        .draws = DRAWS,
        .warmup = 1000,
        .seed = 1,
        .keep = RELMC_KEEP_RUNNING,
        .threads = 1,
    };
    relmc_run *run = NULL;
    relmc_status status = relmc_run_create(&run, target, &options, err);

    if (!status) {
        status = relmc_run_advance(run, INT64_MAX, err);
    }
    for (size_t i = 0; !status && i < truth->dim; i++) {
        relmc_online found = RELMC_INIT(relmc_online);

        status = relmc_run_online(&found, NULL, run, i, 0, NULL, err);
        truth->mean[i] = found.mean;
        truth->sd[i] = found.sd;
    }
    relmc_run_destroy(run);
    return status;
}

static bool knows(const relmc_target *target, struct truth *truth)
{
    if (relmc_target_moments(target, truth->mean, truth->sd, NULL)) {
        return false;
    }
    for (size_t i = 0; i < truth->dim; i++) {
        truth->sd[i] = sqrt(truth->sd[i]);
        if (!isfinite(truth->mean[i]) || !isfinite(truth->sd[i])) {
            return false;
        }
    }
    return true;
}

static const struct truth *
find_or_make(const char *spec, const relmc_target *target, const char *who)
{
    relmc_error err;
    struct known_model *m = known;

    while (m && strcmp(m->spec, spec) != 0) {
        m = m->next;
    }
    if (m) {
        return &m->truth;
    }
    m = cli_alloc(1, sizeof *m);
    m->truth.dim = relmc_target_dim(target);
    m->truth.mean = cli_alloc(2 * m->truth.dim, sizeof(double));
    m->truth.sd = m->truth.mean + m->truth.dim;
    if (!knows(target, &m->truth) && sample_long(target, &m->truth, &err)) {
        (void)cli_fail(0, who, "%s: %s", spec, err.message);
        free(m->truth.mean);
        free(m);
        return NULL;
    }
    m->spec = cli_text("%s", spec);
    m->next = known;
    known = m;
    return &m->truth;
}

const struct truth *truth_of(const char *spec, const relmc_target *target,
                             const char *who)
{
    (void)pthread_mutex_lock(&lock);
    const struct truth *truth = find_or_make(spec, target, who);

    (void)pthread_mutex_unlock(&lock);
    return truth;
}
