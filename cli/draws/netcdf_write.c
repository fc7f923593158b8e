/* netcdf_write.c - chains as one NetCDF-4 file in ArviZ's schema: groups of
 * variables over chain and draw (docs/formats.md).  Rows pass through in blocks,
 * so that memory does not depend on their number. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_ops.h"
#include "relmc_format.h"

#include "draws/netcdf_names.h"
#include "tool/parse_number.h"

#include <jansson.h>
#include <netcdf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 1 << 22, MOST_ROWS = 1 << 16 };

struct writer {
    const char *path;
    struct chain_file *chains;
    size_t n_chains;
    char *message;
    int status; /* of the library */

    int file;
    struct netcdf_vars vars;
    size_t n_rows[CDF_N_PHASES]; /* of each chain */
    int groups[CDF_N_PHASES][2]; /* posterior, sample_stats */
    int *ids[CDF_N_PHASES];      /* of the variables */
    size_t at_a_time;            /* rows of a block */
    double *block, *values;      /* rows, and one variable of them */
    void *other;                 /* the same as another type */
    int metric_id;
    size_t n_metric, metric_rank;

    /* The chain at hand. */
    size_t chain, row;    /* its number, and rows seen */
    size_t used, written; /* rows in the block, and before it in the phase */
    int phase;
    double *metric;
    size_t n_found, metric_room, metric_lines;
    bool is_metric; /* the next lines are */
};

static bool check(struct writer *w, int status)
{
    w->status = w->status ? w->status : status;
    return !w->status;
}

/* ---- attributes ------------------------------------------------------------------ */

static void put_text(struct writer *w, int group, int var, const char *name,
                     const char *text)
{
    (void)check(w, nc_put_att_text(group, var, name, strlen(text), text));
}

static void put_numbers(struct writer *w, int group, const char *name,
                        const double *values, size_t n)
{
    (void)check(
        w, nc_put_att_double(group, NC_GLOBAL, name, NC_DOUBLE, n, values));
}

/* Files that should be the same whenever they are made have no times
 * (reproducible-builds.org). */
static const char *fixed_time(void)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");

    return text && *text ? text : NULL;
}

static void put_time(struct writer *w, int group)
{
    const char *fixed = fixed_time();
    const time_t now = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
    struct tm utc;
    char text[64] = "";

    if (gmtime_r(&now, &utc)) {
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &utc);
    }
    put_text(w, group, NC_GLOBAL, "created_at", text);
}

/* The longest of the chains; NaN if one is unknown. */
static double longest(const struct writer *w)
{
    double most = 0.0;

    for (size_t k = 0; k < w->n_chains; k++) {
        const double s = w->chains[k].seconds_sampling;

        most = isnan(s) || isnan(most) ? CLI_NAN : fmax(s, most);
    }
    return most;
}

static void put_library(struct writer *w, int group)
{
    const struct chain_file *csv = &w->chains[0];
    const char *ours = chain_setting(csv, RELMC_KEY_VERSION);
    const char *major = chain_setting(csv, RELMC_KEY_STAN_MAJOR);
    const char *minor = chain_setting(csv, RELMC_KEY_STAN_MINOR);

    put_text(w, group, NC_GLOBAL, "creation_library", "relmc");
    put_text(w, group, NC_GLOBAL, "creation_library_version", CLI_VERSION);
    put_text(w, group, NC_GLOBAL, "creation_library_language", "C");
    if (ours) {
        put_text(w, group, NC_GLOBAL, "inference_library", "relmc");
        put_text(w, group, NC_GLOBAL, "inference_library_version", ours);
    } else if (major) {
        char *version = cli_text("%s.%s", major, minor ? minor : "0");

        put_text(w, group, NC_GLOBAL, "inference_library", "stan");
        put_text(w, group, NC_GLOBAL, "inference_library_version", version);
        free(version);
    }
}

