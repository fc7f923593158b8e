/* checkpoint.h - a run of `relmc sample` in a file: what the library keeps, and
 * beside it the options and the record. */
#ifndef RELMC_CLI_CHECKPOINT_H
#define RELMC_CLI_CHECKPOINT_H

#include "record.h"

/* ---- writing --------------------------------------------------------------- */

struct checkpoint {
    const char *path; /* NULL: none is wanted */
    double every;     /* seconds */
    double last;      /* when the last one was written */
    const char *config;
    const struct record *record;
    relmc_run *run;
    bool is_written;  /* there is one */
    int64_t position; /* of the last one */
};

/* Write one now; if it is time. */
relmc_status checkpoint_write(struct checkpoint *c, relmc_error *err);
relmc_status checkpoint_tend(struct checkpoint *c, relmc_error *err);

/* ---- reading --------------------------------------------------------------- */

struct resumed {
    char *path;   /* as it was asked for, and where checkpoints will go */
    char *file;   /* the one that was good: that, or PATH.1 */
    char *note;   /* the configuration, a string, and then the record */
    size_t bytes; /* of the note */
};

/* Reads the file, or the one before if it is damaged; 0, or the exit code after a
 * message. */
int checkpoint_read(struct resumed *out, const char *path, const char *who,
                    const struct voice *voice);
void checkpoint_clear(struct resumed *resumed);
/* False if there is no room for it. */
bool checkpoint_restore(struct record *record, const struct resumed *from,
                        size_t room);

#endif
