/* momentum.c - what a momentum costs, per coordinate and chain: refreshment, all
 * of it and in part, against a normal draw. */
#include "bench.h"

#include "component/registry.h"

struct job {
    const relmc_kinetic_ops *ops;
    void *self;
    relmc_shape shape;
    relmc_stream streams[64];
    double *p, *work;
};

static void refresh(void *ctx)
{
    struct job *j = ctx;

    j->ops->refresh(j->self, &j->shape, j->streams, j->p);
}

static void partial(void *ctx)
{
    struct job *j = ctx;

    const relmc_bath bath = {.keep = 0.9, .temperature = 1.0};

    j->ops->partial(j->self, &j->shape, j->streams, &bath, j->p, j->work);
}

static void scalar_normal(void *ctx)
{
    struct job *j = ctx;

    for (int n = 0; n < 256; n++) {
        j->p[n & 1] = relmc_normal(&j->streams[0]);
    }
}

/* Median cost is no better than least cost here: nothing else varies. */
static double per_cell(void (*fn)(void *), struct job *j)
{
    return bench_least(fn, j, 0.2) / (double)(j->shape.dim * j->shape.lanes);
}

static void open_job(struct job *j, relmc_arena *arena, const char *spec,
                     size_t dim, size_t lanes)
{
    const relmc_info *info = NULL;
    relmc_error err = {0};
    int isa = 0;

    bench_need(rmc_isa_find(&isa, bench_isa(), &err) ||
                   rmc_component_find(&info, "kinetic", spec, isa, &err),
               err.message);
    j->ops = (const relmc_kinetic_ops *)(const void *)info;
    j->self = relmc_arena_get(arena, j->ops->state_size);
    bench_need(rmc_spec_parse(spec, info, j->self, arena, &err), err.message);
    if (j->ops->init) {
        bench_need(j->ops->init(j->self, arena, dim, &err), err.message);
    }
    j->shape = (relmc_shape){dim, lanes, rmc_leading(lanes)};
    j->p = rmc_lanes_new(arena, &j->shape);
    j->work = relmc_arena_get(arena, (2 * rmc_cells(&j->shape) + j->shape.ld) *
                                         sizeof(double));
    bench_need(relmc_arena_check(arena, &err), err.message);
    for (uint32_t k = 0; k < lanes; k++) {
        j->streams[k] = (relmc_stream){1, 0, k, RELMC_FOR_MOMENTUM};
    }
    j->ops->refresh(j->self, &j->shape, j->streams, j->p);
}

int main(void)
{
    static const char *const specs[] = {
        "newtonian",
        "separable:m=1,c=1",
        "separable:c=1e-3",
        "separable:c=1e3",
        "separable:c=[1,2,3,4,5,6,7,8,9,10]",
        "relativistic:m=1,c=1",
        "relativistic:c=100",
    };
    static const struct {
        size_t dim, lanes;
    } shapes[] = {{2, 64}, {10, 16}, {10, 1}, {100, 1}};

    (void)printf("code path %s; ns per coordinate and chain; (x a normal)\n\n",
                 bench_isa());
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        double normal = 0.0;

        (void)printf("d = %zu, %zu lanes %23s %18s\n", shapes[s].dim,
                     shapes[s].lanes, "refresh", "partial");
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
            relmc_arena arena = {0};
            struct job job = {0};
            const int is_vector = specs[i][12] == '[';

            if (is_vector && shapes[s].dim != 10) {
                continue;
            }
            open_job(&job, &arena, specs[i], shapes[s].dim, shapes[s].lanes);
            const double all = per_cell(refresh, &job);
            const double part = per_cell(partial, &job);

            normal = i ? normal : all; /* newtonian, m = 1: normals */
            (void)printf("  %-36s %6.2f (%5.2f) %8.2f (%5.2f)\n", specs[i], all,
                         all / normal, part, part / normal);
            if (s + 1 == sizeof shapes / sizeof *shapes && i == 0) {
                (void)printf("  %-36s %6.2f\n", "relmc_normal, one at a time",
                             bench_least(scalar_normal, &job, 0.1) / 256);
            }
            rmc_arena_release(&arena);
        }
    }
    return 0;
}
