/* checkpoint.h - checkpoints of the tool: the library's state of the run, the
 * options, and the tool's own state. */
#ifndef RELMC_CLI_CHECKPOINT_H
#define RELMC_CLI_CHECKPOINT_H

#include "job/record.h"
#include "tool/options.h"

/* ---- writing ------------------------------------------------------------- */

struct checkpoint {
    const char *path; /* NULL: no checkpoints */
    double every;     /* seconds between two */
    double last;      /* when the last one was written */
    const char *config;
    /* writes the tool's own state to `to`, unless that is NULL; the bytes */
    size_t (*keep)(const void *state, char *to);
    const void *state;
    relmc_run *run;
    int64_t total;    /* iterations of the whole run */
    bool is_finished; /* the run has ended by itself */
    bool is_written;  /* one has been written */
    int64_t position; /* iterations in the last one */
};

/* Before a new run writes its first checkpoint: refuses to replace a file that
 * other options name, or the checkpoint of a run that is not finished. 0, or
 * the exit code after a message. */
int checkpoint_guard(const struct opt_set *set);
/* Writes one now; writes one if it is time. */
relmc_status checkpoint_write(struct checkpoint *c, relmc_error *err);
relmc_status checkpoint_tend(struct checkpoint *c, relmc_error *err);

/* Appends to `to`; returns its new end, or NULL if it was NULL. */
char *checkpoint_put(char *to, const void *from, size_t bytes);
/* The state of `relmc sample` is a struct record. */
size_t checkpoint_keep_record(const void *state, char *to);

/* ---- reading ------------------------------------------------------------- */

struct resumed {
    char *path;   /* the argument of resume; checkpoints are written there */
    char *file;   /* the file that was read: that one, or PATH.1 */
    char *note;   /* the configuration, a string; the state follows it */
    size_t bytes; /* of the note */
};

/* Reads the file, or PATH.1 if it is damaged. 0, or the exit code after a
 * message. */
int checkpoint_read(struct resumed *out, const char *path, const char *who,
                    const struct voice *voice);
void checkpoint_clear(struct resumed *resumed);

/* Reads the bytes of the state in order. */
struct checkpoint_reader {
    const char *at;
    size_t left;
};
struct checkpoint_reader checkpoint_state(const struct resumed *from);
/* False if fewer bytes are left. */
bool checkpoint_take(struct checkpoint_reader *r, void *to, size_t bytes);
/* False if there is no room for it. */
bool checkpoint_restore(struct record *record, const struct resumed *from,
                        size_t room);

#endif
