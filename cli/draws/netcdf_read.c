/* netcdf_read.c - reads a chain from a NetCDF-4 file in ArviZ's schema, of any
 * program: the groups posterior and sample_stats, and those of warm-up. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_ops.h"

#include "draws/netcdf_names.h"
#include "relmc_format.h"

#include <netcdf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20 };

/* Where a chain stands. */
struct netcdf_place {
    char *file;
    size_t k;
    struct netcdf_vars vars; /* of the draws; warm-up has the same */
};

const char *netcdf_library(void)
{
    static char version[32];

    (void)snprintf(version, sizeof version, "%.*s",
                   (int)strcspn(nc_inq_libvers(), " "), nc_inq_libvers());
    return version;
}

/* ---- the file ------------------------------------------------------------------------ */

static int cannot_open(const char *path, int code, char message[CHAIN_MESSAGE],
                       const char *what)
{
    (void)snprintf(message, CHAIN_MESSAGE, "%.300s: %.180s", path, what);
    return code;
}

static int open_file(const char *path, int *file, char message[CHAIN_MESSAGE])
{
    const int status = nc_open(path, NC_NOWRITE, file);

    return status ? cannot_open(path, CLI_IO, message, nc_strerror(status))
                  : CLI_OK;
}

/* The length of a dimension of a group; 0 if it has none of that name. */
static size_t length_of(int group, const char *name)
{
    size_t n = 0;
    int dim;

    return nc_inq_dimid(group, name, &dim) || nc_inq_dimlen(group, dim, &n) ? 0
                                                                            : n;
}

static int find_group(int file, int phase, int part)
{
    int group;

    return nc_inq_grp_ncid(file, cdf_groups[phase][part], &group) ? -1 : group;
}

static int count_chains(const char *path, size_t *n,
                        char message[CHAIN_MESSAGE])
{
    int file;
    const int code = open_file(path, &file, message);

    if (code) {
        return code;
    }
    const int group = find_group(file, CDF_DRAWS, 0);
    *n = group < 0 ? 0 : length_of(group, CDF_CHAIN);
    (void)nc_close(file);
    return *n > 0 ? CLI_OK
                  : cannot_open(
                        path, CLI_MODEL, message,
                        "no group posterior with a dimension chain: this is "
                        "no file in ArviZ's schema");
}

/* ---- its variables --------------------------------------------------------------------- */

static bool is_named(int group, int dim, const char *name)
{
    char found[NC_MAX_NAME + 1];

    return !nc_inq_dimname(group, dim, found) && !strcmp(found, name);
}

/* A variable of numbers over chain, draw and what else; false: it is none. */
static bool inquire(int group, int id, struct netcdf_var *var)
{
    int dims[NC_MAX_VAR_DIMS], n_dims = 0;
    char name[NC_MAX_NAME + 1];
    nc_type type;

    if (nc_inq_var(group, id, name, &type, &n_dims, NULL, NULL) ||
        nc_inq_vardimid(group, id, dims) || n_dims < 2 ||
        n_dims > CDF_MAX_RANK + 2 || type == NC_CHAR || type == NC_STRING ||
        type > NC_MAX_ATOMIC_TYPE || !is_named(group, dims[0], CDF_CHAIN) ||
        !is_named(group, dims[1], CDF_DRAW)) {
        return false;
    }
    *var = (struct netcdf_var){.n = 1, .rank = (size_t)n_dims - 2};
    for (size_t r = 0; r < var->rank; r++) {
        if (nc_inq_dimlen(group, dims[r + 2], &var->shape[r]) ||
            var->shape[r] == 0 || var->n > SIZE_MAX / 64 / var->shape[r]) {
            return false;
        }
        var->n *= var->shape[r];
    }
    var->name = cli_text("%s", name);
    return true;
}

