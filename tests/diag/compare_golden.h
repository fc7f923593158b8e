/* compare_golden.h - reads the golden values of comparisons of samples.  Include it after
 * cmocka.h. */
#ifndef TESTS_DIAG_COMPARE_GOLDEN_H
#define TESTS_DIAG_COMPARE_GOLDEN_H

#include <stdio.h>
#include <string.h>

static inline FILE *open_golden(const char *name)
{
    char path[1024];

    (void)snprintf(path, sizeof path, "%s/compare/%s", RELMC_GOLDEN_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

/* The text after "key": */
static inline const char *after_key(const char *text, const char *key)
{
    char quoted[64];

    (void)snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(text, quoted);
    assert_non_null(at);
    return at + strlen(quoted);
}

static inline const char *golden_text(void)
{
    static char text[8192];

    if (!*text) {
        FILE *file = open_golden("two_sample_and_bands.json");
        const size_t n = fread(text, 1, sizeof text - 1, file);

        text[n] = '\0';
        (void)fclose(file);
    }
    return text;
}

#endif
