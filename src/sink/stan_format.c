/* stan_format.c - the text in files of draws, as CmdStan's readers need it:
 * configuration, column names, results of adaptation, times.
 */
#include "sink/stan_format.h"
#include "base/spec.h"
#include "base/version.h"

#include <stdlib.h>
#include <string.h>

/* ---- in front of the draws -------------------------------------------------- */

static void set_found(struct rmc_stan_found *found, const char *text, size_t n)
{
    (void)snprintf(found->text, sizeof found->text, "%.*s", (int)n, text);
}

/* Padded with blanks, so that it can be overwritten. */
static void put_found(struct rmc_stan_text *t, int which, const char *text,
                      size_t n)
{
    struct rmc_stan_found *found = &t->found[which];

    set_found(found, text, n);
    found->width =
        which == RMC_FOUND_METRIC ? 7 /* dense_e */ : RMC_LONGEST_FOUND;
    found->place = ftell(t->stream);
    (void)fprintf(t->stream, "%-*s\n", found->width, found->text);
}

/* Keys of relmc. */
static void write_method(struct rmc_stan_text *t, const relmc_header *h)
{
    const relmc_options *o = h->options;

    (void)fprintf(t->stream,
                  "# " RELMC_KEY_VERSION " = %s\n"
                  "# %s = %s\n"
                  "# " RELMC_KEY_SAMPLER " = %s\n"
                  "# " RELMC_KEY_KINETIC " = %s\n"
                  "# " RELMC_KEY_INTEGRATOR " = %s\n"
                  "# " RELMC_KEY_ADAPT " = %s\n",
                  RMC_VERSION_TEXT,
                  h->library ? RELMC_KEY_LIBRARY : RELMC_KEY_SPEC,
                  h->library ? h->library : h->model, o->sampler, o->kinetic,
                  o->integrator, o->adapt);
    if (h->library) { /* its columns are not its coordinates */
        (void)fprintf(t->stream, "# " RELMC_KEY_COORDINATES " = %zu\n",
                      h->n_coordinates);
    }
    (void)fputs("# " RELMC_KEY_CHOSEN_SAMPLER " = ", t->stream);
    put_found(t, RMC_FOUND_ENGINE, o->sampler,
              rmc_spec_name_length(o->sampler));
    (void)fputs("# " RELMC_KEY_CHOSEN_KINETIC " = ", t->stream);
    put_found(t, RMC_FOUND_KINETIC, o->kinetic,
              rmc_spec_name_length(o->kinetic));
}

/* Readers fail on missing lines, so every line that one of them needs is here,
 * in CmdStan's order; keys of relmc start with relmc_. */
static void write_config(struct rmc_stan_text *t, uint32_t chain,
                         const relmc_header *h)
{
    const relmc_options *o = h->options;
    const size_t name = rmc_spec_name_length(h->model);
    const char *metric = o->inv_metric_dense ? "dense_e"
                         : o->inv_metric     ? "diag_e"
                                             : "unit_e";
    const char *depth = strstr(o->sampler, "max_depth=");
    const char *engine = depth ? "nuts" : "static";
    char step[32], radius[32];

    (void)rmc_format_number(step, o->step_size, t->digits);
    (void)rmc_format_number(radius, o->init_radius, t->digits);
    (void)fprintf(t->stream,
                  "# " RELMC_KEY_STAN_MAJOR " = 2\n"
                  "# " RELMC_KEY_STAN_MINOR " = 36\n"
                  "# stan_version_patch = 0\n"
                  "# " RELMC_KEY_MODEL " = %.*s_model\n"
                  "# " RELMC_KEY_METHOD " = sample\n"
                  "#   sample\n"
                  "#     " RELMC_KEY_DRAWS " = ",
                  (int)name, h->model);
    t->num_samples = ftell(t->stream);
    (void)fprintf(t->stream,
                  "%-*lld\n"
                  "#     " RELMC_KEY_WARMUP " = %lld\n"
                  "#     " RELMC_KEY_SAVE_WARMUP " = %u\n"
                  "#     " RELMC_KEY_THIN " = %u\n"
                  "#     adapt\n"
                  "#       " RELMC_KEY_ENGAGED " = %d\n"
                  "#     " RELMC_KEY_ALGORITHM " = hmc\n"
                  "#       hmc\n"
                  "#         " RELMC_KEY_ENGINE " = %s\n"
                  "#           %s\n"
                  "#             " RELMC_KEY_MAX_DEPTH " = %ld\n"
                  "#         metric = ",
                  t->width, (long long)h->draws, (long long)h->warmup,
                  o->keep & RELMC_KEEP_WARMUP ? 1 : 0, o->thin,
                  strncmp(o->adapt, "none", 4) != 0, engine, engine,
                  depth ? strtol(depth + strlen("max_depth="), NULL, 10) : 10);
    put_found(t, RMC_FOUND_METRIC, metric, strlen(metric));
    (void)fprintf(t->stream,
                  "#         stepsize = %s\n"
                  "# " RELMC_KEY_ID " = %u\n"
                  "# data\n"
                  "#   " RELMC_KEY_FILE " = %s\n"
                  "# init = %s\n"
                  "# random\n"
                  "#   seed = %llu\n"
                  "# output\n"
                  "#   " RELMC_KEY_FILE " = %s\n"
                  "#   " RELMC_KEY_DIGITS " = %d\n"
                  "# num_threads = 1\n",
                  step, chain + 1, h->data, radius, (unsigned long long)o->seed,
                  t->path, t->digits);
    write_method(t, h);
}

