/*
 * relmc.h - relativistic Monte Carlo: the whole public interface.
 *
 * Conventions, valid for every function below:
 *   - A function that can fail returns relmc_status (0 is success) and takes a
 *     nullable `relmc_error *` last.  Outputs come first, inputs after.
 *   - `*_create(&x, ...)` gives you ownership; `*_destroy(x)` ends it and
 *     accepts NULL.  A returned `const char *` or `const double *` is
 *     borrowed from its object and lives as long as it.
 *   - No global state, no printing, no exit().  A target is constant once made
 *     and may be shared; a run belongs to one thread at a time.  With
 *     options.threads > 1 your callbacks are called from several threads.
 *   - Memory is allocated in create functions only, never while sampling.
 *   - In option structs zero means "the default": start from RELMC_INIT(type).
 *   - Structs that begin with `size` may grow: set it to their sizeof.  Fields
 *     that a program does not know, being older than the library, are zero; those
 *     that the library does not know must be, or the answer is RELMC_EINVAL, as
 *     it is for a size that cannot be.  Of a report the library fills in what
 *     both know.
 *   - Densities are natural-log densities, up to a constant, with gradients of
 *     the same sign: the potential energy is U = -lp.
 *   - Chains, draws and coordinates are counted from 0.
 *   - A function that copies text (out, room) returns the length of the whole text; what
 *     fits is in out, always terminated.
 */
#ifndef RELMC_H
#define RELMC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RELMC_API __attribute__((visibility("default")))
#else
#define RELMC_API
#endif

/* A struct that begins with its size, all else zero: relmc_options o =
 * RELMC_INIT(relmc_options); */
