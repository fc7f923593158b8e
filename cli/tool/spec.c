/* spec.c - specs of components: "hmc:steps=20,jitter=0.2". */
#include "tool/spec.h"

#include "tool/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool spec_find(const char *role, const char *spec, relmc_component *out)
{
    *out = (relmc_component)RELMC_INIT(relmc_component);
    return !relmc_component_find(role, spec, out, NULL);
}

const char *spec_name(const char *role, const char *spec)
{
    relmc_component component;

    return spec_find(role, spec, &component) ? component.name : NULL;
}

bool spec_param(const char *role, const char *spec, const char *key,
                relmc_parameter *out)
{
    *out = (relmc_parameter)RELMC_INIT(relmc_parameter);
    for (size_t i = 0; !relmc_component_param(role, spec, i, out, NULL); i++) {
        if (!strcmp(out->name, key)) {
            return true;
        }
    }
    return false;
}

const char *spec_nearest(const char *role, const char *name)
{
    struct nearest nearest = {.wanted = name};
    relmc_component component = RELMC_INIT(relmc_component);

    for (size_t i = 0; !relmc_component_at(role, i, &component, NULL); i++) {
        cli_nearest_offer(&nearest, component.name);
    }
    return nearest.word;
}

char *spec_with(const char *spec, const char *key, const char *value)
{
    size_t n = 0;
    const char *old = relmc_spec_get(spec, key, &n);

    if (old) {
        return cli_text("%.*s%s%s", (int)(old - spec), spec, value, old + n);
    }
    return cli_text("%s%c%s=%s", spec, strchr(spec, ':') ? ',' : ':', key,
                    value);
}

char *spec_without(const char *spec, const char *key)
{
    size_t n = 0;
    const char *value = relmc_spec_get(spec, key, &n);

    if (!value) {
        return cli_text("%s", spec);
    }
    const char *pair = value - strlen(key) - 1;
    const char *rest = value + n;

    if (*rest == ',') { /* the separator before the pair serves the next one */
        return cli_text("%.*s%s", (int)(pair - spec), spec, rest + 1);
    }
    return cli_text("%.*s", (int)(pair - 1 - spec), spec);
}

double spec_number(const char *role, const char *spec, const char *key)
{
    relmc_parameter param;
    size_t n = 0;
    const char *given = relmc_spec_get(spec, key, &n);
    double value =
        spec_param(role, spec, key, &param) ? param.fallback : CLI_NAN;

    if (given) {
        char *text = cli_text("%.*s", (int)n, given);

        if (!opt_parse_real(text, &value)) {
            value = CLI_NAN;
        }
        free(text);
    }
    return value;
}

static unsigned flags_of(const char *sampler)
{
    relmc_component component;

    return spec_find("sampler", sampler, &component) ? component.flags : 0;
}

bool spec_is_unadjusted(const char *sampler)
{
    return (flags_of(sampler) & RELMC_UNADJUSTED) != 0;
}

bool spec_optimises(const char *sampler)
{
    return (flags_of(sampler) & RELMC_OPTIMISES) != 0;
}

bool spec_has_momentum(const char *sampler)
{
    return (flags_of(sampler) & RELMC_NO_MOMENTUM) == 0;
}

bool spec_has_engines(const char *sampler)
{
    return (flags_of(sampler) & RELMC_HAS_ENGINES) != 0;
}

/* What an option of that role needs and the sampler does not have; or NULL. */
static const char *lack_of(const char *sampler, const char *role)
{
    return !strcmp(role, "integrator") && spec_is_unadjusted(sampler)
               ? "trajectories"
           : !strcmp(role, "kinetic") && !spec_has_momentum(sampler) ? "momenta"
                                                                     : NULL;
}

int spec_refuse_idle(const struct opt_set *set, const char *sampler)
{
    for (const struct opt *o = set->command->options; o->name; o++) {
        const struct opt_value *v = &set->values[o - set->command->options];
        const bool has_role = o->kind == OPT_SPEC || o->kind == OPT_PARAM;
        const char *lack = has_role ? lack_of(sampler, o->choices) : NULL;

        if (lack && v->source == OPT_ARGUMENT) {
            return cli_fail(CLI_USAGE, set->who,
                            "--%s does nothing here: %s has no %s", o->name,
                            spec_name("sampler", sampler), lack);
        }
    }
    return CLI_OK;
}

char *spec_method(const char *sampler, const char *kinetic)
{
    const char *energy = kinetic ? spec_name("kinetic", kinetic) : NULL;
    relmc_parameter c;
    char *name = cli_text("%.*s", (int)strcspn(sampler, ":"), sampler);

    if (energy && !strcmp(name, "auto")) {
        free(name);
        return cli_text("self-tuning, %s energy", energy);
    }
    for (char *s = name; *s; s++) {
        *s = (char)(*s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
    }
    if (!energy || !spec_has_momentum(sampler)) {
        return name;
    }
    const bool is_named = strcmp(energy, "relativistic") != 0;
    char *method = cli_text(
        "%s%s%s%s%s",
        spec_param("kinetic", energy, "c", &c) ? "relativistic " : "", name,
        is_named ? " (" : "", is_named ? energy : "", is_named ? ")" : "");
    free(name);
    return method;
}
