/* dataset.c - finds the reader that a file needs; what all readers share. */
#define _POSIX_C_SOURCE 200809L

#include "data/dataset.h"

#include "tool/parse_number.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- memory -------------------------------------------------------------- */

/* The memory that is free without swapping; 0 if the system does not say. */
static double available_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    double found = 0.0;

    while (file && found == 0.0 && fgets(line, sizeof line, file)) {
        if (!strncmp(line, "MemAvailable:", 13)) {
            found = 1024.0 * strtod(line + 13, NULL);
        }
    }
    if (file) {
        (void)fclose(file);
    }
    return found;
}

static double free_memory(void)
{
    const double pages = (double)sysconf(_SC_PHYS_PAGES);
    const double bytes = (double)sysconf(_SC_PAGESIZE);
    double most = available_memory();
    struct rlimit limit;

    if (most == 0.0) {
        most = pages > 0.0 && bytes > 0.0 ? pages * bytes : HUGE_VAL;
    }
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY) {
        most = fmin(most, (double)limit.rlim_cur);
    }
    return most;
}

int dataset_check_room(const struct input_stream *from, double bytes,
                       double limit, const char *what)
{
    const double most = limit > 0.0 ? limit : free_memory();

    if (bytes <= most) {
        return CLI_OK;
    }
    return cli_fail(CLI_MODEL, from->who,
                    "%s: %s need %.3g GB of memory, and %.3g GB are free",
                    from->path, what, 1e-9 * bytes, 1e-9 * most);
}

/* ---- names --------------------------------------------------------------- */

const char *dataset_column(char out[INPUT_STREAM_SHOWN],
                           const struct dataset *set, size_t j)
{
    if (set->names) {
        return input_stream_shown(out, set->names[j], strlen(set->names[j]));
    }
    (void)snprintf(out, INPUT_STREAM_SHOWN, "column %zu", j + 1);
    return out;
}

const char *dataset_class(char out[INPUT_STREAM_SHOWN],
                          const struct dataset *set, size_t k)
{
    if (set->classes) {
        return input_stream_shown(out, set->classes[k],
                                  strlen(set->classes[k]));
    }
    (void)snprintf(out, INPUT_STREAM_SHOWN, "%zu", k);
    return out;
}

static void clear_texts(char **texts, size_t n)
{
    for (size_t i = 0; texts && i < n; i++) {
        free(texts[i]);
    }
    free((void *)texts);
}

void dataset_clear(struct dataset *set)
{
    clear_texts(set->names, set->n_columns);
    clear_texts(set->classes, set->n_classes);
    free(set->x);
    free(set->x_float);
    free(set->y);
    free(set->response);
    *set = (struct dataset){0};
}

