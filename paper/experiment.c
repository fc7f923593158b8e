/* experiment.c - experiments from their files: settings, axes, cells. */
#include "reproduce.h"

#include "tool/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings -------------------------------------------------------------- */

const char *experiment_name(const json_t *panel_or_method)
{
    const char *name =
        json_string_value(json_object_get(panel_or_method, "name"));

    return name ? name : "";
}

json_t *experiment_setting(const struct experiment *e, const struct cell *cell,
                           const char *name)
{
    const json_t *places[] = {cell ? cell->method : NULL,
                              cell ? cell->panel : NULL, e->file};

    for (size_t i = 0; i < sizeof places / sizeof(void *); i++) {
        json_t *value = json_object_get(places[i], name);

        if (value) {
            json_t *at_scale = json_object_get(value, e->scale);

            return at_scale ? at_scale : value;
        }
    }
    return NULL;
}

double experiment_number(const struct experiment *e, const struct cell *cell,
                         const char *name, double fallback)
{
    const json_t *value = experiment_setting(e, cell, name);

    return json_is_number(value) ? json_number_value(value) : fallback;
}

bool experiment_lists(const struct experiment *e, const struct cell *cell,
                      const char *name, const char *word)
{
    const json_t *list = experiment_setting(e, cell, name), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *text = json_string_value(item);

        if (text && !strcmp(text, word)) {
            return true;
        }
    }
    return false;
}

/* ---- values in texts ------------------------------------------------------- */

/* An axis, a number as it is, or one of the settings. */
static double value_of_name(const struct experiment *e, const struct cell *cell,
                            const char *name)
{
    char *end;

    for (size_t i = 0; i < cell->n_axes; i++) {
        if (!strcmp(cell->axis[i], name)) {
            return cell->at[i];
        }
    }
    const double number = strtod(name, &end);

    return end != name && !*end ? number
                                : experiment_number(e, cell, name, CLI_NAN);
}

/* "m*kappa/eps", n characters: from left to right. */
static double value_of(const struct experiment *e, const struct cell *cell,
                       const char *word, size_t n)
{
    double value = 1.0;
    char sign = '*';

    for (size_t i = 0; i < n;) {
        const size_t length = strcspn(word + i, "*/}");
        char *name = cli_text("%.*s", (int)length, word + i);
        const double next = value_of_name(e, cell, name);

        free(name);
        value = sign == '*' ? value * next : value / next;
        sign = word[i + length];
        i += length + 1;
    }
    return value;
}

char *experiment_text(const struct experiment *e, const struct cell *cell,
                      const char *name)
{
    const json_t *value = experiment_setting(e, cell, name);
    const char *text = json_string_value(value);

    if (json_is_number(value)) {
        return cli_text("%.17g", json_number_value(value));
    }
    char *out = text ? cli_text("%s", "") : NULL;

    while (text && *text) {
        const char *open = strchr(text, '{');
        const char *shut = open ? strchr(open, '}') : NULL;
        const int plain = (int)(shut ? open - text : (ptrdiff_t)strlen(text));
        char *more = shut ? cli_text("%s%.*s%.17g", out, plain, text,
                                     value_of(e, cell, open + 1,
                                              (size_t)(shut - open - 1)))
                          : cli_text("%s%s", out, text);

        free(out);
        out = more;
        text = shut ? shut + 1 : NULL;
    }
    return out;
}

/* ---- axes ------------------------------------------------------------------ */

/* "eps": {"log": [0.01, 1], "points": 10}, {"linear": ...}, {"values": [...]} */
static size_t axis_points(const struct experiment *e, const struct cell *cell,
                          const json_t *axis)
{
    const json_t *values = json_object_get(axis, "values");
    const json_t *points = json_object_get(axis, "points");
    const json_t *at_scale = json_object_get(points, e->scale);

    (void)cell;
    if (json_object_get(values, e->scale)) {
        values = json_object_get(values, e->scale);
    }
    return values ? json_array_size(values)
                  : (size_t)json_integer_value(at_scale ? at_scale : points);
}

