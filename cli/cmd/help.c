/* help.c - prints help texts from the tables of options and components. */
#define _POSIX_C_SOURCE 200809L

#include "cmd/help.h"
#include "data/component_list.h"
#include "tool/cli.h"
#include "tool/command_help.h"
#include "tool/options.h"
#include "tool/spec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The titles of the roles of components, and the options that take them. */
static const struct role {
    const char *name;
    const char *title;
    const char *option; /* NULL: not chosen by an option */
} roles[] = {
    {"kinetic", "Kinetic energies", "--kinetic"},
    {"integrator", "Integrators", "--integrator"},
    {"sampler", "Samplers", "--sampler"},
    {"adapt", "Adaptation in warm-up", "--adapt"},
    {"model", "Models", NULL},
};
enum { N_ROLES = sizeof roles / sizeof *roles };

/* ---- components ---------------------------------------------------------- */

static void help_component(const struct listed *listed)
{
    const relmc_component *c = &listed->component;

    command_help_entry(c->name, c->doc, 16);
    for (size_t i = 0; i < c->n_params; i++) {
        const relmc_parameter p = component_list_param(listed, i);
        char range[120];
        char text[400];
        char name[60];

        command_help_range(range, sizeof range, &p);
        (void)snprintf(text, sizeof text, "%s (%s)", p.doc, range);
        (void)snprintf(name, sizeof name, "  %s", p.name);
        command_help_entry(name, text, 18);
    }
}

static void help_components(const char *role)
{
    struct listed listed;

    for (size_t i = 0; component_list_at(&listed, role, i); i++) {
        help_component(&listed);
    }
}

void help_component_names(void)
{
    struct listed listed;

    for (const struct role *r = roles; r < roles + N_ROLES; r++) {
        if (!r->option) {
            continue;
        }
        char text[600];
        size_t n = 0;

        for (size_t i = 0;
             component_list_at(&listed, r->name, i) && n < sizeof text - 100;
             i++) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                                  i ? ", " : "", listed.component.name);
        }
        (void)snprintf(text + n, sizeof text - n, " (relmc help %s)", r->name);
        command_help_entry(r->option, text, 16);
    }
}

void help_overview(command_table commands, bool has_colour)
{
    (void)printf("relmc %s - relativistic Monte Carlo\n\n", CLI_VERSION);
    command_help_examples(
        "relmc sample banana                    draw from a model\n"
        "relmc sample gaussian:dim=10 --seed 1  ... with parameters\n"
        "relmc models                           list the models\n"
        "relmc help sample                      all its options\n",
        has_colour);
    command_help_heading("Commands:", has_colour);
    for (; *commands; commands++) {
        const struct command *command = *commands;
        char left[60];

        (void)snprintf(left, sizeof left, "%s %s", command->name,
                       command->argument ? command->argument : "");
        command_help_entry(left, command->doc, 22);
    }
    (void)putchar('\n');
    command_help_heading("Components (relmc help NAME):", has_colour);
    for (const struct role *r = roles; r < roles + N_ROLES; r++) {
        command_help_entry(r->name, r->title, 22);
    }
    (void)putchar('\n');
    command_help_heading("Exit codes:", has_colour);
    (void)printf(
        "  0 done, 1 a check failed, 2 usage, 3 model or start, 4 files,\n"
        "  5 numerical failure or out of memory, 75 stopped early (relmc resume"
        " goes on),\n"
        "  130 interrupted, 143 terminated\n");
}

/* ---- relmc help NAME ----------------------------------------------------- */

static const struct opt options[] = {OPT_COMMON, {0}};

static bool help_on_role(const char *name)
{
    for (const struct role *r = roles; r < roles + N_ROLES; r++) {
        if (!strcmp(r->name, name)) {
            (void)printf("%s", r->title);
            if (r->option) {
                (void)printf(" (%s NAME:parameter=value,...)", r->option);
            }
            (void)printf(":\n");
            help_components(r->name);
            return true;
        }
    }
    return false;
}

static bool help_on_component(const char *name)
{
    struct listed listed;
    bool is_found = false;

    for (const struct role *r = roles; r < roles + N_ROLES; r++) {
        for (size_t i = 0; component_list_at(&listed, r->name, i); i++) {
            if (!strcmp(listed.component.name, name)) {
                (void)printf("%s (%s):\n", r->title,
                             r->option ? r->option : "relmc sample");
                help_component(&listed);
                is_found = true;
            }
        }
    }
    return is_found;
}

static int unknown_topic(command_table commands, const char *name)
{
    struct nearest nearest = {.wanted = name};
    struct listed listed;

    for (; *commands; commands++) {
        cli_nearest_offer(&nearest, (*commands)->name);
    }
    for (const struct role *r = roles; r < roles + N_ROLES; r++) {
        cli_nearest_offer(&nearest, r->name);
        for (size_t i = 0; component_list_at(&listed, r->name, i); i++) {
            cli_nearest_offer(&nearest, listed.component.name);
        }
    }
    return cli_fail(CLI_USAGE, "relmc help",
                    "there is no command or component \"%s\"%s%s%s", name,
                    nearest.word ? " (did you mean \"" : "",
                    nearest.word ? nearest.word : "",
                    nearest.word ? "\"?)" : "");
}

static int run(struct opt_set *set)
{
    const char *name = set->argument;
    const bool has_colour =
        cli_wants_colour(STDOUT_FILENO, set->values[0].text);

    if (!name) {
        help_overview(set->commands, has_colour);
        return CLI_OK;
    }
    const struct command *command = command_find(set->commands, name);
    if (command && command->pass_on) {
        return command->pass_on((char *[]){"--help", NULL});
    }
    if (command) {
        command_help_print(command, has_colour);
        return CLI_OK;
    }
    return help_on_role(name) || help_on_component(name)
               ? CLI_OK
               : unknown_topic(set->commands, name);
}

const struct command cmd_help = {
    .name = "help",
    .argument = "[NAME]",
    .doc = "help on a command or a component",
    .examples = "relmc help sample\n"
                "relmc help kinetic\n"
                "relmc help hmc\n",
    .options = options,
    .run = run,
};
