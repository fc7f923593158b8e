/* data.c - relmc data: finds, imports and describes data sets. */
#define _POSIX_C_SOURCE 200809L

#include "data/catalogue.h"
#include "report/result.h"
#include "tool/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt options[] = {
    {.name = "from",
     .kind = OPT_TEXT,
     .value = "PATH",
     .doc = "import the set from this folder or file (gzip is fine)",
     .group = "Data sets with a name:"},
    {.name = "dir",
     .kind = OPT_TEXT,
     .value = "DIR",
     .doc = "the folder of data sets (default: $RELMC_DATA, else "
            "$XDG_DATA_HOME/relmc)"},
    {.name = "list",
     .kind = OPT_FLAG,
     .doc = "list the sets, and where they are"},
    {.name = "response",
     .kind = OPT_TEXT,
     .value = "COL",
     .doc = "the column to predict: its name, or its number from 1 (default: "
            "the last)",
     .group = "Files:"},
    {.name = "labels",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "IDX or npy file that holds the response of FILE"},
    {.name = "header",
     .kind = OPT_CHOICE,
     .value = "WHEN",
     .fallback = "auto",
     .choices = "auto|yes|no",
     .doc = "whether the first line of a CSV file holds names"},
    {.name = "task",
     .kind = OPT_CHOICE,
     .value = "KIND",
     .fallback = "auto",
     .choices = "auto|number|classes",
     .doc = "kind of response; auto takes text and labels that are whole "
            "numbers for classes"},
    OPT_JSON(.doc = "print JSON"),
    OPT_COMMON,
    {0},
};

/* ---- sets with a name ---------------------------------------------------- */

/* The folder of the first file, to be freed; NULL if not all files are
 * there. */
static char *folder_of(const struct catalogue_entry *set, const char *dir)
{
    char *folder = NULL;

    for (size_t i = 0; i < set->n_files; i++) {
        char *path = catalogue_locate(set, i, dir);

        if (!path) {
            free(folder);
            return NULL;
        }
        if (i == 0) {
            *strrchr(path, '/') = '\0';
            folder = cli_text("%s", path);
        }
        free(path);
    }
    return folder;
}

static int list_sets(const struct opt_set *set)
{
    static const struct field fields[] = {
        {.key = "name", .head = "", .width = -8},
        {.head = "", .width = -10}, /* the folder, or none */
        {.key = "doc", .head = "", .width = -10},
        {.key = "folder"},
    };
    const struct catalogue_entry *known;
    struct result result = {0};

    result_fields(&result, fields, sizeof fields / sizeof *fields);
    for (size_t i = 0; (known = catalogue_at(i)); i++) {
        char *folder = folder_of(known, opt_get(set, "dir")->text);

        result_text(&result, "%s", known->name);
        result_text(&result, "%s", folder ? folder : "not here");
        result_text(&result, "%s", known->doc);
        result_json(&result, folder ? json_string(folder) : json_null());
        free(folder);
    }
    if (opt_get(set, "json")->is_on) {
        result_print_json(result_rows(&result));
    } else {
        result_print(&result);
        (void)printf("\nrelmc data NAME checks one, relmc data FILE describes "
                     "a file.\n");
    }
    result_clear(&result);
    return CLI_OK;
}

/* Every file of the set, with its digest. */
static int check_set(const struct opt_set *set,
                     const struct catalogue_entry *known, const char *dir)
{
    json_t *files = json_array();
    int code = CLI_OK;

    for (size_t i = 0; i < known->n_files && !code; i++) {
        char *path = catalogue_locate(known, i, dir);

        code = path ? catalogue_verify(known, i, path, set->who)
                    : catalogue_missing(known, set->who);
        if (!code && opt_get(set, "json")->is_on) {
            (void)json_array_append_new(
                files, json_pack("{s:s, s:s}", "path", path, "sha256",
                                 known->files[i].sha256));
        } else if (!code) {
            (void)printf("ok    %s\n", path);
        }
        free(path);
    }
    if (!code && opt_get(set, "json")->is_on) {
        result_print_json(
            json_pack("{s:s, s:O}", "name", known->name, "files", files));
    } else if (!code) {
        (void)printf("%s: %zu file%s, SHA-256 as it should be\n", known->name,
                     known->n_files, known->n_files == 1 ? "" : "s");
    }
    json_decref(files);
    return code;
}

