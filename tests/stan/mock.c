/*
 * mock.c - a shared library with the BridgeStan ABI that fails or crashes on demand.
 *
 *   parameters       mu; sigma > 0; b, a 2 x 2 matrix
 *   transformed      tau = sigma^2
 *   generated        u, uniform; k, how often its generator was used
 *   log density      normal: mu - m, log sigma, every b
 *
 * The data are one JSON object of numbers: m is required, the others say how it
 * misbehaves:
 *   reject    no density where mu is above this
 *   nan       the log density is NaN where mu is above this
 *   fail      generated quantities throw where mu is above this
 *   fail_tp   transformed parameters throw where mu is above this
 *   crash     a segmentation fault in this gradient call of a process
 *   leave     the process ends with code 7 in this gradient call
 *   slow      microseconds that a gradient takes at least
 *   work      divisions that a gradient makes
 *   print     a print statement in every gradient call
 *
 * Compiled with MOCK_THREADS it reports that it has threads, is safe to call from them,
 * and crashes in a thread whose first call is not a gradient, as models with
 * differential equations do.  Without, it crashes when two threads call it at once.
 * MOCK_VERSION, MOCK_NO_VERSION, MOCK_MISSING, MOCK_MINIMAL, MOCK_LIAR, MOCK_EMPTY:
 * see below.
 */
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

#ifndef MOCK_VERSION
#define MOCK_VERSION 2
#endif

#ifndef MOCK_NO_VERSION
API extern const int bs_major_version, bs_minor_version, bs_patch_version;
const int bs_major_version = MOCK_VERSION;
const int bs_minor_version = 7;
const int bs_patch_version = 0;
#endif

enum { DIM = 6, N_PARAMS = 6, N_TP = 7, N_ALL = 9 };

struct model {
    double m, reject, nan, fail, fail_tp, crash, leave, slow, work, print;
    unsigned seed;
    atomic_long *calls; /* of the gradient, in this process */
};

struct rng {
    uint64_t state;
    double count;
};

static void (*printer)(const char *, size_t);

/* ---- threads ------------------------------------------------------------------- */

#ifdef MOCK_THREADS
static _Thread_local bool has_stack;

static void enter(bool is_gradient)
{
    has_stack |= is_gradient;
    if (!has_stack) {
        abort();
    }
}

static void leave(void)
{
}
#else
static atomic_int inside;

static void enter(bool is_gradient)
{
    (void)is_gradient;
    if (atomic_fetch_add(&inside, 1) != 0) {
        abort();
    }
}

static void leave(void)
{
    (void)atomic_fetch_sub(&inside, 1);
}
#endif

/* ---- text ---------------------------------------------------------------------- */

static char *copy(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *out = malloc(n);

    return out ? memcpy(out, text, n) : NULL;
}

static int fail(char **msg, const char *text)
{
    *msg = copy(text);
    return -1;
}

/* The number behind a key: 1 if there is one, -1 if it is something else. */
static int number(const char *json, const char *key, double *out)
{
    char quoted[32];
    char *end;

    (void)snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *at = json ? strstr(json, quoted) : NULL;
    if (!at || !(at = strchr(at, ':'))) {
        return 0;
    }
    const double value = strtod(at + 1, &end);
    if (end == at + 1) {
        return -1;
    }
    *out = value;
    return 1;
}

/* ---- the model ----------------------------------------------------------------- */

API void bs_model_destruct(void *self);
API void bs_model_destruct(void *self)
{
    struct model *model = self;

    free(model->calls);
    free(model);
}

API void *bs_model_construct(const char *data, unsigned seed, char **msg);
API void *bs_model_construct(const char *data, unsigned seed, char **msg)
{
    struct model *model = malloc(sizeof *model);

    *model = (struct model){.reject = HUGE_VAL,
                            .nan = HUGE_VAL,
                            .fail = HUGE_VAL,
                            .fail_tp = HUGE_VAL,
                            .seed = seed,
                            .calls = calloc(1, sizeof *model->calls)};
    const struct {
        const char *key;
        double *value;
    } keys[] = {{"m", &model->m},
                {"reject", &model->reject},
                {"nan", &model->nan},
                {"fail", &model->fail},
                {"fail_tp", &model->fail_tp},
                {"crash", &model->crash},
                {"leave", &model->leave},
                {"slow", &model->slow},
                {"work", &model->work},
                {"print", &model->print}};
    if (data && !strchr(data, '}')) {
        (void)fail(msg,
                   "Error in JSON parsing at offset 3:\n  Missing a comma");
    } else if (number(data, "m", &model->m) == 0) {
        (void)fail(msg, "variable does not exist; variable name=m");
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !*msg; i++) {
        if (number(data, keys[i].key, keys[i].value) < 0) {
            (void)fail(msg, "mismatch in number of dimensions; base type=real");
        }
    }
    if (*msg) {
        bs_model_destruct(model);
        return NULL;
    }
    return model;
}

API void bs_free_error_msg(char *msg);
API void bs_free_error_msg(char *msg)
{
    free(msg);
}

API int bs_param_unc_num(const void *model);
API int bs_param_unc_num(const void *model)
{
    (void)model;
#ifdef MOCK_EMPTY
    return 0;
#else
    return DIM;
#endif
}

API int bs_param_num(const void *model, bool has_tp, bool has_gq);
API int bs_param_num(const void *model, bool has_tp, bool has_gq)
{
    (void)model;
#ifdef MOCK_LIAR
    return 3 + has_tp + has_gq;
#else
    return N_PARAMS + has_tp + (has_gq ? 2 : 0);
#endif
}

