/* resume.c - makes a run from a checkpoint.  Options that the caller leaves out
 * come from the file; those that the draws depend on must be the same. */
#include "run/checkpoint.h"

#include "base/sized_struct.h"
#include "base/team.h"

#include <stdlib.h>
#include <string.h>

/* The value of a key in the manifest; empty if there is none. */
static struct rmc_span find(struct rmc_span manifest, const char *key)
{
    const char *at = manifest.at;
    struct rmc_span found, value;

    do {
        found = rmc_manifest_pair(&at, &value);
        if (found.n == strlen(key) + 2 &&
            !memcmp(found.at + 1, key, strlen(key))) {
            return value;
        }
    } while (found.n);
    return (struct rmc_span){"", 0};
}

static double number(struct rmc_span manifest, const char *key)
{
    const struct rmc_span value = find(manifest, key);
    double x = 0.0;

    (void)rmc_parse_number(value.at, value.n, &x);
    return x;
}

/* A string without its quotes; specs have nothing to escape. */
static const char *text(relmc_arena *arena, struct rmc_span manifest,
                        const char *key)
{
    const struct rmc_span value = find(manifest, key);
    char *copy = relmc_arena_get(arena, value.n + 1);

    if (copy && value.n > 2) {
        memcpy(copy, value.at + 1, value.n - 2);
    }
    return copy;
}

static int64_t count_or_zero(struct rmc_span manifest, const char *key)
{
    const double n = number(manifest, key);

    return n > 0.0 ? (int64_t)n : RELMC_ZERO;
}

static int batch_of(relmc_arena *arena, struct rmc_span manifest)
{
    const char *name = text(arena, manifest, "batch");
    int kind = RELMC_BATCH_REPLACE;

    while (name && kind > 0 && strcmp(name, rmc_batch_name(kind)) != 0) {
        kind--;
    }
    return kind;
}

/* Options that the caller leaves out come from the checkpoint. */
static void fill_method(relmc_options *o, relmc_arena *arena, struct rmc_span m)
{
    const double radius = number(m, "init_radius");

    o->sampler = o->sampler ? o->sampler : text(arena, m, "sampler");
    o->kinetic = o->kinetic ? o->kinetic : text(arena, m, "kinetic");
    o->integrator =
        o->integrator ? o->integrator : text(arena, m, "integrator");
    o->adapt = o->adapt ? o->adapt : text(arena, m, "adapt");
    o->seed = o->seed ? o->seed : strtoull(find(m, "seed").at, NULL, 10);
    o->draws = o->draws ? o->draws : count_or_zero(m, "draws");
    o->warmup = o->warmup ? o->warmup : count_or_zero(m, "warmup");
    o->chains = o->chains ? o->chains : (uint32_t)number(m, "chains");
    o->first_chain =
        o->first_chain ? o->first_chain : (uint32_t)number(m, "first_chain");
    o->thin = o->thin ? o->thin : (uint32_t)number(m, "thin");
    o->step_size = o->step_size != 0.0 ? o->step_size : number(m, "step_size");
    o->init_radius = o->init_radius != 0.0 ? o->init_radius
                     : radius > 0.0        ? radius
                                           : RELMC_ZERO;
    o->batch_rows =
        o->batch_rows ? o->batch_rows : (uint32_t)number(m, "batch_rows");
    if (o->batch_rows) {
        o->batch = o->batch ? o->batch : batch_of(arena, m);
        o->batch_is_shared =
            o->batch_is_shared || number(m, "batch_is_shared") > 0.0;
    }
}

/* The caller may keep other rows than before; warm-up rows and running
 * statistics are kept if they were before. */
static void fill_keep(relmc_options *o, int keep, uint32_t points)
{
    const int rows = o->keep == RELMC_ZERO ? 0 : o->keep ? o->keep : keep;
    const int fixed = RELMC_KEEP_WARMUP | RELMC_KEEP_RUNNING;

    o->keep = (rows & ~fixed) | (keep & fixed);
    o->keep = o->keep ? o->keep : RELMC_ZERO;
    o->keep_points = o->keep_points ? o->keep_points : points;
}

static relmc_status contradiction(const char *key, double then, double now,
                                  relmc_error *err)
{
    return rmc_fail(err, RELMC_EINVAL,
                    "checkpoint: \"%s\" was %g, and now it is %g", key, then,
                    now);
}

