/* figures.c - the figures there are. */
#include "reproduce.h"

#include <string.h>

static const struct figure figures[] = {
    {"fig1-banana", &measure_sampling, fig1_claims},
    {"fig1-gmm1", &measure_sampling, fig1_claims},
    {"fig2", &measure_sampling, fig2_claims},
    {"fig3", &measure_sampling, fig3_claims},
    {"fig4", &measure_sampling, fig4_claims},
};

const struct figure *figure_at(size_t i)
{
    return i < sizeof figures / sizeof *figures ? &figures[i] : NULL;
}

const struct figure *figure_find(const char *name)
{
    const struct figure *figure;

    for (size_t i = 0; (figure = figure_at(i)); i++) {
        if (!strcmp(figure->name, name)) {
            break;
        }
    }
    return figure;
}
