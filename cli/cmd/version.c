/* version.c - relmc version: prints version, code path and libraries. */
#include "cmd/help.h"
#include "data/input_stream.h"
#include "draws/chain_file.h"
#include "job/team.h"
#include "report/result.h"
#include "tool/cli.h"
#include "tool/openblas_kernels.h"
#include "tool/options.h"

#include <stdio.h>
#include <string.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static const struct opt options[] = {
    OPT_JSON(.doc = "print JSON"),
    OPT_COMMON,
    {0},
};

/* JANSSON_VERSION is what it was compiled with; extra: librelmc-extra of the
 * same build. */
static const struct field fields[] = {
    {.key = "version"},
    {.key = "isa", .head = "isa"},
    {.key = "compiler", .head = "compiler"},
    {.key = "jansson", .head = "jansson"},
    {.key = "extra", .head = "extra"},
    {.key = "blas", .head = "blas"},
    {.key = "gzip", .head = "gzip"},
    {.key = "netcdf", .head = "netcdf"},
    {.key = "mpi", .head = "mpi"},
};

/* What follows the version: "avx2". */
static const char *code_path(void)
{
    return strchr(relmc_build(), ' ') + 1;
}

void version_line(void)
{
    (void)printf("relmc %s\n", CLI_VERSION);
}

static int run(struct opt_set *set)
{
    const char *const values[] = {
        CLI_VERSION,         code_path(),      COMPILER,
        JANSSON_VERSION,     RELMC_EXTRA,      openblas_kernels_name(),
        input_stream_zlib(), netcdf_library(), team_library(),
    };
    enum { N = sizeof fields / sizeof *fields };
    struct result result = {0};

    result_fields(&result, fields, N);
    for (size_t i = 0; i < N; i++) {
        result_text(&result, "%s", values[i]);
    }
    if (opt_get(set, "json")->is_on) {
        result_print_json(result_row(&result, 0));
    } else {
        version_line();
        result_print_pairs(&result);
    }
    result_clear(&result);
    return CLI_OK;
}

const struct command cmd_version = {
    .name = "version",
    .doc = "version, code path and libraries",
    .examples = "relmc version\n"
                "relmc version --json\n",
    .options = options,
    .run = run,
};
