/* options.h - options: one table per command drives parser, help and files. */
#ifndef RELMC_CLI_OPTIONS_H
#define RELMC_CLI_OPTIONS_H

#include "tool/cli.h"

enum opt_kind {
    OPT_FLAG,  /* --fix, --no-fix, --fix=true */
    OPT_COUNT, /* a whole number in [min, max] */
    OPT_REAL,  /* a number in [min, max] */
    OPT_TEXT,
    OPT_CHOICE, /* one of `choices` */
    OPT_SPEC,   /* a component of the role `choices`: "hmc:steps=20" */
    OPT_PARAM   /* the parameter `key` of the component that the option of
                 * that role names; its range is the component's */
};

/* Where a value comes from; the stronger wins. */
enum opt_source {
    OPT_UNSET,
    OPT_DEFAULT,
    OPT_USER_FILE, /* $XDG_CONFIG_HOME/relmc/config.json */
    OPT_CONFIG,    /* --config FILE */
    OPT_ENVIRONMENT,
    OPT_ARGUMENT
};

struct opt {
    const char *name;
    const char *also[3]; /* other names, then NULL */
    char letter;         /* of the short form, or 0 */
    bool is_list;        /* may be given several times */
    enum opt_kind kind;
    const char *value;    /* what help calls it: "N" */
    const char *fallback; /* as it would be typed; NULL: unset */
    double min, max;
    const char *choices;                  /* "auto|bar|none", or a role */
    bool (*is_offered)(const char *name); /* of that role; NULL: all are */
    const char *key;
    const char *doc;
    const char *group; /* heading that starts here, in help */
};

/* Every command has these two, last. */
#define OPT_COMMON                                                          \
    {.name = "color",                                                       \
     .also = {"colour"},                                                    \
     .kind = OPT_CHOICE,                                                    \
     .value = "WHEN",                                                       \
     .fallback = "auto",                                                    \
     .choices = "auto|always|never",                                        \
     .doc = "colours on the terminal"},                                     \
    {                                                                       \
        .name = "help", .letter = 'h', .kind = OPT_FLAG, .doc = "this text" \
    }

/* Rows that several commands have; each adds what is its own:
 * OPT_JSON(.doc = "..."). */
/* clang-format off */
#define OPT_SEED(...)                                                       \
    {                                                                       \
        .name = "seed", .kind = OPT_COUNT, .value = "N", .max = 0x1p64,     \
        __VA_ARGS__                                                         \
    }
#define OPT_OUTPUT(...)                                                     \
    {.name = "output", .letter = 'o', .kind = OPT_TEXT, __VA_ARGS__}
#define OPT_JSON(...) {.name = "json", .kind = OPT_FLAG, __VA_ARGS__}
#define OPT_QUIET(...)                                                      \
    {.name = "quiet", .letter = 'q', .kind = OPT_FLAG, __VA_ARGS__}
#define OPT_CORES(...)                                                      \
    {                                                                       \
        .name = "cores", .kind = OPT_COUNT, .value = "N", .min = 1,         \
        .max = 4096, __VA_ARGS__                                            \
    }
/* clang-format on */

struct opt_value {
    char *text; /* as typed; NULL while unset */
    enum opt_source source;
    uint64_t count;
    double real;
    bool is_on;
    /* of an option that may be repeated: all values, and how many arguments
     * stood in front of each; the fields above are those of the last one */
    char **items;
    size_t *before;
    size_t n_items;
};

struct opt_set {
    const struct command *command;
    command_table commands;   /* all of the program; NULL: only this one */
    char *who;                /* "relmc sample" */
    struct opt_value *values; /* one per option of the command */
    char *argument;           /* the first that is no option, or NULL */
    char **arguments;         /* all of them: "FILE..." takes several */
    size_t n_arguments;
};

void opt_init(struct opt_set *set, const struct command *command,
              command_table commands);
void opt_clear(struct opt_set *set);

/* These print what is wrong and return the exit code, or 0. */
int opt_read_arguments(struct opt_set *set, int argc, char **argv);
int opt_read_environment(struct opt_set *set);
/* `label` is what a message calls the place: "--seed", "RELMC_SEED".  A value
 * from a stronger source stays. */
int opt_assign(struct opt_set *set, size_t i, const char *text,
               enum opt_source source, const char *label);

enum { OPT_NONE = -1 };
/* The option of that name or alias, '-' and '_' being the same. */
int opt_find(const struct command *command, const char *name);
const char *opt_nearest(const struct command *command, const char *name);

/* Its place in the table of the command, which must have it; its value; has the
 * user set it, wherever? */
size_t opt_place(const struct opt_set *set, const char *name);
const struct opt_value *opt_get(const struct opt_set *set, const char *name);
bool opt_is_given(const struct opt_set *set, const char *name);

/* Given by hand, the option does nothing without the other one: prints that and
 * returns the exit code, or 0. */
int opt_need(const struct opt_set *set, const char *name, const char *other);

/* The whole text as a finite decimal number. */
bool opt_parse_real(const char *text, double *out);

#endif
