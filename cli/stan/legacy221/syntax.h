/* syntax.h - translates today's Stan to the syntax of stanc 2.21. */
#ifndef RELMC_CLI_STAN_SYNTAX_H
#define RELMC_CLI_STAN_SYNTAX_H

/*
 * The program as stanc 2.21 understands it, line for line, to be freed:
 *
 *   array[N] real x;            real x[N];
 *   array[,] int f(...)         int[,] f(...)
 *   real a, b = 1;              real a; real b = 1;
 *   foo_lupdf(y | mu)           foo_lpdf(y | mu)      (constants kept)
 *   gp_exp_quad_cov(...)        cov_exp_quad(...)
 *   profile("name") { ... }     { ... }
 *   m %/% n, 10_000             m / n, 10000
 *   declarations anywhere       at the beginning of blocks (blocks.h)
 *
 * Everything else stays as it is.
 */
char *stan_syntax_old(const char *program);

#endif
