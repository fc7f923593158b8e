/* registry.c - finds components by role, name and code path. */
#include "component/registry.h"
#include "base/spec.h"
#include "component/cpu.h"

#include <stdio.h>
#include <string.h>

/* Declared here once for every component and code path; defined at the foot of
 * the component's file. */
#define COMPONENT(role, name) \
    extern const relmc_##role##_ops rmc_##role##_##name##_baseline;
#include "component/components.def"
#undef COMPONENT

#ifdef RMC_HAS_AVX2
#define COMPONENT(role, name) \
    extern const relmc_##role##_ops rmc_##role##_##name##_avx2;
#include "component/components.def"
#undef COMPONENT
#define AVX2(role, name) &rmc_##role##_##name##_avx2.info
#else
#define AVX2(role, name) NULL
#endif

#ifdef RMC_HAS_AVX512
#define COMPONENT(role, name) \
    extern const relmc_##role##_ops rmc_##role##_##name##_avx512;
#include "component/components.def"
#undef COMPONENT
#define AVX512(role, name) &rmc_##role##_##name##_avx512.info
#else
#define AVX512(role, name) NULL
#endif

/* `info` is the first member of every table of functions. */
static const struct entry {
    const relmc_info *info[RMC_N_ISA];
} entries[] = {
#define COMPONENT(role, name)                                 \
    {{&rmc_##role##_##name##_baseline.info, AVX2(role, name), \
      AVX512(role, name)}},
#include "base/version.h"
#include "component/components.def"
#undef COMPONENT
};

/* In ascending order: a machine with one path has those before it. */
static const struct path {
    const char *name;
    int (*is_here)(void); /* NULL: everywhere */
} paths[RMC_N_ISA] = {
    [RMC_BASELINE] = {"baseline", NULL},
    [RMC_AVX2] = {"avx2", rmc_cpu_has_avx2},
    [RMC_AVX512] = {"avx512", rmc_cpu_has_avx512},
};

/* In this library, and on this machine. */
static int isa_is_here(int isa)
{
    return entries[0].info[isa] &&
           (!paths[isa].is_here || paths[isa].is_here());
}

int rmc_isa_best(void)
{
    int isa = RMC_N_ISA - 1;

    while (!isa_is_here(isa)) {
        isa--;
    }
    return isa;
}

const char *rmc_isa_name(int isa)
{
    return paths[isa].name;
}

const char *relmc_build(void)
{
    static const char *const builds[RMC_N_ISA] = {
        [RMC_BASELINE] = RMC_VERSION_TEXT " baseline",
        [RMC_AVX2] = RMC_VERSION_TEXT " avx2",
        [RMC_AVX512] = RMC_VERSION_TEXT " avx512",
    };

    return builds[rmc_isa_best()];
}

relmc_status rmc_isa_find(int *out, const char *name, relmc_error *err)
{
    *out = rmc_isa_best();
    if (!name) {
        return RELMC_OK;
    }
    for (int isa = 0; isa < RMC_N_ISA; isa++) {
        if (!strcmp(name, paths[isa].name) && isa_is_here(isa)) {
            *out = isa;
            return RELMC_OK;
        }
    }
    return rmc_fail(err, RELMC_EUNKNOWN,
                    "isa '%s' is not on this machine (the best here: %s)", name,
                    rmc_isa_name(rmc_isa_best()));
}

const relmc_info *rmc_component_info(const char *role, size_t i)
{
    for (size_t j = 0; j < sizeof entries / sizeof *entries; j++) {
        const relmc_info *info = entries[j].info[RMC_BASELINE];
        if (!strcmp(info->role, role) && i-- == 0) {
            return info;
        }
    }
    return NULL;
}

static const char *nearest_name(const char *role, const char *name)
{
    const char *nearest = NULL;
    size_t best = 3; /* with more edits it is another word */
    const relmc_info *info;

    for (size_t i = 0; (info = rmc_component_info(role, i)); i++) {
        const size_t distance = rmc_edit_distance(info->name, name);
        if (distance < best && distance < strlen(info->name)) {
            best = distance;
            nearest = info->name;
        }
    }
    return nearest;
}

static relmc_status not_found(const char *role, const char *name,
                              relmc_error *err)
{
    const char *nearest = nearest_name(role, name);
    char list[256] = "";
    rmc_text text = {list, sizeof list, 0};
    const relmc_info *info;

    if (nearest) {
        return rmc_fail(err, RELMC_EUNKNOWN,
                        "no %s \"%s\" (did you mean \"%s\"?)", role, name,
                        nearest);
    }
    for (size_t i = 0; (info = rmc_component_info(role, i)); i++) {
        rmc_text_add(&text, "%s%s", i ? ", " : "", info->name);
    }
    return rmc_fail(err, RELMC_EUNKNOWN, "no %s \"%s\" (there is: %s)", role,
                    name, list);
}

relmc_status rmc_component_find(const relmc_info **out, const char *role,
                                const char *spec, int isa, relmc_error *err)
{
    char name[64];
    const size_t n = rmc_spec_name_length(spec);

    (void)snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), spec);
    for (char *s = name; *s; s++) {
        if (*s == '-') { /* "sgld-adam" */
            *s = '_';
        }
    }
    for (size_t j = 0; j < sizeof entries / sizeof *entries; j++) {
        const relmc_info *info = entries[j].info[isa];
        if (!strcmp(info->role, role) && !strcmp(info->name, name)) {
            *out = info;
            return RELMC_OK;
        }
    }
    return not_found(role, name, err);
}
