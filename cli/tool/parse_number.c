/* parse_number.c - reads decimal numbers, fast and correctly rounded. */
#define _POSIX_C_SOURCE 200809L

#include "tool/parse_number.h"

#include "tool/cli.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What strtod says of at most `n` characters that are a number. */
static double slow_number(const char *text, size_t n)
{
    char small[64];
    char *room = n < sizeof small ? small : cli_alloc(n + 1, 1);

    memcpy(room, text, n);
    room[n] = '\0';
    const double value = strtod(room, NULL);
    if (room != small) {
        free(room);
    }
    return value;
}

static bool word_number(const char *text, size_t n, double *out)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {
        {"nan", (double)NAN}, {"inf", HUGE_VAL}, {"infinity", HUGE_VAL}};
    const bool is_negative = n > 0 && *text == '-';
    const bool has_sign = is_negative || (n > 0 && *text == '+');

    text += has_sign;
    n -= has_sign;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (n == strlen(words[i].word) &&
            !strncasecmp(text, words[i].word, n)) {
            *out = is_negative ? -words[i].value : words[i].value;
            return true;
        }
    }
    return false;
}

/* Digits and what they are worth. */
struct decimal {
    uint64_t mantissa;
    int n_digits; /* without zeros in front */
    int exponent;
    bool has_digits;
};

static const char *read_digits(struct decimal *d, const char *s,
                               const char *end, int shift)
{
    for (; s < end && *s >= '0' && *s <= '9'; s++) {
        d->has_digits = true;
        d->n_digits += d->n_digits > 0 || *s != '0';
        if (d->n_digits <= 18) {
            d->mantissa = 10 * d->mantissa + (uint64_t)(*s - '0');
        }
        if (d->exponent > -100000) {
            d->exponent -= shift;
        }
    }
    return s;
}

/* NULL if no exponent follows the e. */
static const char *read_exponent(struct decimal *d, const char *s,
                                 const char *end)
{
    const bool is_negative = s < end && *s == '-';
    int value = 0;

    s += s < end && (*s == '-' || *s == '+');
    if (s == end || *s < '0' || *s > '9') {
        return NULL;
    }
    for (; s < end && *s >= '0' && *s <= '9'; s++) {
        value = value < 100000 ? 10 * value + (*s - '0') : value;
    }
    d->exponent += is_negative ? -value : value;
    return s;
}

/* Up to 2^53 times a power of ten that is exact, one division or multiplication
 * rounds correctly (Clinger 1990); the C library does the rest. */
bool parse_number(const char *text, const char *end, double *out)
{
    static const double powers[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct decimal d = {0};
    const bool is_negative = text < end && *text == '-';
    const char *s = text + (text < end && (*text == '-' || *text == '+'));

    s = read_digits(&d, s, end, 0);
    if (s < end && *s == '.') {
        s = read_digits(&d, s + 1, end, 1);
    }
    if (d.has_digits && s < end && (*s == 'e' || *s == 'E')) {
        s = read_exponent(&d, s + 1, end);
    }
    if (!d.has_digits || s != end) {
        return word_number(text, (size_t)(end - text), out);
    }
    if (d.n_digits > 18 || d.mantissa > (1ull << 53) || d.exponent < -22 ||
        d.exponent > 22) {
        *out = slow_number(text, (size_t)(end - text));
        return true;
    }
    const double value = (double)d.mantissa;
    const double scaled = d.exponent < 0 ? value / powers[-d.exponent]
                                         : value * powers[d.exponent];
    *out = is_negative ? -scaled : scaled;
    return true;
}
