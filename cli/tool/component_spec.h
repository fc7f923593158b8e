/* component_spec.h - specs of components: "hmc:steps=20,jitter=0.2". */
#ifndef RELMC_CLI_COMPONENT_SPEC_H
#define RELMC_CLI_COMPONENT_SPEC_H

#include "tool/cli.h"

/* The component, or NULL. */
const relmc_info *spec_info(const char *role, const char *spec);
const relmc_param *spec_param(const relmc_info *info, const char *key);

/* The value of a key, *n characters; NULL if the spec does not give it. */
const char *spec_get(const char *spec, const char *key, size_t *n);
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
char *spec_method(const char *sampler, const relmc_info *kinetic);

#endif
