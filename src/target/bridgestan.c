/*
 * bridgestan.c - a Stan model as a target: a shared library that speaks version 2 of
 * the BridgeStan C ABI, by us, by BridgeStan or by anybody.
 *
 * What such libraries need; each rule prevents a crash that was seen:
 *   - they are never unloaded: their threads may still be around;
 *   - without STAN_THREADS=true in their description they have one autodiff
 *     stack for all threads: calls are made one at a time, and a run with
 *     several threads gives every chain a process (bridgestan_worker.c);
 *   - the first call of a thread must be a gradient, which sets up the stack of
 *     that thread: models with differential equations crash otherwise.
 */
#include "target/bridgestan.h"

#include <stdio.h>
#include <string.h>

/* ---- messages -------------------------------------------------------------- */

void rmc_stan_take_message(const struct rmc_stan *s, char *msg,
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

void rmc_stan_redirect_print(const struct rmc_stan *stan)
{
    char *msg = NULL;

    caller = stan;
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
    rmc_stan_take_message(stan, msg, said);
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
        rmc_stan_take_message(stan, msg, code ? unused : said);
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
        rmc_stan_take_message(stan, msg, said);
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

/* ---- the target ------------------------------------------------------------ */

static relmc_status open_model(relmc_target *t, relmc_arena *arena,
                               const char *path, const char *data,
                               uint64_t seed, relmc_error *err)
{
    struct rmc_stan *stan = t->stan;

    stan->has_lock = !pthread_mutex_init(&stan->lock, NULL);
    stan->has_greeted = !pthread_key_create(&stan->greeted, NULL);
    if (!stan->has_lock || !stan->has_greeted) {
        return rmc_fail(err, RELMC_ENOMEM, "stan: too many models are open");
    }
    return rmc_stan_load(t, arena, path, data, seed, err);
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
        rmc_stan_take_message(stan, msg, said);
    }
    unlock(stan);
    rmc_arena_release(&arena);
    return code ? rmc_fail(err, RELMC_EINVAL,
                           "%s: these are no values of its parameters: %s",
                           target->name, said)
                : RELMC_OK;
}
