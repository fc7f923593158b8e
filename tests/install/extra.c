/* extra.c - uses both installed libraries (scripts/check_install.sh). */
#include "relmc_diag.h"
#include <relmc.h>
#include <relmc_extra.h>

#include <stdio.h>

int main(void)
{
    static const double x[] = {0.0, 0.5, -0.5, 1.0, 0.25, -1.0};
    static const double score[] = {0.0, -0.5, 0.5, -1.0, -0.25, 1.0};
    const relmc_stein_sample sample = {3, 2, x, score, NULL};
    relmc_graph_stein_report report = RELMC_INIT(relmc_graph_stein_report);
    relmc_error err;

    const relmc_status status = relmc_graph_stein(&report, &sample, NULL, &err);
    if (status && status != RELMC_EUNKNOWN) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    (void)printf("%s %.6f\n", relmc_build(), status ? 0.0 : report.lower);
    for (size_t i = 0; relmc_extra_model(i); i++) {
        (void)printf("%s\n", relmc_extra_model(i)->info.name);
    }
    return 0;
}
