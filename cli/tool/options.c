/* options.c - reads options from the command line and the environment. */
#define _POSIX_C_SOURCE 200809L

#include "tool/options.h"
#include "tool/spec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names --------------------------------------------------------------- */

/* The j-th name of an option: its own, then the others; NULL past the end. */
static const char *name_at(const struct opt *o, size_t j)
{
    enum { N_ALSO = sizeof o->also / sizeof *o->also };

    return j == 0 ? o->name : j <= N_ALSO ? o->also[j - 1] : NULL;
}

/* Are the n characters at word this name, '-' and '_' being the same? */
static bool is_name(const char *word, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!name[i] || (word[i] == '_' ? '-' : word[i]) != name[i]) {
            return false;
        }
    }
    return name[n] == '\0';
}

static int find(const struct command *command, const char *word, size_t n)
{
    const char *name;

    for (int i = 0; command->options[i].name; i++) {
        for (size_t j = 0; (name = name_at(&command->options[i], j)); j++) {
            if (is_name(word, n, name)) {
                return i;
            }
        }
    }
    return OPT_NONE;
}

int opt_find(const struct command *command, const char *name)
{
    return find(command, name, strlen(name));
}

size_t opt_place(const struct opt_set *set, const char *name)
{
    const int i = opt_find(set->command, name);

    if (i == OPT_NONE) { /* a mistake in the program */
        exit(cli_fail(CLI_USAGE, set->who, "there is no option --%s", name));
    }
    return (size_t)i;
}

const struct opt_value *opt_get(const struct opt_set *set, const char *name)
{
    return &set->values[opt_place(set, name)];
}

bool opt_is_given(const struct opt_set *set, const char *name)
{
    return opt_get(set, name)->source > OPT_DEFAULT;
}

const char *opt_nearest(const struct command *command, const char *name)
{
    struct nearest nearest = {.wanted = name};
    const char *word;

    for (const struct opt *o = command->options; o->name; o++) {
        for (size_t j = 0; (word = name_at(o, j)); j++) {
            cli_nearest_offer(&nearest, word);
        }
    }
    return nearest.word;
}

/* ---- values -------------------------------------------------------------- */

bool opt_parse_real(const char *text, double *out)
{
    char *end = NULL;

    /* strtod knows blanks, hexadecimals and words, too */
    if (!*text || text[strspn(text, "0123456789+-.eE")]) {
        return false;
    }
    *out = strtod(text, &end);
    return *end == '\0' && end != text && isfinite(*out);
}

static bool read_real(struct opt_value *v, const struct opt *o,
                      const char *text)
{
    return opt_parse_real(text, &v->real) && v->real >= o->min &&
           v->real <= o->max;
}

/* Digits, or a number such as 1e4 that is whole and exact. */
static bool read_count(struct opt_value *v, const struct opt *o,
                       const char *text)
{
    if (*text && !text[strspn(text, "0123456789")]) {
        errno = 0;
        v->count = strtoull(text, NULL, 10);
        if (errno) {
            return false;
        }
    } else if (opt_parse_real(text, &v->real) && v->real >= 0.0 &&
               v->real <= 0x1p53 && v->real == floor(v->real)) {
        v->count = (uint64_t)v->real;
    } else {
        return false;
    }
    v->real = (double)v->count;
    return v->real >= o->min && v->real <= o->max;
}

static bool read_flag(struct opt_value *v, const struct opt *o,
                      const char *text)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"0", "1"}, {"no", "yes"}, {"off", "on"}};

    (void)o;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (int on = 0; on < 2; on++) {
            if (!strcmp(text, words[i][on])) {
                v->is_on = on;
                return true;
            }
        }
    }
    return false;
}

static bool read_text(struct opt_value *v, const struct opt *o,
                      const char *text)
{
    (void)v;
    (void)o;
    return *text != '\0';
}