static int named_set(const struct opt_set *set,
                     const struct catalogue_entry *known)
{
    const char *from = opt_get(set, "from")->text;
    const char *dir = opt_get(set, "dir")->text;

    if (!from) {
        return check_set(set, known, dir);
    }
    char *to = dir ? cli_text("%s", dir) : catalogue_home();
    if (!to) {
        return cli_fail(
            CLI_USAGE, set->who,
            "there is no folder to import to: set --dir, RELMC_DATA "
            "or HOME");
    }
    int code = catalogue_import(known, from, to, set->who);
    if (!code) {
        code = check_set(set, known, to);
    }
    free(to);
    return code;
}

/* ---- files --------------------------------------------------------------- */

struct column_stats {
    double min, max, mean, sd;
};

/* Two passes over the data for all columns. */
static struct column_stats *measure_columns(const struct dataset *data)
{
    const size_t d = data->n_columns;
    const double n = (double)data->n_rows;
    struct column_stats *all = cli_alloc(d, sizeof *all);

    for (size_t j = 0; j < d; j++) {
        all[j].min = all[j].max = dataset_at(data, 0, j);
    }
    for (size_t i = 0; i < data->n_rows; i++) {
        for (size_t j = 0; j < d; j++) {
            const double x = dataset_at(data, i, j);

            all[j].min = fmin(all[j].min, x);
            all[j].max = fmax(all[j].max, x);
            all[j].mean += x / n;
        }
    }
    for (size_t i = 0; i < data->n_rows; i++) {
        for (size_t j = 0; j < d; j++) {
            const double e = dataset_at(data, i, j) - all[j].mean;

            all[j].sd += e * e / fmax(n - 1.0, 1.0);
        }
    }
    for (size_t j = 0; j < d; j++) {
        all[j].sd = sqrt(all[j].sd);
    }
    return all;
}

static size_t *count_classes(const struct dataset *data)
{
    size_t *counts = cli_alloc(data->n_classes, sizeof *counts);

    for (size_t i = 0; data->n_classes > 0 && i < data->n_rows; i++) {
        counts[(size_t)data->y[i]]++;
    }
    return counts;
}

static bool is_constant(const struct column_stats *a)
{
    return a->min == a->max;
}

static void describe_response(const struct dataset *data, const size_t *counts)
{
    enum { SHOWN = 12 };
    char label[INPUT_STREAM_SHOWN];

    (void)printf("response%s%s: ", data->response ? " " : "",
                 data->response ? data->response : "");
    if (data->n_classes == 0) {
        double min = data->y[0], max = data->y[0];

        for (size_t i = 1; i < data->n_rows; i++) {
            min = fmin(min, data->y[i]);
            max = fmax(max, data->y[i]);
        }
        (void)printf("numbers from %.6g to %.6g\n", min, max);
        return;
    }
    (void)printf("%zu class%s", data->n_classes,
                 data->n_classes == 1 ? "" : "es");
    for (size_t k = 0; k < data->n_classes && k < SHOWN; k++) {
        (void)printf("%s%s (%zu)", k ? ", " : ": ",
                     dataset_class(label, data, k), counts[k]);
    }
    (void)printf("%s\n", data->n_classes > SHOWN ? ", ..." : "");
}

/* JSON has more columns than the table. */
static void take_columns(struct result *result, const struct dataset *data,
                         const struct column_stats *all)
{
    static const struct field fields[] = {
        {.head = "", .width = -8},
        {.key = "name"}, /* null if the file has none */
        {.key = "min", .head = "min", .width = 12, .digits = 6},
        {.key = "max", .head = "max", .width = 12, .digits = 6},
        {.key = "mean", .head = "mean", .width = 12, .digits = 6},
        {.key = "sd", .head = "sd", .width = 12, .digits = 6},
        {.key = "is_constant"},
        {.head = "", .width = -10},
    };
    char name[INPUT_STREAM_SHOWN];

    *result = (struct result){0};
    result_fields(result, fields, sizeof fields / sizeof *fields);
    for (size_t j = 0; j < data->n_columns; j++) {
        result_text(result, "%s", dataset_column(name, data, j));
        result_json(result,
                    data->names ? json_string(data->names[j]) : json_null());
        result_real(result, all[j].min);
        result_real(result, all[j].max);
        result_real(result, all[j].mean);
        result_real(result, all[j].sd);
        result_flag(result, is_constant(&all[j]));
        result_text(result, "%s", is_constant(&all[j]) ? "  constant" : "");
    }
}

static void print_columns(const struct result *columns)
{
    enum { SHOWN = 20 };
    const size_t n = result_n_rows(columns);

    result_print_first(columns, SHOWN);
    if (n > SHOWN) {
        (void)printf("... and %zu more (--json shows all)\n", n - SHOWN);
    }
}

