/*
 * bridgestan.c - a Stan model as a target: a shared library that speaks version 2 of
 * the BridgeStan C ABI, by us, by BridgeStan or by anybody.
 *
 * What such libraries need, each learnt from somebody's crash:
 *   - they are never unloaded: their threads may still be around;
 *   - without STAN_THREADS=true in their description they have one autodiff
 *     stack for all threads: calls are made one at a time, and a run with
 *     several threads gives every chain a process (stan_worker.c);
 *   - the first call of a thread must be a gradient, which sets up the stack of
 *     that thread: models with differential equations crash otherwise.
 */
#include "target/bridgestan.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages -------------------------------------------------------------- */

/* One line, without blanks at its ends, of what the library said. */
static void take_message(const struct rmc_stan *s, char *msg,
                         char said[RMC_SAID])
{
    size_t n = 0;

    for (const char *c = msg ? msg : "it gave no reason"; *c; c++) {
        const bool is_blank = *c == ' ' || (*c >= '\t' && *c <= '\r');

        if (n + 1 < RMC_SAID && !(is_blank && (!n || said[n - 1] == ' '))) {
            said[n++] = (char)(is_blank ? ' ' : *c);
        }
    }
    said[n - (n && said[n - 1] == ' ')] = '\0';
    if (msg) {
        s->call.free_error_msg(msg);
    }
}

/* ---- print statements ------------------------------------------------------- */

/* The library passes on text and no context: that of the call at hand. */
static _Thread_local const struct rmc_stan *caller;

static void print(const char *text, size_t bytes)
{
    if (caller && caller->print) {
        caller->print(caller->print_ctx, text, bytes);
    }
}

static void redirect_print(const struct rmc_stan *stan)
{
    char *msg = NULL;

    if (stan->print && stan->call.set_print_callback &&
        stan->call.set_print_callback(print, &msg)) {
        if (msg) {
            stan->call.free_error_msg(msg);
        }
    }
}

/* ---- calls ----------------------------------------------------------------- */

int rmc_stan_density(const struct rmc_stan *stan, const double *x, double *lp,
                     double *grad, char said[RMC_SAID])
{
    char *msg = NULL;

    caller = stan;
    if (stan->call.log_density_gradient(stan->model, true, true, x, lp, grad,
                                        &msg) == 0) {
        return RELMC_OK;
    }
    take_message(stan, msg, said);
    return RELMC_REJECT;
}

/* All of it; or, as Stan does, what there is before the block that failed. */
static int make_outputs(const struct rmc_stan *stan, void *rng, const double *x,
                        double *out, char said[RMC_SAID])
{
    const struct {
        bool has_tp, has_gq;
        size_t n;
    } parts[] = {
        {true, stan->has_generated, stan->n_outputs},
        {true, false, stan->n_transformed},
        {false, false, stan->n_params},
    };
    enum { N_PARTS = sizeof parts / sizeof *parts };
    size_t n = 0;
    int code = RELMC_OK;

    for (size_t i = 0; i < N_PARTS && !n; i++) {
        char *msg = NULL, unused[RMC_SAID];

        if (stan->call.param_constrain(stan->model, parts[i].has_tp,
                                       parts[i].has_gq, x, out, rng,
                                       &msg) == 0) {
            n = parts[i].n;
            break;
        }
        take_message(stan, msg, code ? unused : said);
        code = RELMC_REJECT;
    }
    for (size_t i = n; i < stan->n_outputs; i++) {
        out[i] = (double)NAN;
    }
    return code;
}

/* A generator of its own for every draw, from a word of the chain's stream: what
 * a generator has come to cannot be asked, and a checkpoint must know. */
static void *make_rng(const struct rmc_stan *stan, const relmc_chain *about,
                      uint64_t n, char said[RMC_SAID])
{
    relmc_stream stream = {.seed = about->seed,
                           .word = n,
                           .chain = about->number,
                           .purpose = RELMC_FOR_MODEL};
    char *msg = NULL;
    void *rng =
        stan->call.rng_construct((unsigned)(relmc_bits(&stream) >> 32), &msg);

    if (!rng) {
        take_message(stan, msg, said);
    }
    return rng;
}

