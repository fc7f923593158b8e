/* tool.h - checks of messages for the fuzzers of draws.  Define FUZZER, their name,
 * before. */
#ifndef RELMC_FUZZ_TOOL_H
#define RELMC_FUZZ_TOOL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(int is_true, const char *what)
{
    if (!is_true) {
        (void)fprintf(stderr, FUZZER ": %s\n", what);
        abort();
    }
}

/* One printable line that names the file. */
static void check_message(int code, const char *message, const char *file)
{
    const char *end = memchr(message, '\0', CHAIN_MESSAGE);

    demand(code == CLI_MODEL || code == CLI_IO || code == CLI_NUMERIC,
           "exit code");
    demand(end && end > message, "length of the message");
    demand(strstr(message, file) != NULL, "name of the file");
    for (const char *s = message; *s; s++) {
        demand((unsigned char)*s >= ' ' && *s != 0x7f, "one printable line");
    }
}

#endif
