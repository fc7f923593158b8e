/* checkpoint.h - a run of the tool in a file: what the library keeps, and beside
 * it the options and what the tool knows of the draws. */
#ifndef RELMC_CLI_CHECKPOINT_H
#define RELMC_CLI_CHECKPOINT_H

#include "job/run_results.h"
#include "tool/options.h"

/* ---- writing --------------------------------------------------------------- */

struct checkpoint {
    const char *path; /* NULL: none is wanted */
    double every;     /* seconds */
    double last;      /* when the last one was written */
    const char *config;
    /* the tool's own state: its bytes, which go to `to` if that is not NULL */
    size_t (*keep)(const void *state, char *to);
    const void *state;
    relmc_run *run;
    int64_t total;    /* iterations of the whole run */
    bool is_finished; /* it has come to its end */
    bool is_written;  /* there is one */
    int64_t position; /* of the last one */
};

/* Before the first one of a run that begins: it takes the place of no other file
 * that the options name, and of none but the checkpoint of a run that is finished.
 * 0, or the exit code after a message. */
int checkpoint_guard(const struct opt_set *set);
/* Write one now; if it is time. */
relmc_status checkpoint_write(struct checkpoint *c, relmc_error *err);
relmc_status checkpoint_tend(struct checkpoint *c, relmc_error *err);

/* To append: where the next bytes go, or NULL if nobody wants them. */
char *checkpoint_put(char *to, const void *from, size_t bytes);
/* The state of `relmc sample`: a struct record. */
size_t checkpoint_keep_record(const void *state, char *to);

/* ---- reading --------------------------------------------------------------- */

struct resumed {
    char *path;   /* as it was asked for, and where checkpoints will go */
    char *file;   /* the one that was good: that, or PATH.1 */
    char *note;   /* the configuration, a string, and then the state */
    size_t bytes; /* of the note */
};

/* Reads the file, or the one before if it is damaged; 0, or the exit code after a
 * message. */
int checkpoint_read(struct resumed *out, const char *path, const char *who,
                    const struct voice *voice);
void checkpoint_clear(struct resumed *resumed);

/* The bytes of the state, one after the other. */
struct checkpoint_reader {
    const char *at;
    size_t left;
};
struct checkpoint_reader checkpoint_state(const struct resumed *from);
/* False if there are not so many. */
bool checkpoint_take(struct checkpoint_reader *r, void *to, size_t bytes);
/* False if there is no room for it. */
bool checkpoint_restore(struct record *record, const struct resumed *from,
                        size_t room);

#endif
