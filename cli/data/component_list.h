/*
 * component_list.h - the components that help texts list: those of the library, then
 * the models of librelmc-extra.
 */
#ifndef RELMC_CLI_COMPONENT_LIST_H
#define RELMC_CLI_COMPONENT_LIST_H

#include "relmc_ext.h"

#include <stdbool.h>

struct listed {
    const char *role;
    relmc_component component;
    const relmc_info *extra; /* its table in librelmc-extra, or NULL */
};

/* The i-th of the role; false past the end. */
bool component_list_at(struct listed *out, const char *role, size_t i);
/* The parameter i < n_params. */
relmc_parameter component_list_param(const struct listed *listed, size_t i);

#endif
