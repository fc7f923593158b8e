/* samplers_csv.c - results as rows of a file, and back. */
#include "samplers.h"

#include <stddef.h>
#include <string.h>

enum { MAX_LINE = 2048 };

/* What identifies a run comes first, then its engine and numbers,
 * and why it failed. */
static const char *const keys[] = {"target", "config", "spec",     "seed",
                                   "chains", "draws",  "gradients"};
enum { N_KEYS = sizeof keys / sizeof *keys };

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"made_draws", offsetof(struct result, draws)},
    {"warmup_gradients", offsetof(struct result, warmup_gradients)},
    {"sampling_gradients", offsetof(struct result, gradients)},
    {"hidden_gradients", offsetof(struct result, hidden)},
    {"steps", offsetof(struct result, steps)},
    {"divergent", offsetof(struct result, divergent)},
    {"ess", offsetof(struct result, ess)},
    {"quantile_ess", offsetof(struct result, quantile_ess)},
    {"bias", offsetof(struct result, bias)},
    {"rhat", offsetof(struct result, rhat)},
};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static double *number(struct result *r, size_t i)
{
    return (double *)(void *)((char *)r + numbers[i].offset);
}

void csv_header(FILE *out)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        (void)fprintf(out, "%s,", keys[i]);
    }
    (void)fprintf(out, "engine");
    for (size_t i = 0; i < N_NUMBERS; i++) {
        (void)fprintf(out, ",%s", numbers[i].name);
    }
    (void)fprintf(out, ",failure\n");
}

static const char *or_default(const char *spec)
{
    return spec ? spec : "default";
}

/* The keys of a run as they stand in a row, with the comma after them. */
static void print_keys(char out[MAX_LINE], const struct comparison *all,
                       struct job job)
{
    const struct config *c = &all->configs[job.config];

    (void)snprintf(out, MAX_LINE, "%s,%s,\"%s/%s/%s/%lld/%s\",%llu,%u,%lld,%g,",
                   all->targets[job.target]->name, c->name,
                   or_default(c->sampler), or_default(c->kinetic),
                   or_default(c->adapt), (long long)c->warmup,
                   or_default(c->integrator),
                   (unsigned long long)all->seeds[job.seed], all->effort.chains,
                   (long long)all->effort.draws, all->effort.gradients);
}

void csv_row(FILE *out, const struct comparison *all, struct job job)
{
    struct result *r = result_of(all, job);
    char begin[MAX_LINE];

    print_keys(begin, all, job);
    (void)fprintf(out, "%s%s", begin, r->engine);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        (void)fprintf(out, ",%.8g", *number(r, i));
    }
    for (char *quote; (quote = strchr(r->message, '"'));) {
        *quote = '\'';
    }
    (void)fprintf(out, ",\"%s\"\n", r->message);
    (void)fflush(out);
}

/* What stands in a row after the keys; a failed run is run again. */
static void read_result(struct result *out, const char *text)
{
    const char *at = strchr(text, ',');
    const size_t n = at ? (size_t)(at - text) : 0;

    if (!at || n >= MAX_TEXT || !strstr(at, ",\"\"")) {
        return;
    }
    memcpy(out->engine, text, n);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        char *end;

        *number(out, i) = strtod(at + 1, &end);
        if (*end != ',') {
            return;
        }
        at = end;
    }
    out->state = RAN;
}

/* The run that a row begins with, if it is one of ours. */
static void match(const struct comparison *all, const char *line)
{
    const size_t n = all->n_targets * all->n_configs * all->n_seeds;
    char begin[MAX_LINE];

    for (size_t i = 0; i < n; i++) {
        const struct job job = {i / all->n_seeds / all->n_configs,
                                i / all->n_seeds % all->n_configs,
                                i % all->n_seeds};
        print_keys(begin, all, job);
        if (strncmp(line, begin, strlen(begin)) == 0) {
            read_result(result_of(all, job), line + strlen(begin));
        }
    }
}

size_t csv_reuse(const char *path, const struct comparison *all)
{
    const size_t n = all->n_targets * all->n_configs * all->n_seeds;
    FILE *in = fopen(path, "r");
    char line[MAX_LINE];
    size_t n_known = 0;

    bench_need(!in, "cannot read the file of --reuse");
    while (fgets(line, sizeof line, in)) {
        match(all, line);
    }
    (void)fclose(in);
    for (size_t i = 0; i < n; i++) {
        n_known += all->results[i].state == RAN;
    }
    return n_known;
}
