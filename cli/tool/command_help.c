/* command_help.c - the help text of a command, made from its table of
 * options. */
#include "tool/command_help.h"
#include "tool/options.h"
#include "tool/spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 26, WIDTH = 80 };

/* ---- layout -------------------------------------------------------------- */

void command_help_heading(const char *text, bool has_colour)
{
    (void)printf("%s%s%s\n", has_colour ? "\x1b[1m" : "", text,
                 has_colour ? "\x1b[0m" : "");
}

/* Words wrapped at WIDTH, further lines indented; `column` is where the cursor
 * stands. */
static void wrap(const char *text, size_t indent, size_t column)
{
    while (*text) {
        const size_t n = strcspn(text, " ");

        if (column > indent && column + 1 + n > WIDTH) {
            (void)printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            (void)putchar(' ');
            column++;
        }
        (void)printf("%.*s", (int)n, text);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    (void)putchar('\n');
}

/* "  left            right, wrapped" */
void command_help_entry(const char *left, const char *right, size_t indent)
{
    const int n = printf("  %s", left);

    if ((size_t)n + 2 > indent) {
        (void)printf("\n%*s", (int)indent, "");
    } else {
        (void)printf("%*s", (int)indent - n, "");
    }
    wrap(right, indent, indent);
}

void command_help_examples(const char *lines, bool has_colour)
{
    command_help_heading("Examples:", has_colour);
    while (*lines) {
        const size_t n = strcspn(lines, "\n");

        (void)printf("  %.*s\n", (int)n, lines);
        lines += n;
        lines += *lines == '\n';
    }
    (void)putchar('\n');
}

void command_help_range(char *out, size_t bytes, const relmc_parameter *param)
{
    char fallback[40] = "";

    if (!strcmp(param->kind, "choice")) {
        const char *word = param->choices;

        if (isnan(
                param->fallback)) { /* unset: the doc says what happens then */
            (void)snprintf(out, bytes, "%s", word);
            return;
        }
        for (int i = (int)param->fallback; i > 0; i--) {
            word += strcspn(word, "|") + 1;
        }
        (void)snprintf(out, bytes, "%s, default %.*s", param->choices,
                       (int)strcspn(word, "|"), word);
        return;
    }
    const char *what = !strcmp(param->kind, "integer")  ? "integer in "
                       : !strcmp(param->kind, "vector") ? "number or list in "
                                                        : "in ";

    if (!isnan(param->fallback)) {
        (void)snprintf(fallback, sizeof fallback, ", default %g",
                       param->fallback);
    }
    (void)snprintf(out, bytes, "%s[%g, %g]%s", what, param->min, param->max,
                   fallback);
}

/* ---- options ------------------------------------------------------------- */

/* What follows the text of an option: choices, range, default. */
static void option_range(char *out, size_t bytes, const struct opt *o)
{
    relmc_component component = RELMC_INIT(relmc_component);
    relmc_parameter param;

    *out = '\0';
    if (o->kind == OPT_CHOICE) {
        (void)snprintf(out, bytes, ": %s", o->choices);
    }
    for (size_t i = 0; o->kind == OPT_PARAM && !*out &&
                       !relmc_component_at(o->choices, i, &component, NULL);
         i++) {
        if (spec_param(o->choices, component.name, o->key, &param)) {
            char range[120];

            command_help_range(range, sizeof range, &param);
            (void)snprintf(out, bytes, " (%s)", range);
        }
    }
}

static void print_option(const struct opt *o)
{
    char left[80];
    char range[200];
    char also[120] = "";
    char right[600];
    char letter[] = {'-', o->letter, ',', ' ', '\0'};
    size_t n = 0;

    (void)snprintf(left, sizeof left, "%s--%s%s%s", o->letter ? letter : "    ",
                   o->name, o->value ? " " : "", o->value ? o->value : "");
    option_range(range, sizeof range, o);
    for (size_t j = 0; j < sizeof o->also / sizeof *o->also && o->also[j];
         j++) {
        n += (size_t)snprintf(also + n, sizeof also - n, "%s--%s",
                              j ? ", " : " [also ", o->also[j]);
    }
    (void)snprintf(right, sizeof right, "%s%s%s%s%s%s%s", o->doc, range,
                   o->fallback ? " (default " : "",
                   o->fallback ? o->fallback : "", o->fallback ? ")" : "", also,
                   n ? "]" : "");
    command_help_entry(left, right, INDENT);
}

void command_help_print(const struct command *command, bool has_colour)
{
    (void)printf("relmc %s - %s\n\n", command->name, command->doc);
    command_help_examples(command->examples, has_colour);
    command_help_heading("Usage:", has_colour);
    (void)printf("  relmc %s%s%s [options]\n", command->name,
                 command->argument ? " " : "",
                 command->argument ? command->argument : "");
    for (const struct opt *o = command->options; o->name; o++) {
        if (o->group || o == command->options) {
            (void)putchar('\n');
            command_help_heading(o->group ? o->group : "Options:", has_colour);
        }
        print_option(o);
    }
    if (command->help) {
        (void)putchar('\n');
        command->help();
    }
}
