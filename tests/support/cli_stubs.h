/*
 * cli_stubs.h - what the readers of the tool need of it, for programs that test
 * them alone.  A message is kept instead of printed.  Include it once.
 */
#ifndef RMC_TESTS_CLI_STUBS_H
#define RMC_TESTS_CLI_STUBS_H

#include "tool/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char stub_message[2000];
static int stub_n_messages;

int cli_fail(int code, const char *who, const char *format, ...)
{
    const int n = snprintf(stub_message, sizeof stub_message, "%s: ", who);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(stub_message + n, sizeof stub_message - (size_t)n, format,
                    args);
    va_end(args);
    stub_n_messages++;
    return code;
}

void *cli_alloc(size_t count, size_t bytes)
{
    void *block = calloc(count ? count : 1, bytes);

    if (!block) {
        abort();
    }
    return block;
}

char *cli_text(const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = cli_alloc((size_t)n + 1, 1);
    (void)vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

/* The real one knows more than equal starts. */
void cli_nearest_offer(struct nearest *nearest, const char *word)
{
    if (nearest->wanted && *word && *word == *nearest->wanted) {
        nearest->word = word;
    }
}

#endif
