/* component_spec.c - specs of components: "hmc:steps=20,jitter=0.2". */
#include "tool/component_spec.h"

#include "relmc_ext.h"
#include "tool/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Compares names as the library does: "sgld-adam" is sgld_adam. */
static bool is_name(const char *name, const char *spec, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (name[i] != (spec[i] == '-' ? '_' : spec[i])) {
            return false;
        }
    }
    return !name[n];
}

const relmc_info *spec_info(const char *role, const char *spec)
{
    const size_t n = strcspn(spec, ":");
    const relmc_info *info;

    for (size_t i = 0; (info = relmc_info_at(role, i)); i++) {
        if (is_name(info->name, spec, n)) {
            break;
        }
    }
    return info;
}

const relmc_param *spec_param(const relmc_info *info, const char *key)
{
    for (const relmc_param *p = info->params; p && p->name; p++) {
        if (!strcmp(p->name, key)) {
            return p;
        }
    }
    return NULL;
}

/* Up to the next comma outside brackets, or the end. */
static size_t pair_length(const char *s)
{
    size_t n = 0;
    int depth = 0;

    for (; s[n] && (s[n] != ',' || depth > 0); n++) {
        depth += s[n] == '[';
        depth -= s[n] == ']';
    }
    return n;
}

const char *spec_get(const char *spec, const char *key, size_t *n)
{
    const size_t m = strlen(key);
    const char *s = strchr(spec, ':');

    while (s && *s) {
        const size_t length = pair_length(++s);

        if (length > m && !strncmp(s, key, m) && s[m] == '=') {
            *n = length - m - 1;
            return s + m + 1;
        }
        s += length;
    }
    return NULL;
}

char *spec_with(const char *spec, const char *key, const char *value)
{
    size_t n = 0;
    const char *old = spec_get(spec, key, &n);

    if (old) {
        return cli_text("%.*s%s%s", (int)(old - spec), spec, value, old + n);
    }
    return cli_text("%s%c%s=%s", spec, strchr(spec, ':') ? ',' : ':', key,
                    value);
}

char *spec_without(const char *spec, const char *key)
{
    size_t n = 0;
    const char *value = spec_get(spec, key, &n);

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
    const relmc_info *info = spec_info(role, spec);
    const relmc_param *param = info ? spec_param(info, key) : NULL;
    size_t n = 0;
    const char *given = spec_get(spec, key, &n);
    double value = param ? param->fallback : CLI_NAN;

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
    const relmc_info *info = spec_info("sampler", sampler);

    /* the first member of a component is its info */
    return info ? ((const relmc_sampler_ops *)(const void *)info)->flags : 0;
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
                            spec_info("sampler", sampler)->name, lack);
        }
    }
    return CLI_OK;
}

char *spec_method(const char *sampler, const relmc_info *kinetic)
{
    char *name = cli_text("%.*s", (int)strcspn(sampler, ":"), sampler);

    if (kinetic && !strcmp(name, "auto")) {
        free(name);
        return cli_text("self-tuning, %s energy", kinetic->name);
    }
    for (char *s = name; *s; s++) {
        *s = (char)(*s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
    }
    if (!kinetic || !spec_has_momentum(sampler)) {
        return name;
    }
    const bool is_named = strcmp(kinetic->name, "relativistic") != 0;
    char *method =
        cli_text("%s%s%s%s%s", spec_param(kinetic, "c") ? "relativistic " : "",
                 name, is_named ? " (" : "", is_named ? kinetic->name : "",
                 is_named ? ")" : "");
    free(name);
    return method;
}
