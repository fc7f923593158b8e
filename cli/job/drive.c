/* drive.c - turns the crank until a run has done enough. */
#define _POSIX_C_SOURCE 200809L

#include "job/drive.h"
#include "relmc_diag.h"

#include "draws/draws.h"

#include <stdlib.h>
#include <string.h>

/* ---- times --------------------------------------------------------------- */

/* Numbers with units, largest first or in any order; seconds need no unit. */
bool stop_parse_time(const char *text, double *seconds)
{
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'s', 1.0}, {'m', 60.0}, {'h', 3600.0}, {'d', 86400.0}};
    double sum = 0.0;

    do {
        const size_t n = strspn(text, "0123456789.");
        char *digits = cli_text("%.*s", (int)(n < 40 ? n : 0), text);
        double number = 0.0, unit = text[n] ? 0.0 : 1.0;

        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            unit = text[n] == units[i].letter ? units[i].seconds : unit;
        }
        const bool is_fine = unit > 0.0 && opt_parse_real(digits, &number);

        free(digits);
        if (!is_fine) {
            return false;
        }
        sum += number * unit;
        text += n + (text[n] != '\0');
    } while (*text);
    *seconds = sum;
    return sum > 0.0;
}

int stop_read_time(double *seconds, const struct opt_set *set,
                   const char *option)
{
    const char *text = opt_get(set, option)->text;

    *seconds = CLI_NAN;
    return !text || stop_parse_time(text, seconds)
               ? CLI_OK
               : cli_fail(CLI_USAGE, set->who,
                          "--%s: \"%s\" is not a time such as 90, 30s, 10m or "
                          "3h50m",
                          option, text);
}

/* ---- rules --------------------------------------------------------------- */

bool stop_has_rule(const struct stop_rules *rules)
{
    return !isnan(rules->ess) || !isnan(rules->rhat);
}

struct drive {
    relmc_run *run;
    const struct stop_rules *rules;
    const struct record *record;
    size_t suspect; /* the parameter that failed last is asked first */
};

/* What the summary will say of it: of the draws where they are kept, else of
 * the running estimates. */
static bool ask(const struct drive *d, size_t i, double *work, double *ess,
                double *rhat)
{
    const size_t n = record_least(d->record);

    if (d->record->has_draws) {
        const relmc_series series = {work, d->record->n_chains, n, 1, n};
        relmc_summary s;

        record_gather(work, d->record, n, i);
        if (draws_are_constant(&series) || relmc_summarise(&s, &series, NULL)) {
            return false;
        }
        *ess = s.ess_bulk < s.ess_tail || isnan(s.ess_bulk) ? s.ess_bulk
                                                            : s.ess_tail;
        *rhat = s.rhat;
        return true;
    }
    relmc_online online;

    if (relmc_run_online(&online, NULL, d->run, i, 0, NULL, NULL) ||
        online.sd == 0.0) {
        return false;
    }
    *ess = online.ess;
    *rhat = online.rhat;
    return true;
}

/* Constants have nothing to say; a number that cannot be told does not hold. */
static bool holds(struct drive *d)
{
    const size_t n = record_least(d->record), dim = d->record->dim;
    const struct stop_rules *rules = d->rules;
    double *work = d->record->has_draws && n
                       ? cli_alloc(d->record->n_chains * n, sizeof *work)
                       : NULL;
    bool is_held = n > 0;

    for (size_t j = 0; j < dim && is_held; j++) {
        const size_t i = (d->suspect + j) % dim;
        double ess, rhat;

        if (ask(d, i, work, &ess, &rhat) &&
            !((isnan(rules->ess) || ess >= rules->ess) &&
              (isnan(rules->rhat) || rhat <= rules->rhat))) {
            is_held = false;
            d->suspect = i;
        }
    }
    free(work);
    return is_held;
}

/* ---- the crank ----------------------------------------------------------- */

/* After how many draws the rules are looked at, after those at `draws`: every
 * hundred, then whenever a quarter more are there. */
static int64_t next_look(int64_t draws)
{
    return draws < 400 ? draws + 100 : draws + draws / 4;
}

/* Blocks that take about this long keep the chains together, so that a run that
 * is stopped has as many draws of each. */
static const double BLOCK = 0.25; /* seconds */

static int64_t next_block(int64_t block, double took)
{
    static const int64_t most = INT64_C(1) << 53;

    return took < 0.5 * BLOCK && block < most ? 2 * block
           : took > 2.0 * BLOCK && block > 1  ? block / 2
                                              : block;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Where a run that stands at `done` is looked at next, or now. */
static int64_t first_look(int64_t warmup, int64_t done)
{
    int64_t draws = next_look(0);

    while (warmup + draws < done) {
        draws = next_look(draws);
    }
    return warmup + draws;
}

relmc_status stop_advance(relmc_run *run, int64_t n, int64_t *block,
                          relmc_error *err)
{
    const double before = cli_clock();
    const relmc_status status = relmc_run_advance(run, n, err);

    *block = next_block(*block, cli_clock() - before);
    return status;
}

relmc_status stop_run(enum ending *ending, relmc_run *run,
                      const struct stop_rules *rules,
                      const struct record *record, const relmc_options *options,
                      struct checkpoint *checkpoint, relmc_error *err)
{
    struct drive d = {.run = run, .rules = rules, .record = record};
    const int64_t warmup = options->warmup > 0 ? options->warmup : 0;
    const int64_t total = warmup + (options->draws > 0 ? options->draws : 0);
    const bool has_rule = stop_has_rule(rules);
    const double start = cli_clock();
    const int64_t first = relmc_run_position(run);
    int64_t done = first, block = 1;
    int64_t look = has_rule ? first_look(warmup, done) : total;
    relmc_status status = RELMC_OK;

    *ending = ENDED_IN_FULL;
    for (;;) {
        if (done >= look || done >= total) {
            *ending = has_rule && holds(&d) ? ENDED_BY_RULE : ENDED_IN_FULL;
            look = warmup + next_look(look - warmup);
        }
        if (done >= total || *ending == ENDED_BY_RULE) {
            return status;
        }
        if (done > first && cli_clock() - start >= rules->seconds) {
            *ending = ENDED_BY_TIME;
            return status;
        }
        const int64_t until = least(done + block, least(look, total));

        if ((status = checkpoint_tend(checkpoint, err)) ||
            (status = stop_advance(run, until - done, &block, err))) {
            return status;
        }
        done = until;
    }
}
