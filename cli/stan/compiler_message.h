/* compiler_message.h - what stanc and the C++ compiler say, in terms of the
 * .stan file. */
#ifndef RELMC_CLI_STAN_COMPILER_MESSAGE_H
#define RELMC_CLI_STAN_COMPILER_MESSAGE_H

#include "stan/source.h"

/* `said` is all that stanc wrote of `program`, the text it was given.  Prints
 * file:line:column: message, the lines around, and returns CLI_MODEL. */
int stan_message_stanc(const struct stan_source *source, const char *program,
                       const char *said, bool is_old);

/* `said` is what the compiler wrote of the generated code in the file `cpp`,
 * whose text is `code`. */
int stan_message_cxx(const struct stan_source *source, const char *cpp,
                     const char *code, const char *said);

#endif
