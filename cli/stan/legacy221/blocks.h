/* blocks.h - declarations where stanc 2.21 wants them. */
#ifndef RELMC_CLI_STAN_BLOCKS_H
#define RELMC_CLI_STAN_BLOCKS_H

/* stanc 2.21 takes declarations at the beginning of a block only.  The program,
 * in old syntax, with others moved, line for line, to be freed. */
char *stan_blocks_old(const char *program);

#endif
