/* figures.c - the list of figures. */
#include "reproduce.h"

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
