/* sample_method.c - the options of `relmc sample` that choose the method: which
 * exclude each other, and shorthands that become parameters of components. */
#include "job/sample.h"

#include "tool/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Given by the user, and not as --no-NAME. */
static bool is_wanted(const struct opt_set *set, const char *name)
{
    const struct opt *o = &set->command->options[opt_place(set, name)];

    return opt_is_given(set, name) &&
           (o->kind != OPT_FLAG || opt_get(set, name)->is_on);
}

static void drop(struct opt_set *set, const char *name)
{
    struct opt_value *v = &set->values[opt_place(set, name)];

    free(v->text);
    *v = (struct opt_value){0};
}

/* ---- options that exclude each other ------------------------------------- */

/* Pairs of options that exclude each other. */
static const char *const rivals[][2] = {
    {"mass", "cruise"},          {"speed", "max-step"},
    {"leapfrog", "int-time"},    {"fix", "adapt"},
    {"fix", "target-accept"},    {"output", "no-output"},
    {"no-summary", "until-ess"}, {"no-summary", "until-rhat"},
};
enum { N_RIVALS = sizeof rivals / sizeof *rivals };

/* The stronger source wins; equally strong ones are an error. */
static int settle(struct opt_set *set, const char *a, const char *b)
{
    if (!is_wanted(set, a) || !is_wanted(set, b)) {
        return CLI_OK;
    }
    const enum opt_source of_a = opt_get(set, a)->source;
    const enum opt_source of_b = opt_get(set, b)->source;
    if (of_a == of_b) {
        return cli_fail(CLI_USAGE, set->who,
                        "--%s and --%s exclude each other: give one of them", a,
                        b);
    }
    drop(set, of_a < of_b ? a : b);
    return CLI_OK;
}

int sample_method_settle(struct opt_set *set)
{
    int code = CLI_OK;

    for (size_t i = 0; i < N_RIVALS && !code; i++) {
        code = settle(set, rivals[i][0], rivals[i][1]);
    }
    return code;
}

/* ---- shorthands for parameters of components ----------------------------- */

/* An option that sets a parameter of a component, and the option that names
 * the component. */
struct shorthand {
    const char *option, *component, *key;
    const char *text; /* the value */
};

static int no_such_param(const struct opt_set *set, const struct shorthand *s,
                         const char *spec)
{
    const char *role = s->component;
    relmc_component component = RELMC_INIT(relmc_component);
    relmc_parameter param;
    char others[200] = "";
    size_t n = 0;

    for (size_t i = 0; !relmc_component_at(role, i, &component, NULL); i++) {
        if (spec_param(role, component.name, s->key, &param) &&
            n < sizeof others) {
            n += (size_t)snprintf(others + n, sizeof others - n, "%s%s",
                                  n ? ", " : "", component.name);
        }
    }
    return cli_fail(
        CLI_USAGE, set->who, "--%s: %s has no parameter %s (%s: --%s %s)",
        s->option, spec_name(role, spec), s->key,
        n ? "these have it" : "none has it", s->component, n ? others : "...");
}

static int check_param(const struct opt_set *set, const struct shorthand *s,
                       const relmc_parameter *param)
{
    const bool is_whole = !strcmp(param->kind, "integer");
    double number = 0.0;

    if (!strcmp(param->kind, "vector") && *s->text == '[') {
        return CLI_OK; /* the library reads lists */
    }
    if (opt_parse_real(s->text, &number) && number >= param->min &&
        number <= param->max && (!is_whole || number == floor(number))) {
        return CLI_OK;
    }
    return cli_fail(CLI_USAGE, set->who,
                    "--%s: \"%s\" is not a %snumber from %g to %g", s->option,
                    s->text, is_whole ? "whole " : "", param->min, param->max);
}

/* The key that a shorthand replaces in the spec: its own, or that of the option
 * it excludes; NULL if the spec has neither. */
static const char *key_in_the_way(const struct opt_set *set,
                                  const struct shorthand *s, const char *spec)
{
    const struct opt *options = set->command->options;
    size_t n = 0;

    if (relmc_spec_get(spec, s->key, &n)) {
        return s->key;
    }
    for (size_t i = 0; i < N_RIVALS; i++) {
        for (int side = 0; side < 2; side++) {
            const char *other = rivals[i][1 - side];
            const char *key = options[opt_place(set, other)].key;

            if (!strcmp(rivals[i][side], s->option) && key &&
                relmc_spec_get(spec, key, &n)) {
                return key;
            }
        }
    }
    return NULL;
}

/* Merges one shorthand into the spec of its component. The stronger of the two
 * sources wins. */
