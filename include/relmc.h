/*
 * relmc.h - sample a density, keep the draws, stop and resume.
 *
 * Beside it: relmc_spec.h (names of components), relmc_diag.h (diagnostics), relmc_ext.h
 * (writing components), relmc_team.h (one run in several processes), relmc_extra.h (models
 * and measures that need other libraries), relmc_format.h (layouts of files).
 *
 * Rules for every function
 *   - It returns a status, 0 for success, and takes a relmc_error * or NULL last.  Outputs
 *     come first.  A failed call leaves its outputs as they were.
 *   - *_create, *_open and *_resume give you an object; *_destroy ends it and accepts NULL.
 *     A returned pointer is borrowed: it lives as long as its object.
 *   - A struct begins with its size.  Start from RELMC_INIT(type): all else is zero, and
 *     zero means the default.  Structs grow at the end: bytes that an older library does not
 *     know must be zero; of a report the library fills in what both know.
 *   - Log densities are natural logarithms up to a constant; gradients have their sign.
 *     Chains, draws and coordinates count from 0.  Text that is copied (out, room) is cut
 *     and terminated; the length of all of it is returned.
 *
 * Threads
 *   - Different objects are independent.  There is no global state, printing or exit().
 *   - A target is constant: any thread may use it, also while runs sample it.
 *   - A run has one owner at a time.  Functions marked [any thread] may be called while the
 *     owner is inside relmc_run_advance; [signal safe] also from a handler.
 *   - Densities and observers are called from options.threads threads at once, one call per
 *     chain at a time; `heartbeat` by the owner's thread only.  Sampling takes no memory.
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
/* clang-format off */
#ifdef __cplusplus
template <class T> inline T relmc_sized() { T t = T(); t.size = sizeof t; return t; }
#define RELMC_INIT(type) (relmc_sized<type>())
extern "C" {
#else
#define RELMC_INIT(type) {.size = sizeof(type)}
#endif
/* clang-format on */

/* ---- version: semantic; see docs/stability.md --------------------------------------- */

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
RELMC_API const char *relmc_status_name(relmc_status);
/* For callbacks: fills in err, which may be NULL, and returns status. */
RELMC_API relmc_status relmc_fail(relmc_error *, relmc_status, const char *message);

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
    void (*release)(void *ctx); /* by relmc_target_destroy; not if create failed */
} relmc_density;

typedef struct relmc_data { /* borrowed by the target */
    size_t size, n_rows, n_columns;
    const double *x;      /* n_rows x n_columns, a row per observation, or ... */
    const float *x_float; /* ... in single precision */
    const double *y;      /* n_rows responses; classes are 0, 1, ... */
    size_t n_classes;     /* 0: y is numeric */
} relmc_data;
RELMC_API relmc_status relmc_target_create(relmc_target **, const relmc_density *,
                                           relmc_error *);
/* A built-in model: "banana", "logistic:sd=5"; data may be NULL. */
RELMC_API relmc_status relmc_target_open(relmc_target **, const char *spec,
                                         const relmc_data *data, relmc_error *);
/* A Stan model: a library with the BridgeStan 2 ABI, which stays loaded.  json is the text
 * of the data, the path of a file with it, or NULL; seed is for its transformed data.  print
 * (NULL: the library's own way) receives its print statements; all targets of a library have
 * one, or none has.  A library that was not built for threads serves one target at a time,
 * and a run with threads forks a process per chain. */
RELMC_API relmc_status relmc_target_open_stan(
    relmc_target **, const char *library, const char *json, uint64_t seed,
    void (*print)(void *ctx, const char *text, size_t bytes), void *ctx, relmc_error *);
RELMC_API void relmc_target_destroy(relmc_target *);
RELMC_API size_t relmc_target_dim(const relmc_target *);
RELMC_API size_t relmc_target_n_data(const relmc_target *); /* 0: no minibatches */
RELMC_API size_t relmc_target_n_outputs(const relmc_target *);
RELMC_API const char *relmc_target_name(const relmc_target *);
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
/* What a model says of other rows at x, without their y: probabilities of classes, n_rows
 * x n_classes, or mean and sd, n_rows x 2. */
RELMC_API relmc_status relmc_target_predict(const relmc_target *, const double *x,
                                            const relmc_data *, double *out, relmc_error *);

/* ---- options ------------------------------------------------------------------------- */

