/* message.c - what the tool says on stderr, and what the terminal can show. */
#define _DEFAULT_SOURCE /* madvise */
#define _POSIX_C_SOURCE 200809L

#include "tool/cli.h"
#include "tool/spec.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int cli_fail(int code, const char *who, const char *format, ...)
{
    va_list args;

    (void)fprintf(stderr, "%s: ", who);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return code;
}

static void say(const struct voice *voice, const char *kind, const char *format,
                va_list args) __attribute__((format(printf, 3, 0)));

/* A line of the given kind; errors are never JSON. */
static void say(const struct voice *voice, const char *kind, const char *format,
                va_list args)
{
    if (voice->is_json) {
        json_t *text = json_vsprintf(format, args);
        json_t *line = json_pack("{s:o}", kind, text);
        char *dump = json_dumps(line, JSON_COMPACT);

        (void)fprintf(stderr, "%s\n", dump ? dump : "{}");
        free(dump);
        json_decref(line);
        return;
    }
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
}

void cli_say(const struct voice *voice, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!voice->is_quiet) {
        say(voice, "message", format, args);
    }
    va_end(args);
}

void cli_warn(const struct voice *voice, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!voice->is_quiet) {
        if (!voice->is_json) {
            (void)fputs(voice->has_colour ? "\x1b[33mwarning:\x1b[0m "
                                          : "warning: ",
                        stderr);
        }
        say(voice, "warning", format, args);
    }
    va_end(args);
}

int cli_code(relmc_status status)
{
    static const struct {
        relmc_status status;
        int code;
    } codes[] = {
        {RELMC_OK, CLI_OK},           {RELMC_STOPPED, CLI_OK},
        {RELMC_EINVAL, CLI_USAGE},    {RELMC_EUNKNOWN, CLI_USAGE},
        {RELMC_EUNSUPP, CLI_USAGE},   {RELMC_ENOMEM, CLI_NUMERIC},
        {RELMC_ETARGET, CLI_NUMERIC}, {RELMC_EINIT, CLI_NUMERIC},
        {RELMC_EIO, CLI_IO},          {RELMC_EABI, CLI_MODEL},
        {RELMC_EBUSY, CLI_IO},
    };

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].status == status) {
            return codes[i].code;
        }
    }
    return CLI_NUMERIC;
}

int cli_fail_status(const char *who, relmc_status status,
                    const relmc_error *err)
{
    const char *text = *err->message ? err->message : relmc_status_name(status);

    return cli_fail(cli_code(status), who, "%s", text);
}

/* Blocks of many megabytes on large pages, where the system has them: to touch
 * small ones for the first time took 4 % of the time of figure 1. */
static void ask_for_large_pages(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    enum { PAGE = 4096, MANY = 1 << 24 };
    const size_t before = (PAGE - (uintptr_t)block % PAGE) % PAGE;

    if (bytes >= MANY) {
        (void)madvise((char *)block + before, bytes - before, MADV_HUGEPAGE);
    }
#else
    (void)block, (void)bytes;
#endif
}

void *cli_alloc(size_t count, size_t bytes)
{
    void *block = calloc(count ? count : 1, bytes);

    if (!block) {
        exit(cli_fail(CLI_NUMERIC, "relmc", "out of memory"));
    }
    ask_for_large_pages(block, count * bytes);
    return block;
}

char *cli_text(const char *format, ...)
{
    va_list args;
    va_list again;

    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = cli_alloc((size_t)(n < 0 ? 0 : n) + 1, 1);
    (void)vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, again);
    va_end(again);
    return text;
}

double cli_clock(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The value of a variable that is set and not empty, or NULL. */
static const char *value_of(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value ? value : NULL;
}

bool cli_wants_colour(int fd, const char *choice)
{
    const char *term = getenv("TERM");

    if (strcmp(choice, "auto") != 0) {
        return strcmp(choice, "always") == 0;
    }
    if (value_of("NO_COLOR")) {
        return false;
    }
    if (value_of("FORCE_COLOR")) {
        return true;
    }
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

bool cli_has_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *locale = value_of(variables[i]);

        if (locale) {
            const char *dot = strrchr(locale, '.');

            return dot && (!strncasecmp(dot + 1, "utf-8", 5) ||
                           !strncasecmp(dot + 1, "utf8", 4));
        }
    }
    return false;
}

/* Edits that turn a into b: insert, delete, replace. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t row[LONGEST + 1];
    const size_t n = strlen(b);

    if (n > LONGEST) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
        }
    }
    return row[n];
}

void cli_nearest_offer(struct nearest *nearest, const char *word)
{
    const size_t distance = edit_distance(nearest->wanted, word);
    const size_t length = strlen(nearest->wanted);
    const size_t limit = length < 3 ? 1 : length < 6 ? 2 : length / 3;

    if (distance <= limit && (!nearest->word || distance < nearest->distance)) {
        nearest->word = word;
        nearest->distance = distance;
    }
}
