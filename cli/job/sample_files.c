/* sample_files.c - the files of a run: they take the place of nothing but those of
 * an earlier one, and of all of these. */
#include "job/sample.h"

#include "draws/overwrite_check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

char *files_rows(const struct plan *plan, size_t k)
{
    return cli_text("%s_%zu%s", plan->rows, plan->options.first_chain + k + 1,
                    plan_suffix(plan));
}

/* `path` is given away. */
static int guard_one(const struct opt_set *set, char *path)
{
    const int code = guard_output(set, "output", path);

    free(path);
    return code;
}

int files_guard(const struct plan *plan, const struct opt_set *set)
{
    const char *base = plan->base;
    int code = checkpoint_guard(set);

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

int files_lock(const struct plan *plan, const char *who)
{
    int code = CLI_OK;

    for (size_t k = 0; plan->base && k < plan->options.chains && !code; k++) {
        char *path = files_rows(plan, k);

        code = guard_lock(who, path);
        free(path);
    }
    return code;
}

/* ---- an earlier run ---------------------------------------------------------- */

size_t files_before(const struct plan *plan)
{
    char *path = plan->base ? cli_text("%s_config.json", plan->base) : NULL;
    json_t *root = path ? json_load_file(path, 0, NULL) : NULL;
    json_int_t n = 0, first = 0;
    const bool is_it = !json_unpack(root, "{s:{s:I, s:I}}", "options", "chains",
                                    &n, "chain_id", &first);

    json_decref(root);
    free(path);
    return is_it && n > 0 && first == (json_int_t)plan->options.first_chain + 1
               ? (size_t)n
               : 0;
}

/* What is read stays. */
static bool drop(const struct opt_set *set, const char *path)
{
    return !guard_is_named(set, "output", path) && !remove(path);
}

/* Draws of chains that are no more: the first and the last; yours. */
static char *drop_rows(const struct plan *plan, const struct opt_set *set,
                       size_t n_before)
{
    char *first = NULL, *last = NULL;

    for (size_t k = plan->options.chains; k < n_before; k++) {
        char *path = files_rows(plan, k);

        if (!chain_is_it(path) || !drop(set, path)) {
            free(path);
        } else if (!first) {
            first = path;
        } else {
            free(last);
            last = path;
        }
    }
    char *text = last ? cli_text("%s ... %s", first, last)
                      : cli_text("%s", first ? first : "");
    free(first);
    free(last);
    return text;
}

void files_tidy(const struct plan *plan, const struct opt_set *set,
                size_t n_before, const struct voice *voice)
{
    if (!n_before) {
        return;
    }
    char *rows = drop_rows(plan, set, n_before);
    char *metric = cli_text("%s_metric.json", plan->base);
    const bool is_told = drop(set, metric) && !plan->is_adaptive;

    if (*rows || is_told) {
        cli_say(voice, "removed %s%s%s of an earlier run", rows,
                *rows && is_told ? ", " : "", is_told ? metric : "");
    }
    free(rows);
    free(metric);
}
