/* models.c - relmc models: the built-in models and what is known of them. */
#include "cmd/help.h"
#include "job/model.h"
#include "tool/cli.h"
#include "tool/command_help.h"
#include "tool/component_spec.h"
#include "tool/config.h"
#include "tool/options.h"
#include "tool/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct opt options[] = {
    OPT_JSON(.doc = "as JSON"),
    OPT_COMMON,
    {0},
};

/* What a model with these parameters knows of itself. */
struct facts {
    size_t dim;
    double *mean, *variance; /* NULL: unknown */
    bool has_draws;
};

static void facts_take(struct facts *facts, const relmc_target *target)
{
    const size_t dim = relmc_target_dim(target);
    double *draw = cli_alloc(dim, sizeof *draw);

    *facts = (struct facts){
        .dim = dim,
        .mean = cli_alloc(dim, sizeof *facts->mean),
        .variance = cli_alloc(dim, sizeof *facts->variance),
    };
    if (relmc_target_moments(target, facts->mean, facts->variance, NULL)) {
        free(facts->mean);
        free(facts->variance);
        facts->mean = facts->variance = NULL;
    }
    facts->has_draws = !relmc_target_draw(target, 0, 1, draw, NULL);
    free(draw);
}

static void facts_clear(struct facts *facts)
{
    free(facts->mean);
    free(facts->variance);
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *json_params(const relmc_info *info)
{
    static const char *const kinds[] = {[RELMC_REAL] = "real",
                                        [RELMC_INTEGER] = "integer",
                                        [RELMC_VECTOR] = "vector",
                                        [RELMC_CHOICE] = "choice"};
    json_t *all = json_array();

    for (const relmc_param *p = info->params; p && p->name; p++) {
        (void)json_array_append_new(
            all, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s?}", "name",
                           p->name, "doc", p->doc, "kind", kinds[p->kind],
                           "min", config_real(p->min), "max",
                           config_real(p->max), "default",
                           config_real(p->fallback), "choices", p->choices));
    }
    return all;
}

static json_t *json_list(const double *values, size_t n)
{
    json_t *list = values ? json_array() : json_null();

    for (size_t i = 0; values && i < n; i++) {
        (void)json_array_append_new(list, config_real(values[i]));
    }
    return list;
}

static json_t *json_model(const relmc_info *info, const struct facts *f)
{
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:b, s:o}", "name", info->name,
                     "doc", info->doc, "dim", (json_int_t)f->dim, "mean",
                     json_list(f->mean, f->dim), "variance",
                     json_list(f->variance, f->dim), "exact_draws",
                     (int)f->has_draws, "parameters", json_params(info));
}

static void print_json(json_t *value)
{
    char *text = config_print(value);

    (void)printf("%s\n", text);
    free(text);
    json_decref(value);
}

/* ---- all of them --------------------------------------------------------- */

static void add_row(struct table *table, const relmc_info *info,
                    const struct facts *f)
{
    table_add(table, "%s", info->name);
    table_add(table, "%zu d", f->dim);
    table_add(table, "%s", info->doc);
    table_add(table, "%s%s%s", f->mean ? "exact moments" : "",
              f->mean && f->has_draws ? ", " : "",
              f->has_draws ? "exact draws" : "");
}

static int list_models(bool is_json)
{
    static const int widths[] = {-10, 5, -10, -10};
    const relmc_info *info;
    json_t *all = json_array();
    struct table table;
    int code = CLI_OK;

    table_init(&table, sizeof widths / sizeof *widths);
    for (size_t i = 0; (info = relmc_info_at("model", i)) && !code; i++) {
        relmc_target *target = NULL;
        struct facts facts;

        if ((code = model_open_plain(&target, info->name, "relmc models"))) {
            break;
        }
        facts_take(&facts, target);
        add_row(&table, info, &facts);
        (void)json_array_append_new(all, json_model(info, &facts));
        facts_clear(&facts);
        relmc_target_destroy(target);
    }
    for (size_t i = 0; (info = on_data_extra(i)) && !code; i++) {
        const struct facts none = {0};

        table_add(&table, "%s", info->name);
        table_add(&table, "%s", "data");
        table_add(&table, "%s", info->doc);
        table_add(&table, "%s", "needs --data");
        (void)json_array_append_new(all, json_model(info, &none));
    }
    if (is_json && !code) {
        print_json(json_incref(all));
    } else if (!code) {
        table_print(&table, widths);
        (void)printf("\nrelmc models NAME shows the parameters of one.\n");
    }
    json_decref(all);
    table_clear(&table);
    return code;
}

