/* csv_write.c - writes a chain as a Stan CSV file, with the configuration and all other
 * lines with # that its own file has. */
#include "draws/chain_ops.h"
#include "relmc_format.h"

#include <stdlib.h>
#include <string.h>

struct writer {
    FILE *file;
    size_t n_columns;
    int digits; /* 0: as few as give the same number back */
};

/* At least 15, which every number of 15 digits survives. */
static void put_number(FILE *file, double value, int digits)
{
    char text[40];

    if (isnan(value)) {
        (void)fputs("NaN", file);
    } else if (isinf(value)) {
        (void)fputs(value > 0 ? "inf" : "-inf", file);
    } else {
        for (int n = digits ? digits : 15; n <= 17; n++) {
            (void)snprintf(text, sizeof text, "%.*g", n, value);
            if (digits || strtod(text, NULL) == value) {
                break;
            }
        }
        (void)fputs(text, file);
    }
}

static int put_row(void *ctx, const double *row)
{
    const struct writer *w = ctx;

    for (size_t j = 0; j < w->n_columns; j++) {
        if (j) {
            (void)fputc(',', w->file);
        }
        put_number(w->file, row[j], w->digits);
    }
    (void)fputc('\n', w->file);
    return CLI_OK; /* a full disk shows when the file is closed */
}

static int put_comment(void *ctx, const char *text, size_t n)
{
    const struct writer *w = ctx;

    (void)fwrite(text, 1, n, w->file);
    (void)fputc('\n', w->file);
    return CLI_OK;
}

/* The configuration, with the number of digits that is written now. */
static void put_head(const struct writer *w, const char *head, int digits)
{
    static const char key[] = RELMC_KEY_DIGITS " = ";

    for (const char *s = head; *s;) {
        const size_t n = strcspn(s, "\n");
        const char *at = strstr(s, key);

        if (digits && *s == '#' && at && at < s + n) {
            (void)fprintf(w->file, "%.*s%s%d\n", (int)(at - s), s, key, digits);
        } else {
            (void)fwrite(s, 1, n, w->file);
            (void)fputc('\n', w->file);
        }
        s += n + (s[n] == '\n');
    }
}

int csv_write(FILE *file, struct chain_file *chain, int digits,
              char message[CHAIN_MESSAGE])
{
    const double said = chain_number(chain, RELMC_KEY_DIGITS);
    struct writer w = {.file = file,
                       .n_columns = chain->n_columns,
                       .digits = digits                      ? digits
                                 : said >= 1.0 && said <= 17 ? (int)said
                                                             : 0};
    const struct chain_visitor visitor = {
        .row = put_row, .comment = put_comment, .ctx = &w};
    char *head = chain_head(chain, message);

    if (!head) {
        return CLI_IO;
    }
    put_head(&w, head, digits);
    free(head);
    return chain_visit(chain, &visitor, message);
}
