/*
 * samplers_table.c - tables in Markdown.  The first column is the rival's rate,
 * the others are ratios to it: geometric means over seeds, or targets, and the
 * least and the greatest of them.
 */
#include "samplers.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 22, MAX_CELL = 64 };

#define BAD_BIAS 0.1 /* standard deviations of an indicator */

/* ---- measures -------------------------------------------------------------- */

static double per_gradient(const struct result *r)
{
    return 1e3 * r->ess / r->gradients;
}

static double with_warmup(const struct result *r)
{
    return 1e3 * r->ess / (r->gradients + r->warmup_gradients);
}

/* Does not depend on how long the run was. */
static double until_400(const struct result *r)
{
    return 1e3 * 400.0 / (r->warmup_gradients + 400.0 * r->gradients / r->ess);
}

static double by_quantiles(const struct result *r)
{
    return 1e3 * r->quantile_ess / r->gradients;
}

static const struct measure {
    const char *title;
    double (*value)(const struct result *);
} measures[] = {
    {"Least bulk ESS per 1000 gradients, warm-up not counted", per_gradient},
    {"Least bulk ESS per 1000 gradients, warm-up counted", with_warmup},
    {"The same for a run that ends at ESS 400", until_400},
    {"1 / squared quantile error per 1000 gradients, warm-up not counted",
     by_quantiles},
};

/* ---- ratios ---------------------------------------------------------------- */

/* Geometric mean, and its range. */
struct mean {
    double sum, least, most;
    size_t n, n_triple;
};

static const struct mean nothing = {0.0, HUGE_VAL, 0.0, 0, 0};

static void add(struct mean *m, double value)
{
    if (value > 0.0 && value < HUGE_VAL) {
        m->sum += log(value);
        m->least = fmin(m->least, value);
        m->most = fmax(m->most, value);
        m->n++;
        m->n_triple += value >= 3.0;
    }
}

static double mean(const struct mean *m)
{
    return m->n ? exp(m->sum / (double)m->n) : (double)NAN;
}

static double value_of(const struct comparison *all,
                       const struct measure *measure, struct job job)
{
    const struct result *r = result_of(all, job);

    return r->state == RAN ? measure->value(r) : (double)NAN;
}

/* Over the seeds: that of the rival itself for configuration 0, else the ratio
 * to it.  A run that failed makes it unknown: the others could be the easy
 * ones. */
static struct mean over_seeds(const struct comparison *all,
                              const struct measure *measure, size_t t, size_t c)
{
    struct mean m = nothing;

    for (size_t s = 0; s < all->n_seeds; s++) {
        const double here = value_of(all, measure, (struct job){t, c, s});
        const double rival = value_of(all, measure, (struct job){t, 0, s});

        add(&m, c ? here / rival : here);
    }
    return m.n == all->n_seeds ? m : nothing;
}

/* ---- warnings -------------------------------------------------------------- */

static double bias(const struct result *r)
{
    return r->bias;
}

static double rhat(const struct result *r)
{
    return r->rhat;
}

static double divergent(const struct result *r)
{
    return 100.0 * r->divergent / r->draws;
}

/* Mean over the seeds that ran. */
static double mean_of(const struct comparison *all,
                      double (*value)(const struct result *), size_t t,
                      size_t c)
{
    double sum = 0.0, n = 0.0;

    for (size_t s = 0; s < all->n_seeds; s++) {
        const struct result *r = result_of(all, (struct job){t, c, s});

        if (r->state == RAN) {
            sum += value(r);
            n++;
        }
    }
    return sum / n;
}

/* Chains that miss a part of the target mix well in the rest: where quantiles
 * are clearly worse than the rival's, more effective draws are no gain. */
static int is_suspect(const struct comparison *all, size_t t, size_t c)
{
    const double here = mean_of(all, bias, t, c);

    return here > BAD_BIAS && here > 1.2 * mean_of(all, bias, t, 0);
}

/* ---- rows ------------------------------------------------------------------ */

