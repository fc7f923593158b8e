/* netcdf_names.c - columns of draws as variables of a NetCDF file in ArviZ's
 * schema, and back: b.2.3 is an element of b. */
#define _POSIX_C_SOURCE 200809L

#include "draws/netcdf_names.h"

#include "draws/column.h"
#include "relmc_format.h"

#include <stdlib.h>
#include <string.h>

const char *const cdf_groups[CDF_N_PHASES][2] = {
    [CDF_WARMUP] = {"warmup_posterior", "warmup_sample_stats"},
    [CDF_DRAWS] = {"posterior", "sample_stats"},
};

/* ---- the sampler's columns ------------------------------------------------------ */

static const struct {
    const char *column, *name;
    enum cdf_kind kind;
} stats[] = {
    {RELMC_COLUMN_LP, "lp", CDF_REAL},
    {RELMC_COLUMN_ACCEPT_PROB, "acceptance_rate", CDF_REAL},
    {RELMC_COLUMN_STEP_SIZE, "step_size", CDF_REAL},
    {RELMC_COLUMN_TREE_DEPTH, "tree_depth", CDF_WHOLE},
    {RELMC_COLUMN_STEPS, "n_steps", CDF_WHOLE},
    {RELMC_COLUMN_DIVERGENT, "diverging", CDF_FLAG},
    {RELMC_COLUMN_ENERGY, "energy", CDF_REAL},
};
enum { N_STATS = sizeof stats / sizeof *stats };

static const char reached[] = "reached_max_treedepth";

char *netcdf_stat_column(const char *name)
{
    if (!strcmp(name, reached)) {
        return NULL;
    }
    for (size_t i = 0; i < N_STATS; i++) {
        if (!strcmp(name, stats[i].name)) {
            return cli_text("%s", stats[i].column);
        }
    }
    return cli_text("%s__", name);
}

static void set_stat(struct netcdf_var *var, const char *column)
{
    const size_t n = strlen(column);

    var->is_sampler = true;
    for (size_t i = 0; i < N_STATS; i++) {
        if (!strcmp(column, stats[i].column)) {
            var->name = cli_text("%s", stats[i].name);
            var->kind = stats[i].kind;
            return;
        }
    }
    var->name = cli_text("%.*s", (int)(n - 2), column);
}

/* ---- arrays --------------------------------------------------------------------- */

/* The length of b in b.2.3, and its indices, from 1; those of a name that is no
 * element are none. */
static size_t split(const char *name, size_t *rank, size_t index[CDF_MAX_RANK])
{
    const size_t length = strlen(name);
    size_t base = length;

    for (;;) { /* from the end: digits with a point in front of them */
        size_t i = base;

        while (i > 0 && name[i - 1] >= '0' && name[i - 1] <= '9') {
            i--;
        }
        if (i == base || i < 2 || name[i - 1] != '.' || base - i > 9) {
            break;
        }
        base = i - 1;
    }
    *rank = 0;
    for (const char *s = name + base; *s == '.'; s += strcspn(s, ".")) {
        s++;
        if (*rank == CDF_MAX_RANK) { /* no such array: a name of its own */
            *rank = 0;
            return length;
        }
        index[(*rank)++] = strtoul(s, NULL, 10);
    }
    return base;
}

static bool is_same_array(const char *a, const char *b)
{
    size_t index[CDF_MAX_RANK], rank_a, rank_b;
    const size_t n = split(a, &rank_a, index);

    return split(b, &rank_b, index) == n && rank_a == rank_b && rank_a > 0 &&
           !strncmp(a, b, n);
}

/* The place of an element, the last index fastest; SIZE_MAX if there is none. */
static size_t place_of(const struct netcdf_var *var, const size_t *index)
{
    size_t place = 0;

    for (size_t r = 0; r < var->rank; r++) {
        if (index[r] < 1 || index[r] > var->shape[r]) {
            return SIZE_MAX;
        }
        place = place * var->shape[r] + index[r] - 1;
    }
    return place;
}

/* Columns first ... first + n as one array; false if elements are missing. */
static bool fold_run(struct netcdf_var *var, char *const *names, size_t first,
                     size_t n)
{
    size_t index[CDF_MAX_RANK] = {0};
    const size_t base = split(names[first], &var->rank, index);
    size_t product = 1;

    for (size_t j = first; j < first + n; j++) {
        (void)split(names[j], &var->rank, index);
        for (size_t r = 0; r < var->rank; r++) {
            var->shape[r] = index[r] > var->shape[r] ? index[r] : var->shape[r];
        }
    }
    for (size_t r = 0; r < var->rank; r++) {
        product = var->shape[r] > n ? n + 1 : product * var->shape[r];
        if (product > n) {
            return false;
        }
    }
    if (product != n) {
        return false;
    }
    var->n = n;
    var->columns = cli_alloc(n, sizeof *var->columns);
    for (size_t i = 0; i < n; i++) {
        var->columns[i] = SIZE_MAX;
    }
    for (size_t j = first; j < first + n; j++) {
        (void)split(names[j], &var->rank, index);
        const size_t place = place_of(var, index);

        if (place == SIZE_MAX || var->columns[place] != SIZE_MAX) {
            free(var->columns);
            return false;
        }
        var->columns[place] = j;
    }
    var->name = cli_text("%.*s", (int)base, names[first]);
    return true;
}

