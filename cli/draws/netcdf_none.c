/* netcdf_none.c - refuses NetCDF files in a tool that was built without the library. */
#include "draws/chain_ops.h"

const char *netcdf_library(void)
{
    return "no";
}

static int refuse(const char *path, char message[CHAIN_MESSAGE])
{
    (void)snprintf(message, CHAIN_MESSAGE,
                   "%.300s: this relmc was built without "
                   "NetCDF (libnetcdf-dev)",
                   path);
    return CLI_MODEL;
}

static int count_none(const char *path, size_t *n, char message[CHAIN_MESSAGE])
{
    *n = 0;
    return refuse(path, message);
}

static int open_none(struct chain_file *chain, size_t k)
{
    (void)k;
    return refuse(chain->path, chain->message);
}

static int visit_none(struct chain_file *chain,
                      const struct chain_visitor *visitor)
{
    (void)visitor;
    return refuse(chain->path, chain->message);
}

static void clear_none(struct chain_file *chain)
{
    chain->own = NULL;
}

static int refuse_all(const char *path, struct chain_file *chains, size_t n,
                      char message[CHAIN_MESSAGE])
{
    (void)chains;
    (void)n;
    return refuse(path, message);
}

const struct chain_ops chain_netcdf = {
    .suffix = ".nc",
    .magic = "\x89HDF\r\n\x1a\n", /* HDF5, which NetCDF-4 is */
    .count = count_none,
    .open = open_none,
    .read = chain_read_known,
    .visit = visit_none,
    .clear = clear_none,
    .write_all = refuse_all,
};