/* Every cell has the same width, so that the text is a table, too. */
static void print_cell(const char *text)
{
    (void)printf(" %-*s |", WIDTH, text);
}

static void begin_row(const char *name)
{
    (void)printf("| %-10s |", name);
}

static void end_row(void)
{
    (void)printf("\n");
}

static void begin_table(const struct comparison *all, const char *title)
{
    (void)printf("\n%s\n\n", title);
    begin_row("target");
    for (size_t c = 0; c < all->n_configs; c++) {
        print_cell(all->configs[c].name);
    }
    (void)printf("\n|");
    for (size_t c = 0; c <= all->n_configs; c++) {
        (void)printf("---|");
    }
    end_row();
}

static void format_mean(char out[MAX_CELL], const struct mean *m)
{
    if (m->n == 0) {
        (void)snprintf(out, MAX_CELL, "-");
    } else if (m->n == 1) {
        (void)snprintf(out, MAX_CELL, "%.3g", mean(m));
    } else {
        (void)snprintf(out, MAX_CELL, "%.3g (%.3g to %.3g)", mean(m), m->least,
                       m->most);
    }
}

static void print_target(const struct comparison *all,
                         const struct measure *measure, size_t t)
{
    begin_row(all->targets[t]->name);
    for (size_t c = 0; c < all->n_configs; c++) {
        const struct mean m = over_seeds(all, measure, t, c);
        char cell[MAX_CELL], marked[MAX_CELL + 2];

        format_mean(cell, &m);
        (void)snprintf(marked, sizeof marked, "%s%s", cell,
                       is_suspect(all, t, c) ? " *" : "");
        print_cell(marked);
    }
    end_row();
}

/* ---- what the targets have in common ---------------------------------------- */

static const struct group {
    const char *name;
    int has_regular, has_hard;
} groups[] = {{"all", 1, 1}, {"regular", 1, 0}, {"hard", 0, 1}};

static struct mean over_targets(const struct comparison *all,
                                const struct measure *measure,
                                const struct group *group, size_t c)
{
    struct mean m = nothing;

    for (size_t t = 0; t < all->n_targets; t++) {
        const struct mean here = over_seeds(all, measure, t, c);

        if (all->targets[t]->is_hard ? group->has_hard : group->has_regular) {
            add(&m, mean(&here));
        }
    }
    return m;
}

static void print_means(const struct comparison *all,
                        const struct measure *measure)
{
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        begin_row(groups[g].name);
        print_cell("");
        for (size_t c = 1; c < all->n_configs; c++) {
            const struct mean m = over_targets(all, measure, &groups[g], c);
            char cell[MAX_CELL];

            format_mean(cell, &m);
            print_cell(cell);
        }
        end_row();
    }
}

/* The target that a sampler likes least. */
static void print_least(const struct comparison *all,
                        const struct measure *measure)
{
    begin_row("least");
    print_cell("");
    for (size_t c = 1; c < all->n_configs; c++) {
        const struct mean m = over_targets(all, measure, groups, c);
        char cell[MAX_CELL] = "-";

        for (size_t t = 0; t < all->n_targets; t++) {
            const struct mean here = over_seeds(all, measure, t, c);

            if (here.n && mean(&here) == m.least) {
                (void)snprintf(cell, MAX_CELL, "%.3g %s", m.least,
                               all->targets[t]->name);
            }
        }
        print_cell(cell);
    }
    end_row();
}

static void print_triples(const struct comparison *all,
                          const struct measure *measure)
{
    begin_row("3 or more");
    print_cell("");
    for (size_t c = 1; c < all->n_configs; c++) {
        const struct mean m = over_targets(all, measure, groups, c);
        char cell[MAX_CELL];

        (void)snprintf(cell, MAX_CELL, "%zu of %zu", m.n_triple, m.n);
        print_cell(cell);
    }
    end_row();
}

static void print_ratios(const struct comparison *all,
                         const struct measure *measure)
{
    begin_table(all, measure->title);
    for (size_t t = 0; t < all->n_targets; t++) {
        print_target(all, measure, t);
    }
    print_means(all, measure);
    print_least(all, measure);
    print_triples(all, measure);
}

