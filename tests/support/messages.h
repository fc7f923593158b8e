/* messages.h - captures messages of the tool on stderr.  Include it once. */
#ifndef RMC_TESTS_MESSAGES_H
#define RMC_TESTS_MESSAGES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char caught_text[4096]; /* without its last newline */
static FILE *caught_by, *caught_real;

static void catch_begin(void)
{
    caught_real = stderr;
    memset(caught_text, 0, sizeof caught_text);
    caught_by = fmemopen(caught_text, sizeof caught_text - 1, "w");
    if (!caught_by) {
        abort();
    }
    stderr = caught_by;
}

/* Returns the number of lines. */
static int catch_end(void)
{
    int n = 0;

    (void)fclose(caught_by);
    stderr = caught_real;
    for (char *s = caught_text; (s = strchr(s, '\n')); s++) {
        n++;
        if (!s[1]) {
            *s = '\0';
            break;
        }
    }
    return n;
}

#endif
