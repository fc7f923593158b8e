/* tool.h - what the readers of draws need of the tool, for their fuzzers; say
 * FUZZER, the name, before. */
#ifndef RELMC_FUZZ_TOOL_H
#define RELMC_FUZZ_TOOL_H

#include <stdarg.h>
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

void *cli_alloc(size_t count, size_t bytes)
{
    void *block = calloc(count ? count : 1, bytes);

    demand(block != NULL, "memory");
    return block;
}

char *cli_text(const char *format, ...)
{
    char *text = cli_alloc(256, 1);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, 256, format, args);
    va_end(args);
    return text;
}

/* One printable line that names the file. */
static void check_message(int code, const char *message, const char *file)
{
    const char *end = memchr(message, '\0', CSV_MESSAGE);

    demand(code == CLI_MODEL || code == CLI_IO || code == CLI_NUMERIC,
           "exit code");
    demand(end && end > message, "length of the message");
    demand(strstr(message, file) != NULL, "name of the file");
    for (const char *s = message; *s; s++) {
        demand((unsigned char)*s >= ' ' && *s != 0x7f, "one printable line");
    }
}

#endif
