/* spec.h - specs of components: "hmc:steps=20,jitter=0.2". */
#ifndef RELMC_CLI_SPEC_H
#define RELMC_CLI_SPEC_H

#include "tool/cli.h"

#include "relmc_spec.h"

/* The component; false if there is none. */
bool spec_find(const char *role, const char *spec, relmc_component *out);
/* Its name, or NULL. */
const char *spec_name(const char *role, const char *spec);
/* A parameter of it; false if it has none of that name. */
bool spec_param(const char *role, const char *spec, const char *key,
                relmc_parameter *out);
/* The closest name of the role, for "did you mean"; NULL if none is close. */
const char *spec_nearest(const char *role, const char *name);

/* The spec with key=value in place of what it had; yours. */
char *spec_with(const char *spec, const char *key, const char *value);
/* The spec without that key; yours. */
char *spec_without(const char *spec, const char *key);
/* A parameter as a number: given, or the component's default; NaN if it is a
 * list or unset. */
double spec_number(const char *role, const char *spec, const char *key);

/* Has the sampler no Metropolis step; does it go to a mode; has it momenta; has
 * it several engines? */
bool spec_is_unadjusted(const char *sampler);
bool spec_optimises(const char *sampler);
bool spec_has_momentum(const char *sampler);
bool spec_has_engines(const char *sampler);

/* Refuses options, given by hand, that have no effect with this sampler. 0, or
 * the exit code after a message. */
int spec_refuse_idle(const struct opt_set *set, const char *sampler);

/* The method in words: "relativistic HMC (separable)", "NUTS (newtonian)",
 * "self-tuning, relativistic energy"; kinetic may be NULL. Yours. */
char *spec_method(const char *sampler, const char *kinetic);

#endif
