/* optimize_plan.c - turns the options of `relmc optimize` into those of the
 * library. */
#define _POSIX_C_SOURCE 200809L

#include "job/optimize.h"

#include "job/init_points.h"
#include "job/team.h"
#include "tool/spec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which optimiser ----------------------------------------------------- */

/* RSGD with linear friction. Networks start near their final weights and need
 * weight decay; the priors of other models are part of the problem. */
static const char *usual_optimizer(const char *model, bool has_data)
{
    const bool is_network = !strncmp(model, "mlp", strcspn(model, ":"));

    return is_network ? "sgd:lr=0.1,momentum=0.9,max_step=0.003,decay=0.00017,"
                        "schedule=cosine"
           : has_data ? "sgd:lr=0.1,momentum=0.9,max_step=0.1,schedule=cosine"
                      : "sgd:lr=0.05,momentum=0.9,max_step=0.1,schedule=cosine";
}

static int not_an_optimizer(const struct opt_set *set, const char *spec)
{
    char names[200] = "";
    size_t n = 0;
    relmc_component c = RELMC_INIT(relmc_component);

    for (size_t i = 0; !relmc_component_at("sampler", i, &c, NULL); i++) {
        if ((c.flags & RELMC_OPTIMISES) && n < sizeof names) {
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s",
                                  n ? ", " : "", c.name);
        }
    }
    return cli_fail(CLI_USAGE, set->who, "%.*s is no optimiser: %s are",
                    (int)strcspn(spec, ":"), spec, names);
}

/* ---- how far ------------------------------------------------------------- */

/* Steps of an iteration: a divisor of those between reports, and large enough
 * that observers are called rarely. Points of networks are large, and passing
 * them to observers takes time. */
static int64_t steps_of(int64_t between, size_t dim)
{
    enum { FEW = 10, MORE = 30, LARGE = 10000 };
    int64_t steps = dim < LARGE ? FEW : MORE;

    while (between % steps) {
        steps--;
    }
    return steps;
}

static int64_t total_of(const struct optimize_plan *j,
                        const struct opt_set *set)
{
    const struct opt_value *steps = opt_get(set, "steps");
    const struct opt_value *epochs = opt_get(set, "epochs");

    return opt_is_given(set, "steps")    ? (int64_t)steps->count
           : opt_is_given(set, "epochs") ? (int64_t)epochs->count * j->per_epoch
           : j->options.batch_rows       ? 20 * j->per_epoch
           : j->has_epochs               ? 1000
                                         : 10000;
}

static int plan_steps(struct optimize_plan *j, const struct opt_set *set,
                      const relmc_target *target)
{
    const size_t n = relmc_target_n_data(target);
    size_t length = 0;

    if (opt_is_given(set, "steps") && opt_is_given(set, "epochs")) {
        return cli_fail(CLI_USAGE, set->who,
                        "--epochs and --steps exclude each other: give one of "
                        "them");
    }
    j->has_epochs = n > 0;
    const size_t batches =
        j->options.batch_rows ? n / j->options.batch_rows : 1;
    j->per_epoch = batches ? (int64_t)batches : 1;
    const int64_t total = total_of(j, set);
    const int64_t epochs = total / j->per_epoch;
    const bool is_long = epochs > 100 && !opt_is_given(set, "patience");
    const int64_t usual = is_long ? (epochs + 19) / 20 : 1;
    int64_t between =
        j->per_epoch * (opt_is_given(set, "every")
                            ? (int64_t)opt_get(set, "every")->count
                            : usual);
    between = between < total ? between : total;
    const char *given = relmc_spec_get(j->optimizer, "steps", &length);
    j->steps = given ? (int64_t)strtod(given, NULL)
                     : steps_of(between, relmc_target_dim(target));
    j->steps = j->steps > 0 ? j->steps : 1; /* the library will complain */
    j->every = (between + j->steps - 1) / j->steps;
    j->options.draws = (total + j->steps - 1) / j->steps;
    if (!given) {
        char *text = cli_text("%lld", (long long)j->steps);
        char *spec = spec_with(j->optimizer, "steps", text);

        free(text);
        free(j->optimizer);
        j->optimizer = spec;
    }
    return CLI_OK;
}

/* ---- the rest ------------------------------------------------------------ */

/* One point for all chains, or one for each. */
static int plan_init(struct optimize_plan *j, const struct opt_set *set,
                     size_t dim)
{
    const char *path = opt_get(set, "init")->text;
    const size_t n_chains = j->options.chains;
    struct points points = {0};
    int code = path ? init_points_read(&points, path, dim, set->who) : CLI_OK;

    if (!path || code) {
        return code;
    }
    if (points.n != 1 && points.n != n_chains) {
        code = cli_fail(CLI_MODEL, set->who, "%s: %zu points for %zu chains",
                        path, points.n, n_chains);
    } else {
        j->init = cli_alloc(n_chains * dim, sizeof *j->init);
        for (size_t k = 0; k < n_chains; k++) {
            memcpy(j->init + k * dim,
                   points.values + (points.n == 1 ? 0 : k * dim),
                   dim * sizeof *points.values);
        }
        j->options.init = j->init;
    }
    free(points.values);
    return code;
}

static uint32_t threads_of(const struct opt_set *set, uint32_t chains)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t cpus = online > 0 ? (uint32_t)online : 1;

    return team_threads(set, opt_get(set, "cores")->count,
                        chains < cpus ? chains : cpus);
}

int optimize_plan_make(struct optimize_plan *out, const struct opt_set *set,
                       const relmc_target *target)
{
    const char *model = set->argument;
    const bool has_data = relmc_target_n_data(target) > 0;
    relmc_options *o = &out->options;
    int code;

    *out = (struct optimize_plan){.options = RELMC_INIT(relmc_options)};
    out->optimizer = cli_text("%s", opt_is_given(set, "optimizer")
                                        ? opt_get(set, "optimizer")->text
                                        : usual_optimizer(model, has_data));
    if (!spec_optimises(out->optimizer)) {
        return not_an_optimizer(set, out->optimizer);
    }
    o->chains = (uint32_t)opt_get(set, "chains")->count;
    o->threads = threads_of(set, o->chains);
    o->kinetic = opt_get(set, "kinetic")->text;
    o->warmup = RELMC_ZERO;
    o->keep = RELMC_ZERO;
    o->seed = opt_get(set, "seed")->count;
    if ((code = spec_refuse_idle(set, out->optimizer)) ||
        (code = data_options_batches(o, set, target)) ||
        (code = plan_steps(out, set, target)) ||
        (code = plan_init(out, set, relmc_target_dim(target)))) {
        return code;
    }
    o->sampler = out->optimizer;
    if (!opt_get(set, "no-output")->is_on) {
        out->base =
            opt_get(set, "output")->text
                ? cli_text("%s", opt_get(set, "output")->text)
                : cli_text("%.*s_%.*s", (int)strcspn(model, ":"), model,
                           (int)strcspn(out->optimizer, ":"), out->optimizer);
    }
    return CLI_OK;
}

void optimize_plan_clear(struct optimize_plan *plan)
{
    free(plan->optimizer);
    free(plan->base);
    free(plan->init);
}
