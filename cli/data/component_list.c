/* component_list.c - components of the library and models of librelmc-extra. */
#include "data/component_list.h"
#include "data/data_options.h"

#include <string.h>

bool component_list_at(struct listed *out, const char *role, size_t i)
{
    size_t n = 0;

    *out =
        (struct listed){.role = role, .component.size = sizeof out->component};
    if (!relmc_component_at(role, i, &out->component, NULL)) {
        return true;
    }
    if (strcmp(role, "model") != 0) {
        return false;
    }
    while (!relmc_component_at(role, n, &out->component, NULL)) {
        n++;
    }
    out->extra = data_options_extra(i - n);
    return out->extra &&
           !relmc_info_component(out->extra, &out->component, NULL);
}

relmc_parameter component_list_param(const struct listed *listed, size_t i)
{
    relmc_parameter param = RELMC_INIT(relmc_parameter);

    (void)(listed->extra
               ? relmc_info_param(listed->extra, i, &param, NULL)
               : relmc_component_param(listed->role, listed->component.name, i,
                                       &param, NULL));
    return param;
}
