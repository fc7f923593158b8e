/*
 * eval.c - calls a compiled Stan program without librelmc.
 *
 *   eval LIBRARY DATA points FILE   lines with unconstrained points; writes the
 *                                   names of all outputs, then for each point a
 *                                   line each: log density, gradient, outputs
 *   eval LIBRARY DATA self          checks that any library must pass
 *
 * Numbers are hexadecimal, so that nothing is lost.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct model model;
typedef struct rng rng;

static struct {
    model *(*construct)(const char *, unsigned, char **);
    void (*destruct)(model *);
    void (*free_error)(char *);
    const char *(*names)(const model *, bool, bool);
    const char *(*info)(const model *);
    int (*n_outputs)(const model *, bool, bool);
    int (*dim)(const model *);
    int (*constrain)(const model *, bool, bool, const double *, double *, rng *,
                     char **);
    int (*unconstrain)(const model *, const double *, double *, char **);
    int (*density)(const model *, bool, bool, const double *, double *,
                   char **);
    int (*gradient)(const model *, bool, bool, const double *, double *,
                    double *, char **);
    int (*hessian)(const model *, bool, bool, const double *, double *,
                   double *, double *, char **);
    int (*along)(const model *, bool, bool, const double *, const double *,
                 double *, double *, char **);
} bs;

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "eval: %s: %s\n", what, why ? why : "?");
    exit(1);
}

static void need(bool is_true, const char *what)
{
    if (!is_true) {
        die("this does not hold", what);
    }
}

static void load(const char *path)
{
    const struct {
        void *slot;
        const char *name;
    } all[] = {
        {&bs.construct, "bs_model_construct"},
        {&bs.destruct, "bs_model_destruct"},
        {&bs.free_error, "bs_free_error_msg"},
        {&bs.names, "bs_param_names"},
        {&bs.info, "bs_model_info"},
        {&bs.n_outputs, "bs_param_num"},
        {&bs.dim, "bs_param_unc_num"},
        {&bs.constrain, "bs_param_constrain"},
        {&bs.unconstrain, "bs_param_unconstrain"},
        {&bs.density, "bs_log_density"},
        {&bs.gradient, "bs_log_density_gradient"},
        {&bs.hessian, "bs_log_density_hessian"},
        {&bs.along, "bs_log_density_hessian_vector_product"},
    };
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        die(path, dlerror());
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *found = dlsym(library, all[i].name);

        if (!found) {
            die(path, dlerror());
        }
        memcpy(all[i].slot, &found, sizeof found);
    }
}

static double *reals(size_t n)
{
    double *block = calloc(n + 1, sizeof *block);

    if (!block) {
        die("memory", "none left");
    }
    return block;
}

static void put(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        (void)printf("%s%a", i ? " " : "", x[i]);
    }
    (void)putchar('\n');
}

static void write_points(const model *m, const char *path)
{
    const size_t dim = (size_t)bs.dim(m);
    const size_t n = (size_t)bs.n_outputs(m, true, false);
    double *x = reals(dim), *g = reals(dim), *y = reals(n);
    double value = 0.0;
    char *error = NULL;
    FILE *in = fopen(path, "r");
    size_t got = 0;

    if (!in) {
        die(path, "cannot be read");
    }
    (void)printf("%s\n", bs.names(m, true, false));
    while (fscanf(in, "%la", &x[got]) == 1) {
        if (++got < dim) {
            continue;
        }
        got = 0;
        if (bs.gradient(m, true, true, x, &value, g, &error) ||
            bs.constrain(m, true, false, x, y, NULL, &error)) {
            die("point", error);
        }
        put(&value, 1);
        put(g, dim);
        put(y, n);
    }
    (void)fclose(in);
    free(x);
    free(g);
    free(y);
}

/* ---- checks -------------------------------------------------------------- */

struct work {
    const model *m;
    double value;
    double *x, *g;
};

static void *evaluate(void *arg)
{
    struct work *w = arg;
    char *error = NULL;

    for (int k = 0; k < 200; k++) {
        if (bs.gradient(w->m, true, true, w->x, &w->value, w->g, &error)) {
            die("thread", error);
        }
    }
    return NULL;
}

/* Four threads at a time get the results of one. */
static void check_threads(const model *m, double *x)
{
    enum { N = 4 };
    const size_t dim = (size_t)bs.dim(m);
    struct work alone = {m, 0, x, reals(dim)}, work[N];
    pthread_t threads[N];

    (void)evaluate(&alone);
    for (int k = 0; k < N; k++) {
        work[k] = (struct work){m, 0, x, reals(dim)};
        need(!pthread_create(&threads[k], NULL, evaluate, &work[k]), "thread");
    }
    for (int k = 0; k < N; k++) {
        need(!pthread_join(threads[k], NULL), "join");
        need(work[k].value == alone.value &&
                 !memcmp(work[k].g, alone.g, dim * sizeof(double)),
             "threads agree");
        free(work[k].g);
    }
    free(alone.g);
}