/* Adds those of a group; their columns follow the n_columns there are. */
static void add_vars(struct netcdf_vars *vars, int group, bool is_sampler,
                     size_t *n_columns)
{
    int n = 0;

    if (group < 0 || nc_inq_varids(group, &n, NULL) || n <= 0) {
        return;
    }
    int *ids = cli_alloc((size_t)n, sizeof *ids);
    struct netcdf_var *grown =
        cli_alloc(vars->n + (size_t)n, sizeof *vars->list);
    if (vars->n > 0) {
        memcpy(grown, vars->list, vars->n * sizeof *grown);
    }
    free(vars->list);
    vars->list = grown;
    (void)nc_inq_varids(group, &n, ids);
    for (int i = 0; i < n; i++) {
        struct netcdf_var *var = &vars->list[vars->n];
        char *column;

        if (!inquire(group, ids[i], var)) {
            continue;
        }
        column = is_sampler ? netcdf_stat_column(var->name) : var->name;
        if (!column) {
            free(var->name);
            continue;
        }
        var->is_sampler = is_sampler;
        netcdf_unfold(var, *n_columns);
        *n_columns += var->n;
        vars->n++;
        if (is_sampler) {
            free(column);
        }
    }
    free(ids);
}

/* ---- what a CSV file would begin with ----------------------------------------------------- */

/* An attribute of text of the file; NULL if there is none; yours. */
static char *get_text(int group, const char *name)
{
    size_t n = 0;
    nc_type type;

    if (nc_inq_att(group, NC_GLOBAL, name, &type, &n) || type != NC_CHAR) {
        return NULL;
    }
    char *text = cli_alloc(n + 1, 1);
    if (nc_get_att_text(group, NC_GLOBAL, name, text)) {
        text[0] = '\0';
    }
    return text;
}

/* The k-th of the numbers of an attribute; NaN if it has none. */
static double get_number(int group, const char *name, size_t k)
{
    size_t n = 0;
    nc_type type;
    double value = CLI_NAN;

    if (nc_inq_att(group, NC_GLOBAL, name, &type, &n) || type != NC_DOUBLE ||
        k >= n) {
        return CLI_NAN;
    }
    double *all = cli_alloc(n, sizeof *all);
    if (!nc_get_att_double(group, NC_GLOBAL, name, all)) {
        value = all[k];
    }
    free(all);
    return value;
}

/* The number of a chain, from 1. */
static long long number_of(int group, size_t k)
{
    long long label = (long long)k;
    int var;

    if (nc_inq_varid(group, CDF_CHAIN, &var) ||
        nc_get_var1_longlong(group, var, &k, &label)) {
        label = (long long)k;
    }
    return label + 1;
}

/* Lines of the first chain, with the number of this one, and the file. */
static void write_config(FILE *to, const char *head, long long number,
                         const char *path)
{
    bool is_output = false;

    for (const char *s = head; *s;) {
        const size_t n = strcspn(s, "\n");

        if (!strncmp(s, "# id = ", 7)) {
            (void)fprintf(to, "# id = %lld\n", number);
        } else if (is_output && !strncmp(s, "#   file = ", 11)) {
            (void)fprintf(to, "#   file = %s\n", path);
        } else {
            (void)fprintf(to, "%.*s\n", (int)n, s);
        }
        is_output = is_output || !strncmp(s, "# output\n", 9);
        s += n + (s[n] == '\n');
    }
}

/* Element i of the columns from `from` on that a variable stands for. */
static char *column_name(const struct netcdf_var *var, size_t i)
{
    if (!var->is_sampler) {
        return netcdf_column(var, i);
    }
    char *column = netcdf_stat_column(var->name);
    struct netcdf_var copy = *var;

    copy.name = column;
    if (var->rank > 0) { /* no column of a sampler: b.1__ */
        column[strlen(column) - 2] = '\0';
    }
    char *name = netcdf_column(&copy, i);
    free(column);
    if (var->rank > 0) {
        char *longer = cli_text("%s__", name);

        free(name);
        name = longer;
    }
    return name;
}

