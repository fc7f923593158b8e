/* registry.h - components by role and name, for a code path. */
#ifndef RMC_REGISTRY_H
#define RMC_REGISTRY_H

#include "base/base.h"

/* Component files are compiled once per instruction set; the draws are the same
 * on all of them. */
enum { RMC_BASELINE, RMC_AVX2, RMC_AVX512, RMC_N_ISA };

/* The best one of this machine and build. */
int rmc_isa_best(void);
const char *rmc_isa_name(int isa);
/* By name; NULL is the best. */
relmc_status rmc_isa_find(int *out, const char *name, relmc_error *err);

/* The i-th component of a role, on the baseline path; NULL past the end. */
const relmc_info *rmc_component_info(const char *role, size_t i);

/* The component that a spec such as "hmc:steps=20" names. */
relmc_status rmc_component_find(const relmc_info **out, const char *role,
                                const char *spec, int isa, relmc_error *err);

#endif
