/* text.c - numbers and JSON strings as text, and the edit distance of two words. */
#include "base/base.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rmc_text_add(rmc_text *text, const char *format, ...)
{
    const size_t left = text->bytes < text->room ? text->room - text->bytes : 0;
    va_list args;

    va_start(args, format);
    const int n =
        vsnprintf(left ? text->out + text->bytes : NULL, left, format, args);
    va_end(args);
    text->bytes += n > 0 ? (size_t)n : 0;
}

void rmc_text_add_json(rmc_text *text, const char *value)
{
    rmc_text_add(text, "\"");
    for (const char *s = value; *s; s++) {
        const unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\') {
            rmc_text_add(text, "\\%c", c);
        } else if (c < 0x20) {
            rmc_text_add(text, "\\u%04x", c);
        } else {
            rmc_text_add(text, "%c", c);
        }
    }
    rmc_text_add(text, "\"");
}

size_t rmc_format_number(char out[32], double value, int digits)
{
    if (!rmc_is_finite(value)) {
        const char *word = isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
        memcpy(out, word, strlen(word) + 1);
        return strlen(word);
    }
    const int n = snprintf(out, 32, "%.*g", digits, value);
    const char point = *localeconv()->decimal_point;

    if (point != '.') {
        char *s = strchr(out, point);
        if (s) {
            *s = '.';
        }
    }
    return (size_t)n;
}

void rmc_format_exactly(char out[32], double value)
{
    double back = 0.0;

    for (int digits = 15; digits <= 17; digits++) {
        const size_t n = rmc_format_number(out, value, digits);

        if (!rmc_is_finite(value) ||
            (rmc_parse_number(out, n, &back) && back == value)) {
            return;
        }
    }
}

int rmc_parse_number(const char *text, size_t n, double *out)
{
    enum { LONGEST = 63 };
    char copy[LONGEST + 1];
    char *end = copy;

    if (n == 0 || n > LONGEST || strchr(" \t\r\n\f\v", *text) ||
        memchr(text, ',', n)) { /* a decimal point in some locales */
        return 0;
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    char *point = strchr(copy, '.');
    if (point) {
        *point = *localeconv()->decimal_point;
    }
    *out = strtod(copy, &end);
    return end == copy + n;
}

/* Damerau-Levenshtein with adjacent swaps; three rows suffice.  For words
 * longer than the rows the distance is SIZE_MAX. */
size_t rmc_edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t row[3][LONGEST + 1];
    size_t *old = row[0], *last = row[1], *now = row[2];
    const size_t n = strlen(a), m = strlen(b);

    if (n > LONGEST || m > LONGEST) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= m; j++) {
        last[j] = j;
        old[j] = 0;
    }
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && old[j - 2] + 1 < best) {
                best = old[j - 2] + 1;
            }
            now[j] = best;
        }
        size_t *spare = old;
        old = last;
        last = now;
        now = spare;
    }
    return last[m];
}