static void write_names(FILE *to, const struct netcdf_vars *vars,
                        size_t n_columns)
{
    char **names = cli_alloc(n_columns, sizeof *names);

    for (size_t v = 0; v < vars->n; v++) {
        for (size_t i = 0; i < vars->list[v].n; i++) {
            names[vars->list[v].columns[i]] = column_name(&vars->list[v], i);
        }
    }
    for (size_t j = 0; j < n_columns; j++) {
        (void)fprintf(to, "%s%s", j ? "," : "", names[j]);
        free(names[j]);
    }
    (void)fputc('\n', to);
    free(names);
}

static char *make_head(int file, const struct netcdf_place *place,
                       size_t n_columns)
{
    char *config = get_text(file, CDF_HEAD);
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);

    if (to) {
        if (config) {
            write_config(to, config,
                         number_of(find_group(file, CDF_DRAWS, 0), place->k),
                         place->file);
        }
        write_names(to, &place->vars, n_columns);
        (void)fclose(to);
    }
    free(config);
    return text;
}

/* ---- opening ------------------------------------------------------------------------------ */

static void measure(struct chain_file *chain, int file, size_t k)
{
    const int warmup = find_group(file, CDF_WARMUP, 0);

    chain->n_warmup_rows = warmup < 0 ? 0 : length_of(warmup, CDF_DRAW);
    chain->n_rows = length_of(find_group(file, CDF_DRAWS, 0), CDF_DRAW);
    chain->step_size = get_number(file, CDF_STEP_SIZE, k);
    chain->seconds_warmup = get_number(file, CDF_SECONDS_WARMUP, k);
    chain->seconds_sampling = get_number(file, CDF_SECONDS_SAMPLING, k);
    if (isnan(chain->seconds_sampling)) {
        chain->seconds_sampling =
            get_number(find_group(file, CDF_DRAWS, 0), CDF_SAMPLING_TIME, 0);
    }
    chain->bytes = (uint64_t)(chain->n_rows + chain->n_warmup_rows) *
                   chain->n_columns * sizeof(double);
}

/* Names and configuration; n_columns: of all variables. */
static int read_names(struct chain_file *chain, int file, size_t n_columns)
{
    if (n_columns == 0) {
        return chain_fail(chain, CLI_MODEL,
                          "%s: the group posterior has no variables over chain "
                          "and draw",
                          ((const struct netcdf_place *)chain->own)->file);
    }
    chain->head = make_head(file, chain->own, n_columns);
    return chain->head ? csv_read_head(chain, chain->head, strlen(chain->head))
                       : chain_fail_memory(chain);
}

static int open_cdf(struct chain_file *chain, size_t k)
{
    struct netcdf_place *place = cli_alloc(1, sizeof *place);
    size_t n_columns = 0;
    int file;
    int code = open_file(chain->path, &file, chain->message);

    *place = (struct netcdf_place){.file = chain->path, .k = k};
    chain->own = place;
    chain->path = cli_text("%s[%zu]", place->file, k + 1);
    if (code) {
        return code;
    }
    add_vars(&place->vars, find_group(file, CDF_DRAWS, 1), true, &n_columns);
    add_vars(&place->vars, find_group(file, CDF_DRAWS, 0), false, &n_columns);
    code = read_names(chain, file, n_columns);
    if (!code) {
        measure(chain, file, k);
    }
    (void)nc_close(file);
    return code;
}

static void clear_cdf(struct chain_file *chain)
{
    struct netcdf_place *place = chain->own;

    if (place) {
        netcdf_vars_clear(&place->vars);
        free(place->file);
    }
    free(place);
    chain->own = NULL;
}

/* ---- rows ---------------------------------------------------------------------------------- */

struct reader {
    struct chain_file *chain;
    const struct netcdf_place *place;
    const struct chain_visitor *v;
    int file, phase;
    double *block, *values;
    size_t at_a_time, tick;
};

static int cannot_read(const struct reader *r, int status)
{
    return chain_fail(r->chain, CLI_IO, "%s: %s", r->chain->path,
                      nc_strerror(status));
}

