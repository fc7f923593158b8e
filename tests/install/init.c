/* init.c - RELMC_INIT of every struct that begins with its size, as C and as C++. */
#include "relmc_diag.h"
#include "relmc_spec.h"
#include "relmc_team.h"

#include <stdio.h>

/* A wrong size would leave out the last member. */
#define CHECK(type, last)                               \
    do {                                                \
        type t = RELMC_INIT(type);                      \
                                                        \
        if (t.size != sizeof(type) || t.last) {         \
            (void)fprintf(stderr, "init: " #type "\n"); \
            n_wrong++;                                  \
        }                                               \
    } while (0)

int main(void)
{
    int n_wrong = 0;

    CHECK(relmc_density, release);
    CHECK(relmc_data, n_classes);
    CHECK(relmc_options, memory_ctx);
    CHECK(relmc_progress, kinetic);
    CHECK(relmc_draws, stats);
    CHECK(relmc_draw, stats);
    CHECK(relmc_component, n_gradients);
    CHECK(relmc_parameter, choices);
    CHECK(relmc_team, ctx);
    CHECK(relmc_online, rank_error);
    CHECK(relmc_summary, rhat_folded);
    CHECK(relmc_nested_rhat, folded);
    CHECK(relmc_ksd_options, block);
    CHECK(relmc_ksd_report, u);
    CHECK(relmc_ksd_bound, n_landmarks);
    CHECK(relmc_ksd_estimate, n_blocks);
    CHECK(relmc_graph_stein_options, max_iterations);
    CHECK(relmc_graph_stein_report, n_iterations);
    CHECK(relmc_temperature_report, standard_error);
    CHECK(relmc_mae_report, n_outside);
    CHECK(relmc_two_sample_options, w1);
    CHECK(relmc_two_sample_report, n_permutations);
    CHECK(relmc_zscores, worst);
    CHECK(relmc_ecdf_band, coverage);
    CHECK(relmc_gradient_report, is_ok);
    return n_wrong ? 1 : 0;
}
