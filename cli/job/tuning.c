/* tuning.c - the result of adaptation: a line for the reader, a file for later
 * runs. */
#include "job/tuning.h"

#include "draws/column.h"
#include "tool/config.h"

#include <string.h>

/* The score of the choice, relative to the best of the others. */
static void add_scores(char *out, size_t bytes, json_t *tuning,
                       const char *chosen)
{
    json_t *scores = json_object_get(tuning, "scores");
    const double mine = json_number_value(json_object_get(scores, chosen));
    const char *name, *rival = NULL;
    double best = 0.0;
    json_t *score;

    *out = '\0';
    json_object_foreach(scores, name, score)
    {
        if (strcmp(name, chosen) != 0 && json_number_value(score) > best) {
            best = json_number_value(score);
            rival = name;
        }
    }
    if (rival && mine > 0.0) {
        (void)snprintf(out, bytes,
                       "; in the pilot %.2g times the effective draws per "
                       "gradient of %s",
                       mine / best, rival);
    }
}

static char *text_of(json_t *tuning, const char *key)
{
    const char *text = json_string_value(json_object_get(tuning, key));

    return text ? cli_text("%s", text) : NULL;
}

void tuning_choice(const relmc_run *run, char **engine, char **kinetic)
{
    json_t *tuning = json_loads(relmc_run_tuning_json(run), 0, NULL);

    *engine = text_of(tuning, "engine");
    *kinetic = text_of(tuning, "kinetic");
    json_decref(tuning);
}

/* The names of the hubs of all layers that do `what`, "" if there are none. */
static void list_hubs(char *out, size_t bytes, const json_t *warp,
                      const char *what, const relmc_target *target)
{
    size_t n = 0, i;
    json_t *layer;

    *out = '\0';
    json_array_foreach(warp, i, layer)
    {
        const json_int_t hub =
            json_integer_value(json_object_get(layer, "hub"));
        const char *does = json_string_value(json_object_get(layer, "does"));
        char raw[128];

        if (!does || strcmp(does, what) != 0 || n + 1 >= bytes) {
            continue;
        }
        relmc_target_coordinate_name(target, (size_t)hub, raw, sizeof raw);
        char *name = column_pretty(raw);
        const int more =
            snprintf(out + n, bytes - n, "%s%s", n ? ", " : "", name);
        n += more > 0 ? (size_t)more : 0;
        free(name);
    }
}

/* Names the coordinates along which others were bent or stretched, if any. */
static void say_warp(const struct voice *voice, const json_t *warp,
                     const relmc_target *target)
{
    char bent[400], stretched[400];

    list_hubs(bent, sizeof bent, warp, "bend", target);
    list_hubs(stretched, sizeof stretched, warp, "stretch", target);
    if (*bent || *stretched) {
        cli_say(voice, "coordinates: %s%s%s%s%s", *bent ? "bent along " : "",
                bent, *bent && *stretched ? "; " : "",
                *stretched ? "stretched along " : "", stretched);
    }
}

void tuning_say(const struct voice *voice, const relmc_run *run,
                const relmc_target *target)
{
    json_t *tuning = json_loads(relmc_run_tuning_json(run), 0, NULL);
    const char *engine = json_string_value(json_object_get(tuning, "engine"));
    const char *kinetic = json_string_value(json_object_get(tuning, "kinetic"));
    const char *metric = json_string_value(json_object_get(tuning, "metric"));
    const json_int_t moved =
        json_integer_value(json_object_get(tuning, "stuck_at_end"));

    if (engine && kinetic && metric) {
        char *chosen = cli_text("%s %s", kinetic, engine);
        const char *why = json_string_value(json_object_get(tuning, "why"));
        char scores[160];

        add_scores(scores, sizeof scores, tuning, chosen);
        cli_say(voice, "chosen: %s, %s energy, %s metric, step size %.3g%s",
                engine, kinetic, metric,
                json_number_value(json_object_get(tuning, "step_size")),
                why && !strcmp(why, "neck")
                    ? "; steps of the pilot failed where the density is high"
                : why && !strcmp(why, "sticky")
                    ? "; steps of the pilot failed in some places"
                    : scores);
        free(chosen);
    }
    say_warp(voice, json_object_get(tuning, "warp"), target);
    if (moved > 0) {
        cli_say(voice,
                "warning: warm-up moved %lld stuck chain%s to another chain's "
                "draw; a mode found by %s alone would be missing. If you "
                "expect several modes, use --init.",
                (long long)moved, moved > 1 ? "s" : "",
                moved > 1 ? "them" : "it");
    }
    json_decref(tuning);
}

static json_t *list_of(const double *values, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        (void)json_array_append_new(list, config_real(values[i]));
    }
    return list;
}

/* {"stepsize": ..., "inv_metric": [...] or [[...], ...]} */
static json_t *metric_of(const relmc_run *run, size_t dim, double step_size)
{
    double *diagonal = cli_alloc(dim, sizeof *diagonal);
    const char *kind = "";

    (void)relmc_run_metric(run, 0, &kind, diagonal, NULL, NULL);
    const bool is_dense = !strcmp(kind, "dense");
    json_t *metric = NULL;

    if (is_dense) {
        double *dense = cli_alloc(dim * dim, sizeof *dense);

        (void)relmc_run_metric(run, 0, NULL, NULL, dense, NULL);
        metric = json_array();
        for (size_t i = 0; i < dim; i++) {
            (void)json_array_append_new(metric, list_of(dense + i * dim, dim));
        }
        free(dense);
    } else {
        metric = list_of(diagonal, dim);
    }
    json_t *root =
        json_pack("{s:o, s:s, s:s, s:o}", "stepsize", config_real(step_size),
                  "metric_type", is_dense ? "dense_e" : "diag_e", "kind", kind,
                  "inv_metric", metric);
    free(diagonal);
    return root;
}

int tuning_write(const char *path, const char *who, const relmc_run *run,
                 size_t dim)
{
    relmc_progress report = {.size = sizeof report};

    (void)relmc_run_progress(run, 0, &report, NULL);
    json_t *root = metric_of(run, dim, report.step_size);
    (void)json_object_set_new(root, "tuning",
                              json_loads(relmc_run_tuning_json(run), 0, NULL));
    char *text = config_print(root);
    const int code = config_write_text(path, who, text);

    free(text);
    json_decref(root);
    return code;
}
