/* figures.c - the figures there are. */
#include "reproduce.h"

#include <string.h>

static const struct figure figures[] = {
    {"fig1-banana", &measure_sampling, fig1_claims},
    {"fig1-gmm1", &measure_sampling, fig1_claims},
    {"fig2", &measure_sampling, fig2_claims},
    {"fig3", &measure_sampling, fig3_claims},
    {"fig4", &measure_sampling, fig4_claims},
    {"fig5", &measure_training, fig5_claims},
    {"fig6-100", &measure_training, fig6_claims},
    {"fig6-500-300", &measure_training, fig6_claims},
    {"fig6-400-400", &measure_training, fig6_claims},
    {"fig6-search", &measure_training, NULL, .is_extra = true},
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