static bool read_choice(struct opt_value *v, const struct opt *o,
                        const char *text)
{
    const size_t n = strlen(text);

    (void)v;
    for (const char *at = o->choices; *at;) {
        const size_t m = strcspn(at, "|");

        if (n == m && !strncmp(at, text, n)) {
            return true;
        }
        at += m;
        at += *at == '|';
    }
    return false;
}

static bool read_spec(struct opt_value *v, const struct opt *o,
                      const char *text)
{
    (void)v;
    return spec_name(o->choices, text) != NULL;
}

/* What would have been right. */
static void say_right_count(const struct opt *o, const char *text)
{
    (void)text;
    if (o->max < 0x1p64) {
        (void)fprintf(stderr, "not a whole number from %.0f to %.0f\n", o->min,
                      o->max);
    } else {
        (void)fprintf(stderr, "not a whole number from %.0f to 2^64 - 1\n",
                      o->min);
    }
}

static void say_right_real(const struct opt *o, const char *text)
{
    (void)text;
    (void)fprintf(stderr, "not a number from %g to %g\n", o->min, o->max);
}

static void say_right_flag(const struct opt *o, const char *text)
{
    (void)o;
    (void)text;
    (void)fprintf(stderr, "not true or false\n");
}

static void say_right_text(const struct opt *o, const char *text)
{
    (void)text;
    (void)fprintf(stderr, "empty: %s is needed\n", o->value);
}

static void say_right_choice(const struct opt *o, const char *text)
{
    (void)text;
    (void)fprintf(stderr, "not one of %s\n", o->choices);
}

static bool is_offered(const struct opt *o, const char *name)
{
    return !o->is_offered || o->is_offered(name);
}

static void say_right_spec(const struct opt *o, const char *text)
{
    char *name = cli_text("%.*s", (int)strcspn(text, ":"), text);
    const char *near = spec_nearest(o->choices, name);
    relmc_component component = RELMC_INIT(relmc_component);
    size_t n = 0;

    free(name);
    if (near && is_offered(o, near)) {
        (void)fprintf(stderr, "unknown (did you mean \"%s\"?)\n", near);
        return;
    }
    (void)fprintf(stderr, "not one of ");
    for (size_t i = 0; !relmc_component_at(o->choices, i, &component, NULL);
         i++) {
        if (is_offered(o, component.name)) {
            (void)fprintf(stderr, "%s%s", n++ ? ", " : "", component.name);
        }
    }
    (void)fprintf(stderr, " (relmc help %s)\n", o->choices);
}

static const struct {
    bool (*read)(struct opt_value *, const struct opt *, const char *);
    void (*say_right)(const struct opt *, const char *);
} kinds[] = {
    [OPT_FLAG] = {read_flag, say_right_flag},
    [OPT_COUNT] = {read_count, say_right_count},
    [OPT_REAL] = {read_real, say_right_real},
    [OPT_TEXT] = {read_text, say_right_text},
    [OPT_CHOICE] = {read_choice, say_right_choice},
    [OPT_SPEC] = {read_spec, say_right_spec},
    [OPT_PARAM] = {read_text, say_right_text},
};

static void clear_value(struct opt_value *v)
{
    for (size_t j = 0; j < v->n_items; j++) {
        free(v->items[j]);
    }
    free(v->items);
    free(v->before);
    free(v->text);
}

/* The items of v and one more go to `fresh`. */
static void add_item(struct opt_value *fresh, struct opt_value *v,
                     const char *text, size_t before)
{
    const size_t n = fresh->source == v->source ? v->n_items : 0;

    fresh->items = cli_alloc(n + 1, sizeof *fresh->items);
    fresh->before = cli_alloc(n + 1, sizeof *fresh->before);
    for (size_t j = 0; j < n; j++) {
        fresh->items[j] = v->items[j];
        fresh->before[j] = v->before[j];
        v->items[j] = NULL;
    }
    fresh->items[n] = cli_text("%s", text);
    fresh->before[n] = before;
    fresh->n_items = n + 1;
}