static void add_single(struct netcdf_vars *vars, const char *name,
                       size_t column)
{
    struct netcdf_var *var = &vars->list[vars->n++];

    *var = (struct netcdf_var){.n = 1};
    var->columns = cli_alloc(1, sizeof *var->columns);
    var->columns[0] = column;
    if (column_is_sampler(name)) {
        set_stat(var, name);
    } else {
        var->name = cli_text("%s", name);
    }
}

/* ---- names that are taken --------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const struct netcdf_var *const *x = a;
    const struct netcdf_var *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static void rename_var(struct netcdf_var *var)
{
    char *longer = cli_text("%s_", var->name);

    free(var->name);
    var->name = longer;
}

/* Coordinates have names, too, and a / would be a group. */
static void avoid_reserved(struct netcdf_var *var)
{
    for (char *s = var->name; *s; s++) {
        *s = (char)(*s == '/' ? '_' : *s);
    }
    if (!strcmp(var->name, CDF_CHAIN) || !strcmp(var->name, CDF_DRAW)) {
        rename_var(var);
    }
}

static void avoid_twins(const struct netcdf_vars *vars)
{
    struct netcdf_var **sorted = cli_alloc(vars->n, sizeof(void *));
    bool has_changed = true;

    for (size_t i = 0; i < vars->n; i++) {
        sorted[i] = &vars->list[i];
        avoid_reserved(sorted[i]);
    }
    while (has_changed) {
        has_changed = false;
        qsort(sorted, vars->n, sizeof(void *), compare_names);
        for (size_t i = 1; i < vars->n; i++) {
            if (sorted[i - 1]->is_sampler == sorted[i]->is_sampler &&
                !strcmp(sorted[i - 1]->name, sorted[i]->name)) {
                rename_var(sorted[i]);
                has_changed = true;
            }
        }
    }
    free(sorted);
}

/* ---- all of them ------------------------------------------------------------------ */

void netcdf_fold(struct netcdf_vars *vars, char *const *names, size_t n_columns)
{
    *vars = (struct netcdf_vars){
        .list = cli_alloc(n_columns + 1, sizeof *vars->list)};
    for (size_t j = 0; j < n_columns;) {
        struct netcdf_var *var = &vars->list[vars->n];
        size_t n = 1, rank, index[CDF_MAX_RANK];

        while (j + n < n_columns && !column_is_sampler(names[j]) &&
               is_same_array(names[j], names[j + n])) {
            n++;
        }
        *var = (struct netcdf_var){0};
        (void)split(names[j], &rank, index);
        if (rank > 0 && !column_is_sampler(names[j]) &&
            fold_run(var, names, j, n)) {
            vars->n++;
        } else {
            for (size_t i = j; i < j + n; i++) {
                add_single(vars, names[i], i);
            }
        }
        j += n;
    }
    avoid_twins(vars);
}

void netcdf_add_limit(struct netcdf_vars *vars, char *const *names,
                      size_t n_columns, double limit)
{
    for (size_t j = 0; j < n_columns; j++) {
        if (!strcmp(names[j], RELMC_COLUMN_TREE_DEPTH)) {
            add_single(vars, names[j], j);
            struct netcdf_var *var = &vars->list[vars->n - 1];

            free(var->name);
            var->name = cli_text("%s", reached);
            var->kind = CDF_REACHED;
            var->limit = limit;
        }
    }
}

void netcdf_vars_clear(struct netcdf_vars *vars)
{
    for (size_t i = 0; i < vars->n; i++) {
        free(vars->list[i].name);
        free(vars->list[i].columns);
    }
    free(vars->list);
    *vars = (struct netcdf_vars){0};
}

/* ---- the way back ------------------------------------------------------------------ */

/* The indices of element i, from 0. */
static void index_of(const struct netcdf_var *var, size_t i,
                     size_t index[CDF_MAX_RANK])
{
    for (size_t r = var->rank; r-- > 0;) {
        index[r] = i % var->shape[r];
        i /= var->shape[r];
    }
}

void netcdf_unfold(struct netcdf_var *var, size_t first)
{
    var->columns = cli_alloc(var->n, sizeof *var->columns);
    for (size_t i = 0; i < var->n; i++) {
        size_t index[CDF_MAX_RANK], place = 0;

        index_of(var, i, index);
        for (size_t r = var->rank; r-- > 0;) {
            place = place * var->shape[r] + index[r];
        }
        var->columns[i] = first + place;
    }
}

char *netcdf_column(const struct netcdf_var *var, size_t i)
{
    size_t index[CDF_MAX_RANK];
    char *name = cli_text("%s", var->name);

    index_of(var, i, index);
    for (size_t r = 0; r < var->rank; r++) {
        char *longer = cli_text("%s.%zu", name, index[r] + 1);

        free(name);
        name = longer;
    }
    return name;
}
