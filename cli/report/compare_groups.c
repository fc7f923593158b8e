/* compare_groups.c - which files are the chains of one run, and what the run is
 * called. */
#include "report/compare.h"

#include <stdlib.h>
#include <string.h>

/* runs/nuts_12.csv is a chain of runs/nuts; yours. */
static char *base_of(const char *path)
{
    const size_t length = strlen(path);
    size_t n = length - strlen(chain_suffix(chain_format_of(path)));
    size_t m = n;

    while (m > 0 && path[m - 1] >= '0' && path[m - 1] <= '9') {
        m--;
    }
    if (m < n && m > 1 && strchr("_-.", path[m - 1]) && path[m - 2] != '/') {
        n = m - 1;
    }
    return cli_text("%.*s", (int)n, path);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static struct group *find_base(const struct comparison *all, const char *base)
{
    for (size_t g = 0; g < all->n_groups; g++) {
        if (!strcmp(all->groups[g].base, base)) {
            return &all->groups[g];
        }
    }
    return NULL;
}

static struct group *add_group(struct comparison *all, size_t n_files,
                               const char *base)
{
    struct group *group = &all->groups[all->n_groups++];

    *group = (struct group){
        .base = cli_text("%s", base),
        .paths = cli_alloc(n_files, sizeof *group->paths),
    };
    return group;
}

/* Every label starts a run: --label A a1.csv a2.csv --label B b1.csv */
static int group_by_labels(struct comparison *all, const struct opt_set *set)
{
    const struct opt_value *labels = opt_get(set, "label");

    for (size_t l = 0; l < labels->n_items; l++) {
        const size_t from = labels->before[l];
        const size_t to =
            l + 1 < labels->n_items ? labels->before[l + 1] : set->n_arguments;

        if (from == to) {
            return cli_fail(CLI_USAGE, set->who, "--label %s: no file follows",
                            labels->items[l]);
        }
        struct group *group =
            add_group(all, set->n_arguments, labels->items[l]);
        group->label = cli_text("%s", labels->items[l]);
        for (size_t i = from; i < to; i++) {
            group->paths[group->n_paths++] = set->arguments[i];
        }
    }
    return CLI_OK;
}

/* Files whose names differ in the number of the chain are one run. */
static void group_by_names(struct comparison *all, const struct opt_set *set)
{
    for (size_t i = 0; i < set->n_arguments; i++) {
        char *base = base_of(set->arguments[i]);
        struct group *group = find_base(all, base);

        if (!group) {
            group = add_group(all, set->n_arguments, base);
        }
        free(base);
        group->paths[group->n_paths++] = set->arguments[i];
    }
}

/* The labels given, or the ends of the paths, or all of them if these ends are
 * not distinct. */
static int name_groups(struct comparison *all, const struct opt_set *set)
{
    const struct opt_value *labels = opt_get(set, "label");
    bool is_distinct = true;

    if (labels->n_items > 0 && labels->n_items != all->n_groups) {
        return cli_fail(CLI_USAGE, set->who,
                        "%zu label%s for %zu run%s: files that differ in the "
                        "number at the end are one run; or put each --label "
                        "in front of its files",
                        labels->n_items, labels->n_items == 1 ? "" : "s",
                        all->n_groups, all->n_groups == 1 ? "" : "s");
    }
    for (size_t g = 0; g < all->n_groups; g++) {
        for (size_t h = 0; h < g; h++) {
            is_distinct &= strcmp(last_part(all->groups[g].base),
                                  last_part(all->groups[h].base)) != 0;
        }
    }
    for (size_t g = 0; g < all->n_groups; g++) {
        const char *base = all->groups[g].base;
        const char *name = is_distinct ? last_part(base) : base;

        all->groups[g].label =
            cli_text("%s", labels->n_items ? labels->items[g] : name);
    }
    return CLI_OK;
}

int compare_group_files(struct comparison *all, const struct opt_set *set)
{
    const struct opt_value *labels = opt_get(set, "label");

    if (set->n_arguments == 0) {
        return cli_fail(CLI_USAGE, set->who,
                        "FILE is missing: relmc compare a_*.csv b_*.csv");
    }
    all->groups =
        cli_alloc(set->n_arguments + labels->n_items, sizeof *all->groups);
    if (labels->n_items > 0 && labels->before[0] == 0) {
        return group_by_labels(all, set);
    }
    group_by_names(all, set);
    return name_groups(all, set);
}