static int merge(struct opt_set *set, const struct shorthand *s, char **spec)
{
    const struct opt_value *whole = opt_get(set, s->component);
    const enum opt_source source = opt_get(set, s->option)->source;
    relmc_parameter param;
    int code;

    if (source < whole->source) {
        drop(set, s->option);
        return CLI_OK;
    }
    if (!spec_param(s->component, *spec, s->key, &param)) {
        return no_such_param(set, s, *spec);
    }
    if ((code = check_param(set, s, &param))) {
        return code;
    }
    const char *old = key_in_the_way(set, s, whole->text);
    if (old && source == whole->source) {
        return cli_fail(CLI_USAGE, set->who,
                        "--%s and %s= in --%s %s: give one of them", s->option,
                        old, s->component, whole->text);
    }
    char *cleared = old ? spec_without(*spec, old) : cli_text("%s", *spec);
    free(*spec);
    *spec = spec_with(cleared, s->key, s->text);
    free(cleared);
    return CLI_OK;
}

/* A shorthand for a parameter of that component? */
static bool is_shorthand(const struct opt *o, const char *component)
{
    return o->kind == OPT_PARAM && !strcmp(o->choices, component);
}

static int merge_all(struct opt_set *set, const char *component, char **spec)
{
    int code = CLI_OK;

    for (const struct opt *o = set->command->options; o->name && !code; o++) {
        if (is_shorthand(o, component) && opt_is_given(set, o->name)) {
            char *text = cli_text("%s", opt_get(set, o->name)->text);
            const struct shorthand s = {o->name, component, o->key, text};

            code = merge(set, &s, spec);
            free(text);
        }
    }
    return code;
}

/* --max-step is eps c, so it needs a fixed eps: with adaptation, --step-size is
 * only the first guess. */
static int merge_max_step(struct opt_set *set, struct sample_plan *plan)
{
    if (!opt_is_given(set, "max-step")) {
        return CLI_OK;
    }
    if (plan->is_adaptive) {
        return cli_fail(CLI_USAGE, set->who,
                        "--max-step is step size times c, and the step size "
                        "is adapted: give --fix and --step-size E with it, or "
                        "--speed C in its place");
    }
    char *c = cli_text("%.17g", opt_get(set, "max-step")->real /
                                    plan->options.step_size);
    const struct shorthand s = {"max-step", "kinetic", "c", c};
    const int code = merge(set, &s, &plan->kinetic);

    free(c);
    return code;
}

/* With a Metropolis step any step size gives the right distribution. Without
 * one, no default would be right on most targets. */
static int need_step(const struct sample_plan *plan, const struct opt_set *set)
{
    const char *sampler = plan->sampler;
    size_t n = 0;

    if (!spec_is_unadjusted(sampler) || spec_optimises(sampler) ||
        relmc_spec_get(sampler, "lr", &n)) {
        return CLI_OK;
    }
    return cli_fail(CLI_USAGE, set->who,
                    "%s has no Metropolis step and tunes nothing: give it a "
                    "--step-size, such as a tenth of the smallest standard "
                    "deviation you expect, less with minibatches",
                    spec_name("sampler", sampler));
}

/* Parameters without a default replace an option: lr of sghmc the step size.
 * That of adam is only a factor. */
static int check_rate(const struct sample_plan *plan, const struct opt_set *set)
{
    const char *sampler = plan->sampler;
    relmc_parameter lr;
    size_t n = 0;

    return spec_param("sampler", sampler, "lr", &lr) && isnan(lr.fallback) &&
                   relmc_spec_get(sampler, "lr", &n) &&
                   opt_get(set, "step-size")->source == OPT_ARGUMENT
               ? cli_fail(CLI_USAGE, set->who,
                          "--step-size and lr= in --sampler %s: give one of "
                          "them",
                          sampler)
               : CLI_OK;
}

/* What is adapted, and the step size it starts from. */
static int plan_adaptation(struct sample_plan *plan, struct opt_set *set,
                           const struct voice *voice)
{
    int code = merge_all(set, "adapt", &plan->adapt);

    if (code) {
        return code;
    }
    if (is_wanted(set, "fix")) {
        free(plan->adapt);
        plan->adapt = cli_text("none");
    }
    plan->is_adaptive = strcmp(plan->adapt, "none") != 0;
    plan->target_accept = spec_number("adapt", plan->adapt, "delta");
    plan->options.step_size = opt_get(set, "step-size")->real;
    if (!plan->is_adaptive && !opt_is_given(set, "step-size")) {
        if ((code = need_step(plan, set))) {
            return code;
        }
        cli_say(voice, "note: no adaptation and no --step-size: it is 1");
        plan->options.step_size = 1.0;
    }
    return CLI_OK;
}

