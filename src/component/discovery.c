/* discovery.c - lists components and checks specs for programs: the last
 * section of relmc.h. */
#include "base/sized_struct.h"
#include "base/spec.h"
#include "component/registry.h"

#include <string.h>

static size_t n_params(const relmc_info *info)
{
    size_t n = 0;

    while (info->params && info->params[n].name) {
        n++;
    }
    return n;
}

/* The info of a component is the first member of its table of functions. */
static unsigned flags_of(const relmc_info *info)
{
    const void *ops = info;

    if (!strcmp(info->role, "sampler")) {
        return ((const relmc_sampler_ops *)ops)->flags;
    }
    if (!strcmp(info->role, "model") && ((const relmc_model_ops *)ops)->bind) {
        return RELMC_TAKES_DATA;
    }
    return 0;
}

/* One for every drift, which is followed by a kick. */
static size_t n_gradients(const relmc_info *info)
{
    const void *ops = info;

    return strcmp(info->role, "integrator") != 0
               ? 0
               : ((const relmc_integrator_ops *)ops)->n_coef / 2;
}

relmc_status relmc_info_component(const relmc_info *info, relmc_component *out,
                                  relmc_error *err)
{
    const relmc_component report = {
        .name = info->name,
        .doc = info->doc,
        .flags = flags_of(info),
        .n_params = n_params(info),
        .n_gradients = n_gradients(info),
    };

    return rmc_sized_fill(out, &report, sizeof report, "relmc_component", err);
}

relmc_status relmc_info_param(const relmc_info *info, size_t i,
                              relmc_parameter *out, relmc_error *err)
{
    static const char *const kinds[] = {
        [RELMC_REAL] = "real",
        [RELMC_INTEGER] = "integer",
        [RELMC_VECTOR] = "vector",
        [RELMC_CHOICE] = "choice",
    };
    const size_t n = n_params(info);

    if (i >= n) {
        return rmc_fail(err, RELMC_EUNKNOWN,
                        "%s has no parameter number %zu, it has %zu",
                        info->name, i, n);
    }
    const relmc_param *p = &info->params[i];
    const relmc_parameter report = {
        .name = p->name,
        .doc = p->doc,
        .kind = kinds[p->kind],
        .min = p->min,
        .max = p->max,
        .fallback = p->fallback,
        .choices = p->choices,
    };

    return rmc_sized_fill(out, &report, sizeof report, "relmc_parameter", err);
}

relmc_status relmc_component_at(const char *role, size_t i,
                                relmc_component *out, relmc_error *err)
{
    const relmc_info *info = rmc_component_info(role, i);

    return info ? relmc_info_component(info, out, err)
                : rmc_fail(err, RELMC_EUNKNOWN, "no %s number %zu", role, i);
}

relmc_status relmc_component_find(const char *role, const char *spec,
                                  relmc_component *out, relmc_error *err)
{
    const relmc_info *info = NULL;
    const relmc_status status =
        rmc_component_find(&info, role, spec, RMC_BASELINE, err);

    return status ? status : relmc_info_component(info, out, err);
}

relmc_status relmc_component_param(const char *role, const char *name, size_t i,
                                   relmc_parameter *out, relmc_error *err)
{
    const relmc_info *info = NULL;
    const relmc_status status =
        rmc_component_find(&info, role, name, RMC_BASELINE, err);

    return status ? status : relmc_info_param(info, i, out, err);
}

/* ---- specs --------------------------------------------------------------- */

/* Of the part of the state that holds the parameters. */
static size_t params_size(const relmc_info *info)
{
    size_t size = 0;

    for (size_t i = 0; i < n_params(info); i++) {
        const relmc_param *p = &info->params[i];
        const size_t end =
            p->offset +
            (p->kind == RELMC_VECTOR ? sizeof(relmc_vector) : sizeof(double));
        size = end > size ? end : size;
    }
    return size;
}

/* What follows the name of a sink without parameters belongs to the sink. */
static relmc_status spell_out(rmc_text *text, const relmc_info *info,
                              const char *spec, relmc_arena *arena,
                              relmc_error *err)
{
    const char *rest = spec + rmc_spec_name_length(spec);
    relmc_status status;

    if (!strcmp(info->role, "sink") && !info->params) {
        rmc_text_add(text, "%s%s", info->name, rest);
        return RELMC_OK;
    }
    void *state = relmc_arena_get(arena, params_size(info));

    if (!(status = relmc_arena_check(arena, err)) &&
        !(status = rmc_spec_parse(spec, info, state, arena, err))) {
        rmc_spec_print(text, info, state);
    }
    return status;
}

relmc_status relmc_spec_check(const char *role, const char *spec, char *out,
                              size_t room, size_t *length, relmc_error *err)
{
    const relmc_info *info = NULL;
    relmc_arena arena = {0};
    rmc_text text = {.room = room};
    relmc_status status =
        rmc_component_find(&info, role, spec, RMC_BASELINE, err);

    text.out = out;
    if (!status) {
        status = spell_out(&text, info, spec, &arena, err);
    }
    if (!status && length) {
        *length = text.bytes;
    }
    rmc_arena_release(&arena);
    return status;
}
