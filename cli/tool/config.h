/* config.h - options from and to JSON files. */
#ifndef RELMC_CLI_CONFIG_H
#define RELMC_CLI_CONFIG_H

#include "tool/options.h"

#include <jansson.h>

/* The JSON text of a file; 0, or CLI_IO, or `bad` if it is not JSON, after a
 * message. */
int config_load(json_t **out, const char *path, const char *who, int bad);
/* The text of a value, numbers with as many digits as they need; yours. */
char *config_print(const json_t *value);
/* A number, or null for NaN and infinities, which JSON does not know. */
json_t *config_real(double value);

/* Reads the file of --config, if the command has that option. */
int config_read(struct opt_set *set);
/* Reads $XDG_CONFIG_HOME/relmc/config.json, if there is one. */
int config_read_user(struct opt_set *set);

/* The argument, every option and the library's manifest, as JSON; yours. */
char *config_text(const struct opt_set *set, const char *manifest);
/* Reads such a text; messages call its place `label`. */
int config_read_text(struct opt_set *set, const char *label, const char *text);

/* A text file with a newline at its end. */
int config_write_text(const char *path, const char *who, const char *text);

#endif
