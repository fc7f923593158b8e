/*
 * bridgestan_load.c - loads the library of a Stan model, gives it the data and asks
 * for sizes and names.
 */
#include "target/bridgestan.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library ----------------------------------------------------------- */

#define SYMBOL(name)                                   \
    {                                                  \
        "bs_" #name, offsetof(struct rmc_bridge, name) \
    }

static const struct symbol {
    const char *name;
    size_t offset;
} required[] =
    {
        SYMBOL(model_construct), SYMBOL(model_destruct),
        SYMBOL(free_error_msg),  SYMBOL(param_num),
        SYMBOL(param_unc_num),   SYMBOL(param_names),
        SYMBOL(param_constrain), SYMBOL(log_density_gradient),
},
  optional[] = {
      SYMBOL(name),
      SYMBOL(model_info),
      SYMBOL(param_unc_names),
      SYMBOL(param_unconstrain_json),
      SYMBOL(rng_construct),
      SYMBOL(rng_destruct),
      SYMBOL(set_print_callback),
};
enum {
    N_REQUIRED = sizeof required / sizeof *required,
    N_OPTIONAL = sizeof optional / sizeof *optional
};

/* What dlsym gives is a function, which C has no cast for. */
static bool find(struct rmc_bridge *call, void *library,
                 const struct symbol *symbol)
{
    void *found = dlsym(library, symbol->name);

    memcpy((char *)call + symbol->offset, &found, sizeof found);
    return found != NULL;
}

static relmc_status check_version(void *library, const char *path,
                                  relmc_error *err)
{
    static const char *const names[] = {"bs_major_version", "bs_minor_version",
                                        "bs_patch_version"};
    int version[3];

    for (size_t i = 0; i < 3; i++) {
        const int *found = dlsym(library, names[i]);

        if (!found) {
            return rmc_fail(err, RELMC_EABI,
                            "%s: no symbol %s, so it speaks version 1 of the "
                            "BridgeStan ABI; version 2 is needed: build it "
                            "with BridgeStan 2.0 or later",
                            path, names[i]);
        }
        version[i] = *found;
    }
    if (version[0] != 2) {
        return rmc_fail(err, RELMC_EABI,
                        "%s: speaks version %d.%d.%d of the BridgeStan ABI; "
                        "version 2 is needed",
                        path, version[0], version[1], version[2]);
    }
    return RELMC_OK;
}

static relmc_status load(struct rmc_stan *stan, relmc_arena *arena,
                         const char *path, relmc_error *err)
{
    const size_t bytes = strlen(path) + sizeof "./";
    char *place = relmc_arena_get(arena, bytes);

    if (!place) {
        return relmc_arena_check(arena, err);
    }
    /* a name without a slash would be looked for elsewhere */
    (void)snprintf(place, bytes, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *library = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        return rmc_fail(err, RELMC_EIO, "cannot load the library %s",
                        dlerror());
    }
    if (!find(&stan->call, library, &required[0])) {
        return rmc_fail(err, RELMC_EABI,
                        "%s: no symbol %s, so it is no Stan model with the "
                        "BridgeStan ABI",
                        path, required[0].name);
    }
    const relmc_status status = check_version(library, path, err);
    for (size_t i = 1; i < N_REQUIRED && !status; i++) {
        if (!find(&stan->call, library, &required[i])) {
            return rmc_fail(err, RELMC_EABI,
                            "%s: no symbol %s, which every library with the "
                            "BridgeStan ABI has",
                            path, required[i].name);
        }
    }
    for (size_t i = 0; i < N_OPTIONAL; i++) {
        (void)find(&stan->call, library, &optional[i]);
    }
    return status;
}

/* ---- the data -------------------------------------------------------------- */

/* All of a file, also of one whose size is not known before; NULL if it cannot
 * be read, see errno. */
static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t n = 0, room = 1 << 16;
    char *text = file ? malloc(room) : NULL;

    while (text && !feof(file) && !ferror(file)) {
        n += fread(text + n, 1, room - n - 1, file);
        if (n + 1 == room) {
            char *more = realloc(text, room *= 2);

            if (!more) {
                free(text);
                errno = ENOMEM;
            }
            text = more;
        }
    }
    if (text && ferror(file)) {
        free(text);
        text = NULL;
    }
    if (text) {
        text[n] = '\0';
    }
    if (file) {
        const int why = errno;
        (void)fclose(file);
        errno = why;
    }
    return text;
}

static bool is_json(const char *data)
{
    return data[strspn(data, " \t\r\n")] == '{';
}