/* The configuration that is written has everything in the specs, so that a run
 * repeated from it has no conflicts to resolve. */
static int record(struct opt_set *set, const char *component, const char *spec)
{
    static const char *const others[][2] = {{"kinetic", "max-step"},
                                            {"adapt", "fix"}};
    enum opt_source strongest = opt_get(set, component)->source;

    for (const struct opt *o = set->command->options; o->name; o++) {
        bool is_in_it = is_shorthand(o, component);

        for (size_t j = 0; j < sizeof others / sizeof *others; j++) {
            is_in_it |= !strcmp(component, others[j][0]) &&
                        !strcmp(o->name, others[j][1]);
        }
        if (is_in_it && is_wanted(set, o->name)) {
            const enum opt_source source = opt_get(set, o->name)->source;

            strongest = source > strongest ? source : strongest;
            drop(set, o->name);
        }
    }
    return opt_assign(set, opt_place(set, component), spec, strongest, "spec");
}

/* --leapfrog, --int-time and --jitter mean trajectories of a given length:
 * plain HMC, unless a sampler was given. */
static const char *sampler_of(struct opt_set *set)
{
    static const char *const of_hmc[] = {"leapfrog", "int-time", "jitter"};

    for (size_t i = 0; i < sizeof of_hmc / sizeof *of_hmc; i++) {
        if (opt_is_given(set, of_hmc[i]) && !opt_is_given(set, "sampler")) {
            return "hmc";
        }
    }
    return opt_get(set, "sampler")->text;
}

/* --metric without a file sets the kind that is adapted. */
static int plan_adapted_metric(struct sample_plan *plan, struct opt_set *set)
{
    static const struct {
        const char *kind, *number;
    } kinds[] = {{"diag_e", "0"}, {"dense_e", "2"}};
    const char *kind = opt_get(set, "metric")->text;
    relmc_parameter param;
    size_t n = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!kind || opt_get(set, "inv-metric")->text ||
            strcmp(kind, kinds[i].kind) != 0 ||
            relmc_spec_get(plan->adapt, "metric", &n)) {
            continue;
        }
        if (!spec_param("adapt", plan->adapt, "metric", &param)) {
            return cli_fail(CLI_USAGE, set->who,
                            "--metric %s needs --adapt auto, or a file: "
                            "--inv-metric FILE",
                            kind);
        }
        char *adapt = spec_with(plan->adapt, "metric", kinds[i].number);
        free(plan->adapt);
        plan->adapt = adapt;
    }
    return CLI_OK;
}

/* Without a Metropolis step there is nothing to adapt, and the defaults of the
 * library differ. */
static void choose_components(struct sample_plan *plan, struct opt_set *set)
{
    const char *sampler = sampler_of(set);
    const bool is_unadjusted = spec_is_unadjusted(sampler);
    const char *usual_kinetic =
        spec_has_momentum(sampler) ? "separable" : "newtonian";

    plan->sampler = cli_text("%s", sampler);
    plan->kinetic =
        cli_text("%s", is_unadjusted && !opt_is_given(set, "kinetic")
                           ? usual_kinetic
                           : opt_get(set, "kinetic")->text);
    plan->adapt = cli_text("%s", is_unadjusted && !opt_is_given(set, "adapt")
                                     ? "none"
                                     : opt_get(set, "adapt")->text);
}

int sample_method_plan(struct sample_plan *plan, struct opt_set *set,
                       const struct voice *voice)
{
    int code;

    choose_components(plan, set);
    if ((code = spec_refuse_idle(set, plan->sampler)) ||
        (code = check_rate(plan, set)) ||
        (code = plan_adaptation(plan, set, voice)) ||
        (code = plan_adapted_metric(plan, set)) ||
        (code = merge_all(set, "sampler", &plan->sampler)) ||
        (code = merge_all(set, "kinetic", &plan->kinetic)) ||
        (code = merge_max_step(set, plan)) ||
        (code = record(set, "adapt", plan->adapt)) ||
        (code = record(set, "sampler", plan->sampler)) ||
        (code = record(set, "kinetic", plan->kinetic))) {
        return code;
    }
    plan->speed_of_light = spec_number("kinetic", plan->kinetic, "c");
    plan->options.sampler = plan->sampler;
    plan->options.kinetic = plan->kinetic;
    plan->options.adapt = plan->adapt;
    plan->options.integrator = opt_get(set, "integrator")->text;
    return CLI_OK;
}
