/*
 * spec.c - component parameters from specs such as "hmc:steps=20,jitter=0.2"
 * or "separable:c=[1,2,3]", checked against the component's table.
 */
#include "base/spec.h"

#include <math.h>
#include <string.h>

/* A piece of the spec, not terminated. */
struct piece {
    const char *text;
    size_t n;
};

size_t rmc_spec_name_length(const char *spec)
{
    return strcspn(spec, ":");
}

static double *real_at(void *state, const relmc_param *p)
{
    return (double *)(void *)((unsigned char *)state + p->offset);
}

static relmc_vector *vector_at(void *state, const relmc_param *p)
{
    return (relmc_vector *)(void *)((unsigned char *)state + p->offset);
}

static void set_fallbacks(const relmc_info *info, void *state)
{
    for (const relmc_param *p = info->params; p && p->name; p++) {
        if (p->kind != RELMC_VECTOR) {
            *real_at(state, p) = p->fallback;
        }
    }
}

static const relmc_param *find_param(const relmc_info *info, struct piece key)
{
    for (const relmc_param *p = info->params; p && p->name; p++) {
        if (strlen(p->name) == key.n && !memcmp(p->name, key.text, key.n)) {
            return p;
        }
    }
    return NULL;
}

static relmc_status unknown_param(const relmc_info *info, struct piece key,
                                  relmc_error *err)
{
    char list[256];
    rmc_text text = {list, sizeof list, 0};

    for (const relmc_param *p = info->params; p && p->name; p++) {
        rmc_text_add(&text, "%s%s", text.bytes ? ", " : "", p->name);
    }
    if (!text.bytes) {
        return rmc_fail(err, RELMC_EUNKNOWN,
                        "%s takes no parameters, not '%.*s'", info->name,
                        (int)key.n, key.text);
    }
    return rmc_fail(err, RELMC_EUNKNOWN,
                    "%s has no parameter '%.*s' (it has: %s)", info->name,
                    (int)key.n, key.text, list);
}

/* The whole piece must be a number in the range of the parameter. */
static relmc_status read_number(const relmc_info *info, const relmc_param *p,
                                struct piece s, double *out, relmc_error *err)
{
    const int n = (int)(s.n < 40 ? s.n : 40);

    if (!rmc_parse_number(s.text, s.n, out)) {
        return rmc_fail(err, RELMC_EINVAL, "%s: %s=%.*s is not a number",
                        info->name, p->name, n, s.text);
    }
    if (!(*out >= p->min && *out <= p->max)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "%s: %s must be in [%g, %g], not %.*s", info->name,
                        p->name, p->min, p->max, n, s.text);
    }
    if (p->kind == RELMC_INTEGER && *out != floor(*out)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "%s: %s must be an integer, not %.*s", info->name,
                        p->name, n, s.text);
    }
    return RELMC_OK;
}

/* One of the words; its place is the value. */
static relmc_status read_choice(const relmc_info *info, const relmc_param *p,
                                struct piece s, double *out, relmc_error *err)
{
    const char *word = p->choices;

    for (int place = 0; *word; place++) {
        const size_t n = strcspn(word, "|");

        if (n == s.n && !memcmp(word, s.text, n)) {
            *out = place;
            return RELMC_OK;
        }
        word += n + (word[n] == '|');
    }
    return rmc_fail(err, RELMC_EINVAL, "%s: %s must be one of %s, not '%.*s'",
                    info->name, p->name, p->choices, (int)(s.n < 40 ? s.n : 40),
                    s.text);
}

static relmc_status read_vector(const relmc_info *info, const relmc_param *p,
                                struct piece s, relmc_vector *out,
                                relmc_arena *arena, relmc_error *err)
{
    size_t n = 1;

    if (s.n >= 2 && s.text[0] == '[' && s.text[s.n - 1] == ']') {
        s.text++;
        s.n -= 2;
    }
    for (size_t i = 0; i < s.n; i++) {
        n += s.text[i] == ',';
    }
    double *values = relmc_arena_get(arena, n * sizeof *values);
    relmc_status status = relmc_arena_check(arena, err);

    for (size_t i = 0; i < n && !status; i++) {
        const char *comma = memchr(s.text, ',', s.n);
        struct piece item = {s.text, comma ? (size_t)(comma - s.text) : s.n};

        status = read_number(info, p, item, &values[i], err);
        s.text += item.n + (comma != NULL);
        s.n -= item.n + (comma != NULL);
    }
    *out = (relmc_vector){values, n};
    return status;
}

