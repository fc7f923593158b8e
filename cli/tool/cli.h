/* cli.h - what every file of the tool shares: exit codes, messages,
 * commands. */
#ifndef RELMC_CLI_H
#define RELMC_CLI_H

#include "relmc.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes.  A run stopped by a signal ends with 128 + its number. */
enum {
    CLI_OK = 0,
    CLI_CHECK = 1,    /* done, but a check failed: diagnose, gradcheck, sample
                      * --strict */
    CLI_USAGE = 2,    /* an option or an argument */
    CLI_MODEL = 3,    /* the model, its data, its draws or the starting point */
    CLI_IO = 4,       /* a file, or standard output */
    CLI_NUMERIC = 5,  /* no finite start, target failed, out of memory */
    CLI_STOPPED = 75, /* stopped early, and relmc resume goes on; or the time
                       * limit came before the first draw */
    CLI_SIGNAL = 128
};

/* An undefined number. */
#define CLI_NAN ((double)NAN)

/* ---- message.c ----------------------------------------------------------- */

/* How messages are written to standard error. */
struct voice {
    bool is_quiet;   /* errors only */
    bool is_json;    /* an object per line: {"message": "..."} */
    bool has_colour; /* of stderr */
};

/* "relmc sample: text" on stderr; returns `code`, so that a failure is one
 * line.  `who` is "relmc" or "relmc sample". */
int cli_fail(int code, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cli_say(const struct voice *voice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_warn(const struct voice *voice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The exit code of a library status. */
int cli_code(relmc_status status);
/* The same, after the library's message. */
int cli_fail_status(const char *who, relmc_status status,
                    const relmc_error *err);

/* Allocate, or end the program with a message. */
void *cli_alloc(size_t count, size_t bytes);
char *cli_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Seconds, from an arbitrary start. */
double cli_clock(void);

#define CLI_TEXT(x)         #x
#define CLI_DOTTED(a, b, c) CLI_TEXT(a) "." CLI_TEXT(b) "." CLI_TEXT(c)
/* "0.2.0" */
#define CLI_VERSION \
    CLI_DOTTED(RELMC_VERSION_MAJOR, RELMC_VERSION_MINOR, RELMC_VERSION_PATCH)

/* Is this stream to be coloured?  `choice` is auto, always or never. */
bool cli_wants_colour(int fd, const char *choice);
/* Does the terminal show UTF-8? */
bool cli_has_utf8(void);

/* The nearest of the words offered so far. */
struct nearest {
    const char *wanted;
    const char *word; /* NULL: nothing is near */
    size_t distance;
};
void cli_nearest_offer(struct nearest *nearest, const char *word);

/* Names of coordinates and outputs are cut off after so many characters. */
enum { CLI_NAME = 256 };

/* ---- commands ------------------------------------------------------------ */

struct opt;
struct opt_set;
struct job_kind;

struct command {
    const char *name;
    const char *argument;      /* "MODEL", or NULL if it takes none */
    const char *doc;           /* one line */
    const char *examples;      /* whole lines */
    const struct opt *options; /* ends with a NULL name */
    int (*run)(struct opt_set *set);
    const struct job_kind *job; /* what relmc resume goes on with; or NULL */
    void (*help)(void); /* what help says after the options; may be NULL */
    /* Another program is the command: it gets the arguments, none of which is
     * read here.  Does not return if that program starts.  NULL: `run`. */
    int (*pass_on)(char **arguments);
};

/* The commands of a program, then NULL. main hands them down in struct
 * opt_set. */
typedef const struct command *const *command_table;

/* NULL if there is none of that name. */
const struct command *command_find(command_table commands, const char *name);

/* Reads the options from all places, or prints the help, and runs the
 * command. */
int command_run(const struct command *command, command_table commands, int argc,
                char **argv);
/* The last thing a program does: `code`, or that of an output that cannot be
 * written. */
int command_finish(int code);

#endif
