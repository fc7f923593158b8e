/*
 * target.c - makes targets from the names of models, and ends them.
 */
#include "target/target.h"
#include "base/sized_struct.h"
#include "base/spec.h"

#include <stdio.h>
#include <string.h>

static char *print_spec(relmc_arena *arena, const relmc_info *info,
                        const void *state)
{
    rmc_text measure = {0};

    rmc_spec_print(&measure, info, state);
    rmc_text text = {relmc_arena_get(arena, measure.bytes + 1),
                     measure.bytes + 1, 0};
    if (text.out) {
        rmc_spec_print(&text, info, state);
    }
    return text.out;
}

/* The state of a model, its sizes and its name; the rest is in place. */
static relmc_status open_model(relmc_target *t, relmc_arena *arena,
                               const char *spec, const relmc_data *data,
                               relmc_error *err)
{
    const relmc_model_ops *ops = t->ops[rmc_isa_best()];
    relmc_size size = {0};
    relmc_status status;

    if (data ? !ops->bind : !ops->init) {
        return rmc_fail(err, RELMC_EINVAL,
                        data ? "%s takes no data" : "%s needs data",
                        ops->info.name);
    }
    void *self = relmc_arena_get(arena, ops->state_size);
    if ((status = relmc_arena_check(arena, err)) ||
        (status = rmc_spec_parse(spec, &ops->info, self, arena, err)) ||
        (status = data ? ops->bind(self, arena, data, &size, err)
                       : ops->init(self, arena, &size, err))) {
        return status;
    }
    t->self = self;
    t->dim = size.dim;
    t->n_data = size.n_data;
    t->n_outputs = ops->output ? size.n_outputs : size.dim;
    t->scratch = size.scratch;
    t->is_float = size.is_float && ops->rows_float;
    t->name = print_spec(arena, &ops->info, self);
    return relmc_arena_check(arena, err);
}

/* The first version ended with n_classes. */
relmc_status rmc_data_read(relmc_data *out, const relmc_data *data,
                           relmc_error *err)
{
    return rmc_sized_read(out, sizeof *out, data,
                          offsetof(relmc_data, n_classes) +
                              sizeof data->n_classes,
                          "relmc_data", err);
}

static relmc_status check_data(const relmc_data *data, relmc_error *err)
{
    const size_t n = data->n_rows * data->n_columns;

    if (data->n_rows == 0 || data->n_rows > UINT32_MAX ||
        data->n_columns == 0 || data->n_columns > UINT32_MAX) {
        return rmc_fail(err, RELMC_EINVAL,
                        "data: rows and columns must be in [1, 2^32), not %zu "
                        "and %zu",
                        data->n_rows, data->n_columns);
    }
    if (!data->x == !data->x_float || !data->y) {
        return rmc_fail(err, RELMC_EINVAL, "data: give x or x_float, and y");
    }
    for (size_t j = 0; j < n; j++) {
        const double value = data->x ? data->x[j] : (double)data->x_float[j];

        if (!rmc_is_finite(value)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "data: row %zu, column %zu is not a finite number",
                            j / data->n_columns + 1, j % data->n_columns + 1);
        }
    }
    for (size_t r = 0; r < data->n_rows; r++) {
        const double y = data->y[r];
        const int is_class =
            y >= 0.0 && y < (double)data->n_classes && y == floor(y);

        if (!rmc_is_finite(y) || (data->n_classes && !is_class)) {
            return rmc_fail(
                err, RELMC_EINVAL,
                "data: the response of row %zu is %g, it must be %s", r + 1, y,
                data->n_classes ? "a class 0, 1, ... below n_classes"
                                : "finite");
        }
    }
    return RELMC_OK;
}

/* By its functions, or, without them, by its name. */
static relmc_status open_any(relmc_target **out, const relmc_model_ops *ops,
                             const char *spec, const relmc_data *data,
                             relmc_error *err)
{
    relmc_arena arena = {0};
    relmc_target *t = relmc_arena_get(&arena, sizeof *t);
    relmc_status status = relmc_arena_check(&arena, err);
    relmc_data given;

    if (!status && data && !(status = rmc_data_read(&given, data, err))) {
        data = &given;
        status = check_data(data, err);
    }
    for (int isa = 0; isa <= rmc_isa_best() && !status; isa++) {
        const relmc_info *info = ops ? &ops->info : NULL;

        status =
            ops ? RELMC_OK : rmc_component_find(&info, "model", spec, isa, err);
        t->ops[isa] = (const relmc_model_ops *)(const void *)info;
    }
    if (status || (status = open_model(t, &arena, spec, data, err))) {
        rmc_arena_release(&arena);
        return status;
    }
    t->arena = arena;
    *out = t;
    return RELMC_OK;
}

relmc_status relmc_target_open(relmc_target **out, const char *spec,
                               const relmc_data *data, relmc_error *err)
{
    return open_any(out, NULL, spec, data, err);
}

relmc_status relmc_target_open_ops(relmc_target **out,
                                   const relmc_model_ops *ops, const char *spec,
                                   const relmc_data *data, relmc_error *err)
{
    return open_any(out, ops, spec, data, err);
}

void relmc_target_destroy(relmc_target *target)
{
    if (target) {
        relmc_arena arena = target->arena; /* holds the target itself */
        const relmc_model_ops *ops = target->ops[rmc_isa_best()];

        if (ops->close) {
            ops->close(rmc_mutable(target->self));
        }
        rmc_arena_release(&arena);
    }
}
