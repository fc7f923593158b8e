/* chain_files.h - a file for every chain, BASE_1.csv, BASE_2.csv, ...: what
 * sinks with such files share. Either all of them open, or none is left behind.
 */
#ifndef RMC_CHAIN_FILES_H
#define RMC_CHAIN_FILES_H

#include "base/base.h"

#include <stdio.h>

/* The first member of a sink's struct for a file. */
struct rmc_chain_file {
    FILE *stream; /* NULL: not open */
    char *path;
};

struct rmc_chain_files {
    void *first; /* structs of the sink, one after the other */
    size_t size; /* of such a struct */
    size_t n;    /* opened so far */
    uint32_t first_chain;
};

/* What each sink does with a file in its own way; `self` is the sink, `file`
 * its struct. */
typedef relmc_status rmc_chain_file_opener(void *self, void *file,
                                           relmc_arena *arena, uint32_t chain,
                                           const relmc_header *h,
                                           relmc_error *err);
typedef relmc_status rmc_chain_file_archiver(void *self, void *file,
                                             relmc_archive *a,
                                             relmc_error *err);

/* "cannot write PATH: no space left", with errno's reason. */
relmc_status rmc_chain_file_cannot(const struct rmc_chain_file *f,
                                   const char *verb, relmc_error *err);
/* Has writing failed? */
relmc_status rmc_chain_file_check(const struct rmc_chain_file *f,
                                  relmc_error *err);

/* `size` bytes for each chain, zeros to begin with; the opener finds the path in
 * place and sets the stream.  `extension` has its dot. */
relmc_status rmc_chain_files_open(struct rmc_chain_files *files,
                                  relmc_arena *arena, const relmc_header *h,
                                  const char *base, const char *extension,
                                  rmc_chain_file_opener *opener, void *self,
                                  relmc_error *err);
relmc_status rmc_chain_files_close(const struct rmc_chain_files *files,
                                   relmc_error *err);
/* Writes or reads the state of the files in a checkpoint; closes them if it
 * cannot be read. */
relmc_status rmc_chain_files_archive(const struct rmc_chain_files *files,
                                     relmc_archive *a,
                                     rmc_chain_file_archiver *archiver,
                                     void *self, relmc_error *err);

static inline void *rmc_chain_files_at(const struct rmc_chain_files *files,
                                       size_t i)
{
    return (char *)files->first + i * files->size;
}

static inline void *rmc_chain_files_of(const struct rmc_chain_files *files,
                                       uint32_t chain)
{
    return rmc_chain_files_at(files, chain - files->first_chain);
}

#endif
