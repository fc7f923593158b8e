/* stan_syntax.c - translation of Stan programs to the syntax of stanc 2.21. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stan/legacy221/syntax.h"
#include "tool/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rewriter needs this function of the tool. */
void *cli_alloc(size_t count, size_t bytes)
{
    void *block = calloc(count ? count : 1, bytes);

    assert_non_null(block);
    return block;
}

int cli_fail(int code, const char *who, const char *format, ...)
{
    fail_msg("%s: %s", who, format);
    return code;
}

struct pair {
    const char *now, *old;
};

static void check_pairs(const struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *text = stan_syntax_old(pairs[i].now);
        char *again = stan_syntax_old(text);

        assert_string_equal(text, pairs[i].old);
        assert_string_equal(again, text); /* old syntax is not changed */
        free(again);
        free(text);
    }
}

#define CHECK(pairs) check_pairs(pairs, sizeof pairs / sizeof *pairs)

static void test_syntax__arrays_of_every_type(void **state)
{
    static const struct pair pairs[] = {
        {"data { array[N] int y; }", "data { int y[N]; }"},
        {"array[N, M] real x;", "real x[N,M];"},
        {"array[N] int<lower=0, upper=max(a, b)> y;",
         "int<lower=0, upper=max(a, b)> y[N];"},
        {"array[2] vector<lower=0>[N] x;", "vector<lower=0>[N] x[2];"},
        {"array[2] row_vector[N] x;", "row_vector[N] x[2];"},
        {"array[2, 3] matrix[N, M] x;", "matrix[N, M] x[2,3];"},
        {"array[2] simplex[K] x;", "simplex[K] x[2];"},
        {"array[2] ordered[K] x;", "ordered[K] x[2];"},
        {"array[2] positive_ordered[K] x;", "positive_ordered[K] x[2];"},
        {"array[2] unit_vector[K] x;", "unit_vector[K] x[2];"},
        {"array[2] corr_matrix[K] x;", "corr_matrix[K] x[2];"},
        {"array[2] cov_matrix[K] x;", "cov_matrix[K] x[2];"},
        {"array[2] cholesky_factor_corr[K] L;",
         "cholesky_factor_corr[K] L[2];"},
        {"array[2] cholesky_factor_cov[K, M] L;",
         "cholesky_factor_cov[K, M] L[2];"},
        {"array[n[1], size(x)] real z = f(x);", "real z[n[1],size(x)] = f(x);"},
        {"array [ N ] real x;", "real x[N];"},
        {"array[N] real<offset=mu, multiplier=(a > b)> x;",
         "real<offset=mu, multiplier=(a > b)> x[N];"},
    };

    (void)state;
    CHECK(pairs);
}

static void test_syntax__functions(void **state)
{
    static const struct pair pairs[] = {
        {"array[] real f(array[] int x, data array[,] vector y, real z) {}",
         "real[] f(int[] x, data vector[,] y, real z) {}"},
        {"array[ , , ] matrix g();", "matrix[,,] g();"},
        {"functions { vector f(vector a, vector b) { return a; } }",
         "functions { vector f(vector a, vector b) { return a; } }"},
        {"real f(real x) { array[2] real a = {x, x}; return a[1]; }",
         "real f(real x) { real a[2] = {x, x}; return a[1]; }"},
    };

    (void)state;
    CHECK(pairs);
}

static void test_syntax__several_names(void **state)
{
    static const struct pair pairs[] = {
        {"real a, b;", "real a; real b;"},
        {"int<lower=0, upper=9> a, b = f(1, 2), c;",
         "int<lower=0, upper=9> a; int<lower=0,upper=9> b = f(1, 2); "
         "int<lower=0,upper=9> c;"},
        {"array[N, 2] real a, b = {{1, 2}}, c;",
         "real a[N,2]; real b[N,2] = {{1, 2}}; real c[N,2];"},
        {"x = f(a, b); y[1, 2] = 3;", "x = f(a, b); y[1, 2] = 3;"},
        {"for (i in 1:N) { real a, b; } z(c, d);",
         "for (i in 1:N) { real a; real b; } z(c, d);"},
    };

    (void)state;
    CHECK(pairs);
}

static void test_syntax__other_words(void **state)
{
    static const struct pair pairs[] = {
        {"target += normal_lupdf(y | 0, 1);",
         "target += normal_lpdf(y | 0, 1);"},
        {"target += poisson_lupmf(y | 1);", "target += poisson_lpmf(y | 1);"},
        {"K = gp_exp_quad_cov(x, a, r);", "K = cov_exp_quad(x, a, r);"},
        {"profile(\"one\") { x = 1; }", " { x = 1; }"},
        {"n = a %/% 10_000 % 3;", "n = a / 10000 % 3;"},
        {"x = 1_0.5e-3 + .5 + 2.;", "x = 10.5e-3 + .5 + 2.;"},
    };

    (void)state;
    CHECK(pairs);
}

