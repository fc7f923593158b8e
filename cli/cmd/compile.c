/* compile.c - relmc compile: compiles a Stan program to a library. */
#define _POSIX_C_SOURCE 200809L

#include "stan/build.h"
#include "tool/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt options[] = {
    OPT_OUTPUT(.value = "FILE", .doc = "the library (default: the name of the "
                                       "program with .so, in this "
                                       "folder)"),
    {.name = "stanc",
     .kind = OPT_TEXT,
     .value = "PROGRAM",
     .doc = "compiler from Stan to C++ (default: stanc 2.21 inside "
            "R's rstan)",
     .group = "Tools:"},
    {.name = "stan-headers",
     .kind = OPT_TEXT,
     .value = "DIR",
     .doc = "CmdStan, or another tree with the headers of Stan "
            "(default: R's StanHeaders)"},
    {.name = "cxx",
     .kind = OPT_TEXT,
     .value = "PROGRAM",
     .doc = "C++ compiler (default: clang++ if there is one, else "
            "g++)"},
    {.name = "cache",
     .kind = OPT_TEXT,
     .value = "DIR",
     .doc = "where compiled programs are kept (default: "
            "relmc/stan in $XDG_CACHE_HOME or ~/.cache)"},
    {.name = "force",
     .kind = OPT_FLAG,
     .doc = "compile even if the cache has the library"},
    {.name = "cache-clean",
     .kind = OPT_FLAG,
     .doc = "empty the cache; takes no MODEL"},
    OPT_QUIET(.doc = "errors only"),
    OPT_COMMON,
    {0},
};

static int fail_output(const struct opt_set *set, const char *path)
{
    return cli_fail(CLI_IO, set->who, "cannot write %s: %s", path,
                    strerror(errno));
}

/* Writes to another name first, so that `to` is never half a library. */
static int copy(const struct opt_set *set, const char *from, const char *to)
{
    char piece[65536];
    char *draft = cli_text("%s.%ld", to, (long)getpid());
    FILE *in = fopen(from, "rb");
    FILE *out = in ? fopen(draft, "wb") : NULL;
    bool is_bad = !out;
    size_t n;

    while (!is_bad && (n = fread(piece, 1, sizeof piece, in))) {
        is_bad = fwrite(piece, 1, n, out) != n;
    }
    is_bad = is_bad || ferror(in);
    if (out && fclose(out)) {
        is_bad = true;
    }
    if (in) {
        (void)fclose(in);
    }
    int code = CLI_OK;
    if (is_bad || rename(draft, to)) {
        code = fail_output(set, to);
        (void)unlink(draft);
    }
    free(draft);
    return code;
}

static char *output_of(const struct opt_set *set)
{
    const char *slash = strrchr(set->argument, '/');
    const char *name = slash ? slash + 1 : set->argument;
    const char *dot = strrchr(name, '.');

    return opt_get(set, "output")->text
               ? cli_text("%s", opt_get(set, "output")->text)
               : cli_text("%.*s.so",
                          (int)(dot ? (size_t)(dot - name) : strlen(name)),
                          name);
}

static int run(struct opt_set *set)
{
    const struct stan_tools tools = {
        .stanc = opt_get(set, "stanc")->text,
        .headers = opt_get(set, "stan-headers")->text,
        .cxx = opt_get(set, "cxx")->text,
        .cache = opt_get(set, "cache")->text,
        .is_forced = opt_get(set, "force")->is_on,
    };
    const struct voice voice = {.is_quiet = opt_get(set, "quiet")->is_on};
    char *library = NULL;

    if (opt_get(set, "cache-clean")->is_on) {
        const int code = stan_build_clean(&tools, &voice);

        if (code || !set->argument) {
            return code;
        }
    }
    if (!set->argument) {
        return cli_fail(CLI_USAGE, set->who,
                        "MODEL is missing: relmc compile MODEL.stan");
    }
    int code = stan_build(&library, set->argument, &tools, &voice);
    if (!code) {
        char *output = output_of(set);

        code = copy(set, library, output);
        if (!code) {
            cli_say(&voice, "wrote %s", output);
        }
        free(output);
    }
    free(library);
    return code;
}

const struct command cmd_compile = {
    .name = "compile",
    .argument = "MODEL",
    .doc = "compile a Stan program to a library that sample and others load",
    .examples = "relmc compile eight_schools.stan\n"
                "relmc compile model.stan -o lib/model.so --cxx g++\n"
                "relmc compile model.stan --stanc cmdstan/bin/stanc "
                "--stan-headers cmdstan\n",
    .options = options,
    .run = run,
};
