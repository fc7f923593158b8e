/*
 * kinetic.h - the kinetic energies to test: every registered one with its default
 * parameters, and more specs.  Include it after cmocka.h.
 */
#ifndef TESTS_CONFORMANCE_KINETIC_H
#define TESTS_CONFORMANCE_KINETIC_H

#include "base/base.h"
#include "relmc.h"
#include "support/check.h"
#include "support/stats.h"
#include "support/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SUBJECTS = 48, MAX_DIM = 12, SPEC_BYTES = 200 };
enum { LANES = 64, N_BLOCKS = 2500, CELLS = MAX_DIM * LANES };

/* Every parameter at least once, not m = c = 1, where mistakes cancel. */
static const struct {
    const char *spec;
    size_t dim;
} extra[] = {
    {"newtonian:m=2.5", 3},
    {"newtonian:m=0.04", 1},
    {"relativistic:m=2.5,c=0.7", 3},
    {"relativistic:m=0.3,c=4", 5},
    {"relativistic:m=0.04,c=1.5", 2},
    {"relativistic:m=2,c=0.3", 1},
    {"relativistic:m=2,c=50", 10},
    {"relativistic:c=2.5,cruise=0.6", 4},
    {"separable:m=2.5,c=0.7", 3},
    {"separable:m=0.3,c=4", 5},
    {"separable:m=0.04,c=1.5", 2},
    {"separable:m=[0.3,2,5],c=[2,0.5,1.5]", 3},
    {"separable:m=[0.3,2,5],c=3", 3},
    {"separable:m=4,c=[0.2,1,30]", 3},
    {"separable:c=[1,2.5,0.3],cruise=0.6", 3},
    {"separable:m=[1,2,3,4,5,6,7,8,9,10,11,12],c=[2,1,2,1,2,1,2,1,2,0.5,1,0.2]",
     12}, /* more energies m c^2 than there are tables */
};

struct subject {
    char spec[SPEC_BYTES];
    size_t dim;
    relmc_arena arena;
    relmc_kinetic kinetic[RMC_N_ISA];
    double c[MAX_DIM];      /* the speed limits, infinite where there is none */
    double rms[MAX_DIM];    /* typical size of p_i */
    struct evidence *fresh; /* of kinetic_refresh.c; made at first use */
};

static struct subject subjects[MAX_SUBJECTS];
static size_t n_subjects;

/* ---- subjects ------------------------------------------------------------ */

/* [natural-c] of the separable energy, 1 without cruise. */
static inline double usual_c(const relmc_kinetic *kin)
{
    const double two_over_pi = 0.63661977236758134308;

    for (const relmc_param *p = kin->ops->info.params; p && p->name; p++) {
        double cruise;

        memcpy(&cruise, (const unsigned char *)kin->self + p->offset,
               sizeof cruise);
        if (strcmp(p->name, "cruise") == 0 && cruise == cruise) {
            return sqrt(two_over_pi) / cruise;
        }
    }
    return 1.0;
}

/* c_i, read from the parameter table. */
static inline double light_speed(const relmc_kinetic *kin, size_t i)
{
    for (const relmc_param *p = kin->ops->info.params; p && p->name; p++) {
        const unsigned char *at = (const unsigned char *)kin->self + p->offset;
        relmc_vector vector;
        double real;

        if (strcmp(p->name, "c") != 0) {
            continue;
        }
        if (p->kind == RELMC_VECTOR) {
            memcpy(&vector, at, sizeof vector);
            return vector.n ? vector.values[vector.n == 1 ? 0 : i]
                            : usual_c(kin);
        }
        memcpy(&real, at, sizeof real);
        return real;
    }
    return HUGE_VAL;
}

static inline void refresh(const relmc_kinetic *kin, const relmc_shape *s,
                           relmc_stream *streams, double *p)
{
    kin->ops->refresh(kin->self, s, streams, p);
}

static inline void open_subject(const char *spec, size_t dim)
{
    struct subject *t = &subjects[n_subjects];
    const relmc_shape s = {dim, LANES, LANES};
    double p[CELLS];

    assert_true(n_subjects++ < MAX_SUBJECTS && dim <= MAX_DIM);
    (void)snprintf(t->spec, sizeof t->spec, "%s", spec);
    t->dim = dim;
    for (int isa = 0; isa <= rmc_isa_best(); isa++) {
        t->kinetic[isa] = test_kinetic_open(&t->arena, spec, dim, isa);
    }
    refresh(t->kinetic, &s,
            test_streams_new(&t->arena, LANES, 7, 0, RELMC_FOR_MOMENTUM), p);
    for (size_t i = 0; i < dim; i++) {
        t->c[i] = light_speed(t->kinetic, i);
        for (size_t k = 0; k < LANES; k++) {
            t->rms[i] += p[i * LANES + k] * p[i * LANES + k];
        }
        t->rms[i] = sqrt(t->rms[i] / LANES);
    }
}

static inline int open_subjects(void **state)
{
    static const size_t dims[] = {1, 2, 7};
    const relmc_info *info;

    (void)state;
    for (size_t i = 0; (info = rmc_component_info("kinetic", i)); i++) {
        for (size_t j = 0; j < sizeof dims / sizeof *dims; j++) {
            open_subject(info->name, dims[j]);
        }
    }
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
        open_subject(extra[i].spec, extra[i].dim);
    }
    return 0;
}

static inline int close_subjects(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_subjects; i++) {
        free(subjects[i].fresh);
        rmc_arena_release(&subjects[i].arena);
    }
    return 0;
}

#define FOR_SUBJECTS(t) \
    for (struct subject *t = subjects; t < subjects + n_subjects; t++)

static size_t n_wrong; /* complaints; a test ends with demand_none */

static inline void wrong(const struct subject *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void wrong(const struct subject *t, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n_wrong++ < 10) {
        print_error("%s, dim %zu: %s\n", t->spec, t->dim, text);
    }
}

static inline void demand_none(void)
{
    const size_t n = n_wrong;

    n_wrong = 0;
    if (n > 0) {
        fail_msg("%zu complaints", n);
    }
}

#endif