int opt_assign(struct opt_set *set, size_t i, const char *text,
               enum opt_source source, const char *label)
{
    const struct opt *o = &set->command->options[i];
    struct opt_value *v = &set->values[i];
    struct opt_value fresh = {.source = source};

    if (source < v->source) {
        return CLI_OK;
    }
    if (!kinds[o->kind].read(&fresh, o, text)) {
        (void)fprintf(stderr, "%s: %s: \"%s\" is ", set->who, label, text);
        kinds[o->kind].say_right(o, text);
        return CLI_USAGE;
    }
    fresh.text = cli_text("%s", text);
    if (o->is_list) {
        add_item(&fresh, v, text, set->n_arguments);
    }
    clear_value(v);
    *v = fresh;
    return CLI_OK;
}

int opt_need(const struct opt_set *set, const char *name, const char *other)
{
    const struct opt *options = set->command->options;

    return opt_get(set, name)->source < OPT_ARGUMENT ||
                   opt_get(set, other)->text
               ? CLI_OK
               : cli_fail(CLI_USAGE, set->who,
                          "--%s does nothing without --%s %s: give both", name,
                          other, options[opt_place(set, other)].value);
}

/* ---- the set ------------------------------------------------------------- */

void opt_init(struct opt_set *set, const struct command *command,
              command_table commands)
{
    size_t n = 0;

    while (command->options[n].name) {
        n++;
    }
    *set = (struct opt_set){
        .command = command,
        .commands = commands,
        .who = cli_text("relmc %s", command->name),
        .values = cli_alloc(n, sizeof *set->values),
    };
    for (size_t i = 0; i < n; i++) {
        if (command->options[i].fallback) {
            (void)opt_assign(set, i, command->options[i].fallback, OPT_DEFAULT,
                             command->options[i].name);
        }
    }
}

void opt_clear(struct opt_set *set)
{
    for (size_t i = 0; set->command->options[i].name; i++) {
        clear_value(&set->values[i]);
    }
    for (size_t i = 0; i < set->n_arguments; i++) {
        free(set->arguments[i]);
    }
    free(set->arguments);
    free(set->values);
    free(set->argument);
    free(set->who);
}

/* ---- the command line ---------------------------------------------------- */

/* The words still to be read. */
struct words {
    int n;
    char **at;
};

static int unknown_option(const struct opt_set *set, const char *name)
{
    const char *near = opt_nearest(set->command, name);

    if (near) {
        return cli_fail(CLI_USAGE, set->who,
                        "unknown option --%s (did you mean --%s?)", name, near);
    }
    return cli_fail(CLI_USAGE, set->who,
                    "unknown option --%s (%s --help lists them)", name,
                    set->who);
}

/* A flag without a value, or a value that may be the next word. */
static int assign(struct opt_set *set, int i, const char *value,
                  struct words *words, const char *label)
{
    const struct opt *o = &set->command->options[i];

    if (!value && o->kind == OPT_FLAG) {
        value = "true";
    }
    if (!value && words->n > 0) {
        value = *words->at++;
        words->n--;
    }
    if (!value) {
        return cli_fail(CLI_USAGE, set->who, "%s needs a value: %s %s", label,
                        label, o->value);
    }
    return opt_assign(set, (size_t)i, value, OPT_ARGUMENT, label);
}

/* word: "name", "name=value" or "no-flag", after the two dashes. */
static int read_long(struct opt_set *set, const char *word, struct words *words)
{
    const size_t n = strcspn(word, "=");
    const char *value = word[n] == '=' ? word + n + 1 : NULL;
    char *label = cli_text("--%.*s", (int)n, word);
    int i = find(set->command, word, n);
    int code;

    if (i == OPT_NONE && !value && n > 3 &&
        (!strncmp(word, "no-", 3) || !strncmp(word, "no_", 3))) {
        i = find(set->command, word + 3, n - 3);
        value = "false";
        if (i != OPT_NONE && set->command->options[i].kind != OPT_FLAG) {
            i = OPT_NONE;
        }
    }
    if (i == OPT_NONE) {
        code = unknown_option(set, label + 2);
    } else {
        code = assign(set, i, value, words, label);
    }
    free(label);
    return code;
}