static relmc_status construct(struct rmc_stan *stan, const char *path,
                              const char *data, uint64_t seed, relmc_error *err)
{
    const unsigned short_seed = (unsigned)(seed ^ (seed >> 32));
    char *msg = NULL, *text = NULL;
    char said[RMC_SAID];

    if (data && !is_json(data)) {
        errno = 0;
        if (!(text = read_all(data))) {
            return rmc_fail(err, RELMC_EIO, "cannot read the data %s: %s", data,
                            strerror(errno ? errno : EIO));
        }
    }
    rmc_stan_redirect_print(stan);
    stan->model =
        stan->call.model_construct(text ? text : data, short_seed, &msg);
    free(text);
    if (stan->model) {
        return RELMC_OK;
    }
    rmc_stan_take_message(stan, msg, said);
    return data ? rmc_fail(err, RELMC_EINVAL, "%s: it refuses the data%s%s: %s",
                           path, is_json(data) ? "" : " of ",
                           is_json(data) ? "" : data, said)
                : rmc_fail(err, RELMC_EINVAL, "%s: it needs data: %s", path,
                           said);
}

/* ---- sizes and names --------------------------------------------------------- */

/* "a,b.1,b.2" as n names; NULL if they are not n. */
static const char **split(relmc_arena *arena, const char *list, size_t n)
{
    char *text = list ? rmc_arena_copy_text(arena, list) : NULL;
    const char **names = relmc_arena_get(arena, n * sizeof *names);
    size_t found = 0;

    while (text && names && *text && found <= n) {
        char *comma = strchr(text, ',');

        if (comma) {
            *comma = '\0';
        }
        if (found < n) {
            names[found] = text;
        }
        found++;
        text = comma ? comma + 1 : text + strlen(text);
    }
    return found == n ? names : NULL;
}

static size_t count(const struct rmc_stan *stan, bool has_tp, bool has_gq)
{
    const int n = stan->call.param_num(stan->model, has_tp, has_gq);

    return n < 0 ? 0 : (size_t)n;
}

static relmc_status inspect(struct rmc_stan *stan, relmc_arena *arena,
                            const char *path, relmc_error *err)
{
    const struct rmc_bridge *call = &stan->call;
    const int dim = call->param_unc_num(stan->model);
    const char *info = call->model_info ? call->model_info(stan->model) : NULL;

    if (dim <= 0) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "%s: the model has no parameters, there is nothing to "
                        "sample",
                        path);
    }
    stan->dim = (size_t)dim;
    stan->is_threaded = info && strstr(info, "STAN_THREADS=true");
    stan->has_generated = call->rng_construct && call->rng_destruct;
    stan->n_params = count(stan, false, false);
    stan->n_transformed = count(stan, true, false);
    stan->n_outputs = count(stan, true, stan->has_generated);
    stan->has_generated =
        stan->has_generated && stan->n_outputs > stan->n_transformed;
    stan->names =
        split(arena, call->param_names(stan->model, true, stan->has_generated),
              stan->n_outputs);
    if (call->param_unc_names) {
        stan->unc_names =
            split(arena, call->param_unc_names(stan->model), stan->dim);
    }
    const relmc_status status = relmc_arena_check(arena, err);
    if (!status && (!stan->names || stan->n_params > stan->n_transformed ||
                    stan->n_transformed > stan->n_outputs)) {
        return rmc_fail(err, RELMC_EABI,
                        "%s: bs_param_num and bs_param_names contradict each "
                        "other",
                        path);
    }
    return status;
}

/* The name of the model without "_model"; or that of the file without ".so". */
static const char *call_it(const struct rmc_stan *stan, relmc_arena *arena,
                           const char *path)
{
    static const char *const tails[] = {".so", "_model"};
    const char *given = stan->call.name ? stan->call.name(stan->model) : NULL;
    const char *slash = strrchr(path, '/');
    char *name = rmc_arena_copy_text(arena, given && *given ? given
                                            : slash         ? slash + 1
                                                            : path);

    for (size_t i = 0; name && i < sizeof tails / sizeof *tails; i++) {
        const size_t n = strlen(name), m = strlen(tails[i]);

        if (n > m && !strcmp(name + n - m, tails[i])) {
            name[n - m] = '\0';
        }
    }
    return name;
}

relmc_status rmc_stan_load(relmc_target *t, relmc_arena *arena,
                           const char *path, const char *data, uint64_t seed,
                           relmc_error *err)
{
    struct rmc_stan *stan = t->stan;
    relmc_status status;

    if ((status = load(stan, arena, path, err)) ||
        (status = construct(stan, path, data, seed, err)) ||
        (status = inspect(stan, arena, path, err))) {
        return status;
    }
    t->dim = stan->dim;
    t->n_outputs = stan->n_outputs;
    t->name = call_it(stan, arena, path);
    t->library = rmc_arena_copy_text(arena, path);
    t->data = rmc_arena_copy_text(arena, data && !is_json(data) ? data : "");
    return relmc_arena_check(arena, err);
}
