/* blocks.h - moves declarations to where stanc 2.21 accepts them. */
#ifndef RELMC_CLI_STAN_BLOCKS_H
#define RELMC_CLI_STAN_BLOCKS_H

/* stanc 2.21 takes declarations at the beginning of a block only.  Returns the
 * program, in old syntax, with the others moved and the same lines, to be
 * freed. */
char *stan_blocks_old(const char *program);

#endif
