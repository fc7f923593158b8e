/* auto_report.c - what warm-up found, as JSON. */
#include "adapt/auto_tuner.h"

#include <stdio.h>

static const char *name_of_kinetic(const relmc_system *sys, int is_wanted)
{
    return (is_wanted ? sys->move.wanted : sys->move.newtonian).ops->info.name;
}

/* A JSON number with its key; null where there is none. */
static void add_number(rmc_text *text, const char *key, double value)
{
    char digits[32] = "null";

    if (rmc_is_finite(value)) {
        (void)rmc_format_number(digits, value, 6);
    }
    rmc_text_add(text, "\"%s\": %s", key, digits);
}

static size_t count_late(const struct rmc_tuner *a, size_t n_chains)
{
    size_t n = 0;

    for (size_t chain = 0; chain < n_chains; chain++) {
        n += a->is_late[chain];
    }
    return n;
}

void rmc_tuner_report(struct rmc_tuner *a, const relmc_system *sys,
                      size_t first, const struct rmc_phase *best)
{
    static const char *const kinds[] = {"diagonal", "low rank", "dense"};
    rmc_text text = {a->report, sizeof a->report, 0};

    rmc_text_add(&text, "{");
    if (a->has_engines) {
        rmc_text_add(&text, "\"engine\": \"%s\", \"why\": \"%s\", ",
                     sys->move.engines[best->engine], best->why);
    }
    rmc_text_add(&text, "\"kinetic\": \"%s\", \"metric\": \"%s\", ",
                 name_of_kinetic(sys, best->is_wanted), kinds[a->kind]);
    add_number(&text, "step_size", best->eps);
    rmc_text_add(&text, ", ");
    add_number(&text, "time", sys->move.time);
    rmc_text_add(&text,
                 ", \"restarts\": %zu, \"stuck_at_end\": %zu, \"warp\": [",
                 a->n_restarts, count_late(a, sys->run.chains));
    for (size_t i = 0; i < sys->frame.warp.n; i++) {
        const relmc_layer *l = &sys->frame.warp.layers[i];

        rmc_text_add(&text, "%s{\"hub\": %zu, \"does\": \"%s\"}", i ? ", " : "",
                     l->hub, l->rank ? "stretch" : "bend");
    }
    rmc_text_add(&text, "], \"scores\": {");
    for (size_t i = first; i < a->n_phases && a->has_engines; i++) {
        const struct rmc_phase *p = &a->phases[i];

        char key[64];

        (void)snprintf(key, sizeof key, "%s %s",
                       name_of_kinetic(sys, p->is_wanted),
                       sys->move.engines[p->engine]);
        rmc_text_add(&text, "%s", i > first ? ", " : "");
        add_number(&text, key, p->score);
    }
    rmc_text_add(&text, "}}");
}
