/* catalogue.h - the data sets that relmc knows by name: where their files are, and
 * whether the files are right. */
#ifndef RELMC_CLI_CATALOGUE_H
#define RELMC_CLI_CATALOGUE_H

#include "data/dataset.h"

struct data_file {
    const char *name;
    const char *sha256; /* of the file itself, not packed */
    double bytes;
};

enum { DATA_MAX_FILES = 4 };

struct catalogue_entry {
    const char *name;
    const char *doc;
    const char *sources; /* where to get it; whole lines */
    const char *import;  /* the command that takes it in from there */
    size_t n_files;
    struct data_file files[DATA_MAX_FILES];
};

/* The i-th set, or NULL past the end. */
const struct catalogue_entry *catalogue_at(size_t i);
const struct catalogue_entry *catalogue_find(const char *name);

/* Where a file of the set is, packed or not; yours, NULL if it is nowhere.
 * Only `folder` is searched if it is given. */
char *catalogue_locate(const struct catalogue_entry *set, size_t i,
                       const char *folder);
/* The folder that sets are put into; yours, NULL if there is no HOME. */
char *catalogue_home(void);

/* Is it the file that is meant?  0, or the exit code after a message. */
int catalogue_verify(const struct catalogue_entry *set, size_t i,
                     const char *path, const char *who);
/* Copies the files of the set from a folder or file to `to`, each unpacked,
 * verified, and put in place only then. */
int catalogue_import(const struct catalogue_entry *set, const char *from,
                     const char *to, const char *who);
/* How to get it; returns the exit code. */
int catalogue_missing(const struct catalogue_entry *set, const char *who);

#endif