/* Array options that the caller leaves out come from the file; others are
 * compared later, by the hashes in the state. */
static relmc_status fill_arrays(relmc_options *o, const relmc_target *target,
                                relmc_arena *arena, relmc_archive *a,
                                struct rmc_span manifest, relmc_error *err)
{
    const void **const arrays[] = {(const void **)&o->inv_metric,
                                   (const void **)&o->inv_metric_dense,
                                   (const void **)&o->center, &o->tuning};
    const double chains = number(manifest, "chains"),
                 dim = number(manifest, "dim");
    const int is_per_chain = (int)relmc_archive_count(a, 0, 1);
    const int has_metric = o->inv_metric || o->inv_metric_dense;

    if (dim != (double)target->dim) {
        return contradiction("dim", dim, (double)target->dim, err);
    }
    if (is_per_chain && chains != (double)o->chains) {
        return contradiction("chains", chains, o->chains, err);
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const struct rmc_span bytes = rmc_span_take(a);

        if (bytes.n && !*arrays[i]) {
            void *copy = relmc_arena_get(arena, bytes.n);

            *arrays[i] = copy ? memcpy(copy, bytes.at, bytes.n) : NULL;
            o->tuning_bytes = i == 3 ? bytes.n : o->tuning_bytes;
        }
    }
    o->metric_per_chain = has_metric ? o->metric_per_chain : is_per_chain;
    return relmc_arena_check(arena, err);
}

void rmc_archive_given(const relmc_run *run, relmc_archive *a)
{
    const relmc_options *o = &run->opts;
    const size_t dim = run->target->dim;
    const size_t n = (o->metric_per_chain ? o->chains : 1) * dim * 8;
    const struct rmc_span arrays[] = {
        {(const void *)o->inv_metric, o->inv_metric ? n : 0},
        {(const void *)o->inv_metric_dense, o->inv_metric_dense ? n * dim : 0},
        {(const void *)o->center, o->center ? dim * 8 : 0},
        {o->tuning, o->tuning ? o->tuning_bytes : 0},
    };

    (void)relmc_archive_count(a, o->metric_per_chain != 0, 1);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        (void)relmc_archive_count(a, arrays[i].n, UINT64_MAX);
        rmc_archive_put(a, arrays[i].at, arrays[i].n);
    }
    (void)relmc_archive_count(a, (uint64_t)o->keep, UINT64_MAX);
    (void)relmc_archive_count(a, o->keep_points, UINT64_MAX);
}

/* Reads the options of the file; the archive continues after them. */
static relmc_status read_options(relmc_options *o, const relmc_target *target,
                                 relmc_arena *arena, relmc_archive *a,
                                 const char *path, relmc_error *err)
{
    struct rmc_span manifest;
    relmc_status status = rmc_checkpoint_open(a, arena, path, &manifest, err);

    if (status) {
        return status;
    }
    fill_method(o, arena, manifest);
    status = fill_arrays(o, target, arena, a, manifest, err);
    const uint64_t keep = relmc_archive_count(a, 0, 31);
    fill_keep(o, (int)keep, (uint32_t)relmc_archive_count(a, 0, 65536));
    return status;
}

relmc_status relmc_run_resume_team(relmc_run **out, const relmc_target *target,
                                   const char *path,
                                   const relmc_options *options,
                                   const relmc_team *team, relmc_error *err)
{
    relmc_options o;
    relmc_team members;
    relmc_run *run = NULL;
    relmc_status status = rmc_sized_read(&o, sizeof o, options, sizeof o.size,
                                         "relmc_options", err);

    if (status || (status = rmc_team_read(&members, team, err))) {
        return status;
    }
    relmc_arena arena = {.memory = {o.acquire, o.release, o.memory_ctx}};
    relmc_archive a = {0};
    if (!(status = read_options(&o, target, &arena, &a, path, err)) &&
        !(status = rmc_run_make(&run, target, &o, &members, 1, err)) &&
        (status = rmc_checkpoint_load(run, path, err))) {
        relmc_run_destroy(run);
    }
    rmc_arena_release(&arena);
    if (!status) {
        *out = run;
    }
    return status;
}

relmc_status relmc_run_resume(relmc_run **out, const relmc_target *target,
                              const char *path, const relmc_options *options,
                              relmc_error *err)
{
    return relmc_run_resume_team(out, target, path, options, NULL, err);
}
