/* manifest.c - writes the method of a run as one JSON object, with every
 * default. Lanes, threads and code path are left out: the draws do not depend
 * on them. */
#include "base/version.h"
#include "run/run.h"

static void add_text(rmc_text *text, const char *key, const char *value)
{
    rmc_text_add(text, "\"%s\": ", key);
    rmc_text_add_json(text, value);
    rmc_text_add(text, ", ");
}

static void add_integer(rmc_text *text, const char *key, int64_t value)
{
    rmc_text_add(text, "\"%s\": %lld, ", key, (long long)value);
}

static void add_number(rmc_text *text, const char *key, double value)
{
    char digits[32];

    rmc_format_exactly(digits, value);
    rmc_text_add(text, "\"%s\": %s, ", key, digits);
}

static void write(rmc_text *text, const relmc_run *run)
{
    const relmc_options *o = &run->opts;

    rmc_text_add(text, "{");
    add_text(text, "relmc_version", RMC_VERSION_TEXT);
    add_text(text, "model", run->target->name);
    add_integer(text, "dim", (int64_t)run->target->dim);
    add_text(text, "sampler", o->sampler);
    if (run->sampler->is_float) {
        const int is_float = run->sampler->is_float(run->ensembles[0].sampler);

        add_text(text, "precision", is_float ? "single" : "double");
    }
    add_text(text, "kinetic", o->kinetic);
    add_text(text, "integrator", o->integrator);
    add_text(text, "adapt", o->adapt);
    rmc_text_add(text, "\"seed\": %llu, ", (unsigned long long)o->seed);
    add_integer(text, "warmup", o->warmup);
    add_integer(text, "draws", o->draws);
    add_integer(text, "chains", o->chains);
    add_integer(text, "first_chain", o->first_chain);
    add_integer(text, "thin", o->thin);
    add_integer(text, "save_warmup", (o->keep & RELMC_KEEP_WARMUP) != 0);
    add_number(text, "step_size", o->step_size);
    add_number(text, "init_radius", o->init_radius);
    if (o->batch_rows) {
        add_integer(text, "batch_rows", o->batch_rows);
        add_text(text, "batch", rmc_batch_name(o->batch));
        add_integer(text, "batch_is_shared", o->batch_is_shared);
        add_text(text, "control_variates", o->center ? "yes" : "no");
    }
    add_text(text, "metric",
             run->tuning           ? rmc_tuning_metric_type(run)
             : o->inv_metric_dense ? "dense_e"
             : o->inv_metric       ? "diag_e"
                                   : "unit_e");
    add_number(text, "cruising_speed",
               run->kinetic.ops->cruise(run->kinetic.self, run->target->dim));
    if (run->tuning) {
        add_text(text, "tuning", "given");
    }
    rmc_text_add(text, "\"init\": \"%s\"}", o->init ? "given" : "random");
}

relmc_status rmc_manifest_make(relmc_run *run, relmc_error *err)
{
    rmc_text measure = {0};

    write(&measure, run);
    rmc_text text = {relmc_arena_get(&run->arena, measure.bytes + 1),
                     measure.bytes + 1, 0};
    if (text.out) {
        write(&text, run);
        run->manifest = text.out;
    }
    return relmc_arena_check(&run->arena, err);
}

const char *relmc_run_manifest_json(const relmc_run *run)
{
    return run->manifest;
}
