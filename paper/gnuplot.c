/* gnuplot.c - figures by gnuplot, from a script and the CSV file. */
#define _POSIX_C_SOURCE 200809L

#include "reproduce.h"

#include "tool/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int draw_as(const char *gnuplot, const char *script, const char *base,
                   const char *terminal, const char *suffix)
{
    const int folder = (int)(strrchr(script, '/') - script);
    char *set =
        cli_text("share='%.*s'; base='%s'; set encoding utf8; set terminal %s; "
                 "set output '%s.%s'",
                 folder, script, base, terminal, base, suffix);
    char *words[] = {cli_text("%s", gnuplot), cli_text("-e"), set,
                     cli_text("%s", script), NULL};
    char *output = NULL;
    int code = process_run(words, &output);

    if (code) {
        code = cli_fail(CLI_IO, "relmc reproduce",
                        "gnuplot cannot draw %s.%s: %.300s", base, suffix,
                        output ? output : "no reason given");
    }
    free(output);
    for (size_t i = 0; words[i]; i++) {
        free(words[i]);
    }
    return code;
}

int draw_figure(const char *script, const char *folder, const char *name,
                const struct voice *voice)
{
    char *gnuplot = process_find("gnuplot");
    char *base = cli_text("%s/%s", folder, name);
    int code = CLI_OK;

    if (!gnuplot) {
        cli_warn(voice,
                 "no picture of %s: gnuplot is missing (on Debian or "
                 "Ubuntu: apt-get install gnuplot-nox)",
                 name);
    } else if (!access(script, R_OK)) {
        code = draw_as(gnuplot, script, base,
                       "svg size 900,640 dynamic background rgb \"white\" "
                       "font \"Helvetica,13\"",
                       "svg");
        if (!code) {
            code = draw_as(gnuplot, script, base,
                           "pdfcairo size 18cm,12.8cm font \"Helvetica,9\"",
                           "pdf");
        }
    }
    free(gnuplot);
    free(base);
    return code;
}
