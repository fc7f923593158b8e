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

struct data_set {
    const char *name;
    const char *doc;
    const char *sources; /* where to get it; whole lines */
    const char *import;  /* the command that takes it in from there */
    size_t n_files;
    struct data_file files[DATA_MAX_FILES];
};

/* The i-th set, or NULL past the end. */
const struct data_set *data_set_at(size_t i);
const struct data_set *data_set_find(const char *name);

/* Where a file of the set is, packed or not; yours, NULL if it is nowhere.
 * Only `folder` is searched if it is given. */
char *data_set_locate(const struct data_set *set, size_t i, const char *folder);
/* The folder that sets are put into; yours, NULL if there is no HOME. */
char *data_set_home(void);

/* Is it the file that is meant?  0, or the exit code after a message. */
int data_set_verify(const struct data_set *set, size_t i, const char *path,
                    const char *who);
/* Copies the files of the set from a folder or file to `to`, each unpacked,
 * verified, and put in place only then. */
int data_set_import(const struct data_set *set, const char *from,
                    const char *to, const char *who);
/* How to get it; returns the exit code. */
int data_set_missing(const struct data_set *set, const char *who);

#endif