static bool is_count(const char *text, size_t *out)
{
    char *end = NULL;

    *out = (size_t)strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

int dataset_find_response(size_t *out, char *const *names, size_t n,
                          const struct input_stream *from, const char *response)
{
    struct nearest nearest = {.wanted = response};
    size_t number = n;
    char shown[INPUT_STREAM_SHOWN];

    *out = n;
    for (size_t j = 0; names && response && j < n; j++) {
        if (strcmp(names[j], response) != 0) {
            cli_nearest_offer(&nearest, names[j]);
        } else if (*out < n) {
            return cli_fail(CLI_USAGE, from->who,
                            "%s has two columns \"%s\": give the number of "
                            "one, %zu or %zu",
                            from->path, response, *out + 1, j + 1);
        } else {
            *out = j;
        }
    }
    if (*out < n) {
        return CLI_OK;
    }
    if (!response || (is_count(response, &number) && number - 1 < n)) {
        *out = number - 1;
        return CLI_OK;
    }
    const bool is_near = nearest.word != NULL;
    return cli_fail(
        CLI_USAGE, from->who, "%s has no column \"%s\"%s%s%s; it has %zu%s",
        from->path, response, is_near ? " (did you mean \"" : "",
        is_near ? input_stream_shown(shown, nearest.word, strlen(nearest.word))
                : "",
        is_near ? "\"?)" : "", n, names ? "" : ", without names");
}

/* ---- levels -------------------------------------------------------------- */

ptrdiff_t dataset_levels_add(struct levels *levels, const char *text)
{
    size_t low = 0, high = levels->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        const size_t id = levels->sorted[middle];
        const int order = strcmp(text, levels->texts[id]);

        if (order == 0) {
            return (ptrdiff_t)id;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (levels->n == DATASET_MAX_LEVELS) {
        return LEVELS_FULL;
    }
    if (!levels->texts) {
        levels->texts = cli_alloc(DATASET_MAX_LEVELS, sizeof *levels->texts);
        levels->sorted = cli_alloc(DATASET_MAX_LEVELS, sizeof *levels->sorted);
    }
    memmove(levels->sorted + low + 1, levels->sorted + low,
            (levels->n - low) * sizeof *levels->sorted);
    levels->sorted[low] = levels->n;
    levels->texts[levels->n] = cli_text("%s", text);
    return (ptrdiff_t)levels->n++;
}

void dataset_levels_clear(struct levels *levels)
{
    clear_texts(levels->texts, levels->n);
    free(levels->sorted);
    *levels = (struct levels){0};
}

/* ---- classes ------------------------------------------------------------- */

static int bad_label(const struct dataset *set,
                     const struct dataset_place *place, size_t row,
                     const char *why)
{
    const struct input_stream *from = place->from;

    return place->lines
               ? cli_fail(CLI_MODEL, from->who, "%s:%zu: the label %.10g %s",
                          from->path, place->lines[row], set->y[row], why)
               : cli_fail(CLI_MODEL, from->who,
                          "%s: the label %.10g of observation %zu %s",
                          from->path, set->y[row], row + 1, why);
}

/* Labels are below a given number. */
static int check_below(const struct dataset *set,
                       const struct dataset_place *place, size_t n_classes)
{
    char why[80];

    (void)snprintf(why, sizeof why, "is out of range: classes are 0 ... %zu",
                   n_classes - 1);
    for (size_t i = 0; i < set->n_rows; i++) {
        if (set->y[i] < 0.0 || set->y[i] >= (double)n_classes) {
            return bad_label(set, place, i, why);
        }
    }
    return CLI_OK;
}

/* How many of the n values, which are sorted, are below y. */
static size_t place_of(double y, const double *values, size_t n)
{
    size_t low = 0, high = n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (values[middle] < y) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The values that occur, in their order; 0 if they are too many. */
static size_t distinct(const struct dataset *set,
                       double values[DATASET_MAX_CLASSES], size_t *row)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n_rows; i++) {
        const size_t low = place_of(set->y[i], values, n);

        if (low < n && values[low] == set->y[i]) {
            continue;
        }
        if (n == DATASET_MAX_CLASSES) {
            *row = i;
            return 0;
        }
        memmove(values + low + 1, values + low, (n - low) * sizeof *values);
        values[low] = set->y[i];
        n++;
    }
    return n;
}

/* Labels that are not 0, 1, ... get numbers in their order. */
static void renumber(struct dataset *set, const double *values, size_t n)
{
    set->n_classes = n;
    set->classes = cli_alloc(n, sizeof *set->classes);
    for (size_t k = 0; k < n; k++) {
        set->classes[k] = cli_text("%.17g", values[k]);
    }
    for (size_t i = 0; i < set->n_rows; i++) {
        set->y[i] = (double)place_of(set->y[i], values, n);
    }
}

/* Labels as the training set has them. */
static int classify_like(struct dataset *set, const struct dataset_place *place,
                         const struct dataset *like)
{
    if (!like->classes) {
        set->n_classes = like->n_classes;
        return check_below(set, place, like->n_classes);
    }
    double *values = cli_alloc(like->n_classes, sizeof *values);
    int code = CLI_OK;

    for (size_t k = 0; k < like->n_classes; k++) {
        const char *label = like->classes[k];

        if (!parse_number(label, label + strlen(label), &values[k])) {
            values[k] = CLI_NAN; /* a text, which no number equals */
        }
    }
    for (size_t i = 0; i < set->n_rows && !code; i++) {
        size_t k = 0;

        while (k < like->n_classes && values[k] != set->y[i]) {
            k++;
        }
        if (k == like->n_classes) {
            code = bad_label(set, place, i,
                             "does not occur in the training "
                             "data");
        }
    }
    if (!code) {
        renumber(set, values, like->n_classes);
    }
    free(values);
    return code;
}

static int check_whole(const struct dataset *set,
                       const struct dataset_place *place)
{
    for (size_t i = 0; i < set->n_rows; i++) {
        if (set->y[i] != floor(set->y[i]) || fabs(set->y[i]) > 0x1p53) {
            return bad_label(set, place, i,
                             "is no class: classes are whole numbers or text");
        }
    }
    return CLI_OK;
}

int dataset_classify(struct dataset *set, const struct dataset_place *place,
                     const struct dataset_options *options)
{
    size_t row = 0;
    int code = check_whole(set, place);

    if (code) {
        return code;
    }
    if (options->like && options->like->n_classes > 0) {
        return classify_like(set, place, options->like);
    }
    if (options->n_classes > 0) {
        set->n_classes = options->n_classes;
        return check_below(set, place, options->n_classes);
    }
    double *values = cli_alloc(DATASET_MAX_CLASSES, sizeof *values);
    const size_t n = distinct(set, values, &row);
    if (n == 0) {
        code = bad_label(set, place, row,
                         "is one of more than 1000 different ones: these are "
                         "numbers, not classes");
    } else if (values[0] == 0.0 && values[n - 1] < DATASET_MAX_CLASSES) {
        set->n_classes = (size_t)values[n - 1] + 1;
    } else {
        renumber(set, values, n);
    }
    free(values);
    return code;
}

/* ---- reading ------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

/* Refuses files that are not tables of text. */
static int check_magic(const struct input_stream *from)
{
    static const char zip[] = {'P', 'K', 3, 4};
    const unsigned char *start = from->block + from->begin;
    const size_t n = input_stream_at_hand(from);
    char *name = cli_text("%s", from->path);
    int code = CLI_OK;

    if (ends_with(name, ".gz")) {
        name[strlen(name) - 3] = '\0';
    }
    if (n == 0) {
        code = cli_fail(CLI_MODEL, from->who, "%s is empty", from->path);
    } else if (n >= sizeof zip && !memcmp(start, zip, sizeof zip)) {
        code = cli_fail(CLI_MODEL, from->who,
                        "%s is a zip archive (npz is one): unpack it, and give "
                        "the npy or CSV files in it",
                        from->path);
    } else if (!dataset_is_array(from) &&
               (ends_with(name, ".npy") || ends_with(name, "-ubyte") ||
                ends_with(name, ".idx") || start[0] == 0)) {
        code = cli_fail(CLI_MODEL, from->who,
                        "%s: wrong magic number: starts with %02x %02x %02x "
                        "%02x; IDX files start with 00 00 and a type (08 09 0b "
                        "0c 0d 0e), npy files with 93 4e 55 4d",
                        from->path, start[0], n > 1 ? start[1] : 0,
                        n > 2 ? start[2] : 0, n > 3 ? start[3] : 0);
    }
    free(name);
    return code;
}

/* A test set has the columns of its training set. */
static int check_like(const struct dataset *set,
                      const struct input_stream *from,
                      const struct dataset *like)
{
    char shown[INPUT_STREAM_SHOWN], other[INPUT_STREAM_SHOWN];

    if (!like) {
        return CLI_OK;
    }
    if (set->n_columns != like->n_columns) {
        return cli_fail(CLI_MODEL, from->who,
                        "%s has %zu columns beside the response, the training "
                        "data have %zu",
                        from->path, set->n_columns, like->n_columns);
    }
    for (size_t j = 0; set->names && like->names && j < set->n_columns; j++) {
        if (strcmp(set->names[j], like->names[j]) != 0) {
            return cli_fail(CLI_MODEL, from->who,
                            "%s: column %zu is \"%s\", in the training data it "
                            "is \"%s\"",
                            from->path, j + 1, dataset_column(shown, set, j),
                            dataset_column(other, like, j));
        }
    }
    return CLI_OK;
}

int dataset_read_bytes(struct dataset *out, struct input_stream *from,
                       struct input_stream *labels,
                       const struct dataset_options *options)
{
    enum { MAGIC = 8 };

    *out = (struct dataset){0};
    int code = input_stream_peek(from, MAGIC);
    if (!code) {
        code = check_magic(from);
    }
    if (!code && dataset_is_array(from)) {
        code = dataset_read_arrays(out, from, labels, options);
    } else if (!code && labels) {
        code = cli_fail(CLI_USAGE, from->who,
                        "%s is a table with its own response: --labels is for "
                        "IDX and npy files",
                        from->path);
    } else if (!code) {
        code = dataset_read_csv(out, from, options);
    }
    if (!code) {
        code = check_like(out, from, options->like);
    }
    if (code) {
        dataset_clear(out);
    }
    return code;
}
