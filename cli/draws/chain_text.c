/* chain_text.c - the lines with # of a chain: its configuration, the step size and the
 * times. */
#include "draws/chain_ops.h"
#include "relmc_format.h"

#include "tool/parse_number.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SETTINGS = 1000 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void chain_trim(const char **from, size_t *n)
{
    while (*n > 0 && is_blank(**from)) {
        ++*from;
        --*n;
    }
    while (*n > 0 && is_blank((*from)[*n - 1])) {
        --*n;
    }
}

static char *copy(const char *text, size_t n)
{
    char *made = cli_alloc(n + 1, 1);

    memcpy(made, text, n);
    return made;
}

/* ---- the configuration --------------------------------------------------- */

/* The key in the words of CmdStan; rstan has others.  Yours. */
static char *key_of(const char *text, size_t n)
{
    static const char *const words[][2] = {
        {"warmup", RELMC_KEY_WARMUP},
        {"max_treedepth", RELMC_KEY_MAX_DEPTH},
        {"adapt_delta", RELMC_KEY_DELTA},
        {"adapt_engaged", RELMC_KEY_ENGAGED},
        {"sampler_t", RELMC_KEY_ENGINE},
        {"chain_id", RELMC_KEY_ID}};
    char *key = copy(text, n);

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(key, words[i][0])) {
            free(key);
            return cli_text("%s", words[i][1]);
        }
    }
    return key;
}

/* sampler_t = NUTS(diag_e), HMC(unit_e): engine nuts, static; yours. */
static char *value_of(const char *key, const char *text, size_t n)
{
    char *value = copy(text, n);

    if (!strcmp(key, RELMC_KEY_ENGINE)) {
        value[strcspn(value, "(")] = '\0';
        for (char *s = value; *s; s++) {
            *s = (char)(*s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s);
        }
        if (!strcmp(value, "hmc")) {
            free(value);
            value = cli_text("static");
        }
    }
    return value;
}

void chain_take_setting(struct chain_file *chain, const char *text, size_t n)
{
    static const char mark[] = "(Default)";
    const char *equals = memchr(text, '=', n);
    const char *key = text + 1;

    if (!equals || chain->n_settings == MAX_SETTINGS) {
        return;
    }
    const char *value = equals + 1;
    size_t n_key = (size_t)(equals - key);
    size_t n_value = n - (size_t)(value - text);
    chain_trim(&key, &n_key);
    chain_trim(&value, &n_value);
    if (n_value >= sizeof mark - 1 &&
        !memcmp(value + n_value - (sizeof mark - 1), mark, sizeof mark - 1)) {
        n_value -= sizeof mark - 1;
        chain_trim(&value, &n_value);
    }
    if (!chain->settings) {
        chain->settings = cli_alloc(MAX_SETTINGS, sizeof *chain->settings);
    }
    struct chain_setting *setting = &chain->settings[chain->n_settings++];
    setting->key = key_of(key, n_key);
    setting->value = value_of(setting->key, value, n_value);
}

const char *chain_setting(const struct chain_file *chain, const char *key)
{
    for (size_t i = 0; i < chain->n_settings; i++) {
        if (!strcmp(chain->settings[i].key, key)) {
            return chain->settings[i].value;
        }
    }
    return NULL;
}

/* true and false count as 1 and 0, as newer versions of CmdStan write them. */
double chain_number(const struct chain_file *chain, const char *key)
{
    const char *text = chain_setting(chain, key);
    double value = CLI_NAN;

    if (text && (!strcmp(text, "true") || !strcmp(text, "false"))) {
        return *text == 't';
    }
    return text && parse_number(text, text + strlen(text), &value) ? value
                                                                   : CLI_NAN;
}

size_t chain_warmup_rows(const struct chain_file *chain)
{
    const double n = chain_number(chain, RELMC_KEY_WARMUP);
    const double thin = chain_number(chain, RELMC_KEY_THIN);
    const bool is_saved = chain_number(chain, RELMC_KEY_SAVE_WARMUP) > 0.0;

    if (!is_saved || !(n > 0.0 && n < 1e15)) {
        return 0;
    }
    return (size_t)ceil(thin > 1.0 ? n / thin : n);
}

static int compare_numbers(const void *a, const void *b)
{
    const long long x = *(const long long *)a, y = *(const long long *)b;

    return (x > y) - (x < y);
}

/* Has every chain a number of its own? */
static bool have_numbers(long long *numbers, const struct chain_file *chains,
                         size_t n)
{
    long long *sorted = cli_alloc(n, sizeof *sorted);
    bool is_fine = true;

    for (size_t k = 0; k < n; k++) {
        const double id = chain_number(&chains[k], RELMC_KEY_ID);

        is_fine = is_fine && id >= 1.0 && id < 1e15 && id == floor(id);
        numbers[k] = sorted[k] = is_fine ? (long long)id : 0;
    }
    qsort(sorted, n, sizeof *sorted, compare_numbers);
    for (size_t k = 1; k < n; k++) {
        is_fine = is_fine && sorted[k] != sorted[k - 1];
    }
    free(sorted);
    return is_fine;
}

void chain_numbers(long long *numbers, const struct chain_file *chains,
                   size_t n)
{
    if (!have_numbers(numbers, chains, n)) {
        for (size_t k = 0; k < n; k++) {
            numbers[k] = (long long)k + 1;
        }
    }
}

/* ---- lines among the draws ------------------------------------------------- */

enum { LONGEST = 150 }; /* longer ones are a metric */

/* "# Step size = 0.7": a number behind the text; NaN if there is none. */
static double number_behind(const char *line, const char *text)
{
    const char *at = strstr(line, text);
    char *end = NULL;

    if (!at) {
        return CLI_NAN;
    }
    const double value = strtod(at + strlen(text), &end);
    return end == at + strlen(text) ? CLI_NAN : value;
}

bool chain_ends_warmup(const char *text, size_t n)
{
    char line[LONGEST + 1];

    if (n > LONGEST) {
        return false;
    }
    memcpy(line, text, n);
    line[n] = '\0';
    return strstr(line, RELMC_CSV_ADAPTED) != NULL;
}

void chain_note(struct chain_file *chain, const char *text, size_t n)
{
    char line[LONGEST + 1];

    if (n > LONGEST) {
        return;
    }
    memcpy(line, text, n);
    line[n] = '\0';
    if (strstr(line, RELMC_CSV_STEP_SIZE)) {
        chain->step_size = number_behind(line, RELMC_CSV_STEP_SIZE);
    } else if (strstr(line, RELMC_CSV_SECONDS_WARMUP)) {
        chain->seconds_warmup = number_behind(line, RELMC_CSV_ELAPSED);
    } else if (strstr(line, RELMC_CSV_SECONDS_SAMPLING)) {
        chain->seconds_sampling = number_behind(line, "#");
    }
}
