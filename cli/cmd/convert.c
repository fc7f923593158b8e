/* convert.c - relmc convert: converts draws from one format to another. */
#define _POSIX_C_SOURCE 200809L

#include "draws/convert.h"
#include "draws/draws.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt options[] = {
    OPT_OUTPUT(
            .value = "FILE",
            .doc =
                "BASE.csv writes BASE_1.csv, BASE_2.csv, ..., one per chain; "
                "BASE.rmc likewise; BASE.nc holds all chains"),
    {.name = "sig-figs",
     .letter = 's',
     .kind = OPT_COUNT,
     .value = "N",
     .min = 1,
     .max = 17,
     .doc = "significant digits in CSV (default: as in the files read, or as "
            "many as needed)"},
    {.name = "force",
     .letter = 'f',
     .kind = OPT_FLAG,
     .doc = "replace existing files"},
    OPT_QUIET(.doc = "no notes or warnings: only errors"),
    OPT_COMMON,
    {0},
};

/* The format and the base of the names of --output; the base is to be freed. */
static int read_output(struct conversion *how, const struct opt_set *set,
                       char **base)
{
    const char *text = opt_get(set, "output")->text;

    if (!text) {
        return cli_fail(CLI_USAGE, set->who,
                        "convert needs --output BASE.csv, BASE.rmc or BASE.nc");
    }
    how->to = chain_format_of(text);
    if (how->to == CHAIN_NONE) {
        return cli_fail(
            CLI_USAGE, set->who,
            "--output %s: the suffix names the format, .csv, .rmc or "
            ".nc",
            text);
    }
    if (how->to == CHAIN_NC && !strcmp(netcdf_library(), "no")) {
        return cli_fail(CLI_USAGE, set->who,
                        "--output %s: this relmc was built without NetCDF "
                        "(libnetcdf-dev)",
                        text);
    }
    *base = cli_text("%.*s",
                     (int)(strlen(text) - strlen(chain_suffix(how->to))), text);
    return CLI_OK;
}

/* One file has one order of columns, and chains of one length. */
static int check_chains(const struct draws *draws)
{
    const struct chain_file *first = &draws->files[0];

    for (size_t k = 1; k < draws->n_files; k++) {
        if (draws->places[k]) {
            return cli_fail(CLI_MODEL, draws->who,
                            "%s has its columns in another order than %s",
                            draws->files[k].path, first->path);
        }
    }
    return CLI_OK;
}

static void warn_lengths(const struct draws *draws, enum chain_format to)
{
    for (size_t k = 1; k < draws->n_files && to == CHAIN_NC; k++) {
        if (draws->files[k].n_rows != draws->files[0].n_rows) {
            cli_warn(draws->voice,
                     "the chains have different lengths: the last draws of "
                     "each, as many as the shortest has, are in the file");
            return;
        }
    }
}

static int run(struct opt_set *set)
{
    const struct voice voice = {
        .is_quiet = opt_get(set, "quiet")->is_on,
        .has_colour =
            cli_wants_colour(STDERR_FILENO, opt_get(set, "color")->text)};
    struct conversion how = {
        .digits = (int)opt_get(set, "sig-figs")->count,
        .may_replace = opt_get(set, "force")->is_on,
        .who = set->who,
        .set = set,
        .writer = "output",
        .voice = &voice,
    };
    struct draws draws = {0};
    char *base = NULL;
    int code = read_output(&how, set, &base);

    if (!code) {
        code = draws_open(&draws, (const char *const *)set->arguments,
                          set->n_arguments, set, &voice);
        if (!code && how.to == CHAIN_NC) {
            code = check_chains(&draws);
        }
        if (!code) {
            code = convert_chains(&how, base, draws.files, draws.n_files);
        }
        if (!code) {
            warn_lengths(&draws, how.to);
        }
        draws_clear(&draws);
    }
    free(base);
    return code;
}

const struct command cmd_convert = {
    .name = "convert",
    .argument = "FILE...",
    .doc = "write draws in another format",
    .examples = "relmc convert run_*.csv -o run.nc\n"
                "relmc convert run_*.rmc -o run.csv --sig-figs 8\n"
                "relmc convert run.nc -o run.rmc\n",
    .options = options,
    .run = run,
};