static bool is_wanted(const struct reader *r, const struct netcdf_var *var)
{
    for (size_t i = 0; i < var->n; i++) {
        if (!r->v->is_wanted || r->v->is_wanted[var->columns[i]]) {
            return true;
        }
    }
    return false;
}

/* Rows t ... t + n of one variable into the block. */
static int read_var(const struct reader *r, const struct netcdf_var *var,
                    size_t t, size_t n)
{
    size_t start[CDF_MAX_RANK + 2] = {r->place->k, t};
    size_t count[CDF_MAX_RANK + 2] = {1, n};
    const int group = find_group(r->file, r->phase, var->is_sampler);
    int id = 0;
    nc_type type;

    for (size_t i = 0; i < var->rank; i++) {
        count[i + 2] = var->shape[i];
    }
    int status = group < 0 ? NC_ENOGRP : nc_inq_varid(group, var->name, &id);
    if (status ||
        (status = nc_get_vara_double(group, id, start, count, r->values)) ||
        (status = nc_inq_vartype(group, id, &type))) {
        return cannot_read(r, status);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t e = 0; e < var->n; e++) {
            const double x = r->values[i * var->n + e];

            r->block[i * r->chain->n_columns + var->columns[e]] =
                type == NC_INT64 && x == (double)NC_FILL_INT64 ? CLI_NAN : x;
        }
    }
    return CLI_OK;
}

static int read_rows(struct reader *r, size_t n_rows)
{
    const struct netcdf_vars *vars = &r->place->vars;
    int code = CLI_OK;

    for (size_t t = 0; t < n_rows && !code;) {
        const size_t n = n_rows - t < r->at_a_time ? n_rows - t : r->at_a_time;

        for (size_t i = 0; i < vars->n && !code; i++) {
            if (is_wanted(r, &vars->list[i])) {
                code = read_var(r, &vars->list[i], t, n);
            }
        }
        for (size_t i = 0; i < n && !code; i++) {
            code = r->v->row(r->v->ctx, r->block + i * r->chain->n_columns);
        }
        t += n;
        r->tick += n;
        if (r->chain->tick) {
            r->chain->tick(r->chain->tick_ctx,
                           r->tick * r->chain->n_columns * sizeof(double));
        }
    }
    return code;
}

/* ---- what adaptation found, and the times, as lines of a CSV file ---------------------------- */

