/* version.c - relmc version: what was built, and what it was built from. */
#include "cmd/help.h"
#include "data/input_stream.h"
#include "draws/chain_file.h"
#include "job/team.h"
#include "tool/cli.h"
#include "tool/config.h"
#include "tool/openblas_kernels.h"
#include "tool/options.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static const struct opt options[] = {
    OPT_JSON(.doc = "as a JSON object"),
    OPT_COMMON,
    {0},
};

/* JANSSON_VERSION is what it was compiled with. */
static const char *const facts[][2] = {
    {"compiler", COMPILER},
    {"jansson", JANSSON_VERSION},
    {"extra", RELMC_EXTRA}, /* librelmc-extra of the same build */
};
enum { N_FACTS = sizeof facts / sizeof *facts };

void version_line(void)
{
    (void)printf("relmc %s\n", relmc_version());
}

static void print_json(void)
{
    json_t *root =
        json_pack("{s:s, s:s}", "version", relmc_version(), "isa", relmc_isa());

    for (size_t i = 0; i < N_FACTS; i++) {
        (void)json_object_set_new(root, facts[i][0], json_string(facts[i][1]));
    }
    (void)json_object_set_new(root, "blas", json_string(blas_kernels()));
    (void)json_object_set_new(root, "gzip", json_string(bytes_zlib()));
    (void)json_object_set_new(root, "netcdf", json_string(cdf_library()));
    (void)json_object_set_new(root, "mpi", json_string(team_library()));
    char *text = config_print(root);
    (void)printf("%s\n", text);
    free(text);
    json_decref(root);
}

static int run(struct opt_set *set)
{
    if (opt_get(set, "json")->is_on) {
        print_json();
        return CLI_OK;
    }
    version_line();
    (void)printf("%-10s %s\n", "isa", relmc_isa());
    for (size_t i = 0; i < N_FACTS; i++) {
        (void)printf("%-10s %s\n", facts[i][0], facts[i][1]);
    }
    (void)printf("%-10s %s\n", "blas", blas_kernels());
    (void)printf("%-10s %s\n", "gzip", bytes_zlib());
    (void)printf("%-10s %s\n", "netcdf", cdf_library());
    (void)printf("%-10s %s\n", "mpi", team_library());
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