/* ---- one of them --------------------------------------------------------- */

static void print_params(const relmc_info *info)
{
    static const int widths[] = {-10, -10, -10};
    struct table table;

    if (!info->params || !info->params->name) {
        (void)printf("\nparameters: none\n");
        return;
    }
    (void)printf("\nparameters:\n");
    table_init(&table, 3);
    table.lead = 2;
    for (const relmc_param *p = info->params; p->name; p++) {
        char range[120];

        help_range(range, sizeof range, p);
        table_add(&table, "%s", p->name);
        table_add(&table, "%s", range);
        table_add(&table, "%s", p->doc);
    }
    table_print(&table, widths);
    table_clear(&table);
}

static void add_moment(struct table *table, double value)
{
    if (isnan(value)) {
        table_add(table, "-");
    } else {
        table_add(table, "%.6g", value);
    }
}

static void print_moments(const struct facts *f, const relmc_target *target)
{
    enum { SHOWN = 5 };
    static const int widths[] = {-6, 12, 12};
    struct table table;

    if (!f->mean) {
        (void)printf("\nexact moments: none known\n");
        return;
    }
    (void)printf("\nexact moments:\n");
    table_init(&table, 3);
    table.lead = 2;
    table_add(&table, "%s", "");
    table_add(&table, "mean");
    table_add(&table, "sd");
    for (size_t i = 0; i < f->dim && i < SHOWN; i++) {
        char name[CLI_NAME];

        table_add(&table, "%s", table_coordinate(name, target, i));
        add_moment(&table, f->mean[i]);
        add_moment(&table, sqrt(f->variance[i]));
    }
    table_print(&table, widths);
    table_clear(&table);
    if (f->dim > SHOWN) {
        (void)printf("  ... %zu coordinates in all\n", f->dim);
    }
}

/* One of librelmc-extra, which is nothing without data; false if it is not. */
static bool show_extra(const char *spec, bool is_json)
{
    const struct facts none = {0};
    const relmc_info *info;

    for (size_t i = 0; (info = on_data_extra(i)); i++) {
        if (!strcmp(info->name, spec)) {
            break;
        }
    }
    if (!info) {
        return false;
    }
    if (is_json) {
        print_json(json_model(info, &none));
    } else {
        (void)printf("%s - %s\n", info->name, info->doc);
        print_params(info);
        (void)printf("\nnext: relmc optimize %s --data FILE\n", spec);
    }
    return true;
}

static int show_model(const char *spec, bool is_json, const char *who)
{
    if (model_is_stan(spec)) {
        return cli_fail(CLI_USAGE, who,
                        "%s is a Stan model; these are the built-in ones "
                        "(relmc logp %s shows its parameters)",
                        spec, spec);
    }
    relmc_target *target = NULL;
    struct facts facts;
    const relmc_info *info = spec_info("model", spec);

    if (!info && show_extra(spec, is_json)) {
        return CLI_OK;
    }
    const int code = model_open_plain(&target, spec, who);
    if (code || !info) {
        relmc_target_destroy(target);
        return code;
    }
    facts_take(&facts, target);
    if (is_json) {
        print_json(json_model(info, &facts));
    } else {
        (void)printf("%s - %s\n", info->name, info->doc);
        (void)printf("%zu dimension%s; exact draws: %s\n", facts.dim,
                     facts.dim == 1 ? "" : "s", facts.has_draws ? "yes" : "no");
        print_params(info);
        print_moments(&facts, target);
        (void)printf("\nnext: relmc sample %s\n", spec);
    }
    facts_clear(&facts);
    relmc_target_destroy(target);
    return CLI_OK;
}

static int run(struct opt_set *set)
{
    const bool is_json = opt_get(set, "json")->is_on;

    return set->argument ? show_model(set->argument, is_json, set->who)
                         : list_models(is_json);
}

const struct command cmd_models = {
    .name = "models",
    .argument = "[NAME]",
    .doc = "the built-in models, their parameters and exact moments",
    .examples = "relmc models\n"
                "relmc models banana\n"
                "relmc models gaussian:dim=3,rho=0.5 --json\n",
    .options = options,
    .run = run,
};