int rmc_stan_outputs(const struct rmc_stan *stan, const relmc_chain *about,
                     uint64_t n, const double *x, double *out,
                     char said[RMC_SAID])
{
    caller = stan;
    void *rng = stan->has_generated ? make_rng(stan, about, n, said) : NULL;

    if (stan->has_generated && !rng) {
        return RELMC_ETARGET;
    }
    const int code = make_outputs(stan, rng, x, out, said);
    if (rng) {
        stan->call.rng_destruct(rng);
    }
    return code;
}

static void lock(const struct rmc_stan *stan)
{
    if (!stan->is_threaded) {
        (void)pthread_mutex_lock(rmc_mutable(&stan->lock));
    }
}

static void unlock(const struct rmc_stan *stan)
{
    if (!stan->is_threaded) {
        (void)pthread_mutex_unlock(rmc_mutable(&stan->lock));
    }
}

/* The first call of a thread is a gradient, wherever. */
static void greet(const struct rmc_stan *stan, const double *x, double *grad)
{
    char unused[RMC_SAID];
    double lp;

    if (!pthread_getspecific(stan->greeted)) {
        (void)rmc_stan_density(stan, x, &lp, grad, unused);
        (void)pthread_setspecific(stan->greeted, stan);
    }
}

/* ---- the slots ------------------------------------------------------------- */

static int point(const void *self, void *chain, const double *x, double *lp,
                 double *grad, relmc_error *err)
{
    const struct rmc_stan *stan = self;
    struct rmc_stan_chain *c = chain;
    char said[RMC_SAID];
    int code;

    if (c && c->worker) {
        code = rmc_stan_worker_density(c, x, lp, grad, said, err);
    } else {
        lock(stan);
        code = rmc_stan_density(stan, x, lp, grad, said);
        unlock(stan);
    }
    if (code > 0) {
        rmc_complain(rmc_mutable(&stan->rejected), 1, said);
        (void)rmc_fail(err, RELMC_REJECT, "%s", said);
    }
    return code;
}

static relmc_status output(const void *self, void *chain, const double *x,
                           double *out, relmc_error *err)
{
    const struct rmc_stan *stan = self;
    struct rmc_stan_chain *c = chain;
    char said[RMC_SAID];
    int code;

    if (c->worker) {
        code = rmc_stan_worker_outputs(c, x, out, said, err);
    } else {
        lock(stan);
        greet(stan, x, c->scratch);
        code = rmc_stan_outputs(stan, &c->about, c->n_drawn, x, out, said);
        unlock(stan);
        if (code < 0) {
            (void)rmc_fail(err, code,
                           "stan: no random numbers for chain %u: %s",
                           c->about.number + 1, said);
        }
    }
    c->n_drawn++;
    if (code > 0) {
        rmc_complain(rmc_mutable(&stan->failed), 1, said);
    }
    return code < 0 ? code : RELMC_OK;
}

static void chain_close(const void *self, void *chain)
{
    const struct rmc_stan_chain *c = chain;

    (void)self;
    if (c->worker) {
        rmc_stan_worker_stop(c->worker);
    }
}

static void chain_archive(const void *self, void *chain, relmc_archive *a)
{
    struct rmc_stan_chain *c = chain;

    (void)self;
    c->n_drawn = relmc_archive_count(a, c->n_drawn, UINT64_MAX);
}

static relmc_status chain_open(const void *self, relmc_arena *arena,
                               const relmc_chain *about, void **out,
                               relmc_error *err)
{
    const struct rmc_stan *stan = self;
    struct rmc_stan_chain *c = relmc_arena_get(arena, sizeof *c);
    relmc_status status = RELMC_OK;

    if (!c ||
        !(c->scratch = relmc_arena_get(arena, stan->dim * sizeof(double)))) {
        return relmc_arena_check(arena, err);
    }
    c->stan = stan;
    c->about = *about;
    c->n_drawn = about->n_drawn;
    lock(stan); /* a fork must not see half of a call */
    if (!stan->is_threaded && about->threads > 1) {
        status = rmc_stan_worker_start(c, arena, about, err);
    }
    unlock(stan);
    if (!status) {
        *out = c;
    }
    return status;
}

static size_t coordinate_name(const void *self, size_t i, char *out,
                              size_t room)
{
    const struct rmc_stan *stan = self;

    if (stan->unc_names) {
        return (size_t)snprintf(out, room, "%s", stan->unc_names[i]);
    }
    return (size_t)snprintf(out, room, "x.%zu", i + 1);
}