static void put_settings(struct writer *w, int group)
{
    const struct chain_file *csv = &w->chains[0];
    json_t *root = json_object();

    for (size_t i = 0; i < csv->n_settings; i++) {
        const char *key = csv->settings[i].key;
        const double number = chain_number(csv, key);

        if (!json_object_get(root, key) && strcmp(key, RELMC_KEY_ID) != 0 &&
            strcmp(key, RELMC_KEY_FILE) != 0) {
            (void)json_object_set_new(
                root, key,
                fabs(number) < 0x1p53 && number == floor(number)
                    ? json_integer((json_int_t)number)
                : isfinite(number) ? json_real(number)
                                   : json_string(csv->settings[i].value));
        }
    }
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text) {
        put_text(w, group, NC_GLOBAL, "inference_library_settings", text);
    }
    free(text);
    json_decref(root);
}

static void put_group(struct writer *w, int group, bool is_stats)
{
    const double tuning = chain_number(&w->chains[0], RELMC_KEY_WARMUP);
    const double seconds = longest(w);

    put_time(w, group);
    put_library(w, group);
    if (!isnan(seconds) && !fixed_time()) {
        put_numbers(w, group, CDF_SAMPLING_TIME, &seconds, 1);
    }
    if (!isnan(tuning)) {
        const long long steps = (long long)tuning;

        (void)check(w, nc_put_att_longlong(group, NC_GLOBAL, "tuning_steps",
                                           NC_INT64, 1, &steps));
    }
    if (is_stats) {
        put_settings(w, group);
    }
}

/* What no variable holds, so that the chains can be written as CSV again. */
static void put_root(struct writer *w)
{
    double *numbers = cli_alloc(3 * w->n_chains, sizeof *numbers);
    const size_t n = w->n_chains;
    char *head = chain_head(&w->chains[0], w->message);
    const char *model = chain_setting(&w->chains[0], RELMC_KEY_MODEL);
    char *names = head;

    for (char *s = head; s && *s;
         s += strcspn(s, "\n") + (strchr(s, '\n') != 0)) {
        names = *s == '#' ? names : s; /* the last line that is no comment */
    }
    if (head && names > head) {
        *names = '\0';
        put_text(w, w->file, NC_GLOBAL, CDF_HEAD, head);
    }
    free(head);
    for (size_t k = 0; k < n; k++) {
        numbers[k] = w->chains[k].step_size;
        numbers[n + k] = w->chains[k].seconds_warmup;
        numbers[2 * n + k] = w->chains[k].seconds_sampling;
    }
    put_text(w, w->file, NC_GLOBAL, "name", model ? model : "unknown");
    put_time(w, w->file);
    put_library(w, w->file);
    put_numbers(w, w->file, CDF_STEP_SIZE, numbers, n);
    if (!fixed_time()) {
        put_numbers(w, w->file, CDF_SECONDS_WARMUP, numbers + n, n);
        put_numbers(w, w->file, CDF_SECONDS_SAMPLING, numbers + 2 * n, n);
    }
    free(numbers);
}

/* ---- dimensions and variables ------------------------------------------------------ */

/* A dimension with its coordinates, which count from 0 if there are no labels. */
static int add_dim(struct writer *w, int group, const char *name, size_t n,
                   const long long *labels)
{
    enum { AT_A_TIME = 1024 };
    long long values[AT_A_TIME];
    int dim = 0, var = 0;

    if (!check(w, nc_def_dim(group, name, n, &dim)) ||
        !check(w, nc_def_var(group, name, NC_INT64, 1, &dim, &var))) {
        return dim;
    }
    for (size_t from = 0; from < n && !w->status; from += AT_A_TIME) {
        const size_t m = n - from < AT_A_TIME ? n - from : AT_A_TIME;

        for (size_t i = 0; i < m; i++) {
            values[i] = labels ? labels[from + i] : (long long)(from + i);
        }
        (void)check(w, nc_put_vara_longlong(group, var, &from, &m, values));
    }
    return dim;
}

