/* macros.c - the macros of relmc.h as C and as C++, without a warning. */
#include "relmc_spec.h"

struct plan {
    relmc_options options;
    int is_quiet;
};

relmc_status sample(relmc_run **run, const relmc_target *target);

relmc_status sample(relmc_run **run, const relmc_target *target)
{
    relmc_options options = RELMC_INIT(relmc_options);
    struct plan plan = {RELMC_INIT(relmc_options), 1};

    options.draws = RELMC_ZERO;
    options.kinetic = "newtonian";
    return relmc_run_create(run, target,
                            plan.is_quiet ? &plan.options : &options, NULL);
}

unsigned flags(const char *spec);

unsigned flags(const char *spec)
{
    relmc_component component = RELMC_INIT(relmc_component);

    return relmc_component_find("sampler", spec, &component, NULL)
               ? 0
               : component.flags;
}