void rmc_stan_head(struct rmc_stan_text *t, uint32_t chain,
                   const relmc_header *h)
{
    write_config(t, chain, h);
    (void)fputs(RELMC_COLUMN_LP
                "," RELMC_COLUMN_ACCEPT_PROB "," RELMC_COLUMN_STEP_SIZE
                "," RELMC_COLUMN_TREE_DEPTH "," RELMC_COLUMN_STEPS
                "," RELMC_COLUMN_DIVERGENT "," RELMC_COLUMN_ENERGY
                "," RELMC_COLUMN_SPEED,
                t->stream);
    for (size_t i = 0; i < h->dim; i++) {
        (void)fprintf(t->stream, ",%s", h->names[i]);
    }
    (void)fputc('\n', t->stream);
}

/* ---- draws ------------------------------------------------------------------ */

void rmc_stan_numbers(const struct rmc_stan_text *t, const char *lead,
                      const char *separator, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char digits[32];
        const size_t bytes = rmc_format_number(digits, values[i], t->digits);

        (void)fputs(i ? separator : lead, t->stream);
        (void)fwrite(digits, 1, bytes, t->stream);
    }
}

/* ---- between and behind them ------------------------------------------------ */

/* Row i of L L'. */
static void write_row(const struct rmc_stan_text *t, const double *chol,
                      size_t n, size_t i)
{
    for (size_t j = 0; j < n; j++) {
        double sum = 0.0;
        for (size_t k = 0; k <= i && k <= j; k++) {
            sum += chol[i * n + k] * chol[j * n + k];
        }
        rmc_stan_numbers(t, j ? ", " : "# ", "", &sum, 1);
    }
    (void)fputc('\n', t->stream);
}

void rmc_stan_adaptation(struct rmc_stan_text *t, const relmc_milestone *m,
                         size_t n_coordinates)
{
    const char *names[RMC_N_FOUND] = {
        [RMC_FOUND_METRIC] = m->chol         ? "dense_e"
                             : m->inv_metric ? "diag_e"
                                             : "unit_e",
        [RMC_FOUND_ENGINE] = m->engine,
        [RMC_FOUND_KINETIC] = m->kinetic,
    };

    for (size_t i = 0; i < RMC_N_FOUND; i++) {
        set_found(&t->found[i], names[i], strlen(names[i]));
    }
    (void)fputs("# " RELMC_CSV_ADAPTED "\n# " RELMC_CSV_STEP_SIZE " ",
                t->stream);
    rmc_stan_numbers(t, "", "", &m->step_size, 1);
    (void)fputc('\n', t->stream);
    if (m->chol) {
        (void)fputs("# " RELMC_CSV_DENSE "\n", t->stream);
        for (size_t i = 0; i < n_coordinates; i++) {
            write_row(t, m->chol, n_coordinates, i);
        }
    } else if (m->inv_metric) {
        (void)fputs("# " RELMC_CSV_DIAGONAL "\n", t->stream);
        rmc_stan_numbers(t, "# ", ", ", m->inv_metric, n_coordinates);
        (void)fputc('\n', t->stream);
    }
}

void rmc_stan_archive(struct rmc_stan_text *t, relmc_archive *a)
{
    for (size_t i = 0; i < RMC_N_FOUND; i++) {
        char *text = t->found[i].text;

        relmc_archive_bytes(a, text, sizeof t->found[i].text);
        text[RMC_LONGEST_FOUND] = '\0';
    }
}

void rmc_stan_times(const struct rmc_stan_text *t, const relmc_milestone *m)
{
    const struct {
        const char *lead, *what;
        double seconds;
    } lines[] = {
        {RELMC_CSV_ELAPSED, RELMC_CSV_SECONDS_WARMUP, m->seconds_warmup},
        {RELMC_CSV_ELAPSED_INDENT, RELMC_CSV_SECONDS_SAMPLING,
         m->seconds_sampling},
        {RELMC_CSV_ELAPSED_INDENT, RELMC_CSV_SECONDS_TOTAL,
         m->seconds_warmup + m->seconds_sampling},
    };

    (void)fputs("# \n", t->stream);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char digits[32];

        (void)rmc_format_number(digits, lines[i].seconds, 4);
        (void)fprintf(t->stream, "%s%s %s\n", lines[i].lead, digits,
                      lines[i].what);
    }
    (void)fputs("# \n", t->stream);
}