/* In a block of statements a late declaration begins a nested block. */
static void test_syntax__late_declarations_of_blocks(void **state)
{
    static const struct pair pairs[] = {
        {"model { real a = 1; a += 1; }", "model { real a = 1; a += 1; }"},
        {"model { f(1); real a = 1; g(a); }",
         "model { f(1); { real a = 1; g(a); } }"},
        {"model { f(1); real a, b; g(a); array[2] int c = {1, 2}; h(c); }",
         "model { f(1); { real a; real b; g(a); { int c[2] = {1, 2}; h(c); } "
         "} }"},
        {"functions { real f(real x) { g(x); real y = x; return y; } }",
         "functions { real f(real x) { g(x); { real y = x; return y; } } }"},
        {"model { for (i in 1:2) { f(i); int k = i; } int m = 1; }",
         "model { for (i in 1:2) { f(i); { int k = i; } } { int m = 1; } }"},
        {"model { if (a) { f(1); } else { g(1); real b = 1; } }",
         "model { if (a) { f(1); } else { g(1); { real b = 1; } } }"},
        {"model { x = {{1, 2}, {3, 4}}; real b = 1; }",
         "model { x = {{1, 2}, {3, 4}}; { real b = 1; } }"},
    };

    (void)state;
    CHECK(pairs);
}

/* Variables that other blocks use cannot be nested: their declaration moves forward. */
static void test_syntax__late_declarations_of_the_program(void **state)
{
    static const struct pair pairs[] = {
        {"transformed data { int a; a = 1; real b = a; vector[N] c; c = d; }",
         "transformed data { int a; real b; vector[N] c; a = 1; b = a; ; c = "
         "d; }"},
        {"transformed parameters { real a = 1; real b; b = a; }",
         "transformed parameters { real a = 1; real b; b = a; }"},
        {"transformed parameters { f(1); array[N] real<lower=0> b = c; }",
         "transformed parameters { real<lower=0> b[N]; f(1); b = c; }"},
        {"generated quantities { for (i in 1:2) { f(i); int k = i; } int n; }",
         "generated quantities { int n; for (i in 1:2) { f(i); { int k = i; } "
         "} ; }"},
        {"data { int N; } parameters { real x; } model { }",
         "data { int N; } parameters { real x; } model { }"},
    };

    (void)state;
    CHECK(pairs);
}

/* Comments, strings, variables named like keywords, and statements. */
static void test_syntax__leaves_alone(void **state)
{
    static const char *const texts[] = {
        "",
        "// array[3] real x, y;\nreal z;",
        "/* array[3] real x */ real z;",
        "# array[3] real x",
        "print(\"array[3] real x, 1_000\");",
        "int array[3]; array[1] = 2; f(array[1], 3);",
        "real x_lupdfs; real lupdf;",
        "array[3",
        "array[3] real",
        "array[3] complex z;",
        "real<lower=0",
        "\"no end",
        "/* no end",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text = stan_syntax_old(texts[i]);

        assert_string_equal(text, texts[i]);
        free(text);
    }
}

static size_t n_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++) {
        n += *text == '\n';
    }
    return n;
}

/* Messages of stanc name lines, so their numbers must not change. */
static void test_syntax__keeps_lines(void **state)
{
    static const char *const texts[] = {
        "array\n[N,\nM] // why\nreal\n x, y,\n z;\n",
        "array[ // [,]\n N] vector<lower=0,\nupper=1>[\nM] a,\n b;\n",
        "array[\n,\n] real\nf(array[\n]\nint x)\n{\n}\n",
        "profile(\n\"x\"\n)\n{\n}\n",
        "transformed data {\n f(1);\n array[\n2]\n real\n x\n=\n1;\n}\n",
        "model {\n f(1);\n array[\n2]\n real\n x\n=\n1;\n}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text = stan_syntax_old(texts[i]);

        assert_int_equal(n_lines(text), n_lines(texts[i]));
        assert_null(strstr(text, "array"));
        free(text);
    }
}

/* A program cut anywhere keeps its number of lines and does not crash. */
static void test_syntax__any_beginning(void **state)
{
    static const char program[] =
        "functions { array[] real f(array[,] int x) { return {1.5, 2}; } }\n"
        "data { int<lower=0> N, M; array[N, M] vector<lower=0>[M] y, z; }\n"
        "transformed data { f(1); array[2] real d = {1, 2}; int k; }\n"
        "model { profile(\"p\") { target += normal_lupdf(y[1] | 0, 1_0); } "
        "real u; }\n"
        "// the end";
    char start[sizeof program];

    (void)state;
    for (size_t n = 0; n < sizeof program; n++) {
        memcpy(start, program, n);
        start[n] = '\0';
        char *text = stan_syntax_old(start);

        assert_int_equal(n_lines(text), n_lines(start));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syntax__arrays_of_every_type),
        cmocka_unit_test(test_syntax__functions),
        cmocka_unit_test(test_syntax__several_names),
        cmocka_unit_test(test_syntax__other_words),
        cmocka_unit_test(test_syntax__late_declarations_of_blocks),
        cmocka_unit_test(test_syntax__late_declarations_of_the_program),
        cmocka_unit_test(test_syntax__leaves_alone),
        cmocka_unit_test(test_syntax__keeps_lines),
        cmocka_unit_test(test_syntax__any_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
