/* parse_number.h - reads decimal numbers, fast and correctly rounded. */
#ifndef RELMC_CLI_PARSE_NUMBER_H
#define RELMC_CLI_PARSE_NUMBER_H

#include <stdbool.h>

/* A decimal number that takes up all of text ... end; nan, inf and infinity
 * count, in any case and with a sign. */
bool parse_number(const char *text, const char *end, double *out);

#endif
