/*
 * params_fuzz.c - reads any text as the spec of any component.
 *
 * With libFuzzer (cmake -DRELMC_FUZZ=ON, see tests/CMakeLists.txt) this is its
 * harness.  Without, it is a test: the specs of all components, cut, joined and
 * mutated a fixed number of times.
 *
 * What must hold: no crash; an error has a status and one line of text; accepted values
 * lie within the ranges of the table, and stay the same when printed and read again.
 */
#include "base/spec.h"
#include "component/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SPEC = 4096, MAX_STATE = 4096 };

static const char *const roles[] = {"kinetic", "integrator", "sampler",
                                    "adapt",   "model",      "sink"};

enum { N_ROLES = sizeof roles / sizeof *roles };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int is_true, const char *what, const char *spec)
{
    if (!is_true) {
        (void)fprintf(stderr, "params_fuzz: %s: \"%s\"\n", what, spec);
        abort();
    }
}

/* ---- what must hold ----------------------------------------------------- */

static void check_message(const relmc_error *err, relmc_status status,
                          const char *spec)
{
    const char *end = memchr(err->message, '\0', sizeof err->message);

    demand(status < 0 && err->status == status, "status", spec);
    demand(end && end > err->message, "length of the message", spec);
}

static void check_value(const relmc_param *p, double value, const char *spec)
{
    demand(value >= p->min && value <= p->max, "out of range", spec);
    demand(p->kind != RELMC_INTEGER || value == floor(value), "no integer",
           spec);
}

static void check_ranges(const relmc_info *info, const unsigned char *state,
                         const char *spec)
{
    for (const relmc_param *p = info->params; p && p->name; p++) {
        double real;
        relmc_vector v;

        if (p->kind == RELMC_VECTOR) {
            memcpy(&v, state + p->offset, sizeof v);
            demand(!v.values == !v.n, "a vector without values", spec);
            for (size_t i = 0; i < v.n; i++) {
                check_value(p, v.values[i], spec);
            }
        } else {
            memcpy(&real, state + p->offset, sizeof real);
            if (real == real || p->fallback == p->fallback) {
                check_value(p, real, spec);
            }
        }
    }
}

static char *print(const relmc_info *info, const void *state,
                   relmc_arena *arena)
{
    rmc_text measure = {0};

    rmc_spec_print(&measure, info, state);
    rmc_text text = {relmc_arena_get(arena, measure.bytes + 1),
                     measure.bytes + 1, 0};
    rmc_spec_print(&text, info, state);
    demand(text.bytes == measure.bytes, "measured wrong", text.out);
    return text.out;
}

static void check_parse(const relmc_info *info, const char *spec)
{
    static _Alignas(64) unsigned char state[MAX_STATE], again[MAX_STATE];
    relmc_arena arena = {0};
    relmc_error err = {0};

    memset(state, 0, sizeof state);
    memset(again, 0, sizeof again);
    const relmc_status status = rmc_spec_parse(spec, info, state, &arena, &err);
    if (status) {
        check_message(&err, status, spec);
    } else {
        const char *printed = print(info, state, &arena);

        check_ranges(info, state, spec);
        demand(!rmc_spec_parse(printed, info, again, &arena, &err),
               "what was printed cannot be read", printed);
        demand(!strcmp(print(info, again, &arena), printed),
               "printed differently", printed);
    }
    rmc_arena_release(&arena);
}

/* ---- one input ---------------------------------------------------------- */

/* As the parameters of every component, and as a spec of every role. */
static void check_text(const char *text)
{
    static char spec[MAX_SPEC + 128];
    const relmc_info *info;

    for (int r = 0; r < N_ROLES; r++) {
        relmc_error err = {0};
        const relmc_info *found = NULL;
        const relmc_status status =
            rmc_component_find(&found, roles[r], text, RMC_BASELINE, &err);

        if (status) {
            check_message(&err, status, text);
        } else {
            check_parse(found, text);
        }
        for (size_t i = 0; (info = rmc_component_info(roles[r], i)); i++) {
            (void)snprintf(spec, sizeof spec, "%s:%s", info->name, text);
            check_parse(info, spec);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[MAX_SPEC + 1];
    const size_t n = size < MAX_SPEC ? size : MAX_SPEC;

    if (n > 0) {
        memcpy(text, data, n);
    }
    text[n] = '\0';
    check_text(text);
    return 0;
}

/* ---- the fixed run ------------------------------------------------------ */

#ifndef RELMC_LIBFUZZER

enum { N_RUNS = 20000, MAX_SEEDS = 400, MAX_SEED = 100 };

static char seeds[MAX_SEEDS][MAX_SEED];
static size_t n_seeds;

/* head, value, tail: "c=", 2, "" or "c=[", 2, ",1,2]" */
static void add_seed(const char *name, const char *equals, double value,
                     const char *tail)
{
    if (n_seeds < MAX_SEEDS) {
        (void)snprintf(seeds[n_seeds++], MAX_SEED, "%s%s%.17g%s", name, equals,
                       value, tail);
    }
}

/* Every parameter of every component at both ends and between. */
static void make_seeds(void)
{
    const relmc_info *info;

    for (int r = 0; r < N_ROLES; r++) {
        for (size_t i = 0; (info = rmc_component_info(roles[r], i)); i++) {
            add_seed(info->name, ":c=", 1.0, "");
            for (const relmc_param *p = info->params; p && p->name; p++) {
                add_seed(p->name, "=", p->min, "");
                add_seed(p->name, "=", p->max, "");
                if (p->kind == RELMC_VECTOR) {
                    add_seed(p->name, "=[", p->max, ",1,2]");
                }
            }
        }
    }
}

static size_t below(relmc_stream *s, size_t n)
{
    return (size_t)(relmc_uniform(s) * (double)n);
}

/* One to four seeds joined, then up to three mutations. */
static size_t mutate(relmc_stream *s, char *text)
{
    static const char alphabet[] =
        "0123456789.,:=[]-+eExXinfa \t\"%\\\n\xc3\xff";
    size_t n = 0;

    for (size_t j = 1 + below(s, 4); j > 0; j--) {
        const char *seed = seeds[below(s, n_seeds)];
        const size_t m = strlen(seed) + 1;

        memcpy(text + n, seed, m);
        n += m;
        if (j > 1) {
            text[n - 1] = ',';
        }
    }
    n--;
    for (size_t j = below(s, 4); j > 0 && n > 0; j--) {
        const size_t at = below(s, n);
        const char c = alphabet[below(s, sizeof alphabet - 1)];

        switch (below(s, 4)) {
        case 0: /* replace */
            text[at] = c;
            break;
        case 1: /* delete */
            memmove(text + at, text + at + 1, n - at - 1);
            n--;
            break;
        case 2: /* insert */
            memmove(text + at + 1, text + at, n - at);
            text[at] = c;
            n++;
            break;
        default: /* cut */
            n = at;
        }
    }
    return n;
}

int main(void)
{
    relmc_stream s = {110, 0, 0, 0};
    static char text[8 * MAX_SEED];

    make_seeds();
    for (size_t j = 0; j < n_seeds; j++) {
        (void)LLVMFuzzerTestOneInput((const uint8_t *)seeds[j],
                                     strlen(seeds[j]));
    }
    for (int n = 0; n < N_RUNS; n++) {
        const size_t bytes = mutate(&s, text);
        (void)LLVMFuzzerTestOneInput((const uint8_t *)text, bytes);
    }
    (void)printf("%zu seeds, %d mutations\n", n_seeds, (int)N_RUNS);
    return 0;
}

#endif