static int say(const struct reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int say(const struct reader *r, const char *format, ...)
{
    char line[200];
    va_list args;

    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return r->v->comment(r->v->ctx, line,
                         n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

static int say_metric_row(const struct reader *r, const double *values,
                          size_t n, int digits)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    int code = CLI_OK;

    if (to) {
        for (size_t i = 0; i < n; i++) {
            (void)fprintf(to, "%s%.*g", i ? ", " : "# ", digits, values[i]);
        }
        (void)fclose(to);
        code = r->v->comment(r->v->ctx, text, bytes);
    }
    free(text);
    return code;
}

static int say_metric(const struct reader *r, int digits)
{
    const int group = find_group(r->file, CDF_DRAWS, 1);
    const size_t rows = group < 0 ? 0 : length_of(group, CDF_METRIC "_dim_0");
    const size_t columns = rows ? length_of(group, CDF_METRIC "_dim_1") : 0;
    const size_t n = columns ? columns : rows;
    const size_t start[3] = {r->place->k}, count[3] = {1, rows, columns};
    int id, code = CLI_OK;

    if (rows == 0 || nc_inq_varid(group, CDF_METRIC, &id)) {
        return CLI_OK;
    }
    double *values = cli_alloc(rows * (columns ? columns : 1), sizeof *values);
    if (!nc_get_vara_double(group, id, start, count, values) &&
        !isnan(values[0])) {
        code = say(r, columns ? "# " RELMC_CSV_DENSE : "# " RELMC_CSV_DIAGONAL);
        for (size_t i = 0; i < (columns ? rows : 1) && !code; i++) {
            code = say_metric_row(r, values + i * n, n, digits);
        }
    }
    free(values);
    return code;
}

static int say_adaptation(const struct reader *r)
{
    const double figures = chain_number(r->chain, RELMC_KEY_DIGITS);
    const int digits = figures >= 1 && figures <= 17 ? (int)figures : 8;
    int code;

    if (!r->v->comment || isnan(r->chain->step_size)) {
        return CLI_OK;
    }
    if ((code = say(r, "# " RELMC_CSV_ADAPTED)) ||
        (code = say(r, "# " RELMC_CSV_STEP_SIZE " %.*g", digits,
                    r->chain->step_size))) {
        return code;
    }
    return say_metric(r, digits);
}

static int say_times(const struct reader *r)
{
    const double warmup = r->chain->seconds_warmup;
    const double sampling = r->chain->seconds_sampling;
    int code;

    if (!r->v->comment || isnan(warmup) || isnan(sampling)) {
        return CLI_OK;
    }
    if ((code = say(r, "# ")) ||
        (code = say(r, RELMC_CSV_ELAPSED "%.4g " RELMC_CSV_SECONDS_WARMUP,
                    warmup)) ||
        (code =
             say(r, RELMC_CSV_ELAPSED_INDENT "%.4g " RELMC_CSV_SECONDS_SAMPLING,
                 sampling)) ||
        (code = say(r, RELMC_CSV_ELAPSED_INDENT "%.4g " RELMC_CSV_SECONDS_TOTAL,
                    warmup + sampling))) {
        return code;
    }
    return say(r, "# ");
}

/* Rows come one after another: of every variable one chunk is enough. */
static void limit_cache(const struct reader *r, const struct netcdf_var *var,
                        int phase)
{
    const int group = find_group(r->file, phase, var->is_sampler);
    size_t chunk[CDF_MAX_RANK + 2], bytes = sizeof(double);
    int id, storage;

    if (group < 0 || nc_inq_varid(group, var->name, &id) ||
        nc_inq_var_chunking(group, id, &storage, chunk) ||
        storage != NC_CHUNKED) {
        return;
    }
    for (size_t i = 0; i < var->rank + 2; i++) {
        bytes *= chunk[i];
    }
    (void)nc_set_var_chunk_cache(group, id, bytes, 7, 1.0F);
}

static int read_all(struct reader *r)
{
    const struct netcdf_vars *vars = &r->place->vars;
    int code = CLI_OK;

    for (size_t i = 0; i < vars->n; i++) {
        limit_cache(r, &vars->list[i], CDF_WARMUP);
        limit_cache(r, &vars->list[i], CDF_DRAWS);
    }
    if (!r->v->skips_warmup) {
        r->phase = CDF_WARMUP;
        code = read_rows(r, r->chain->n_warmup_rows);
    }
    r->phase = CDF_DRAWS;
    if (code || (code = say_adaptation(r)) ||
        (code = read_rows(r, r->chain->n_rows))) {
        return code;
    }
    return say_times(r);
}

static int visit_cdf(struct chain_file *chain,
                     const struct chain_visitor *visitor)
{
    struct reader r = {.chain = chain, .place = chain->own, .v = visitor};
    const size_t bytes = chain->n_columns * sizeof(double);
    int code = open_file(r.place->file, &r.file, chain->message);

    if (code) {
        return code;
    }
    r.at_a_time = bytes < BLOCK ? BLOCK / bytes : 1;
    r.block = cli_alloc(r.at_a_time, bytes);
    r.values = cli_alloc(r.at_a_time, bytes);
    code = read_all(&r);
    (void)nc_close(r.file);
    free(r.block);
    free(r.values);
    return code;
}

const struct chain_ops chain_netcdf = {
    .suffix = ".nc",
    .magic = "\x89HDF\r\n\x1a\n", /* HDF5, which NetCDF-4 is */
    .count = count_chains,
    .open = open_cdf,
    .read = chain_read_known,
    .visit = visit_cdf,
    .clear = clear_cdf,
    .write_all = netcdf_write,
};