#ifdef __cplusplus
template <class T> inline T relmc_sized()
{
    T t = T();

    t.size = sizeof t;
    return t;
}
#define RELMC_INIT(type) (relmc_sized<type>())
extern "C" {
#else
#define RELMC_INIT(type)     \
    {                        \
        .size = sizeof(type) \
    }
#endif

/* ---- version ------------------------------------------------------------ */

#define RELMC_VERSION_MAJOR 0
#define RELMC_VERSION_MINOR 2
#define RELMC_VERSION_PATCH 0
#define RELMC_VERSION \
    (RELMC_VERSION_MAJOR * 10000 + RELMC_VERSION_MINOR * 100 + RELMC_VERSION_PATCH)
RELMC_API int relmc_version(void);       /* RELMC_VERSION of the library in use */
RELMC_API const char *relmc_build(void); /* "0.2.0 avx512": version, code path in use */

/* ---- errors ------------------------------------------------------------- */

typedef int relmc_status;
enum {
    RELMC_OK = 0,
    RELMC_STOPPED = 1,   /* stopped on request; everything so far is valid */
    RELMC_REJECT = 2,    /* from a density: it is zero here, lp = -inf */
    RELMC_EINVAL = -1,   /* an argument or option is out of range */
    RELMC_ENOMEM = -2,   /* the allocator returned NULL */
    RELMC_EUNKNOWN = -3, /* no component or parameter has this name */
    RELMC_EUNSUPP = -4,  /* these choices do not work together */
    RELMC_ETARGET = -5,  /* the density failed for good */
    RELMC_EINIT = -6,    /* no finite starting point was found */
    RELMC_EIO = -7,      /* a file could not be read or written */
    RELMC_EABI = -8,     /* plugin or struct of an incompatible version */
    RELMC_EBUSY = -9     /* the file belongs to another running process */
};

typedef struct relmc_error { /* frozen: never grows */
    relmc_status status;
    char message[508]; /* one line, says what would be right */
} relmc_error;

RELMC_API const char *relmc_status_name(relmc_status status);
/* For callbacks: fills in err, which may be NULL, and returns status. */
RELMC_API relmc_status relmc_fail(relmc_error *err, relmc_status status,
                                  const char *message);

/* ---- targets: what to sample -------------------------------------------- */

typedef struct relmc_target relmc_target;

/* A density of yours.  Set `dim`, and one of point, rows (with n_data) and lanes, or several
 * that agree; the rest is optional.  A callback returns RELMC_OK, RELMC_REJECT (any positive
 * value; outputs are NaN then), or a negative status to end the run; what it writes into err
 * reaches the caller of relmc_run_advance. */
typedef struct relmc_density {
    size_t size;
    size_t dim, n_data, n_outputs; /* n_outputs 0: a draw shows its coordinates */
    void *ctx;
    int (*point)(void *ctx, const double *x, double *lp, double *grad, relmc_error *err);
    /* prior plus `scale` times the sum over rows[0..n) of the data */
    int (*rows)(void *ctx, const double *x, const uint32_t *rows, size_t n, double scale,
                double *lp, double *grad, relmc_error *err);
    /* x[i*ld + k] is coordinate i of point k < n, the same for grad; lp[k] is -inf where
     * the density is zero */
    int (*lanes)(void *ctx, size_t n, size_t ld, const double *x, double *lp, double *grad,
                 relmc_error *err);
    /* what a draw shows: constrained parameters, generated quantities; random(from) gives
     * uniforms in (0, 1) that belong to the chain and the draw */
    int (*outputs)(void *ctx, const double *x, double (*random)(void *from), void *from,
                   double *out, relmc_error *err);
    const char *(*output_name)(void *ctx, size_t i);     /* default "x.1", ... */
    const char *(*coordinate_name)(void *ctx, size_t i); /* default "x.1", ... */
    const char *id; /* names model and data in files and checkpoints; default "callback" */
    void (*release)(void *ctx); /* called once: by relmc_target_destroy */
} relmc_density;

typedef struct relmc_data { /* borrowed by the target */
    size_t size, n_rows, n_columns;
    const double *x;      /* n_rows x n_columns, a row per observation, or ... */
    const float *x_float; /* ... in single precision */
    const double *y;      /* n_rows responses; classes are 0, 1, ... */
    size_t n_classes;     /* 0: y is numeric */
} relmc_data;

/* If it fails, `release` is not called. */
RELMC_API relmc_status relmc_target_create(relmc_target **, const relmc_density *,
                                           relmc_error *);
/* A built-in model: "banana", "logistic:sd=5"; data may be NULL. */
RELMC_API relmc_status relmc_target_open(relmc_target **, const char *spec,
                                         const relmc_data *data, relmc_error *);
/* A Stan model: a library with the BridgeStan 2 ABI, which stays loaded.  json is the text
 * of the data, the path of a file with it, or NULL; seed is for its transformed data.  print
 * (NULL: the library's own way) receives its print statements; targets of one library all
 * have one, or none has.  Constants are dropped, Jacobians included.  A library that was
 * not built for threads serves one caller at a time, and a run with threads forks a process
 * per chain; of two such libraries in one process only one may be in use. */
RELMC_API relmc_status relmc_target_open_stan(
    relmc_target **, const char *library, const char *json, uint64_t seed,
    void (*print)(void *ctx, const char *text, size_t bytes), void *ctx, relmc_error *);
RELMC_API void relmc_target_destroy(relmc_target *);

RELMC_API size_t relmc_target_dim(const relmc_target *);
RELMC_API size_t relmc_target_n_data(const relmc_target *); /* 0: no minibatches */
RELMC_API size_t relmc_target_n_outputs(const relmc_target *);
RELMC_API const char *relmc_target_name(const relmc_target *);
/* As CSV headers have them: "x.1", "b.2.3". */
RELMC_API size_t relmc_target_coordinate_name(const relmc_target *, size_t i, char *out,
                                              size_t room);
RELMC_API size_t relmc_target_output_name(const relmc_target *, size_t i, char *out,
                                          size_t room);

/* n points, row by row: lp[n], grad[n x dim] (may be NULL).  Where there is no density, lp
 * is -inf and the gradient 0; then the answer is RELMC_REJECT, and the error says why. */
RELMC_API relmc_status relmc_target_eval(const relmc_target *, size_t n, const double *x,
                                         double *lp, double *grad, relmc_error *);
/* Outputs of n points: those of draws first_draw, first_draw + 1, ... that this chain shows
 * in a run with that seed; they count from the first that it shows. */
RELMC_API relmc_status relmc_target_outputs(const relmc_target *, uint64_t seed,
                                            uint32_t chain, int64_t first_draw, size_t n,
                                            const double *x, double *out, relmc_error *);
/* Where the parameters of a Stan model are those of {"mu": 1, "theta": [1, 2]}. */
RELMC_API relmc_status relmc_target_unconstrain(const relmc_target *, const char *json,
                                                double *x, relmc_error *);
/* The next three: RELMC_EUNSUPP if the model cannot.  Exact mean and variance of every
 * coordinate, NaN where unknown or infinite. */
RELMC_API relmc_status relmc_target_moments(const relmc_target *, double *mean,
                                            double *variance, relmc_error *);
/* Exact independent draws, n x dim. */
RELMC_API relmc_status relmc_target_sample(const relmc_target *, uint64_t seed, size_t n,
                                           double *x, relmc_error *);
/* What the model says of other rows at x, without their y: probabilities of classes, n_rows
 * x n_classes, or mean and sd, n_rows x 2. */
RELMC_API relmc_status relmc_target_predict(const relmc_target *, const double *x,
                                            const relmc_data *, double *out, relmc_error *);
/* How many points the density rejected; in how many draws outputs failed and are NaN.
 * `first` (or NULL): the first message, NULL if there is none. */
RELMC_API int64_t relmc_target_rejections(const relmc_target *, const char **first);
RELMC_API int64_t relmc_target_output_failures(const relmc_target *, const char **first);

typedef struct relmc_run relmc_run;

/* ---- options ------------------------------------------------------------- */

#define RELMC_ZERO (-1) /* where 0 would mean the default */
enum { /* relmc_options.keep: what relmc_run_draws and relmc_run_online can show */
       RELMC_KEEP_OUTPUTS = 1,
       RELMC_KEEP_STATS = 2,
       RELMC_KEEP_COORDINATES = 4,
       RELMC_KEEP_WARMUP = 8,  /* warm-up rows, too; sinks and observers get them, too */
       RELMC_KEEP_RUNNING = 16 /* estimates in constant memory: relmc_run_online */
};
enum {                     /* relmc_options.batch: how minibatches are drawn */
       RELMC_BATCH_AUTO,   /* FRESH if the sampler assumes independent noise, else EPOCHS */
       RELMC_BATCH_EPOCHS, /* they run through a permutation of the rows, one per epoch */
       RELMC_BATCH_FRESH,  /* each is a random subset of the rows */
       RELMC_BATCH_REPLACE /* rows are drawn independently */
};

typedef struct relmc_options {
    size_t size;
    /* the method, as specs "name:key=value,..." */
    const char *sampler; /* default "auto" */
    const char *kinetic; /* default "relativistic:cruise=0.79"; "separable" if unadjusted */
    const char *integrator; /* default "leapfrog" */
    const char *adapt;      /* default "auto"; "none" if unadjusted */
    /* how much; RELMC_ZERO for no draws, no warm-up */
    uint64_t seed;                      /* same seed, same draws, on any machine */
    int64_t draws, warmup;              /* per chain; default 1000, 500 (0 with tuning) */
    uint32_t chains, first_chain, thin; /* default 4, 0, 1 */
    /* where from */
    const double *init; /* chains x dim; default: random in (-init_radius, init_radius) */
    double init_radius; /* default 2; RELMC_ZERO: the origin */
    double step_size;   /* the first guess, or the step without adaptation; default 1 */
    const double *inv_metric;       /* dim variances, or ... */
    const double *inv_metric_dense; /* ... dim x dim, symmetric */
    int metric_per_chain;           /* chains x dim, or chains x dim x dim, of these */
    const void *tuning;             /* what an earlier warm-up found: relmc_run_tuning */
    size_t tuning_bytes;
    /* minibatches, for samplers without an accept step and targets with data */
    uint32_t batch_rows;  /* default 0: all the data at every step */
    int batch;            /* RELMC_BATCH_... */
    int batch_is_shared;  /* all chains have the same ones */
    const double *center; /* dim: [control-variate] around this point; default: none */
    /* what is kept, and who is called */
    int keep; /* default OUTPUTS + STATS; RELMC_ZERO: nothing */
    uint32_t
        keep_points; /* with RUNNING: quantiles are off by 1/keep_points; default 256 */
    int (*heartbeat)(void *ctx, relmc_run *); /* nonzero stops the run */
    void *heartbeat_ctx;
    double heartbeat_seconds; /* between two calls, about; default 0.1 */
    double (*clock)(void);    /* seconds, for timings; default: the system's */
    /* execution; never changes the draws */
    uint32_t threads; /* default: one per chain, up to the processors */
    uint32_t lanes;   /* chains advanced together by a thread; default: chosen */
    const char *isa;  /* "baseline", "avx2", "avx512"; default: the best */
    void *(*acquire)(void *ctx, size_t bytes); /* 64-byte aligned blocks; both or none; */
    void (*release)(void *ctx, void *block, size_t bytes); /* default: the C library */
    void *memory_ctx;
} relmc_options;

/* ---- runs ---------------------------------------------------------------- */

/* The target must outlive the run; strings and arrays in options are copied. */
RELMC_API relmc_status relmc_run_create(relmc_run **out, const relmc_target *target,
                                        const relmc_options *options, relmc_error *err);
RELMC_API void relmc_run_destroy(relmc_run *run);

/* Files: "csv:BASE" makes BASE_1.csv, ... in Stan's format, "raw:BASE" BASE_1.rmc, ...
 * (docs/formats.md).  Before the first draw; after a resume in the order of the first
 * time: they go on where they were. */
RELMC_API relmc_status relmc_run_write(relmc_run *, const char *sink, relmc_error *);
/* n more iterations of every chain, warm-up included; INT64_MAX: to the end.
 * RELMC_STOPPED if an observer or relmc_run_stop ended it before all of them were made.
 * A stopped run does not go on: it answers RELMC_STOPPED from then on.  It can be saved,
 * and relmc_run_resume goes on. */
RELMC_API relmc_status relmc_run_advance(relmc_run *run, int64_t n, relmc_error *err);

/* Ask a run to stop after the transitions at hand.  Safe from any thread and
 * from a signal handler. */
RELMC_API void relmc_run_stop(relmc_run *run);

/* Iterations that every chain has made: where relmc_run_advance goes on.  After a
 * stop some chains may be ahead of it. */
RELMC_API int64_t relmc_run_position(const relmc_run *run);

/* Keep a run that is not finished in a file, between two calls of
 * relmc_run_advance: all that makes the next draws what they are, how far the
 * sinks have come, and `note`, bytes of your own.  The file is complete or not
 * there; the one before stays as PATH.1. */
RELMC_API relmc_status relmc_run_save(relmc_run *run, const char *path, const void *note,
                                      size_t note_bytes, relmc_error *err);

/* Goes on from a checkpoint of a run on the same target.  The method comes from the file.
 * options may be NULL; its draws (0: as before), keep, heartbeat, clock, execution and
 * memory are used, and method or start that contradict the file are RELMC_EINVAL.
 * The draws are those of a run that was never interrupted.  Rows that the first run kept
 * are there again; if this one keeps others, too, rows begin where it goes on. */
RELMC_API relmc_status relmc_run_resume(relmc_run **, const relmc_target *,
                                        const char *path, const relmc_options *,
                                        relmc_error *);

/* The note in a checkpoint, the first `room` bytes of it, and how many there
 * are. */
RELMC_API relmc_status relmc_checkpoint_note(const char *path, void *note, size_t room,
                                             size_t *note_bytes, relmc_error *err);

/* Close the sinks: what they hold is on disk, or the error says why not.
 * relmc_run_destroy does it too, but cannot report. */
RELMC_API relmc_status relmc_run_finish(relmc_run *run, relmc_error *err);

typedef struct relmc_progress { /* of one chain */
    size_t size;
    int64_t done, total, warmup;                  /* iterations */
    int64_t n_grad, n_grad_sampling, n_divergent; /* of all; after warm-up */
    int64_t n_clamped;         /* steps whose gradient noise exceeded the friction */
    double accept_prob, speed; /* means after warm-up; NaN before */
    double step_size;          /* the present one */
    double seconds_warmup, seconds_sampling;
    const char *sampler, *kinetic; /* at work now */
} relmc_progress;
RELMC_API relmc_status relmc_run_progress(const relmc_run *, uint32_t chain,
                                          relmc_progress *,
                                          relmc_error *); /* [any thread] */

/* Statistics of a draw: columns of relmc_draws.stats.  Append only. */
enum {
    RELMC_STAT_LP,          /* log density of the target */
    RELMC_STAT_ACCEPT_PROB, /* of the proposal, or the mean over a tree; 1 if unadjusted */
    RELMC_STAT_STEP_SIZE,
    RELMC_STAT_TREE_DEPTH,
    RELMC_STAT_N_STEPS, /* integrator steps */
    RELMC_STAT_DIVERGENT,
    RELMC_STAT_ENERGY, /* K - lp, in the coordinates that were sampled */
    RELMC_STAT_SPEED,  /* mean |dK/dp| at the start, in units of c if there is one */
    RELMC_STAT_N_GRAD, /* gradient evaluations */
    RELMC_N_STATS
};
RELMC_API const char *relmc_stat_name(int stat); /* "lp__"; NULL past the end */

/* Draws of one chain, row by row; NULL where they are not kept.  Rows [0, n) do not move
 * or change until relmc_run_destroy: a binding can show them without a copy.  The first
 * n_warmup rows are warm-up.  Room for all is reserved by relmc_run_create, where the
 * chains follow at equal distances; only rows that were made take memory.  Checkpoints
 * hold the rows, too. */
typedef struct relmc_draws {
    size_t size;
    size_t n, n_warmup;
    size_t n_outputs, dim, n_stats;
    const double *outputs;     /* n x n_outputs */
    const double *coordinates; /* n x dim */
    const double *stats;       /* n x n_stats */
} relmc_draws;
RELMC_API relmc_status relmc_run_draws(const relmc_run *, uint32_t chain, relmc_draws *,
                                       relmc_error *); /* [any thread] */

/* Every kept draw, in the thread that made it; calls for one chain come in order.  The
 * callback returns RELMC_OK, RELMC_STOPPED or a negative status.  Before the first draw. */
typedef struct relmc_draw {
    size_t size;
    uint32_t chain;
    int64_t index;                               /* negative in warm-up, -1 is its last */
    const double *outputs, *coordinates, *stats; /* borrowed for the call */
} relmc_draw;
RELMC_API relmc_status relmc_run_observe(relmc_run *,
                                         int (*)(void *ctx, const relmc_draw *), void *ctx,
                                         relmc_error *);

/* What the run does, every default spelt out: one JSON object. */
RELMC_API const char *relmc_run_manifest_json(const relmc_run *run);

/* What adaptation has decided so far: one JSON object, "{}" if it has nothing to
 * say. */
RELMC_API const char *relmc_run_tuning_json(const relmc_run *run);

/* The inverse metric of a chain: its diagonal, dim, and all of it, dim x dim.  Either may
 * be NULL.  *kind: "unit", "diagonal", "low rank", "dense".  With a warp in the tuning it
 * is that of the warped coordinates. */
RELMC_API relmc_status relmc_run_metric(const relmc_run *run, uint32_t chain,
                                        const char **kind, double *diagonal, double *dense,
                                        relmc_error *err);

/* All that warm-up found (metric, warp, step sizes, engine, kinetic energy) and where the
 * chains are, as bytes for options.tuning of later runs on the same target, with any
 * number of chains; *bytes is how many, and the first `room` of them are copied.
 * RELMC_EUNSUPP before warm-up is over.  Such a run needs no warm-up, and its default is
 * none: chains start where those of the first run were, unless there are init or
 * init_radius; sampler, kinetic and integrator are those of the first run and may be left
 * out; step_size replaces the step sizes.  Give it another seed, for draws of its own.  In
 * a warm-up it keeps metric and warp, and step size and engine are found anew. */
RELMC_API relmc_status relmc_run_tuning(relmc_run *run, void *out, size_t room,
                                        size_t *bytes, relmc_error *err);

/* ---- components: for help texts and keyword arguments -------------------- */

enum {                         /* relmc_component.flags */
       RELMC_NEEDS_EXACT = 1,  /* a sampler with an accept step: no minibatches */
       RELMC_HAS_ENGINES = 2,  /* it chooses between samplers */
       RELMC_UNADJUSTED = 4,   /* it has no accept step: warm-up tunes nothing */
       RELMC_OPTIMISES = 8,    /* it goes to a mode: its draws are a path */
       RELMC_NO_MOMENTUM = 16, /* it does not use the kinetic energy */
       RELMC_TAKES_DATA = 32   /* a model of the rows in a relmc_data */
};
typedef struct relmc_component {
    size_t size;
    const char *name, *doc;
    unsigned flags;
    size_t n_params;
    size_t n_gradients; /* of a step of an integrator; else 0 */
} relmc_component;
typedef struct relmc_parameter {
    size_t size;
    const char *name, *doc, *kind; /* "real", "integer", "vector", "choice" */
    double min, max, fallback;     /* NaN: unset, doc says what happens then */
    const char *choices;           /* "euler|baoab|obabo"; fallback is a place in it */
} relmc_parameter;
/* Roles: kinetic integrator sampler adapt model sink.  RELMC_EUNKNOWN past the end and
 * for an unknown name; the error then gives the closest name. */
RELMC_API relmc_status relmc_component_at(const char *role, size_t i, relmc_component *,
                                          relmc_error *);
RELMC_API relmc_status relmc_component_find(const char *role, const char *spec,
                                            relmc_component *, relmc_error *);
RELMC_API relmc_status relmc_component_param(const char *role, const char *name, size_t i,
                                             relmc_parameter *, relmc_error *);
/* Checks a spec and spells out its defaults: "hmc" becomes "hmc:steps=32,time=0,...".  out
 * gets what fits, terminated, and *length the length of all of it; both may be NULL. */
RELMC_API relmc_status relmc_spec_check(const char *role, const char *spec, char *out,
                                        size_t room, size_t *length, relmc_error *);
/* The value that a spec gives for a key: *n characters in it; NULL if it gives none. */
RELMC_API const char *relmc_spec_get(const char *spec, const char *key, size_t *n);

#ifdef __cplusplus
}
#endif
#endif /* RELMC_H */