static void add_var(struct writer *w, int group, const int shared[2],
                    const struct netcdf_var *v, size_t rows, int *id)
{
    static const nc_type types[] = {[CDF_REAL] = NC_DOUBLE,
                                    [CDF_WHOLE] = NC_INT64,
                                    [CDF_FLAG] = NC_BYTE,
                                    [CDF_REACHED] = NC_BYTE};
    int dims[CDF_MAX_RANK + 2] = {shared[0], shared[1]};
    size_t chunk[CDF_MAX_RANK + 2] = {1, rows < w->at_a_time ? rows
                                                             : w->at_a_time};
    const double none = CLI_NAN;

    for (size_t r = 0; r < v->rank; r++) {
        char *name = cli_text("%s_dim_%zu", v->name, r);

        dims[r + 2] = add_dim(w, group, name, v->shape[r], NULL);
        chunk[r + 2] = v->shape[r];
        free(name);
    }
    if (w->status || !check(w, nc_def_var(group, v->name, types[v->kind],
                                          (int)v->rank + 2, dims, id))) {
        return;
    }
    (void)check(w, nc_def_var_chunking(group, *id, NC_CHUNKED, chunk));
    (void)check(w, nc_def_var_deflate(group, *id, 1, 1, 1));
    (void)check(
        w, nc_set_var_chunk_cache(group, *id, chunk[1] * v->n * 8, 7, 1.0F));
    if (v->kind == CDF_REAL) {
        (void)check(w, nc_def_var_fill(group, *id, NC_FILL, &none));
    } else if (v->kind != CDF_WHOLE) {
        put_text(w, group, *id, "dtype", "bool");
    }
}

static void add_groups(struct writer *w, int phase)
{
    long long *labels = cli_alloc(w->n_chains, sizeof *labels);

    chain_numbers(labels, w->chains, w->n_chains);
    for (size_t k = 0; k < w->n_chains; k++) {
        labels[k]--;
    }
    w->ids[phase] = cli_alloc(w->vars.n, sizeof *w->ids[phase]);
    for (int part = 0; part < 2 && !w->status; part++) {
        int group = 0;

        if (!check(w, nc_def_grp(w->file, cdf_groups[phase][part], &group))) {
            break;
        }
        const int dims[2] = {
            add_dim(w, group, CDF_CHAIN, w->n_chains, labels),
            add_dim(w, group, CDF_DRAW, w->n_rows[phase], NULL)};

        w->groups[phase][part] = group;
        for (size_t i = 0; i < w->vars.n && !w->status; i++) {
            if (w->vars.list[i].is_sampler == part) {
                add_var(w, group, dims, &w->vars.list[i], w->n_rows[phase],
                        &w->ids[phase][i]);
            }
        }
        put_group(w, group, part);
    }
    free(labels);
}

/* ---- rows -------------------------------------------------------------------------- */

static void put_var(struct writer *w, const struct netcdf_var *v, int group,
                    int id)
{
    size_t start[CDF_MAX_RANK + 2] = {w->chain, w->written};
    size_t count[CDF_MAX_RANK + 2] = {1, w->used};
    const size_t n_columns = w->chains[0].n_columns;
    const size_t n = w->used * v->n;
    long long *whole = w->other;
    signed char *flags = w->other;

    for (size_t r = 0; r < v->rank; r++) {
        count[r + 2] = v->shape[r];
    }
    for (size_t t = 0; t < w->used; t++) {
        for (size_t i = 0; i < v->n; i++) {
            w->values[t * v->n + i] = w->block[t * n_columns + v->columns[i]];
        }
    }
    for (size_t i = 0; i < n && v->kind != CDF_REAL; i++) {
        const double x = w->values[i];

        if (v->kind == CDF_WHOLE) {
            whole[i] = fabs(x) < 0x1p53 ? (long long)x : NC_FILL_INT64;
        } else {
            const bool is_on = v->kind == CDF_FLAG ? x != 0.0 : x >= v->limit;

            flags[i] = (signed char)is_on;
        }
    }
    (void)check(w, v->kind == CDF_REAL
                       ? nc_put_vara_double(group, id, start, count, w->values)
                   : v->kind == CDF_WHOLE
                       ? nc_put_vara_longlong(group, id, start, count, whole)
                       : nc_put_vara_schar(group, id, start, count, flags));
}

