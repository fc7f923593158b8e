/* config.c - options from and to JSON files. */
#define _POSIX_C_SOURCE 200809L

#include "tool/config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- JSON ---------------------------------------------------------------- */

int config_load(json_t **out, const char *path, const char *who, int bad)
{
    FILE *file = fopen(path, "r");
    struct stat status;
    json_error_t error;

    if (!file) {
        return cli_fail(CLI_IO, who, "cannot read %s: %s", path,
                        strerror(errno));
    }
    if (!fstat(fileno(file), &status) && S_ISDIR(status.st_mode)) {
        (void)fclose(file);
        return cli_fail(CLI_IO, who, "cannot read %s: %s", path,
                        strerror(EISDIR));
    }
    *out = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    (void)fclose(file);
    if (!*out) {
        return cli_fail(bad, who, "%s:%d:%d: %s", path, error.line,
                        error.column, error.text);
    }
    return CLI_OK;
}

json_t *config_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* The fewest digits that give this number back. */
static int digits_of(double value)
{
    char text[40];
    int digits = 15;

    for (; digits < 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    return digits;
}

/* A number of JSON text, written as short as it can be; returns where it ends.
 * Integers stay as they are, and reals stay reals. */
static const char *shorten(char **to, const char *from)
{
    const size_t n = strspn(from, "0123456789+-.eE");
    const bool is_real = strcspn(from, ".eE") < n;

    if (is_real) {
        const double value = strtod(from, NULL);
        char text[40];

        (void)snprintf(text, sizeof text, "%.*g", digits_of(value), value);
        if (!text[strcspn(text, ".eE")]) {
            memcpy(text + strlen(text), ".0", 3);
        }
        memcpy(*to, text, strlen(text));
        *to += strlen(text);
    } else {
        memcpy(*to, from, n);
        *to += n;
    }
    return from + n;
}

char *config_print(const json_t *value)
{
    char *from = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    char *text = cli_alloc(from ? 2 * strlen(from) + 1 : 1, 1);
    char *to = text;
    bool is_string = false;

    for (const char *s = from; s && *s;) {
        if (is_string && *s == '\\') {
            *to++ = *s++;
            *to++ = *s++;
        } else if (!is_string && strchr("-0123456789", *s)) {
            s = shorten(&to, s);
        } else {
            is_string ^= *s == '"';
            *to++ = *s++;
        }
    }
    free(from);
    return text;
}

/* ---- reading ------------------------------------------------------------- */

/* The value as it would be typed; NULL for what is no scalar. */
static char *text_of(const json_t *value)
{
    if (json_is_string(value)) {
        return cli_text("%s", json_string_value(value));
    }
    if (json_is_integer(value)) {
        return cli_text("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    }
    if (json_is_real(value)) {
        const double real = json_real_value(value);
        return cli_text("%.*g", digits_of(real), real);
    }
    return json_is_boolean(value)
               ? cli_text("%s", json_is_true(value) ? "true" : "false")
               : NULL;
}

struct source {
    const char *path;
    enum opt_source level;
    bool is_shared; /* may hold options of other commands, too */
};

/* A program of one command does not know the options of the others. */
static bool is_known_elsewhere(command_table commands, const char *key)
{
    if (!commands) {
        return true;
    }
    for (; *commands; commands++) {
        if (opt_find(*commands, key) != OPT_NONE) {
            return true;
        }
    }
    return false;
}

/* Keys that are not options: those that config_text adds, and those that would
 * refer to another configuration. */
static bool is_frame(const char *key)
{
    static const char *const keys[] = {"relmc_version", "command", "model",
                                       "manifest",      "config",  "help",
                                       "summary"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!strcmp(key, keys[i])) {
            return true;
        }
    }
    return false;
}

static int unknown_key(const struct opt_set *set, const struct source *from,
                       const char *key)
{
    const char *near = opt_nearest(set->command, key);

    return cli_fail(CLI_USAGE, set->who, "%s: no option \"%s\"%s%s%s",
                    from->path, key, near ? " (did you mean \"" : "",
                    near ? near : "", near ? "\"?)" : "");
}

static int read_option(struct opt_set *set, const struct source *from,
                       const char *key, const json_t *value)
{
    const int i = opt_find(set->command, key);

    if (is_frame(key) || json_is_null(value)) {
        return CLI_OK;
    }
    if (i == OPT_NONE) {
        return from->is_shared && is_known_elsewhere(set->commands, key)
                   ? CLI_OK
                   : unknown_key(set, from, key);
    }
    char *text = text_of(value);
    char *label = cli_text("%s: %s", from->path, key);
    const int code =
        text
            ? opt_assign(set, (size_t)i, text, from->level, label)
            : cli_fail(CLI_USAGE, set->who,
                       "%s should be a number, a string, true or false", label);

    free(label);
    free(text);
    return code;
}

static int read_options(struct opt_set *set, const struct source *from,
                        json_t *root)
{
    json_t *options = json_object_get(root, "options");
    json_t *section = json_object_get(root, set->command->name);
    const json_t *model = json_object_get(root, "model");
    const char *key;
    json_t *value;
    int code = CLI_OK;

    if (!json_is_object(root)) {
        return cli_fail(CLI_USAGE, set->who,
                        "%s: should be an object of options", from->path);
    }
    if (!set->argument && json_is_string(model) && !from->is_shared) {
        set->argument = cli_text("%s", json_string_value(model));
    }
    if (!json_is_object(options)) {
        options = json_is_object(section) ? section : root;
    }
    json_object_foreach(options, key, value)
    {
        if (options == root && json_is_object(value) &&
            (!set->commands || command_find(set->commands, key))) {
            continue; /* the section of another command */
        }
        if ((code = read_option(set, from, key, value))) {
            break;
        }
    }
    return code;
}

static int read_file(struct opt_set *set, const struct source *from)
{
    json_t *root = NULL;
    int code = config_load(&root, from->path, set->who, CLI_USAGE);

    if (!code) {
        code = read_options(set, from, root);
        json_decref(root);
    }
    return code;
}

int config_read_text(struct opt_set *set, const char *label, const char *text)
{
    const struct source from = {.path = label, .level = OPT_CONFIG};
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (!root) {
        return cli_fail(CLI_USAGE, set->who, "%s holds no configuration: %s",
                        label, error.text);
    }
    const int code = read_options(set, &from, root);
    json_decref(root);
    return code;
}

int config_read(struct opt_set *set)
{
    const int i = opt_find(set->command, "config");

    if (i == OPT_NONE || !set->values[i].text) {
        return CLI_OK;
    }
    const struct source from = {.path = set->values[i].text,
                                .level = OPT_CONFIG};
    return read_file(set, &from);
}

int config_read_user(struct opt_set *set)
{
    const char *folder = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;
    struct stat status;
    int code = CLI_OK;

    if (folder && *folder) {
        path = cli_text("%s/relmc/config.json", folder);
    } else if (home && *home) {
        path = cli_text("%s/.config/relmc/config.json", home);
    }
    if (path && !stat(path, &status)) {
        const struct source from = {
            .path = path, .level = OPT_USER_FILE, .is_shared = true};
        code = read_file(set, &from);
    }
    free(path);
    return code;
}

/* ---- writing ------------------------------------------------------------- */

static json_t *json_flag(const struct opt_value *v)
{
    return json_boolean(v->is_on);
}

/* jansson's integers have 63 bits; a longer seed goes as a string. */
static json_t *json_count(const struct opt_value *v)
{
    return v->count <= INT64_MAX ? json_integer((json_int_t)v->count)
                                 : json_string(v->text);
}

static json_t *json_number(const struct opt_value *v)
{
    return json_real(v->real);
}

static json_t *json_words(const struct opt_value *v)
{
    return json_string(v->text);
}

static json_t *json_param(const struct opt_value *v)
{
    double number = 0.0;

    return opt_parse_real(v->text, &number) ? json_real(number)
                                            : json_string(v->text);
}

static json_t *json_of(const struct opt *o, const struct opt_value *v)
{
    static json_t *(*const makers[])(const struct opt_value *) = {
        [OPT_FLAG] = json_flag,    [OPT_COUNT] = json_count,
        [OPT_REAL] = json_number,  [OPT_TEXT] = json_words,
        [OPT_CHOICE] = json_words, [OPT_SPEC] = json_words,
        [OPT_PARAM] = json_param,
    };

    if (!v->text) {
        return o->kind == OPT_FLAG ? json_false() : json_null();
    }
    return makers[o->kind](v);
}

static json_t *all_options(const struct opt_set *set)
{
    json_t *all = json_object();

    for (size_t i = 0; set->command->options[i].name; i++) {
        const struct opt *o = &set->command->options[i];
        char *key = cli_text("%s", o->name);

        for (char *s = key; *s; s++) {
            if (*s == '-') {
                *s = '_';
            }
        }
        if (!is_frame(key)) {
            (void)json_object_set_new(all, key, json_of(o, &set->values[i]));
        }
        free(key);
    }
    return all;
}

int config_write_text(const char *path, const char *who, const char *text)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        return cli_fail(CLI_IO, who, "cannot write %s: %s", path,
                        strerror(errno));
    }
    const bool is_written = fprintf(file, "%s\n", text) >= 0;
    if (fclose(file) || !is_written) {
        return cli_fail(CLI_IO, who, "cannot write %s: %s", path,
                        strerror(errno));
    }
    return CLI_OK;
}

char *config_text(const struct opt_set *set, const char *manifest)
{
    json_t *parsed = manifest ? json_loads(manifest, 0, NULL) : NULL;
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:o}", "relmc_version", CLI_VERSION,
                  "command", set->command->name, "model", set->argument,
                  "options", all_options(set));

    (void)json_object_set_new(root, "manifest",
                              parsed ? parsed
                                     : json_string(manifest ? manifest : ""));
    char *text = config_print(root);

    json_decref(root);
    return text;
}
