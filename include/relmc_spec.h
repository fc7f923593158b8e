/*
 * relmc_spec.h - components and their parameters by name: for help texts, keyword
 * arguments and checks of specs.  The rules are those of relmc.h.
 */
#ifndef RELMC_SPEC_H
#define RELMC_SPEC_H
#include "relmc.h"
#ifdef __cplusplus
extern "C" {
#endif

enum {                         /* relmc_component.flags */
       RELMC_NEEDS_EXACT = 1,  /* a sampler with an accept step: no minibatches */
       RELMC_HAS_ENGINES = 2,  /* it chooses between samplers */
       RELMC_UNADJUSTED = 4,   /* it has no accept step: warm-up tunes nothing */
       RELMC_OPTIMISES = 8,    /* it goes to a mode: its draws are a path */
       RELMC_NO_MOMENTUM = 16, /* it does not use the kinetic energy */
       RELMC_TAKES_DATA = 32   /* a model of the rows in a relmc_data */
};
typedef struct relmc_component {
    size_t size;
    const char *name, *doc;
    unsigned flags;
    size_t n_params;
    size_t n_gradients; /* of a step of an integrator; else 0 */
} relmc_component;
typedef struct relmc_parameter {
    size_t size;
    const char *name, *doc, *kind; /* "real", "integer", "vector", "choice" */
    double min, max, fallback;     /* NaN: unset, doc says what happens then */
    const char *choices;           /* "euler|baoab|obabo"; fallback is a place in it */
} relmc_parameter;
/* Roles: kinetic integrator sampler adapt model sink.  RELMC_EUNKNOWN past the end and
 * for an unknown name; the error then gives the closest name. */
RELMC_API relmc_status relmc_component_at(const char *role, size_t i, relmc_component *,
                                          relmc_error *);
RELMC_API relmc_status relmc_component_find(const char *role, const char *spec,
                                            relmc_component *, relmc_error *);
RELMC_API relmc_status relmc_component_param(const char *role, const char *name, size_t i,
                                             relmc_parameter *, relmc_error *);
/* Checks a spec and spells out its defaults: "hmc" becomes "hmc:steps=32,time=0,...".  out
 * gets what fits, terminated, and *length the length of all of it; both may be NULL. */
RELMC_API relmc_status relmc_spec_check(const char *role, const char *spec, char *out,
                                        size_t room, size_t *length, relmc_error *);
/* The value that a spec gives for a key: *n characters in it; NULL if it gives none. */
RELMC_API const char *relmc_spec_get(const char *spec, const char *key, size_t *n);

#ifdef __cplusplus
}
#endif
#endif /* RELMC_SPEC_H */