/* word: "o", "oBASE", "o=BASE" or "qo", after the dash. */
static int read_short(struct opt_set *set, const char *word,
                      struct words *words)
{
    const struct opt *options = set->command->options;

    for (; *word; word++) {
        const char label[] = {'-', *word, '\0'};
        int i = 0;

        while (options[i].name && options[i].letter != *word) {
            i++;
        }
        if (!options[i].name) {
            return cli_fail(CLI_USAGE, set->who,
                            "unknown option %s (%s --help lists them)", label,
                            set->who);
        }
        if (options[i].kind != OPT_FLAG) {
            const char *rest = word + 1 + (word[1] == '=');

            return assign(set, i, *rest ? rest : NULL, words, label);
        }
        const int code = assign(set, i, NULL, words, label);
        if (code) {
            return code;
        }
    }
    return CLI_OK;
}

static int read_argument(struct opt_set *set, const char *word)
{
    const char *takes = set->command->argument;
    const bool takes_many = takes && strstr(takes, "...");
    const size_t n = set->n_arguments;

    if (!takes || (n > 0 && !takes_many)) {
        return cli_fail(CLI_USAGE, set->who, "\"%s\" is one argument too many",
                        word);
    }
    if ((n & (n - 1)) == 0) { /* full: room for twice as many */
        char **grown = cli_alloc(n ? 2 * n : 1, sizeof *grown);

        if (n > 0) {
            memcpy(grown, set->arguments, n * sizeof *grown);
        }
        free(set->arguments);
        set->arguments = grown;
    }
    set->arguments[n] = cli_text("%s", word);
    set->n_arguments = n + 1;
    if (!set->argument) {
        set->argument = cli_text("%s", word);
    }
    return CLI_OK;
}

int opt_read_arguments(struct opt_set *set, int argc, char **argv)
{
    struct words words = {argc, argv};
    bool has_ended = false;
    int code = CLI_OK;

    while (words.n > 0 && !code) {
        const char *word = *words.at++;

        words.n--;
        if (has_ended || word[0] != '-' || !word[1]) {
            code = read_argument(set, word);
        } else if (!strcmp(word, "--")) {
            has_ended = true;
        } else if (word[1] == '-') {
            code = read_long(set, word + 2, &words);
        } else {
            code = read_short(set, word + 1, &words);
        }
    }
    return code;
}

/* ---- the environment ----------------------------------------------------- */

/* RELMC_SAVE_WARMUP for save-warmup. */
/* Option names are plain ASCII. */
static char *variable_of(const char *name)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz-";
    static const char large[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    char *variable = cli_text("RELMC_%s", name);

    for (char *s = variable; *s; s++) {
        const char *at = strchr(small, *s);

        if (at) {
            *s = large[at - small];
        }
    }
    return variable;
}

int opt_read_environment(struct opt_set *set)
{
    const struct opt *options = set->command->options;
    const char *name;
    int code = CLI_OK;

    for (size_t i = 0; options[i].name && !code; i++) {
        for (size_t j = 0; (name = name_at(&options[i], j)) && !code; j++) {
            char *variable = variable_of(name);
            /* RELMC_DATA is the folder of the data sets, not --data */
            const char *value =
                strcmp(name, "data") != 0 ? getenv(variable) : NULL;

            if (value && *value) {
                code = opt_assign(set, i, value, OPT_ENVIRONMENT, variable);
            }
            free(variable);
        }
    }
    return code;
}