static void flush(struct writer *w)
{
    for (size_t i = 0; i < w->vars.n && w->used > 0 && !w->status; i++) {
        const struct netcdf_var *v = &w->vars.list[i];

        put_var(w, v, w->groups[w->phase][v->is_sampler], w->ids[w->phase][i]);
    }
    w->written += w->used;
    w->used = 0;
}

static int failed(const struct writer *w)
{
    (void)snprintf(w->message, CHAIN_MESSAGE, "cannot write %.300s: %s",
                   w->path, nc_strerror(w->status));
    return CLI_IO;
}

/* The last rows of each phase, as many as all chains have. */
static int take_row(void *ctx, const double *row)
{
    struct writer *w = ctx;
    const struct chain_file *csv = &w->chains[w->chain];
    const size_t n_columns = w->chains[0].n_columns;
    const int phase = w->row < csv->n_warmup_rows ? CDF_WARMUP : CDF_DRAWS;
    const size_t all = phase == CDF_WARMUP ? csv->n_warmup_rows : csv->n_rows;
    const size_t i = w->row - (phase == CDF_DRAWS ? csv->n_warmup_rows : 0);

    w->row++;
    if (phase != w->phase) {
        flush(w);
        w->phase = phase;
        w->written = 0;
    }
    if (i + w->n_rows[phase] < all) {
        return CLI_OK;
    }
    memcpy(w->block + w->used++ * n_columns, row, n_columns * sizeof *row);
    if (w->used == w->at_a_time) {
        flush(w);
    }
    return w->status ? failed(w) : CLI_OK;
}

/* ---- the metric, which is in the comments -------------------------------------------- */

static void add_metric(struct writer *w, double value)
{
    if (w->n_found == w->metric_room) {
        const size_t room = 2 * w->metric_room + 64;
        double *grown = cli_alloc(room, sizeof *grown);

        if (w->n_found > 0) {
            memcpy(grown, w->metric, w->n_found * sizeof *grown);
        }
        free(w->metric);
        w->metric = grown;
        w->metric_room = room;
    }
    w->metric[w->n_found++] = value;
}

static int take_comment(void *ctx, const char *text, size_t n)
{
    static const char mark[] = RELMC_CSV_METRIC;
    struct writer *w = ctx;
    const char *s = text + 1, *end = text + n;

    if (n >= sizeof mark &&
        !memcmp(end - (sizeof mark - 1), mark, sizeof mark - 1)) {
        w->is_metric = true;
        return CLI_OK;
    }
    while (w->is_metric && s < end) {
        const char *comma = memchr(s, ',', (size_t)(end - s));
        const char *stop = comma ? comma : end;
        double value;

        while (s < stop && *s == ' ') {
            s++;
        }
        if (!parse_number(s, stop, &value)) {
            w->is_metric = false;
            return CLI_OK;
        }
        add_metric(w, value);
        s = stop + 1;
    }
    w->metric_lines += w->is_metric;
    return CLI_OK;
}

/* The first chain says which shape it has; those of another one are left out. */
static void put_metric(struct writer *w)
{
    const int group = w->groups[CDF_DRAWS][1];
    const size_t lines = w->metric_lines;

    if (w->n_found == 0 || w->status) {
        return;
    }
    if (w->chain == 0) {
        const bool is_dense = lines > 1 && w->n_found == lines * lines;
        int dims[3] = {0};

        w->metric_rank = is_dense ? 2 : 1;
        w->n_metric = w->n_found;
        (void)check(w, nc_inq_dimid(group, CDF_CHAIN, &dims[0]));
        for (size_t r = 0; r < w->metric_rank; r++) {
            char *name = cli_text(CDF_METRIC "_dim_%zu", r);

            dims[r + 1] =
                add_dim(w, group, name, is_dense ? lines : w->n_found, NULL);
            free(name);
        }
        const double none = CLI_NAN;
        if (check(w,
                  nc_def_var(group, CDF_METRIC, NC_DOUBLE,
                             (int)w->metric_rank + 1, dims, &w->metric_id))) {
            (void)check(w,
                        nc_def_var_fill(group, w->metric_id, NC_FILL, &none));
        }
    }
    if (w->n_found == w->n_metric && !w->status) {
        const size_t side = w->metric_rank == 2 ? lines : w->n_found;
        const size_t start[3] = {w->chain}, count[3] = {1, side, side};

        (void)check(w, nc_put_vara_double(group, w->metric_id, start, count,
                                          w->metric));
    }
}

