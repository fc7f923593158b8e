/* training_data.c - the data of experiments: read once, shared by all cells. */
#include "measure_training.h"

#include "data/catalogue.h"
#include "data/dataset_prepare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One set, with its splits. */
struct source {
    char *key; /* what it was made from */
    size_t n;  /* splits: one for every seed, or 1 */
    struct data_split *splits;
    struct source *next;
};

/* ---- what a cell asks for -------------------------------------------------- */

static char *key_of(const struct experiment *e, const struct cell *cell)
{
    char *data = experiment_text(e, cell, "data");
    char *test = experiment_text(e, cell, "test");
    char *scale = experiment_text(e, cell, "scale");
    char *key = cli_text("%s %s %s", data ? data : "", test ? test : "",
                         scale ? scale : "none");

    free(data);
    free(test);
    free(scale);
    return key;
}

static const struct source *find(const struct experiment *e, const char *key)
{
    const struct source *s = e->shared;

    while (s && strcmp(s->key, key) != 0) {
        s = s->next;
    }
    return s;
}

/* ---- reading --------------------------------------------------------------- */

static int scale(struct data_split *data, const char *how, const char *who,
                 const char *name)
{
    struct dataset_scaling scaling;
    const enum dataset_scale kind =
        how ? dataset_scale_named(how) : DATASET_SCALE_NONE;

    if (kind == DATASET_SCALE_NONE) {
        return CLI_OK;
    }
    const int code =
        dataset_scaling_learn(&scaling, &data->train, kind, who, name);

    if (!code) {
        dataset_scaling_apply(&scaling, &data->train);
        if (data->has_test) {
            dataset_scaling_apply(&scaling, &data->test);
        }
        dataset_scaling_clear(&scaling);
    }
    return code;
}

/* Split k is another one for another seed of the experiment. */
static int read_split(struct data_split *out, const struct experiment *e,
                      const struct cell *cell, size_t k)
{
    const json_t *test = experiment_setting(e, cell, "test");
    char *name = experiment_text(e, cell, "data");
    char *how = experiment_text(e, cell, "scale");
    struct dataset_options options = {.task = DATASET_TASK_CLASSES};
    int code = dataset_read(&out->train, e->who, name, &options);

    out->has_data = !code;
    if (!code && json_is_number(test)) {
        code = dataset_split(&out->train, &out->test, json_number_value(test),
                             1000 * e->seed + k, e->who);
        out->has_test = !code;
    } else if (!code && json_is_string(test)) {
        options.like = &out->train;
        code =
            dataset_read(&out->test, e->who, json_string_value(test), &options);
        out->has_test = !code;
    }
    if (!code) {
        code = scale(out, how, e->who, name);
    }
    free(name);
    free(how);
    return code;
}

/* One split will do for all seeds, unless rows are split off at random: then as
 * many as the cell with the most seeds has. */
static size_t count_splits(const struct experiment *e, const struct cell *cell,
                           const char *key)
{
    double most = 1.0;

    if (!json_is_number(experiment_setting(e, cell, "test"))) {
        return 1;
    }
    for (size_t i = 0; i < e->n_cells; i++) {
        char *other = key_of(e, &e->cells[i]);

        if (!strcmp(other, key)) {
            most = fmax(most, training_seeds(e, &e->cells[i]));
        }
        free(other);
    }
    return (size_t)most;
}

static int add_source(struct experiment *e, const struct cell *cell,
                      const char *key)
{
    struct source *s = cli_alloc(1, sizeof *s);
    int code = CLI_OK;

    s->key = cli_text("%s", key);
    s->n = count_splits(e, cell, key);
    s->splits = cli_alloc(s->n, sizeof *s->splits);
    s->next = e->shared;
    e->shared = s;
    for (size_t k = 0; k < s->n && !code; k++) {
        code = read_split(&s->splits[k], e, cell, k);
    }
    return code;
}

/* ---- what may be missing --------------------------------------------------- */

static bool is_here(const struct catalogue_entry *set)
{
    bool is_whole = true;

    for (size_t i = 0; i < set->n_files && is_whole; i++) {
        char *path = catalogue_locate(set, i, NULL);

        is_whole = path != NULL;
        free(path);
    }
    return is_whole;
}

static int check_data(const struct experiment *e, const struct cell *cell)
{
    char *name = experiment_text(e, cell, "data");
    const struct catalogue_entry *set = name ? catalogue_find(name) : NULL;
    int code = CLI_OK;

    if (!set) {
        code = cli_fail(CLI_IO, e->who, "%s: no data set \"%s\"", cell->key,
                        name ? name : "");
    } else if (!is_here(set)) {
        code = cli_fail(LEFT_OUT, e->who,
                        "%s is left out: the data set %s is not here (relmc "
                        "data %s says how to get it)",
                        e->name, name, name);
    }
    free(name);
    return code;
}

static int check_model(const struct experiment *e, const struct cell *cell)
{
    char *model = experiment_text(e, cell, "model");
    int code = CLI_OK;

    if (!model) {
        code = cli_fail(CLI_IO, e->who, "%s: no model", cell->key);
    } else if (!data_options_knows(model)) {
        code = cli_fail(LEFT_OUT, e->who,
                        "%s is left out: this relmc was built without BLAS, "
                        "so that it has no networks (docs/cli.md)",
                        e->name);
    }
    free(model);
    return code;
}

/* ---- all of them ----------------------------------------------------------- */

int training_data_open(struct experiment *e)
{
    int code = CLI_OK;

    for (size_t i = 0; i < e->n_cells && !code; i++) {
        const struct cell *cell = &e->cells[i];
        char *key = key_of(e, cell);

        const bool is_new = !find(e, key);

        if (is_new && !(code = check_model(e, cell)) &&
            !(code = check_data(e, cell))) {
            code = add_source(e, cell, key);
        }
        free(key);
    }
    return code;
}

void training_data_close(struct experiment *e)
{
    struct source *s = e->shared;

    while (s) {
        struct source *next = s->next;

        for (size_t k = 0; k < s->n; k++) {
            data_options_clear(&s->splits[k]);
        }
        free(s->splits);
        free(s->key);
        free(s);
        s = next;
    }
    e->shared = NULL;
}

/* Rows from ... to - 1 of a set, all of it without a list. */
static relmc_data view(const struct dataset *set, const json_t *range)
{
    const size_t from = (size_t)json_number_value(json_array_get(range, 0));
    const size_t wanted =
        range ? (size_t)json_number_value(json_array_get(range, 1))
              : set->n_rows;
    const size_t to = wanted < set->n_rows ? wanted : set->n_rows;

    return (relmc_data){
        .size = sizeof(relmc_data),
        .n_rows = from < to ? to - from : 0,
        .n_columns = set->n_columns,
        .x = set->x ? set->x + from * set->n_columns : NULL,
        .x_float = set->x ? NULL : set->x_float + from * set->n_columns,
        .y = set->y + from,
        .n_classes = set->n_classes,
    };
}

void training_data_of(struct data_split *out, const struct experiment *e,
                      const struct cell *cell, size_t k)
{
    char *key = key_of(e, cell);
    const struct source *s = find(e, key);
    const struct data_split *from = &s->splits[s->n > 1 ? k : 0];

    free(key);
    *out = (struct data_split){
        .has_data = true,
        .has_test = true,
        .for_training =
            view(&from->train, experiment_setting(e, cell, "train_rows")),
        .for_testing = view(from->has_test ? &from->test : &from->train,
                            experiment_setting(e, cell, "test_rows")),
    };
}
