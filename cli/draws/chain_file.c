/* chain_file.c - the draws of one chain in a file, whatever its format: the door that
 * all commands on draws go through. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_file.h"
#include "relmc_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const suffixes[] = {
    [CHAIN_CSV] = ".csv", [CHAIN_RAW] = ".rmc", [CHAIN_NC] = ".nc"};

const char *chain_suffix(enum chain_format format)
{
    return format < CHAIN_NONE ? suffixes[format] : "";
}

enum chain_format chain_format_of(const char *path)
{
    const size_t n = strlen(path);

    for (enum chain_format f = CHAIN_CSV; f < CHAIN_NONE; f++) {
        const size_t m = strlen(suffixes[f]);

        if (n > m && !strcmp(path + n - m, suffixes[f])) {
            return f;
        }
    }
    return CHAIN_NONE;
}

/* By its first bytes; what is no file of ours is left to the reader of CSV, and
 * so is what cannot be read twice. */
static enum chain_format look(const char *path)
{
    char start[CHAIN_MAGIC] = {0};
    struct stat status;
    enum chain_format format = CHAIN_CSV;

    if (stat(path, &status) || !S_ISREG(status.st_mode)) {
        return CHAIN_CSV;
    }
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return CHAIN_CSV;
    }
    if (fread(start, 1, sizeof start, stream) == sizeof start) {
        format = raw_is_it(start)   ? CHAIN_RAW
                 : cdf_is_it(start) ? CHAIN_NC
                                    : CHAIN_CSV;
    }
    (void)fclose(stream);
    return format;
}

int chain_count(const char *path, size_t *n, char message[CSV_MESSAGE])
{
    *n = 1;
    return look(path) == CHAIN_NC ? cdf_count(path, n, message) : CLI_OK;
}

int chain_open(struct stan_csv *csv, const char *path, size_t k,
               char message[CSV_MESSAGE])
{
    const enum chain_format format = look(path);
    const int code = format == CHAIN_RAW  ? raw_open(csv, path, message)
                     : format == CHAIN_NC ? cdf_open(csv, path, k, message)
                                          : stan_csv_open(csv, path, message);

    csv->format = format;
    return code;
}

bool chain_is_it(const char *path)
{
    char message[CSV_MESSAGE];
    struct stan_csv csv = {0};
    struct stat status;

    if (stat(path, &status) || !S_ISREG(status.st_mode)) {
        return false;
    }
    const int code = chain_open(&csv, path, 0, message);
    const bool is_it =
        csv.format != CHAIN_CSV ||
        (!code && (csv.n_settings > 0 || !strcmp(csv.names[0], "lp__")));
    chain_clear(&csv);
    return is_it;
}

void chain_clear(struct stan_csv *csv)
{
    cdf_clear(csv);
    stan_csv_clear(csv);
}

static int visit_raw(struct stan_csv *csv, const struct chain_visitor *visitor)
{
    FILE *stream = fopen(csv->path, "rb");

    if (!stream) {
        return stan_csv_fail(csv, CLI_IO, "cannot read %s: %s", csv->path,
                             strerror(errno));
    }
    const int code = raw_visit(csv, stream, visitor);
    (void)fclose(stream);
    return code;
}

int chain_visit(struct stan_csv *csv, const struct chain_visitor *visitor,
                char message[CSV_MESSAGE])
{
    csv->message = message;
    return csv->format == CHAIN_RAW  ? visit_raw(csv, visitor)
           : csv->format == CHAIN_NC ? cdf_visit(csv, visitor)
                                     : stan_csv_visit(csv, visitor, message);
}

/* ---- the columns asked for ----------------------------------------------------- */

struct picker {
    struct stan_csv *csv;
    const size_t *slots;
    size_t n; /* rows so far */
};

static int pick(void *ctx, const double *row)
{
    struct picker *p = ctx;
    double *to = p->csv->values + p->n++ * p->csv->n_slots;

    for (size_t j = 0; j < p->csv->n_columns; j++) {
        if (p->slots[j] != CSV_SKIP) {
            to[p->slots[j]] = row[j];
        }
    }
    return CLI_OK;
}

static int no_draws(const struct stan_csv *csv)
{
    return stan_csv_fail(csv, CLI_MODEL, "%s: no draws%s", csv->path,
                         csv->n_warmup_rows ? ", only warm-up" : "");
}

/* The other formats know how many rows there are. */
static int read_rows(struct stan_csv *csv, const size_t *slots, size_t n_slots)
{
    bool *is_wanted = cli_alloc(csv->n_columns, sizeof *is_wanted);
    struct picker picker = {.csv = csv, .slots = slots};
    const struct chain_visitor visitor = {.row = pick,
                                          .skips_warmup = true,
                                          .is_wanted = is_wanted,
                                          .ctx = &picker};
    int code = CLI_OK;

    for (size_t j = 0; j < csv->n_columns; j++) {
        is_wanted[j] = slots[j] != CSV_SKIP;
    }
    free(csv->values);
    csv->n_slots = n_slots;
    csv->values = n_slots > SIZE_MAX / sizeof(double) / csv->n_rows
                      ? NULL
                      : malloc(csv->n_rows * n_slots * sizeof *csv->values);
    if (!csv->values) {
        code = stan_csv_fail(csv, CLI_NUMERIC,
                             "%s: the draws do not fit into memory: choose "
                             "variables (-i), or read less at a time "
                             "(--memory)",
                             csv->path);
    } else {
        code = chain_visit(csv, &visitor, csv->message);
    }
    free(is_wanted);
    return code;
}

int chain_read(struct stan_csv *csv, const size_t *slots, size_t n_slots,
               char message[CSV_MESSAGE])
{
    csv->message = message;
    if (csv->format == CHAIN_CSV) {
        return stan_csv_read(csv, slots, n_slots, message);
    }
    if (csv->n_rows == 0) {
        return no_draws(csv);
    }
    return n_slots > 0 ? read_rows(csv, slots, n_slots) : CLI_OK;
}

int chain_measure(struct stan_csv *csv, char message[CSV_MESSAGE])
{
    size_t *slots = cli_alloc(csv->n_columns, sizeof *slots);

    for (size_t j = 0; j < csv->n_columns; j++) {
        slots[j] = CSV_SKIP;
    }
    const int code = chain_read(csv, slots, 0, message);
    free(slots);
    return code;
}

/* ---- what stands in front of them ----------------------------------------------- */

char *chain_head(struct stan_csv *csv, char message[CSV_MESSAGE])
{
    const size_t bytes = csv->format == CHAIN_RAW ? (size_t)csv->raw.text
                         : csv->body > 0          ? (size_t)csv->body
                                                  : 0;
    FILE *stream = fopen(csv->path, "rb");
    char *text = NULL;

    csv->message = message;
    if (csv->head) {
        text = cli_text("%s", csv->head);
    } else if (stream &&
               !fseek(stream, csv->format == CHAIN_RAW ? RELMC_RAW_HEAD : 0,
                      SEEK_SET)) {
        text = cli_alloc(bytes + 1, 1);
        if (fread(text, 1, bytes, stream) != bytes) {
            free(text);
            text = NULL;
        }
    }
    if (!text) {
        (void)stan_csv_fail(csv, CLI_IO, "cannot read %s: %s", csv->path,
                            strerror(errno ? errno : EIO));
    }
    if (stream) {
        (void)fclose(stream);
    }
    return text;
}
