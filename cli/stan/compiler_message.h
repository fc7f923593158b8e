/* compiler_message.h - messages of stanc and of the C++ compiler, with places
 * in the .stan file. */
#ifndef RELMC_CLI_STAN_COMPILER_MESSAGE_H
#define RELMC_CLI_STAN_COMPILER_MESSAGE_H

#include "stan/source.h"

/* `said` is the output of stanc for the text `program`.  Prints
 * file:line:column: message, the lines around, and returns CLI_MODEL. */
int stan_compiler_message_stanc(const struct stan_source *source,
                                const char *program, const char *said,
                                bool is_old);

/* `said` is the output of the compiler for the file `cpp`, whose text is
 * `code`. */
int stan_compiler_message_cxx(const struct stan_source *source, const char *cpp,
                              const char *code, const char *said);

#endif