static double axis_value(const struct experiment *e, const json_t *axis,
                         size_t i, size_t n)
{
    const json_t *values = json_object_get(axis, "values");
    const json_t *log_ends = json_object_get(axis, "log");
    const json_t *ends = log_ends ? log_ends : json_object_get(axis, "linear");

    if (json_object_get(values, e->scale)) {
        values = json_object_get(values, e->scale);
    }
    if (values) {
        return json_number_value(json_array_get(values, i));
    }
    const double a = json_number_value(json_array_get(ends, 0));
    const double b = json_number_value(json_array_get(ends, 1));
    const double t = n > 1 ? (double)i / (double)(n - 1) : 0.0;

    return log_ends ? a * pow(b / a, t) : a + (b - a) * t;
}

static void note_axis(struct experiment *e, const char *name)
{
    for (size_t i = 0; i < e->n_axes; i++) {
        if (!strcmp(e->axis[i], name)) {
            return;
        }
    }
    if (e->n_axes < EXPERIMENT_AXES) {
        e->axis[e->n_axes++] = name;
    }
}

/* ---- cells ----------------------------------------------------------------- */

static void name_cell(struct cell *cell)
{
    cell->key = cli_text("%s %s", experiment_name(cell->panel),
                         experiment_name(cell->method));
    for (size_t i = 0; i < cell->n_axes; i++) {
        char *more =
            cli_text("%s %s=%.9g", cell->key, cell->axis[i], cell->at[i]);

        free(cell->key);
        cell->key = more;
    }
}

/* All values of the axes of a panel and a method; the last axis runs fastest. */
static void add_cells(struct experiment *e, const json_t *panel,
                      const json_t *method)
{
    const struct cell model = {.panel = panel, .method = method};
    json_t *axes = experiment_setting(e, &model, "axes"), *axis;
    const char *name;
    const json_t *found[EXPERIMENT_AXES];
    const char *names[EXPERIMENT_AXES];
    size_t n[EXPERIMENT_AXES], n_axes = 0, total = 1;

    json_object_foreach(axes, name, axis)
    {
        if (n_axes < EXPERIMENT_AXES) {
            note_axis(e, name);
            names[n_axes] = name;
            found[n_axes] = axis;
            n[n_axes] = axis_points(e, &model, axis);
            total *= n[n_axes++];
        }
    }
    e->cells = realloc(e->cells, (e->n_cells + total) * sizeof *e->cells);
    if (!e->cells) {
        abort();
    }
    for (size_t i = 0; i < total; i++) {
        struct cell *cell = &e->cells[e->n_cells++];
        size_t rest = i;

        *cell = model;
        cell->n_axes = n_axes;
        for (size_t a = n_axes; a-- > 0; rest /= n[a]) {
            cell->axis[a] = names[a];
            cell->at[a] = axis_value(e, found[a], rest % n[a], n[a]);
        }
        name_cell(cell);
    }
}

int experiment_open(struct experiment *e, const char *path)
{
    size_t i, j;
    json_t *panel, *method;
    const int code = config_load(&e->file, path, e->who, CLI_IO);

    if (code) {
        return code;
    }
    const json_t *panels = json_object_get(e->file, "panels");

    json_array_foreach(panels, i, panel)
    {
        const json_t *own = json_object_get(panel, "methods");
        const json_t *methods = own ? own : json_object_get(e->file, "methods");

        json_array_foreach(methods, j, method)
        {
            add_cells(e, panel, method);
        }
    }
    return e->n_cells
               ? CLI_OK
               : cli_fail(CLI_IO, e->who, "%s: no panels with methods", path);
}

void experiment_clear(struct experiment *e)
{
    for (size_t i = 0; i < e->n_cells; i++) {
        free(e->cells[i].key);
    }
    free(e->cells);
    json_decref(e->file);
    *e = (struct experiment){0};
}

/* FNV-1a over the name of the cell, then the mixer of splitmix64. */
uint64_t experiment_seed(const struct experiment *e, const struct cell *cell)
{
    uint64_t h = 0xcbf29ce484222325U ^ e->seed;

    for (const char *c = cell->key; *c; c++) {
        h = (h ^ (unsigned char)*c) * 0x100000001b3U;
    }
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9U;
    h = (h ^ h >> 27) * 0x94d049bb133111ebU;
    return (h ^ h >> 31) >> 1;
}