/* ---- all of it ----------------------------------------------------------------------- */

static int write_chain(struct writer *w, size_t k)
{
    const struct chain_visitor visitor = {.row = take_row,
                                          .comment = take_comment,
                                          .skips_warmup =
                                              w->n_rows[CDF_WARMUP] == 0 &&
                                              w->chains[k].n_warmup_rows == 0,
                                          .ctx = w};

    w->chain = k;
    w->row = w->used = w->written = w->n_found = w->metric_lines = 0;
    w->is_metric = false;
    w->phase = w->chains[k].n_warmup_rows ? CDF_WARMUP : CDF_DRAWS;
    const int code = chain_visit(&w->chains[k], &visitor, w->message);
    if (code) {
        return code;
    }
    flush(w);
    put_metric(w);
    return w->status ? failed(w) : CLI_OK;
}

static void prepare(struct writer *w)
{
    const struct chain_file *first = &w->chains[0];
    const char *engine = chain_setting(first, RELMC_KEY_ENGINE);
    const double limit = chain_number(first, RELMC_KEY_MAX_DEPTH);
    const size_t bytes = first->n_columns * sizeof(double);
    size_t widest = 1;

    w->n_rows[CDF_WARMUP] = w->n_rows[CDF_DRAWS] = SIZE_MAX;
    for (size_t k = 0; k < w->n_chains; k++) {
        const size_t n[] = {w->chains[k].n_warmup_rows, w->chains[k].n_rows};

        for (int phase = 0; phase < CDF_N_PHASES; phase++) {
            w->n_rows[phase] =
                n[phase] < w->n_rows[phase] ? n[phase] : w->n_rows[phase];
        }
    }
    netcdf_fold(&w->vars, first->names, first->n_columns);
    if (engine && !strcmp(engine, "nuts") && !isnan(limit)) {
        netcdf_add_limit(&w->vars, first->names, first->n_columns, limit);
    }
    for (size_t i = 0; i < w->vars.n; i++) {
        widest = w->vars.list[i].n > widest ? w->vars.list[i].n : widest;
    }
    w->at_a_time = bytes < BLOCK ? BLOCK / bytes : 1;
    w->at_a_time = w->at_a_time < MOST_ROWS ? w->at_a_time : MOST_ROWS;
    w->block = cli_alloc(w->at_a_time, bytes);
    w->values = cli_alloc(w->at_a_time * widest, sizeof *w->values);
    w->other = cli_alloc(w->at_a_time * widest, sizeof(long long));
}

static int write_all(struct writer *w)
{
    int code = CLI_OK;

    put_root(w);
    for (int phase = 0; phase < CDF_N_PHASES && !w->status; phase++) {
        if (w->n_rows[phase] > 0) {
            add_groups(w, phase);
        }
    }
    if (w->status) {
        return failed(w);
    }
    for (size_t k = 0; k < w->n_chains && !code; k++) {
        code = write_chain(w, k);
    }
    return code;
}

int netcdf_write(const char *path, struct chain_file *chains, size_t n,
                 char message[CHAIN_MESSAGE])
{
    struct writer w = {.path = path, .chains = chains, .n_chains = n};

    w.message = message;
    if (!check(&w, nc_create(path, NC_NETCDF4 | NC_CLOBBER, &w.file))) {
        return failed(&w);
    }
    prepare(&w);
    int code = write_all(&w);
    if (!check(&w, nc_close(w.file)) && !code) {
        code = failed(&w);
    }
    netcdf_vars_clear(&w.vars);
    free(w.ids[CDF_WARMUP]);
    free(w.ids[CDF_DRAWS]);
    free(w.block);
    free(w.values);
    free(w.other);
    free(w.metric);
    return code;
}