typedef struct relmc_run relmc_run;
#define RELMC_ZERO (-1) /* where 0 would mean the default */
/* clang-format off */
enum { /* WARMUP: warm-up rows, too, in files as well; RUNNING: relmc_run_online */
    RELMC_KEEP_OUTPUTS = 1, RELMC_KEEP_STATS = 2, RELMC_KEEP_COORDINATES = 4,
    RELMC_KEEP_WARMUP = 8, RELMC_KEEP_RUNNING = 16
};
/* Minibatches run through a permutation of the rows, then another one (EPOCHS); are random
 * subsets (FRESH); or rows drawn independently (REPLACE).  AUTO: FRESH for samplers that
 * assume independent noise, else EPOCHS. */
enum { RELMC_BATCH_AUTO, RELMC_BATCH_EPOCHS, RELMC_BATCH_FRESH, RELMC_BATCH_REPLACE };
/* clang-format on */

typedef struct relmc_options {
    size_t size;
    /* the method, as specs "name:key=value,..." */
    const char *sampler; /* default "auto" */
    const char *kinetic; /* default "relativistic:cruise=0.79"; if unadjusted "separable" */
    const char *integrator; /* default "leapfrog" */
    const char *adapt;      /* default "auto"; if unadjusted "none" */
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
    uint32_t batch_rows;        /* default 0: all the data at every step */
    int batch, batch_is_shared; /* RELMC_BATCH_...; all chains have the same ones */
    const double *center; /* dim: [control-variate] around this point; default: none */
    /* what is kept, and who is called */
    int keep; /* sum of RELMC_KEEP_...; default OUTPUTS + STATS; RELMC_ZERO */
    uint32_t
        keep_points; /* with RUNNING: ranks of quantiles to 1/keep_points; default 256 */
    int (*heartbeat)(void *ctx, relmc_run *); /* nonzero stops the run */
    void *heartbeat_ctx;                      /* its first argument */
    double heartbeat_seconds;                 /* between two calls, about; default 0.1 */
    double (*clock)(void); /* seconds, for timings; default: the system's */
    /* execution; never changes the draws */
    uint32_t threads; /* default: one per chain, up to the processors */
    uint32_t lanes;   /* chains advanced together by a thread; default: chosen */
    const char *isa;  /* "baseline", "avx2", "avx512"; default: the best */
    void *(*acquire)(void *ctx, size_t bytes); /* 64-byte aligned blocks; both or none; */
    void (*release)(void *ctx, void *block, size_t bytes); /* default: the C library */
    void *memory_ctx;
} relmc_options;

/* ---- runs ---------------------------------------------------------------------------- */

/* The target must outlive the run; everything in options is copied. */
RELMC_API relmc_status relmc_run_create(relmc_run **, const relmc_target *,
                                        const relmc_options *, relmc_error *);
/* Goes on from a checkpoint of a run on the same target, with the draws of a run that was
 * never interrupted and the method of the file.  options may be NULL; its draws (0: as
 * before), keep, heartbeat, clock, execution and memory are used, others must not contradict
 * the file.  Rows that were kept are there again; others begin where the run goes on. */
RELMC_API relmc_status relmc_run_resume(relmc_run **, const relmc_target *,
                                        const char *path, const relmc_options *,
                                        relmc_error *);
RELMC_API void relmc_run_destroy(relmc_run *);
/* Files: "csv:BASE" makes BASE_1.csv, ... in Stan's format, "raw:BASE" BASE_1.rmc, ...
 * (docs/formats.md).  Before the first draw; after a resume in the order of the first
 * time: they go on where they were. */
RELMC_API relmc_status relmc_run_write(relmc_run *, const char *sink, relmc_error *);
/* n more iterations of every chain, warm-up included; INT64_MAX: to the end.  RELMC_STOPPED
 * if a heartbeat, an observer or relmc_run_stop ended it: such a run can be saved, and
 * relmc_run_resume goes on; it does not advance itself. */
RELMC_API relmc_status relmc_run_advance(relmc_run *, int64_t n, relmc_error *);
RELMC_API void relmc_run_stop(relmc_run *); /* [any thread] [signal safe] */
RELMC_API int64_t
relmc_run_position(const relmc_run *); /* iterations all chains have made */
/* The whole run, and a note of yours, in a file that is complete or not there; the one
 * before stays as PATH.1.  Between two calls of relmc_run_advance. */
RELMC_API relmc_status relmc_run_save(relmc_run *, const char *path, const void *note,
                                      size_t note_bytes, relmc_error *);
/* *bytes is the length of the note; the first `room` of them are copied. */
RELMC_API relmc_status relmc_checkpoint_note(const char *path, void *note, size_t room,
                                             size_t *bytes, relmc_error *);
