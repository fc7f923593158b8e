/* warp_layer.c - the numbers of one layer of a warp: room for them, copies, archives. */
#include "transform/warp.h"

#include "base/base.h"

relmc_layer rmc_layer_new(relmc_arena *arena, size_t dim)
{
    const size_t line = dim * sizeof(double);

    return (relmc_layer){.bend = relmc_arena_get(arena, 3 * line),
                         .rate = relmc_arena_get(arena, line),
                         .flat = relmc_arena_get(arena, line),
                         .lift = relmc_arena_get(arena, line),
                         .out = relmc_arena_get(arena, dim * line),
                         .in = relmc_arena_get(arena, dim * line)};
}

void rmc_layer_copy(size_t d, relmc_layer *to, const relmc_layer *from)
{
    const struct {
        double *to;
        const double *from;
        size_t n;
    } parts[] = {{to->bend, from->bend, 3 * d}, {to->rate, from->rate, d},
                 {to->flat, from->flat, d},     {to->lift, from->lift, d},
                 {to->out, from->out, d * d},   {to->in, from->in, d * d}};

    to->hub = from->hub;
    to->middle = from->middle;
    to->width = from->width;
    to->rank = from->rank;
    to->is_axial = from->is_axial;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(parts[i].to, parts[i].from, parts[i].n * sizeof(double));
    }
}

void rmc_layer_archive(size_t d, relmc_layer *l, relmc_archive *ar)
{
    l->hub = (size_t)relmc_archive_count(ar, l->hub, d - 1);
    l->is_axial = (int)relmc_archive_count(ar, (uint64_t)l->is_axial, 1);
    l->rank = (size_t)relmc_archive_count(ar, l->rank, d);
    relmc_archive_reals(ar, &l->middle, 1);
    relmc_archive_reals(ar, &l->width, 1);
    relmc_archive_reals(ar, l->bend, 3 * d);
    relmc_archive_reals(ar, l->rate, l->rank);
    relmc_archive_reals(ar, l->flat, l->rank);
    relmc_archive_reals(ar, l->lift, l->rank);
    if (!l->is_axial) {
        relmc_archive_reals(ar, l->out, l->rank * d);
        relmc_archive_reals(ar, l->in, l->rank * d);
    }
}
