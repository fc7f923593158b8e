/* netcdf_none.c - what is said of NetCDF files by a tool that was built without
 * the library. */
#include "draws/convert.h"

#include <string.h>

const char *cdf_library(void)
{
    return "no";
}

/* A file of HDF5, which NetCDF-4 is. */
bool cdf_is_it(const char start[CHAIN_MAGIC])
{
    return !memcmp(start, "\x89HDF\r\n\x1a\n", CHAIN_MAGIC);
}

static int refuse(const char *path, char message[CSV_MESSAGE])
{
    (void)snprintf(message, CSV_MESSAGE,
                   "%.300s: this relmc was built without "
                   "NetCDF (libnetcdf-dev)",
                   path);
    return CLI_MODEL;
}

int cdf_count(const char *path, size_t *n, char message[CSV_MESSAGE])
{
    *n = 0;
    return refuse(path, message);
}

int cdf_open(struct stan_csv *csv, const char *path, size_t k,
             char message[CSV_MESSAGE])
{
    *csv = (struct stan_csv){.path = cli_text("%s", path), .message = message};
    return k == 0 ? refuse(path, message) : CLI_MODEL;
}

int cdf_visit(struct stan_csv *csv, const struct chain_visitor *visitor)
{
    return visitor->row ? refuse(csv->path, csv->message) : CLI_MODEL;
}

void cdf_clear(struct stan_csv *csv)
{
    csv->cdf = NULL;
}

int cdf_write(const char *path, struct stan_csv *chains, size_t n,
              char message[CSV_MESSAGE])
{
    return chains && n ? refuse(path, message) : CLI_MODEL;
}
