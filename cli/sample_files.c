/* sample_files.c - the files of a run: they take the place of nothing else. */
#include "sample.h"

#include "guard.h"

#include <stdlib.h>

char *files_rows(const struct plan *plan, size_t k)
{
    return cli_text("%s_%zu%s", plan->rows, plan->options.first_chain + k + 1,
                    plan_suffix(plan));
}

/* `path` is given away. */
static int guard_one(const struct opt_set *set, char *path)
{
    const int code = guard_output(set, S_OUTPUT, path);

    free(path);
    return code;
}

int files_guard(const struct plan *plan, const struct opt_set *set)
{
    const char *base = plan->base;
    int code = checkpoint_guard(set, S_CHECKPOINT);

    for (size_t k = 0; base && k < plan->options.chains && !code; k++) {
        code = guard_one(set, files_rows(plan, k));
    }
    if (base && !code) {
        code = guard_one(set, cli_text("%s_config.json", base));
    }
    if (base && !code && plan->is_adaptive) {
        code = guard_one(set, cli_text("%s_metric.json", base));
    }
    if (base && !code && plan->format == CHAIN_NC) {
        code = guard_one(set, cli_text("%s.nc", base));
    }
    return code;
}