/* ---- how it went ------------------------------------------------------------ */

/* With thousands of gradients in warm-up and steps per draw, over the seeds. */
static void print_engine(const struct comparison *all, size_t t, size_t c)
{
    double warmup = 0.0, steps = 0.0, draws = 0.0, n_chains = 0.0;
    const char *engine = NULL;
    char cell[MAX_CELL + MAX_TEXT];

    for (size_t s = 0; s < all->n_seeds; s++) {
        const struct result *r = result_of(all, (struct job){t, c, s});

        if (r->state == RAN) {
            const int is_same = !engine || strcmp(engine, r->engine) == 0;

            engine = is_same ? r->engine : "various";
            warmup += r->warmup_gradients;
            steps += r->steps;
            draws += r->draws;
            n_chains += all->effort.chains;
        }
    }
    (void)snprintf(cell, sizeof cell, "%s %.3gk %.3g", engine ? engine : "-",
                   1e-3 * warmup / n_chains, steps / draws);
    print_cell(engine ? cell : "-");
}

static void print_engines(const struct comparison *all)
{
    begin_table(all, "Engine, warm-up gradients per chain, steps per draw");
    for (size_t t = 0; t < all->n_targets; t++) {
        begin_row(all->targets[t]->name);
        for (size_t c = 0; c < all->n_configs; c++) {
            print_engine(all, t, c);
        }
        end_row();
    }
}

static const struct alarm {
    const char *title;
    double (*value)(const struct result *);
    double limit;
} alarms[] = {
    {"Quantiles off by more than 0.1 sd", bias, BAD_BIAS},
    {"R-hat over 1.05", rhat, 1.05},
    {"Divergences, more than 1 in 100 draws", divergent, 1.0},
};

static void print_alarm(const struct comparison *all, const struct alarm *alarm)
{
    (void)printf("\n%s\n\n", alarm->title);
    for (size_t c = 0; c < all->n_configs; c++) {
        (void)printf("- %s:", all->configs[c].name);
        for (size_t t = 0; t < all->n_targets; t++) {
            const double value = mean_of(all, alarm->value, t, c);

            if (value > alarm->limit) {
                (void)printf(" %s %.3g", all->targets[t]->name, value);
            }
        }
        (void)printf("\n");
    }
}

static void print_failures(const struct comparison *all)
{
    const size_t n = all->n_targets * all->n_configs * all->n_seeds;

    for (size_t i = 0; i < n; i++) {
        const size_t t = i / all->n_seeds / all->n_configs;
        const size_t c = i / all->n_seeds % all->n_configs;

        if (all->results[i].state == FAILED) {
            (void)printf("\nFailed: %s on %s, seed %llu: %s\n",
                         all->configs[c].name, all->targets[t]->name,
                         (unsigned long long)all->seeds[i % all->n_seeds],
                         all->results[i].message);
        }
    }
}

static void print_preamble(const struct comparison *all)
{
    const struct effort *e = &all->effort;
    const char *rival = all->configs[0].name;

    (void)printf("%u chains of %g %s; seeds", e->chains,
                 e->draws ? (double)e->draws : e->gradients,
                 e->draws ? "draws" : "gradients");
    for (size_t s = 0; s < all->n_seeds; s++) {
        (void)printf(" %llu", (unsigned long long)all->seeds[s]);
    }
    (void)printf(".  Under %s its rate, beside it ratios to that:\n"
                 "geometric means, the least and the greatest.  *: quantiles "
                 "off by more than %g sd,\nand worse than those of %s.\n",
                 rival, BAD_BIAS, rival);
}

void print_tables(const struct comparison *all)
{
    print_preamble(all);
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        print_ratios(all, &measures[i]);
    }
    print_engines(all);
    for (size_t i = 0; i < sizeof alarms / sizeof *alarms; i++) {
        print_alarm(all, &alarms[i]);
    }
    print_failures(all);
}