static void check_constrain(const model *m, const double *x)
{
    const size_t dim = (size_t)bs.dim(m);
    double *y = reals((size_t)bs.n_outputs(m, true, true));
    double *back = reals(dim);
    char *error = NULL;

    need(!bs.constrain(m, false, false, x, y, NULL, &error), "constrain");
    need(!bs.unconstrain(m, y, back, &error), "unconstrain");
    for (size_t i = 0; i < dim; i++) {
        need(fabs(back[i] - x[i]) < 1e-12 * (1 + fabs(x[i])), "round trip");
    }
    need(bs.constrain(m, true, true, x, y, NULL, &error) == -1 && error,
         "generated quantities need a generator");
    bs.free_error(error);
    free(y);
    free(back);
}

/* The Hessian and its product with v equal differences of gradients. */
static void check_hessian(const model *m, const double *x)
{
    const size_t dim = (size_t)bs.dim(m);
    double *h = reals(dim * dim), *v = reals(dim), *hv = reals(dim);
    double *g = reals(dim), *g2 = reals(dim);
    double value = 0, value2 = 0, value3 = 0, scale = 0;
    char *error = NULL;

    for (size_t i = 0; i < dim; i++) {
        v[i] = 1.0 / (double)(i + 1);
    }
    need(!bs.hessian(m, true, true, x, &value, g, h, &error), "Hessian");
    need(!bs.along(m, true, true, x, v, &value2, hv, &error), "product");
    need(!bs.gradient(m, true, true, x, &value3, g2, &error), "gradient");
    need(value == value2 && value == value3, "one density");
    need(!memcmp(g, g2, dim * sizeof *g), "one gradient");
    for (size_t i = 0; i < dim * dim; i++) {
        scale = fmax(scale, fabs(h[i]));
    }
    for (size_t i = 0; i < dim; i++) {
        double sum = 0;

        for (size_t j = 0; j < dim; j++) {
            need(h[i * dim + j] == h[j * dim + i], "symmetry");
            sum += h[i * dim + j] * v[j];
        }
        need(fabs(sum - hv[i]) < 1e-4 * (1 + scale), "Hessian times v");
    }
    free(h);
    free(v);
    free(hv);
    free(g);
    free(g2);
}

/* Constants that are dropped do not depend on the point. */
static void check_propto(const model *m, const double *x, const double *other)
{
    double a[2] = {0}, b[2] = {0}, same = 0;
    double *g = reals((size_t)bs.dim(m));
    char *error = NULL;

    for (int propto = 0; propto < 2; propto++) {
        need(!bs.gradient(m, propto, true, x, &a[propto], g, &error) &&
                 !bs.gradient(m, propto, true, other, &b[propto], g, &error),
             "density");
    }
    need(fabs((a[0] - b[0]) - (a[1] - b[1])) < 1e-9 * (1 + fabs(a[0] - b[0])),
         "constants");
    need(!bs.density(m, true, true, x, &same, &error) && same == a[1],
         "density without gradient");
    /* without derivatives the solver of differential equations takes other steps */
    need(!bs.density(m, false, true, x, &same, &error) &&
             fabs(same - a[0]) < 1e-3 * (1 + fabs(same)),
         "density in plain numbers");
    free(g);
}

static void check_errors(void)
{
    static const char *const wrong[] = {"{", "[]", "{\"J\": \"x\"}", "{}",
                                        "none.json"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *error = NULL;

        need(!bs.construct(wrong[i], 1, &error) && error && *error, wrong[i]);
        bs.free_error(error);
        need(!bs.construct(wrong[i], 1, NULL), "nobody listens");
    }
}

static void check_laws(const model *m)
{
    const size_t dim = (size_t)bs.dim(m);
    double *x = reals(dim), *other = reals(dim);

    for (size_t i = 0; i < dim; i++) {
        x[i] = 0.3 * sin(1.0 + (double)i);
        other[i] = 0.2 * cos(1.0 + (double)i);
    }
    need(strstr(bs.info(m), "STAN_THREADS=true") != NULL, "threads");
    check_threads(m, x);
    check_constrain(m, x);
    check_hessian(m, x);
    check_propto(m, x, other);
    check_errors();
    free(x);
    free(other);
}

int main(int argc, char **argv)
{
    char *error = NULL;

    if (argc < 4) {
        die("usage", "eval LIBRARY DATA points FILE | self");
    }
    load(argv[1]);
    model *m = bs.construct(argv[2], 1, &error);
    if (!m) {
        die(argv[2], error);
    }
    if (!strcmp(argv[3], "self")) {
        check_laws(m);
    } else {
        write_points(m, argv[4]);
    }
    bs.destruct(m);
    return 0;
}
