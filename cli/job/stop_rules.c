/* stop_rules.c - rules that end a run by its draws, and times in options. */
#include "job/stop_rules.h"
#include "relmc_diag.h"

#include "draws/draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- times --------------------------------------------------------------- */

/* Numbers with units in any order; seconds need no unit. */
static bool parse_time(const char *text, double *seconds)
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

int stop_rules_read_time(double *seconds, const struct opt_set *set,
                         const char *option)
{
    const char *text = opt_get(set, option)->text;

    *seconds = CLI_NAN;
    return !text || parse_time(text, seconds)
               ? CLI_OK
               : cli_fail(CLI_USAGE, set->who,
                          "--%s: \"%s\" is not a time such as 90, 30s, 10m or "
                          "3h50m",
                          option, text);
}

/* ---- rules --------------------------------------------------------------- */

bool stop_rules_are_given(const struct stop_rules *rules)
{
    return !isnan(rules->ess) || !isnan(rules->rhat);
}

/* As in the summary: of the draws where they are kept, else of the running
 * estimates.  False for a constant. */
static bool measure(const struct record *record, size_t i, double *work,
                    double *ess, double *rhat)
{
    const size_t n = record_least(record);

    if (record->has_draws) {
        const relmc_series series = {work, record->n_chains, n, 1, n};
        relmc_summary s = RELMC_INIT(relmc_summary);

        record_gather(work, record, n, i);
        if (draws_are_constant(&series) || relmc_summarise(&s, &series, NULL)) {
            return false;
        }
        *ess = s.ess_bulk < s.ess_tail || isnan(s.ess_bulk) ? s.ess_bulk
                                                            : s.ess_tail;
        *rhat = s.rhat;
        return true;
    }
    relmc_online online = RELMC_INIT(relmc_online);

    if (relmc_run_online(&online, NULL, record->run, i, 0, NULL, NULL) ||
        online.sd == 0.0) {
        return false;
    }
    *ess = online.ess;
    *rhat = online.rhat;
    return true;
}

/* An undefined number is not enough. */
bool stop_rules_hold(const struct stop_rules *rules,
                     const struct record *record, size_t *suspect)
{
    const size_t n = record_least(record), dim = record->dim;
    double *work = record->has_draws && n
                       ? cli_alloc(record->n_chains * n, sizeof *work)
                       : NULL;
    bool is_held = n > 0;

    for (size_t j = 0; j < dim && is_held; j++) {
        const size_t i = (*suspect + j) % dim;
        double ess, rhat;

        if (measure(record, i, work, &ess, &rhat) &&
            !((isnan(rules->ess) || ess >= rules->ess) &&
              (isnan(rules->rhat) || rhat <= rules->rhat))) {
            is_held = false;
            *suspect = i;
        }
    }
    free(work);
    return is_held;
}

/* ---- where to look ------------------------------------------------------- */

int64_t stop_rules_next_look(int64_t warmup, int64_t done)
{
    int64_t draws = 100;

    while (warmup + draws < done) {
        draws = draws < 400 ? draws + 100 : draws + draws / 4;
    }
    return warmup + draws;
}