API const char *bs_param_names(const void *model, bool has_tp, bool has_gq);
API const char *bs_param_names(const void *model, bool has_tp, bool has_gq)
{
    (void)model;
#define PARAMS "mu,sigma,b.1.1,b.2.1,b.1.2,b.2.2"
    return has_gq ? (has_tp ? PARAMS ",tau,u,k" : PARAMS ",u,k")
                  : (has_tp ? PARAMS ",tau" : PARAMS);
}

API int bs_log_density_gradient(const void *self, bool propto, bool jacobian,
                                const double *x, double *lp, double *grad,
                                char **msg);
API int bs_log_density_gradient(const void *self, bool propto, bool jacobian,
                                const double *x, double *lp, double *grad,
                                char **msg)
{
    const struct model *model = self;
    const double now = (double)(atomic_fetch_add(model->calls, 1) + 1);

    enter(true);
    if (now == model->crash) {
        (void)signal(SIGSEGV, SIG_DFL); /* sanitizers have their own */
        (void)raise(SIGSEGV);
    }
    if (now == model->leave) {
        _exit(7);
    }
    if (model->slow > 0.0) {
        struct timespec a, b;

        (void)clock_gettime(CLOCK_MONOTONIC, &a);
        do {
            (void)clock_gettime(CLOCK_MONOTONIC, &b);
        } while ((double)(b.tv_sec - a.tv_sec) * 1e6 +
                     (double)(b.tv_nsec - a.tv_nsec) * 1e-3 <
                 model->slow);
    }
    volatile double sum = 1.0;
    for (double i = 0.0; i < model->work; i++) {
        sum = 1.0 / (sum + 1.0);
    }
    if (model->print != 0.0 && printer) {
        printer("hello from the model\n", 21);
    }
    if (x[0] > model->reject) {
        leave();
        return fail(msg, "Exception: normal_lpdf: Location parameter is inf,\n"
                         "  but must be finite!");
    }
    *lp = (propto ? 0.0 : 100.0) + (jacobian ? 0.0 : -x[1]);
    for (int i = 0; i < DIM; i++) {
        const double z = x[i] - (i == 0 ? model->m : 0.0);

        *lp -= 0.5 * z * z;
        grad[i] = -z;
    }
    if (x[0] > model->nan) {
        *lp = (double)NAN;
    }
    leave();
    return 0;
}

#ifndef MOCK_MISSING
static double uniform(struct rng *rng)
{
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) * 0x1p-53;
}

API int bs_param_constrain(const void *self, bool has_tp, bool has_gq,
                           const double *x, double *out, void *state,
                           char **msg);
API int bs_param_constrain(const void *self, bool has_tp, bool has_gq,
                           const double *x, double *out, void *state,
                           char **msg)
{
    const struct model *model = self;
    struct rng *rng = state;

    enter(false);
    memcpy(out, x, DIM * sizeof *out);
    out[1] = exp(x[1]);
    if (has_tp && x[0] > model->fail_tp) {
        leave();
        return fail(msg, "Exception: tau is not finite");
    }
    if (has_tp) {
        out[6] = out[1] * out[1];
    }
    if (has_gq && !rng) {
        leave();
        return fail(msg, "Generated quantities need a random number generator");
    }
    if (has_gq) {
        double *gq = out + (has_tp ? 7 : 6);

        gq[0] = uniform(rng);
        gq[1] = ++rng->count;
        if (x[0] > model->fail) {
            leave();
            return fail(msg, "Exception: u is out of range");
        }
    }
    leave();
    return 0;
}
#endif

#ifndef MOCK_MINIMAL
API const char *bs_name(const void *model);
API const char *bs_name(const void *model)
{
    (void)model;
    return "mock_model";
}

API const char *bs_model_info(const void *model);
API const char *bs_model_info(const void *model)
{
    (void)model;
#ifdef MOCK_THREADS
    return "BridgeStan version: 2.7.0\n\tSTAN_THREADS=true\n";
#else
    return "BridgeStan version: 2.7.0\n\tSTAN_THREADS=false\n";
#endif
}

API const char *bs_param_unc_names(const void *model);
API const char *bs_param_unc_names(const void *model)
{
    (void)model;
    return PARAMS;
}

API int bs_param_unconstrain_json(const void *model, const char *json,
                                  double *x, char **msg);
API int bs_param_unconstrain_json(const void *model, const char *json,
                                  double *x, char **msg)
{
    const char *b = strstr(json, "\"b\"");

    (void)model;
    enter(false);
    leave();
    if (number(json, "mu", &x[0]) != 1 || number(json, "sigma", &x[1]) != 1 ||
        !b ||
        sscanf(b + 3, " : [ [ %lf , %lf ] , [ %lf , %lf ] ]", &x[2], &x[4],
               &x[3], &x[5]) != 4) {
        return fail(msg, "variable does not exist; stage=initialization");
    }
    if (!(x[1] > 0.0)) {
        return fail(msg, "lb_free: Lower bounded variable is not positive");
    }
    x[1] = log(x[1]);
    return 0;
}

API void *bs_rng_construct(unsigned seed, char **msg);
API void *bs_rng_construct(unsigned seed, char **msg)
{
    struct rng *rng = malloc(sizeof *rng);

    (void)msg;
    *rng = (struct rng){.state = seed};
    return rng;
}

API void bs_rng_destruct(void *rng);
API void bs_rng_destruct(void *rng)
{
    free(rng);
}

API int bs_set_print_callback(void (*print)(const char *, size_t), char **msg);
API int bs_set_print_callback(void (*print)(const char *, size_t), char **msg)
{
    (void)msg;
    printer = print;
    return 0;
}
#endif