static void describe(const struct dataset *data, const char *source,
                     const struct column_stats *all, const size_t *counts,
                     const struct result *columns)
{
    size_t n_constant = 0;

    for (size_t j = 0; j < data->n_columns; j++) {
        n_constant += is_constant(&all[j]);
    }
    (void)printf("%s: %s, %zu rows, %zu columns and a response\n", source,
                 data->format, data->n_rows, data->n_columns);
    describe_response(data, counts);
    (void)putchar('\n');
    print_columns(columns);
    if (n_constant > 0) {
        (void)printf("\n%zu column%s constant: that can be scaled by --scale "
                     "byte or none only\n",
                     n_constant, n_constant == 1 ? " is" : "s are");
    }
}

static json_t *json_classes(const struct dataset *data, const size_t *counts)
{
    json_t *list = json_array();
    char label[INPUT_STREAM_SHOWN];

    for (size_t k = 0; k < data->n_classes; k++) {
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:I}", "label",
                                              dataset_class(label, data, k),
                                              "count", (json_int_t)counts[k]));
    }
    return list;
}

static int describe_file(const struct opt_set *set, const char *source)
{
    const struct dataset_options how = {
        .response = opt_get(set, "response")->text,
        .labels = opt_get(set, "labels")->text,
        .header =
            !strcmp(opt_get(set, "header")->text, "yes")  ? DATASET_HEADER_YES
            : !strcmp(opt_get(set, "header")->text, "no") ? DATASET_HEADER_NO
                                                          : DATASET_HEADER_AUTO,
        .task = !strcmp(opt_get(set, "task")->text, "number")
                    ? DATASET_TASK_NUMBER
                : !strcmp(opt_get(set, "task")->text, "classes")
                    ? DATASET_TASK_CLASSES
                    : DATASET_TASK_AUTO,
    };
    struct dataset data;
    const int code = dataset_read(&data, set->who, source, &how);

    if (code) {
        return code;
    }
    struct column_stats *all = measure_columns(&data);
    size_t *counts = count_classes(&data);
    struct result columns;

    take_columns(&columns, &data, all);
    if (opt_get(set, "json")->is_on) {
        result_print_json(json_pack(
            "{s:s, s:s, s:I, s:I, s:s?, s:o, s:o}", "source", source, "format",
            data.format, "n_rows", (json_int_t)data.n_rows, "n_columns",
            (json_int_t)data.n_columns, "response", data.response, "classes",
            json_classes(&data, counts), "columns", result_rows(&columns)));
    } else {
        describe(&data, source, all, counts, &columns);
    }
    result_clear(&columns);
    free(all);
    free(counts);
    dataset_clear(&data);
    return CLI_OK;
}

/* ---- the command --------------------------------------------------------- */

static int no_such_file(const struct opt_set *set)
{
    struct nearest nearest = {.wanted = set->argument};
    const struct catalogue_entry *known;

    for (size_t i = 0; (known = catalogue_at(i)); i++) {
        cli_nearest_offer(&nearest, known->name);
    }
    return nearest.word
               ? cli_fail(CLI_IO, set->who,
                          "no file and no data set \"%s\" (did you mean "
                          "\"%s\"?)",
                          set->argument, nearest.word)
               : cli_fail(CLI_IO, set->who,
                          "no file and no data set \"%s\" (relmc data --list "
                          "lists the sets)",
                          set->argument);
}

static int run(struct opt_set *set)
{
    if (!set->argument || opt_get(set, "list")->is_on) {
        return list_sets(set);
    }
    const struct catalogue_entry *known = catalogue_find(set->argument);
    if (known) {
        return named_set(set, known);
    }
    if (opt_is_given(set, "from")) {
        return cli_fail(CLI_USAGE, set->who,
                        "--from imports a set with a name (relmc data --list), "
                        "and \"%s\" is none",
                        set->argument);
    }
    if (strcmp(set->argument, "mnist-test") != 0 &&
        access(set->argument, F_OK)) {
        return no_such_file(set);
    }
    return describe_file(set, set->argument);
}

const struct command cmd_data = {
    .name = "data",
    .argument = "[NAME|FILE]",
    .doc = "find, import and check data sets; describe files",
    .examples = "relmc data --list\n"
                "relmc data mnist --from downloads\n"
                "relmc data pima\n"
                "relmc data table.csv --response price\n"
                "relmc data images.npy --labels digits.npy --json\n",
    .options = options,
    .run = run,
};
