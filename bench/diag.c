/*
 * diag.c - what a full summary of one quantity costs: 4 chains of 10^6 AR(1)
 * draws, against the R package posterior on the same file, if R has it.
 *
 *   bench-diag [draws per chain]
 *
 * CPU seconds of one thread; ours is the least of some runs, R's of one.
 */
#include "bench.h"
#include "relmc_diag.h"

#include "base/base.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N_CHAINS = 4, N_RUNS = 3 };

/* The same quantities; the last line is what we compare. */
static const char *const script =
    "suppressMessages(library(posterior)); a <- commandArgs(TRUE);"
    "m <- as.numeric(a[2]); n <- as.numeric(a[3]);"
    "x <- matrix(readBin(a[1], 'double', m * n), n, m);"
    "t <- system.time({"
    "r <- rhat(x); b <- ess_bulk(x); l <- ess_tail(x); e <- ess_mean(x);"
    "s <- ess_sd(x); u <- mcse_mean(x); v <- mcse_sd(x);"
    "k <- c(mean(x), sd(x), median(x), mad(x), quantile2(x))});"
    "cat(t[1] + t[2], r, b, l, e, '\\n')";

static double *new_draws(size_t n, double phi, double apart)
{
    double *x = malloc(N_CHAINS * n * sizeof *x);

    bench_need(!x, "no memory");
    for (uint32_t c = 0; c < N_CHAINS; c++) {
        relmc_stream stream = {1, 0, c, RELMC_FOR_MOMENTUM};
        double y = relmc_normal(&stream);

        for (size_t t = 0; t < n; t++) {
            x[c * n + t] = y + apart * c;
            y = phi * y + sqrt(1.0 - phi * phi) * relmc_normal(&stream);
        }
    }
    return x;
}

static double summarise(relmc_summary *out, const relmc_series *series)
{
    double least = HUGE_VAL;

    for (int run = 0; run < N_RUNS; run++) {
        const double start = bench_seconds();

        bench_need(relmc_summarise(out, series, NULL), "summary failed");
        least = fmin(least, bench_seconds() - start);
    }
    return least;
}

/* Seconds that R takes for the draws in a file, and the values it finds; 0
 * where there is no R or no posterior. */
static double ask_r(const char *path, size_t n, double value[4])
{
    char command[2048], answer[512] = "";
    const char *at = answer;
    double seconds = 0.0;

    (void)snprintf(command, sizeof command,
                   "Rscript --vanilla -e \"%s\" %s %d %zu 2>/dev/null", script,
                   path, N_CHAINS, n);
    FILE *r = popen(command, "r");
    if (!r) {
        return 0.0;
    }
    if (fgets(answer, sizeof answer, r)) {
        char *end;

        seconds = strtod(at, &end);
        for (int i = 0; i < 4; i++) {
            value[i] = strtod(end, &end);
        }
    }
    return pclose(r) ? 0.0 : seconds;
}

static void compare(const char *what, double *x, size_t n)
{
    const relmc_series series = {x, N_CHAINS, n, 1, n};
    char path[] = "bench-diag-XXXXXX";
    double theirs[4];
    relmc_summary s = RELMC_INIT(relmc_summary);
    const double ours = summarise(&s, &series);
    const int file = mkstemp(path);
    FILE *out = file < 0 ? NULL : fdopen(file, "wb");

    bench_need(!out, "cannot write a file here");
    bench_need(fwrite(x, sizeof *x, N_CHAINS * n, out) != N_CHAINS * n,
               "cannot write the draws");
    (void)fclose(out);
    (void)printf("%-22s %8.3f s", what, ours);
    (void)fflush(stdout);

    const double seconds = ask_r(path, n, theirs);
    (void)remove(path);
    if (seconds > 0.0) {
        const double mine[] = {s.rhat, s.ess_bulk, s.ess_tail, s.ess_mean};
        double worst = 0.0;

        for (int i = 0; i < 4; i++) { /* R prints 7 digits */
            worst = fmax(worst, fabs(mine[i] / theirs[i] - 1.0));
        }
        (void)printf("  posterior %8.3f s, %6.1f times; values differ by %.0e",
                     seconds, seconds / ours, worst);
    }
    (void)printf("\n");
    free(x);
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    struct rusage usage;

    bench_usage(argc, argv, "bench-diag [draws per chain]");
    bench_need(n < 12, "at least 12 draws per chain");
    (void)printf("full summary, 4 chains of %zu draws\n", n);
    compare("phi = 0.5", new_draws(n, 0.5, 0.0), n);
    compare("phi = 0.99", new_draws(n, 0.99, 0.0), n);
    compare("chains that never meet", new_draws(n, 0.5, 100.0), n);
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("peak memory %ld MB, the draws themselves %zu MB\n",
                 usage.ru_maxrss / 1024, N_CHAINS * n * 8 >> 20);
    return 0;
}