/* Up to the next comma outside brackets, or the end. */
static size_t pair_length(const char *s)
{
    size_t n = 0;
    int depth = 0;

    for (; s[n] && (s[n] != ',' || depth > 0); n++) {
        depth += s[n] == '[';
        depth -= s[n] == ']';
    }
    return n;
}

const char *relmc_spec_get(const char *spec, const char *key, size_t *n)
{
    const size_t m = strlen(key);
    const char *s = strchr(spec, ':');

    while (s && *s) {
        const size_t length = pair_length(++s);

        if (length > m && !strncmp(s, key, m) && s[m] == '=') {
            *n = length - m - 1;
            return s + m + 1;
        }
        s += length;
    }
    return NULL;
}

/* Does one of the pairs from here to the key have the same one? */
static int is_repeated(const char *s, struct piece key)
{
    while (s < key.text) {
        if (!strncmp(s, key.text, key.n + 1)) { /* with the = */
            return 1;
        }
        s += pair_length(s) + 1;
    }
    return 0;
}

static relmc_status read_pair(const relmc_info *info, const char *pairs,
                              struct piece pair, void *state,
                              relmc_arena *arena, relmc_error *err)
{
    const char *equals = memchr(pair.text, '=', pair.n);

    if (!equals) {
        return rmc_fail(err, RELMC_EINVAL,
                        "%s: '%.*s' should be parameter=value", info->name,
                        (int)(pair.n < 80 ? pair.n : 80), pair.text);
    }
    const struct piece key = {pair.text, (size_t)(equals - pair.text)};
    const struct piece value = {equals + 1, pair.n - key.n - 1};
    const relmc_param *p = find_param(info, key);

    if (!p) {
        return unknown_param(info, key, err);
    }
    if (is_repeated(pairs, key)) {
        return rmc_fail(err, RELMC_EINVAL, "%s: %s is given twice", info->name,
                        p->name);
    }
    if (p->kind == RELMC_VECTOR) {
        return read_vector(info, p, value, vector_at(state, p), arena, err);
    }
    if (p->kind == RELMC_CHOICE) {
        return read_choice(info, p, value, real_at(state, p), err);
    }
    return read_number(info, p, value, real_at(state, p), err);
}

relmc_status rmc_spec_parse(const char *spec, const relmc_info *info,
                            void *state, relmc_arena *arena, relmc_error *err)
{
    const char *s = spec + rmc_spec_name_length(spec);
    relmc_status status = RELMC_OK;

    set_fallbacks(info, state);
    if (*s == ':') {
        s++;
    }
    const char *pairs = s;
    while (*s && !status) {
        const size_t n = pair_length(s);

        status =
            read_pair(info, pairs, (struct piece){s, n}, state, arena, err);
        s += n;
        s += *s == ',';
    }
    return status;
}

static void print_number(rmc_text *text, double value)
{
    char digits[32];

    rmc_format_exactly(digits, value);
    rmc_text_add(text, "%s", digits);
}

static void print_vector(rmc_text *text, const relmc_vector *v)
{
    for (size_t i = 0; i < v->n; i++) {
        rmc_text_add(text, "%s", i ? "," : v->n > 1 ? "[" : "");
        print_number(text, v->values[i]);
    }
    rmc_text_add(text, "%s", v->n > 1 ? "]" : "");
}

static void print_choice(rmc_text *text, const relmc_param *p, int place)
{
    const char *word = p->choices;

    for (; place > 0; place--) {
        word += strcspn(word, "|") + 1;
    }
    rmc_text_add(text, "%.*s", (int)strcspn(word, "|"), word);
}

void rmc_spec_print(rmc_text *text, const relmc_info *info, const void *state)
{
    char separator = ':';

    rmc_text_add(text, "%s", info->name);
    for (const relmc_param *p = info->params; p && p->name; p++) {
        const unsigned char *at = (const unsigned char *)state + p->offset;
        relmc_vector vector = {0};
        double real = 0.0;

        if (p->kind == RELMC_VECTOR) {
            memcpy(&vector, at, sizeof vector);
        } else {
            memcpy(&real, at, sizeof real);
        }
        if (p->kind == RELMC_VECTOR && !vector.values) {
            real = p->fallback;
            vector = (relmc_vector){&real, 1};
        }
        if (real != real) {
            continue; /* unset */
        }
        rmc_text_add(text, "%c%s=", separator, p->name);
        if (p->kind == RELMC_VECTOR) {
            print_vector(text, &vector);
        } else if (p->kind == RELMC_CHOICE) {
            print_choice(text, p, (int)real);
        } else {
            print_number(text, real);
        }
        separator = ',';
    }
}