static size_t output_name(const void *self, size_t i, char *out, size_t room)
{
    const struct rmc_stan *stan = self;

    return (size_t)snprintf(out, room, "%s", stan->names[i]);
}

static void close(void *self)
{
    struct rmc_stan *stan = self;

    if (stan->model) {
        stan->call.model_destruct(stan->model);
    }
    if (stan->has_lock) {
        (void)pthread_mutex_destroy(&stan->lock);
    }
    if (stan->has_greeted) {
        (void)pthread_key_delete(stan->greeted);
    }
}

static const relmc_model_ops ops = {
    .info = {"model", "stan", "a Stan model", NULL},
    .state_size = sizeof(struct rmc_stan),
    .coordinate_name = coordinate_name,
    .point = point,
    .output_name = output_name,
    .output = output,
    .chain_open = chain_open,
    .chain_close = chain_close,
    .chain_archive = chain_archive,
    .close = close,
};

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
    caller = stan;
    redirect_print(stan);
    stan->model =
        stan->call.model_construct(text ? text : data, short_seed, &msg);
    free(text);
    if (stan->model) {
        return RELMC_OK;
    }
    take_message(stan, msg, said);
    return data ? rmc_fail(err, RELMC_EINVAL, "%s: it refuses the data%s%s: %s",
                           path, is_json(data) ? "" : " of ",
                           is_json(data) ? "" : data, said)
                : rmc_fail(err, RELMC_EINVAL, "%s: it needs data: %s", path,
                           said);
}

/* ---- what the model says of itself ------------------------------------------ */

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

/* ---- the target ------------------------------------------------------------ */

static relmc_status open_model(relmc_target *t, relmc_arena *arena,
                               const char *path, const char *data,
                               uint64_t seed, relmc_error *err)
{
    struct rmc_stan *stan = t->stan;
    relmc_status status;

    stan->has_lock = !pthread_mutex_init(&stan->lock, NULL);
    stan->has_greeted = !pthread_key_create(&stan->greeted, NULL);
    if (!stan->has_lock || !stan->has_greeted) {
        return rmc_fail(err, RELMC_ENOMEM, "stan: too many models are open");
    }
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

relmc_status relmc_target_open_stan(
    relmc_target **out, const char *library, const char *json, uint64_t seed,
    void (*print_fn)(void *ctx, const char *text, size_t bytes), void *ctx,
    relmc_error *err)
{
    relmc_arena arena = {0};
    relmc_target *t = relmc_arena_get(&arena, sizeof *t);
    struct rmc_stan *stan = relmc_arena_get(&arena, sizeof *stan);
    relmc_status status = relmc_arena_check(&arena, err);

    if (!status) {
        for (int isa = 0; isa < RMC_N_ISA; isa++) {
            t->ops[isa] = &ops;
        }
        stan->print = print_fn;
        stan->print_ctx = ctx;
        t->self = t->stan = stan;
        t->rejected = &stan->rejected;
        t->failed = &stan->failed;
        status = open_model(t, &arena, library, json, seed, err);
        if (status) {
            close(stan);
        }
    }
    if (status) {
        rmc_arena_release(&arena);
        return status;
    }
    t->arena = arena;
    *out = t;
    return RELMC_OK;
}

/* ---- of Stan models only ---------------------------------------------------- */

relmc_status relmc_target_unconstrain(const relmc_target *target,
                                      const char *json, double *x,
                                      relmc_error *err)
{
    const struct rmc_stan *stan = target->stan;
    relmc_arena arena = {0};
    char said[RMC_SAID], *msg = NULL;

    if (!stan || !stan->call.param_unconstrain_json) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "%s: it has no constrained parameters", target->name);
    }
    double *grad = relmc_arena_get(&arena, target->dim * sizeof *grad);
    const relmc_status status = relmc_arena_check(&arena, err);
    if (status) {
        return status;
    }
    memset(x, 0, target->dim * sizeof *x);
    lock(stan);
    caller = stan;
    greet(stan, x, grad);
    const int code =
        stan->call.param_unconstrain_json(stan->model, json, x, &msg);
    if (code) {
        take_message(stan, msg, said);
    }
    unlock(stan);
    rmc_arena_release(&arena);
    return code ? rmc_fail(err, RELMC_EINVAL,
                           "%s: these are no values of its parameters: %s",
                           target->name, said)
                : RELMC_OK;
}