/* Closes the files: they are complete on disk, or the error says why not. */
RELMC_API relmc_status relmc_run_finish(relmc_run *, relmc_error *);

/* ---- what came out ------------------------------------------------------------------- */

typedef struct relmc_progress { /* of one chain; [any thread] */
    size_t size;
    int64_t done, total, warmup;                  /* iterations */
    int64_t n_grad, n_grad_sampling, n_divergent; /* of all; after warm-up */
    int64_t n_clamped;         /* steps whose gradient noise exceeded the friction */
    double accept_prob, speed; /* means after warm-up; NaN before */
    double step_size, seconds_warmup, seconds_sampling;
    const char *sampler, *kinetic; /* at work now */
} relmc_progress;
RELMC_API relmc_status relmc_run_progress(const relmc_run *, uint32_t chain,
                                          relmc_progress *, relmc_error *);

/* Statistics of a draw, columns of relmc_draws.stats; append only.  ACCEPT_PROB: of the
 * proposal, or the mean over a tree; ENERGY: K - lp in the coordinates that were sampled;
 * SPEED: mean |dK/dp| at the start, in units of c if there is one. */
/* clang-format off */
enum {
    RELMC_STAT_LP, RELMC_STAT_ACCEPT_PROB, RELMC_STAT_STEP_SIZE, RELMC_STAT_TREE_DEPTH,
    RELMC_STAT_N_STEPS, RELMC_STAT_DIVERGENT, RELMC_STAT_ENERGY, RELMC_STAT_SPEED,
    RELMC_STAT_N_GRAD, RELMC_N_STATS
};
/* clang-format on */
RELMC_API const char *relmc_stat_name(int stat); /* "lp__"; NULL past the end */

/* Draws of one chain, row by row; NULL where they are not kept.  Rows [0, n) do not move or
 * change until relmc_run_destroy: a binding can show them without a copy.  The first n_warmup
 * rows are warm-up.  Room for all rows is reserved when the run is created, and used as they
 * are made; chains follow at equal distances.  [any thread] */
typedef struct relmc_draws {
    size_t size, n, n_warmup, n_outputs, dim, n_stats;
    const double *outputs;     /* n x n_outputs */
    const double *coordinates; /* n x dim */
    const double *stats;       /* n x n_stats */
} relmc_draws;
RELMC_API relmc_status relmc_run_draws(const relmc_run *, uint32_t chain, relmc_draws *,
                                       relmc_error *);

typedef struct relmc_draw {
    size_t size;
    uint32_t chain;
    int64_t index;                               /* negative in warm-up, -1 is its last */
    const double *outputs, *coordinates, *stats; /* borrowed for the call */
} relmc_draw;
/* Every kept draw, in the thread that made it; calls for one chain come in order.  The
 * callback returns RELMC_OK, RELMC_STOPPED or a negative status.  Before the first draw. */
RELMC_API relmc_status relmc_run_observe(relmc_run *,
                                         int (*)(void *ctx, const relmc_draw *), void *ctx,
                                         relmc_error *);

/* The inverse metric of a chain: its diagonal, dim, and all of it, dim x dim.  Either may
 * be NULL.  *kind: "unit", "diagonal", "low rank", "dense".  With a warp in the tuning it
 * is that of the warped coordinates. */
RELMC_API relmc_status relmc_run_metric(const relmc_run *, uint32_t chain,
                                        const char **kind, double *diagonal, double *dense,
                                        relmc_error *);
/* All that warm-up found (metric, warp, step sizes, engine, kinetic energy) and where the
 * chains are, as bytes for options.tuning of runs on the same target with any number of
 * chains; *bytes is how many, the first `room` are copied.  RELMC_EUNSUPP before warm-up is
 * over.  Such a run needs no warm-up and starts where the chains were, unless there are init
 * or init_radius; its method may be left out; step_size replaces the step sizes.  Give it
 * another seed.  A warm-up keeps metric and warp, and finds step size and engine anew. */
RELMC_API relmc_status relmc_run_tuning(relmc_run *, void *out, size_t room, size_t *bytes,
                                        relmc_error *);
/* JSON objects: what adaptation decided so far; what the run does, every default spelt out. */
RELMC_API const char *relmc_run_tuning_json(const relmc_run *);
RELMC_API const char *relmc_run_manifest_json(const relmc_run *);

#ifdef __cplusplus
}
#endif
#endif /* RELMC_H */
