/* reference.c - known values of the parameters of a model: exact moments,
 * summaries, or reference draws. */
#define _POSIX_C_SOURCE 200809L

#include "report/reference.h"
#include "relmc_diag.h"

#include "draws/column.h"
#include "tool/config.h"
#include "tool/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Quantiles that are compared with reference draws, as posteriordb has them. */
static const double usual_levels[] = {0.05, 0.25, 0.5, 0.75, 0.95};
enum { N_USUAL = sizeof usual_levels / sizeof *usual_levels };

/* ---- names --------------------------------------------------------------- */

char *reference_name(const char *name)
{
    if (!strchr(name, '[')) {
        return column_pretty(name);
    }
    char *out = cli_text("%s", name);
    size_t n = 0;
    for (const char *s = name; *s; s++) {
        if (*s != ' ') {
            out[n++] = *s;
        }
    }
    out[n] = '\0';
    return out;
}

static int find_key(const struct reference *ref, const char *name, size_t *at)
{
    size_t low = 0, high = ref->n_rows;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(name, ref->rows[ref->by_name[middle]].name);

        if (order == 0) {
            *at = ref->by_name[middle];
            return 1;
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return 0;
}

size_t reference_find(const struct reference *ref, const char *name)
{
    size_t at = ref->n_rows;

    (void)find_key(ref, name, &at);
    return at;
}

struct key {
    const char *name;
    size_t row;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;

    return strcmp(x->name, y->name);
}

static int index_rows(struct reference *ref, const char *who)
{
    struct key *keys = cli_alloc(ref->n_rows + 1, sizeof *keys);
    int code = CLI_OK;

    ref->by_name = cli_alloc(ref->n_rows + 1, sizeof *ref->by_name);
    for (size_t i = 0; i < ref->n_rows; i++) {
        keys[i] = (struct key){ref->rows[i].name, i};
    }
    qsort(keys, ref->n_rows, sizeof *keys, compare_keys);
    for (size_t i = 0; i < ref->n_rows; i++) {
        ref->by_name[i] = keys[i].row;
        if (i > 0 && !strcmp(keys[i - 1].name, keys[i].name) && !code) {
            code = cli_fail(CLI_MODEL, who, "%s: %.100s is there twice",
                            ref->source, keys[i].name);
        }
    }
    free(keys);
    return code;
}

/* ---- rows ---------------------------------------------------------------- */

static void set_levels(struct reference *ref, size_t n, const double *levels)
{
    ref->n_levels = n;
    ref->levels = cli_alloc(n + 1, sizeof *ref->levels);
    for (size_t i = 0; i < n; i++) {
        ref->levels[i] = levels[i];
    }
}

/* All its values are unknown yet. */
static struct ref_row *new_row(struct reference *ref, const char *name,
                               bool has_errors)
{
    struct ref_row *row = &ref->rows[ref->n_rows++];
    const size_t n = ref->n_levels;

    *row = (struct ref_row){
        .name = reference_name(name),
        .known = {.mean = CLI_NAN,
                  .sd = CLI_NAN,
                  .n_quantiles = n,
                  .level = ref->levels,
                  .quantile = cli_alloc(n + 1, sizeof(double))}};
    for (size_t i = 0; i < n; i++) {
        row->known.quantile[i] = CLI_NAN;
    }
    if (has_errors) {
        row->known.quantile_error = cli_alloc(n + 1, sizeof(double));
    }
    return row;
}

void reference_thin(double *out, size_t n_each, const relmc_series *series)
{
    for (size_t c = 0; c < series->n_chains; c++) {
        for (size_t i = 0; i < n_each; i++) {
            const size_t t =
                (size_t)((double)i * (double)series->n_draws / (double)n_each);

            *out++ = series->draws[c * series->chain_stride + t];
        }
    }
}

size_t reference_share(size_t limit, const relmc_series *series)
{
    const size_t share = series->n_chains ? limit / series->n_chains : 0;
    const size_t least = share > 1 ? share : 1;

    return least < series->n_draws ? least : series->n_draws;
}

/* The draws of a parameter: what is known, and some that are kept.  `room` is
 * how many parameters there will be. */
static int add_series(struct reference *ref, const char *name, size_t room,
                      const relmc_series *series)
{
    struct ref_row *row = new_row(ref, name, true);
    relmc_summary s = RELMC_INIT(relmc_summary);

    if (!ref->draws) {
        ref->n_chains = series->n_chains;
        ref->n_full = series->n_draws;
        ref->n_each = reference_share(REF_DRAWS, series);
        ref->draws =
            cli_alloc(room * ref->n_chains * ref->n_each, sizeof *ref->draws);
        ref->least_share = 1.0;
    }
    reference_thin(ref->draws + (ref->n_rows - 1) * ref->n_chains * ref->n_each,
                   ref->n_each, series);
    if (relmc_known_from(&row->known, series, NULL) ||
        relmc_summarise(&s, series, NULL)) {
        return CLI_NUMERIC;
    }
    const double n = (double)(series->n_chains * series->n_draws);
    ref->least_share = fmin(ref->least_share, fmin(s.ess_bulk, s.ess_tail) / n);
    return CLI_OK;
}

/* ---- draws in CSV files -------------------------------------------------- */

struct csv_reading {
    struct reference *ref;
    struct draws draws;
    int code;
};

static void take_column(void *ctx, size_t column, const relmc_series *series)
{
    struct csv_reading *r = ctx;

    if (!r->code) {
        r->code = add_series(r->ref, draws_name(&r->draws, column),
                             r->draws.n_chosen, series);
    }
}

/* The sampler's columns have no reference. */
static void drop_sampler(struct draws *draws)
{
    size_t n = 0;

    for (size_t i = 0; i < draws->n_chosen; i++) {
        if (!draws_is_sampler(draws, draws->chosen[i])) {
            draws->chosen[n++] = draws->chosen[i];
        }
    }
    draws->n_chosen = n;
}

static int read_csv(struct reference *ref, const struct opt_value *paths,
                    const struct opt_set *set, const struct voice *voice)
{
    const int memory = opt_find(set->command, "memory");
    struct csv_reading r = {.ref = ref};
    int code = draws_open(&r.draws, (const char *const *)paths->items,
                          paths->n_items, set, voice);

    if (!code) {
        code = draws_choose(&r.draws, NULL, &set->values[memory]);
    }
    if (!code) {
        drop_sampler(&r.draws);
        set_levels(ref, N_USUAL, usual_levels);
        ref->rows = cli_alloc(r.draws.n_chosen + 1, sizeof *ref->rows);
        code = draws_visit(&r.draws, take_column, &r);
    }
    if (!code && r.code) {
        code = cli_fail(r.code, set->who, "%s: out of memory", ref->source);
    }
    draws_clear(&r.draws);
    return code;
}

/* ---- draws in JSON: [{"mu": [...], "theta[1]": [...]}, ...] -------------- */

static int bad_json(const struct reference *ref, const char *who,
                    const char *what, const char *name)
{
    return cli_fail(CLI_MODEL, who, "%s: %s%s%.100s", ref->source, what,
                    *name ? " " : "", name);
}

/* One parameter of all chains, chain after chain. */
static int gather(const struct reference *ref, const json_t *root,
                  const char *name, double *out, size_t n, const char *who)
{
    for (size_t c = 0; c < json_array_size(root); c++) {
        const json_t *list = json_object_get(json_array_get(root, c), name);

        if (!json_is_array(list)) {
            return bad_json(ref, who, "a chain has no list of draws of", name);
        }
        if (json_array_size(list) != n) {
            return cli_fail(CLI_MODEL, who,
                            "%s: chain %zu has %zu draws of %.100s, the first "
                            "one %zu",
                            ref->source, c + 1, json_array_size(list), name, n);
        }
        for (size_t t = 0; t < n; t++) {
            const json_t *item = json_array_get(list, t);

            if (!json_is_number(item)) {
                return bad_json(ref, who, "not a number among the draws of",
                                name);
            }
            *out++ = json_number_value(item);
        }
    }
    return CLI_OK;
}

static int read_json_draws(struct reference *ref, json_t *root, const char *who)
{
    json_t *first = json_array_get(root, 0);
    const size_t n_chains = json_array_size(root);
    const size_t n_names = json_object_size(first);
    const char *name;
    json_t *list;
    int code = CLI_OK;

    if (n_names == 0) {
        return bad_json(ref, who,
                        "expected a list of chains, {\"theta[1]\": [...], "
                        "...} each",
                        "");
    }
    set_levels(ref, N_USUAL, usual_levels);
    ref->rows = cli_alloc(n_names, sizeof *ref->rows);
    json_object_foreach(first, name, list)
    {
        const size_t n = json_array_size(list);
        double *draws = cli_alloc(n_chains * n + 1, sizeof *draws);
        const relmc_series series = {draws, n_chains, n, 1, n};

        code = gather(ref, root, name, draws, n, who);
        if (!code && (n == 0 || (ref->n_full && n != ref->n_full))) {
            code = bad_json(ref, who, "another number of draws of", name);
        }
        if (!code && add_series(ref, name, n_names, &series)) {
            code = cli_fail(CLI_NUMERIC, who, "%s: out of memory", ref->source);
        }
        free(draws);
        if (code) {
            break;
        }
    }
    return code;
}

/* ---- summaries in JSON: {"columns": ["mean", ...], "params": {...}} ------ */

enum { MAX_COLUMNS = 100 };
enum what { W_MEAN, W_SD, W_QUANTILE, W_OTHER };

/* The columns of such a file, in its order. */
struct columns {
    size_t n;
    struct column {
        const char *name;
        enum what what;
        size_t level; /* of a quantile */
    } all[MAX_COLUMNS];
    double levels[MAX_COLUMNS];
    size_t n_levels;
};

/* mean, sd, q5, q05, q97.5.  mean_sq follows from the first two: skipped. */
static int add_column(struct columns *columns, const struct reference *ref,
                      const char *name, const char *who)
{
    double percent = 0.0;
    struct column *column = &columns->all[columns->n];

    if (columns->n == MAX_COLUMNS) {
        return bad_json(ref, who, "too many columns:", name);
    }
    *column = (struct column){.name = name, .what = W_OTHER};
    if (!strcmp(name, "mean")) {
        column->what = W_MEAN;
    } else if (!strcmp(name, "sd")) {
        column->what = W_SD;
    } else if (*name == 'q' && opt_parse_real(name + 1, &percent) &&
               percent >= 0.0 && percent <= 100.0) {
        column->what = W_QUANTILE;
        column->level = columns->n_levels;
        columns->levels[columns->n_levels++] = 0.01 * percent;
    } else if (strcmp(name, "mean_sq") != 0) {
        return cli_fail(CLI_MODEL, who,
                        "%s: column \"%.40s\" is none of mean, sd, q5, q50, "
                        "q97.5, ...",
                        ref->source, name);
    }
    columns->n++;
    return CLI_OK;
}

static bool has_column(const struct columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->n; i++) {
        if (!strcmp(columns->all[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* Listed once for all parameters, or named by each of them. */
static int find_columns(struct columns *columns, const struct reference *ref,
                        json_t *root, const char *who)
{
    const json_t *list = json_object_get(root, "columns");
    const char *name;
    const char *key;
    json_t *param;
    json_t *value;
    int code = CLI_OK;

    for (size_t i = 0; i < json_array_size(list) && !code; i++) {
        name = json_string_value(json_array_get(list, i));
        code = name ? add_column(columns, ref, name, who)
                    : bad_json(ref, who, "columns must be names", "");
    }
    json_object_foreach(json_object_get(root, "params"), name, param)
    {
        json_object_foreach(param, key, value)
        {
            if (!code && !has_column(columns, key)) {
                code = add_column(columns, ref, key, who);
            }
        }
    }
    return code;
}

/* NaN where there is none. */
static int read_value(double *out, const struct reference *ref,
                      const json_t *value, const char *name, const char *who)
{
    if (value && !json_is_number(value) && !json_is_null(value)) {
        return bad_json(ref, who, "not a number among the values of", name);
    }
    *out = json_is_number(value) ? json_number_value(value) : CLI_NAN;
    return CLI_OK;
}

static int read_param(struct reference *ref, const struct columns *columns,
                      const char *name, const json_t *param, const char *who)
{
    relmc_known *known = &new_row(ref, name, false)->known;
    int code = CLI_OK;

    if (!json_is_object(param) &&
        (!json_is_array(param) || json_array_size(param) != columns->n)) {
        return cli_fail(CLI_MODEL, who,
                        "%s: %.100s has %zu values where there are %zu columns",
                        ref->source, name, json_array_size(param), columns->n);
    }
    for (size_t i = 0; i < columns->n && !code; i++) {
        const struct column *column = &columns->all[i];
        const json_t *value = json_is_object(param)
                                  ? json_object_get(param, column->name)
                                  : json_array_get(param, i);
        double number = CLI_NAN;

        code = read_value(&number, ref, value, name, who);
        if (column->what == W_MEAN) {
            known->mean = number;
        } else if (column->what == W_SD) {
            known->sd = number;
        } else if (column->what == W_QUANTILE) {
            known->quantile[column->level] = number;
        }
    }
    return code;
}

/* From how many draws; NaN: these are exact values. */
static double effective_draws(const json_t *root)
{
    static const char *const keys[] = {"ess_bulk_min", "ndraws"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(root, keys[i]);

        if (json_is_number(value) && json_number_value(value) > 0.0) {
            return json_number_value(value);
        }
    }
    return CLI_NAN;
}

static int read_json_summaries(struct reference *ref, json_t *root,
                               const char *who)
{
    json_t *params = json_object_get(root, "params");
    struct columns *columns = cli_alloc(1, sizeof *columns);
    const char *name;
    json_t *param;
    int code = find_columns(columns, ref, root, who);

    ref->n_effective = effective_draws(root);
    ref->rows = cli_alloc(json_object_size(params) + 1, sizeof *ref->rows);
    set_levels(ref, columns->n_levels, columns->levels);
    json_object_foreach(params, name, param)
    {
        if (!code) {
            code = read_param(ref, columns, name, param, who);
        }
    }
    free(columns);
    return code;
}

static int read_json(struct reference *ref, const char *path, const char *who)
{
    json_t *root = NULL;
    int code = config_load(&root, path, who, CLI_MODEL);

    if (code) {
        return code;
    }
    if (json_is_array(root)) {
        code = read_json_draws(ref, root, who);
    } else if (json_is_object(json_object_get(root, "params"))) {
        code = read_json_summaries(ref, root, who);
    } else {
        code = bad_json(ref, who,
                        "expected {\"columns\": [\"mean\", ...], \"params\": "
                        "{...}} or a list of chains",
                        "");
    }
    json_decref(root);
    return code;
}

/* ---- a reference --------------------------------------------------------- */

/* JSON starts with a bracket or a brace, CSV never does. */
static int sniff(bool *is_json, const char *path, const char *who)
{
    FILE *file = fopen(path, "r");
    int c = EOF;

    if (!file) {
        return cli_fail(CLI_IO, who, "cannot read %s: %s", path,
                        strerror(errno));
    }
    do {
        c = getc(file);
    } while (c != EOF && isspace(c));
    (void)fclose(file);
    *is_json = c == '{' || c == '[';
    return CLI_OK;
}

int reference_read(struct reference *ref, const struct opt_value *paths,
                   const struct opt_set *set, const struct voice *voice)
{
    bool is_json = false;
    int code = CLI_OK;

    *ref =
        (struct reference){.source = paths->items[0], .n_effective = CLI_NAN};
    for (size_t i = 0; i < paths->n_items && !code; i++) {
        code = sniff(&is_json, paths->items[i], set->who);
        if (!code && is_json && paths->n_items > 1) {
            return cli_fail(CLI_USAGE, set->who,
                            "--ref %s: of JSON files only one can be given",
                            paths->items[i]);
        }
    }
    if (!code) {
        code = is_json ? read_json(ref, paths->items[0], set->who)
                       : read_csv(ref, paths, set, voice);
    }
    if (!code && ref->n_rows == 0) {
        code = cli_fail(CLI_MODEL, set->who, "%s: no parameters", ref->source);
    }
    return code ? code : index_rows(ref, set->who);
}

/* Independent draws, if the model can make them. */
static void draw_exactly(struct reference *ref, const relmc_target *target)
{
    const size_t dim = relmc_target_dim(target);
    double *x = cli_alloc(REF_DRAWS * dim, sizeof *x);

    if (!relmc_target_sample(target, 1, REF_DRAWS, x, NULL)) {
        ref->n_chains = 1;
        ref->n_each = ref->n_full = REF_DRAWS;
        ref->least_share = 1.0;
        ref->draws = cli_alloc(REF_DRAWS * dim, sizeof *ref->draws);
        for (size_t j = 0; j < REF_DRAWS * dim; j++) {
            ref->draws[(j % dim) * REF_DRAWS + j / dim] = x[j];
        }
    }
    free(x);
}

/* With nu degrees of freedom there are moments below the nu-th.  An estimate
 * has a standard error if there are those of twice its order: none can be
 * compared without. */
static void take_moments(relmc_known *known, double mean, double variance,
                         double nu)
{
    known->mean = nu <= 2.0 ? CLI_NAN : mean;
    known->sd = nu <= 4.0 ? CLI_NAN : sqrt(variance);
}

int reference_exact(struct reference *ref, const relmc_target *target,
                    const char *who)
{
    const size_t dim = relmc_target_dim(target);
    double *mean = cli_alloc(2 * dim, sizeof *mean);
    double *variance = mean + dim;
    const double nu = spec_number("model", relmc_target_name(target), "nu");
    relmc_error err = {0};
    int code = CLI_OK;

    *ref = (struct reference){.source = "the exact moments",
                              .n_effective = CLI_NAN};
    if (relmc_target_moments(target, mean, variance, &err)) {
        code = cli_fail(CLI_MODEL, who, "--ref exact: %s", err.message);
    } else {
        set_levels(ref, 0, NULL);
        ref->rows = cli_alloc(dim, sizeof *ref->rows);
        for (size_t i = 0; i < dim; i++) {
            char name[CLI_NAME];

            relmc_target_coordinate_name(target, i, name, sizeof name);
            take_moments(&new_row(ref, name, false)->known, mean[i],
                         variance[i], nu);
        }
        draw_exactly(ref, target);
        code = index_rows(ref, who);
    }
    free(mean);
    return code;
}

void reference_clear(struct reference *ref)
{
    for (size_t i = 0; i < ref->n_rows; i++) {
        free(ref->rows[i].name);
        free(ref->rows[i].known.quantile);
        free(ref->rows[i].known.quantile_error);
    }
    free(ref->rows);
    free(ref->by_name);
    free(ref->levels);
    free(ref->draws);
    *ref = (struct reference){0};
}
