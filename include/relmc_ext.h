/*
 * relmc_ext.h - for authors of components: kinetic energies, integrators,
 * samplers, adaptations, models and sinks.  Stable within a minor release
 * (relmc.h is stable within a major one).
 *
 * A component is one `const` table of functions and one plain state struct.
 * The library allocates `state_size` zeroed bytes, fills the parameters from
 * `info.params`, then calls `init` if there is one.
 */
#ifndef RELMC_EXT_H
#define RELMC_EXT_H

#include "relmc_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- parameters ----------------------------------------------------------
 * A table of them drives the parser of specs, help texts and bindings. */
typedef enum relmc_param_kind {
    RELMC_REAL,    /* a double in the state */
    RELMC_INTEGER, /* a double in the state, with an integer value */
    RELMC_VECTOR,  /* a relmc_vector in the state: "c=2" or "c=[1,2,3]" */
    RELMC_CHOICE   /* a double in the state: the place of a word in `choices` */
} relmc_param_kind;

typedef struct relmc_vector {
    const double *values; /* n of them; NULL means the fallback */
    size_t n;
} relmc_vector;

typedef struct relmc_param {
    const char *name;
    const char *doc; /* one line, with the symbol used in docs/math.md */
    double min, max;
    double fallback; /* NaN: unset, the doc says what happens then */
    size_t offset;   /* of the value in the component's state */
    relmc_param_kind kind;
    const char *choices; /* of RELMC_CHOICE: "euler|baoab|obabo" */
} relmc_param;

typedef struct relmc_info {
    const char *role; /* "kinetic", "integrator", "sampler", ... */
    const char *name;
    const char *doc;
    const relmc_param *params; /* ends with a NULL name; may be NULL */
} relmc_info;

/* As relmc_component_at and relmc_component_param, of a table that is not in the
 * library: relmc_extra_model. */
RELMC_API relmc_status relmc_info_component(const relmc_info *, relmc_component *,
                                            relmc_error *);
RELMC_API relmc_status relmc_info_param(const relmc_info *, size_t i, relmc_parameter *,
                                        relmc_error *);

/* `lanes` chains advanced in lockstep.  Every array of an ensemble has this
 * shape: a[i*ld + k] is coordinate i of lane k, lanes <= ld.  With one lane ld
 * is 1 and the array is an ordinary vector.  The ld - lanes cells of padding
 * hold finite numbers and may be computed with. */
typedef struct relmc_shape {
    size_t dim, lanes, ld;
} relmc_shape;

/* Memory that lives as long as its owner: zeroed and 64-byte aligned.  Take
 * all you need, then ask once whether it got all of it. */
typedef struct relmc_arena relmc_arena;
RELMC_API void *relmc_arena_get(relmc_arena *arena, size_t bytes);
RELMC_API relmc_status relmc_arena_check(const relmc_arena *, relmc_error *);

/* ---- archive: what a checkpoint holds ------------------------------------
 * The same function writes and reads: a component visits its variables in a fixed
 * order, and each is copied to the checkpoint or filled from it.  After a failure
 * all that is read is zero; the run asks once, at the end. */
typedef struct relmc_archive relmc_archive;
RELMC_API int relmc_archive_is_reading(const relmc_archive *);
RELMC_API void relmc_archive_bytes(relmc_archive *, void *data, size_t bytes);
RELMC_API void relmc_archive_reals(relmc_archive *, double *values, size_t n);
/* Lane k of an array of that shape. */
RELMC_API void relmc_archive_lane(relmc_archive *, const relmc_shape *, size_t k,
                                  double *block);
/* A whole number: n = relmc_archive_count(archive, n, most).  If the number that is
 * read is larger than `most`, the archive fails. */
RELMC_API uint64_t relmc_archive_count(relmc_archive *, uint64_t n, uint64_t most);
/* Fails the archive: `why` is one line that says what is wrong with what was read. */
RELMC_API void relmc_archive_fail(relmc_archive *, const char *why);
RELMC_API int relmc_archive_has_failed(const relmc_archive *);

/* ---- random numbers ------------------------------------------------------
 * A stream is a position in the infinite sequence of 64-bit words that
 * Philox4x32-10 makes of (seed, chain, purpose).  It is plain data. */
typedef struct relmc_stream {
    uint64_t seed;
    uint64_t word; /* the next word to be used */
    uint32_t chain;
    uint32_t purpose;
} relmc_stream;

/* Purposes of random numbers.  Append only: draws depend on these numbers.
 * Diagnostics use numbers from 1000 on; replica r inside a sampler adds
 * (r + 1) 2^16 to the purpose. */
enum {
    RELMC_FOR_INIT,     /* starting points */
    RELMC_FOR_MOMENTUM, /* refreshment */
    RELMC_FOR_ACCEPT,   /* Metropolis */
    RELMC_FOR_LENGTH,   /* trajectory lengths */
    RELMC_FOR_STEP,     /* the first guess of the step size */
    RELMC_FOR_MODEL,    /* exact draws and starts of a model */
    RELMC_FOR_BATCH,    /* rows of minibatches */
    RELMC_FOR_NOISE,    /* of stochastic-gradient samplers */
    RELMC_N_PURPOSES
};

RELMC_API uint64_t relmc_bits(relmc_stream *);
RELMC_API double relmc_uniform(relmc_stream *); /* in (0, 1), never an end */
RELMC_API double relmc_normal(relmc_stream *);
RELMC_API double relmc_exponential(relmc_stream *);         /* mean 1 */
RELMC_API double relmc_gamma(relmc_stream *, double shape); /* scale 1 */

/* ---- kinetic energy K(p) --------------------------------------------------
 * It acts on whitened momenta, so it never sees a mass matrix.  After init the
 * state is a constant: one kinetic energy serves many ensembles, shapes and
 * threads at once.  All slots are required, except init and those in single
 * precision. */

/* A heat bath, for one step.  If rate is 0, its friction is linear, p <- a p + ...;
 * otherwise it is -D dK/dp, as in the paper, for a time h. */
typedef struct relmc_bath {
    double keep;        /* a in [0, 1) */
    double rate;        /* D h */
    double temperature; /* T >= 0: exp(-K/T) is left invariant */
} relmc_bath;

/* [SGD-rel] in single precision: p <- keep p - rate v(p) + kick g, then
 * x <- shrink x + drift v(p). */
typedef struct relmc_push {
    float keep, rate, kick, shrink, drift;
} relmc_push;

/* A step with a heat bath in single precision: p += kick[0] g; x += drift[0] v(p); the
 * bath, with linear friction; p += kick[1] g; x += drift[1] v(p). */
typedef struct relmc_heat {
    relmc_bath bath;
    int is_explicit; /* [SGHMC] instead: p += -rate v(p) + N(0, 2 rate T) + kick[1] g;
                        x += drift[1] v(p) */
    float kick[2], drift[2];
} relmc_heat;

typedef struct relmc_kinetic_ops {
    relmc_info info;
    size_t state_size;
    int has_limit; /* the speed is bounded: |dK/dp| < c */
    relmc_status (*init)(void *self, relmc_arena *, size_t dim, relmc_error *);
    /* p ~ exp(-K(p)), independently in every lane; one stream per lane */
    void (*refresh)(const void *self, const relmc_shape *, relmc_stream *, double *p);
    /* [partial-refresh] [O-step] exact, without rejection; `work` has room for
     * (2 dim + 1) x ld numbers */
    void (*partial)(const void *self, const relmc_shape *, relmc_stream *,
                    const relmc_bath *, double *p, double *work);
    /* energy[k] = K(p_k), zero at p = 0 */
    void (*energy)(const void *self, const relmc_shape *, const double *p, double *energy);
    /* v = dK/dp */
    void (*velocity)(const void *self, const relmc_shape *, const double *p, double *v);
    /* laplacian[k] = sum_i d2K/dp_i2 */
    void (*laplacian)(const void *self, const relmc_shape *, const double *p,
                      double *laplacian);
    /* curvature = d2K/dp_i2, dim x ld: the terms of the Laplacian */
    void (*curvature)(const void *self, const relmc_shape *, const double *p,
                      double *curvature);
    /* speed[k]: mean over coordinates of |v_i| / c_i, or |v| / c for an energy
     * that couples them; plain mean |v_i| where nothing limits the speed */
    void (*speed)(const void *self, const relmc_shape *, const double *p, double *speed);
    /* mean of `speed` under exp(-K), in closed form: the cruising speed */
    double (*cruise)(const void *self, size_t dim);
    /* Optional, both or none: a step of an optimiser in single precision, and
     * energy[k] = K(p_k) with speed[k] as above */
    void (*push_float)(const void *self, const relmc_shape *, const relmc_push *,
                       const float *g, float *p, float *x);
    void (*weigh_float)(const void *self, const relmc_shape *, const float *p,
                        double *energy, double *speed);
    /* Optional, with these two: a step with a heat bath, for one lane, whose numbers
     * are ld apart */
    void (*heat_float)(const void *self, size_t dim, size_t ld, relmc_stream *,
                       const relmc_heat *, const float *g, float *p, float *x);
} relmc_kinetic_ops;

typedef struct relmc_kinetic {
    const relmc_kinetic_ops *ops;
    const void *self;
} relmc_kinetic;

/* ---- target --------------------------------------------------------------*/

/* What a target's init reports; n_data stays 0 for a target without rows that
 * could be left out, n_outputs for one whose draws show the coordinates. */
typedef struct relmc_size {
    size_t dim, n_data, n_outputs;
    size_t scratch; /* bytes for `rows` and `predict`, whatever is asked */
    int is_float;   /* its gradients have single precision in any case, and
                       `rows_float` saves the conversions */
} relmc_size;

/* Some rows of the data: lp and its gradient are those of the prior plus `scale`
 * times the sum over the rows. */
typedef struct relmc_rows {
    const uint32_t *row; /* n of them; NULL: all, in order */
    size_t n;
    double scale;
    void *scratch; /* relmc_size.scratch bytes */
} relmc_rows;

/* A chain that begins. */
typedef struct relmc_chain {
    uint64_t seed;
    uint32_t number;  /* that of its streams */
    uint32_t threads; /* so many chains of the run advance at the same time */
    uint64_t n_drawn; /* outputs it has made before */
} relmc_chain;

/* After init the state is a constant.  A model has one of the evaluators, or several
 * that agree; relmc_eval takes the one that fits and gathers lanes for it.  They answer
 * RELMC_OK, RELMC_REJECT (no lane has a density) or a negative status, which ends the
 * run with what they write into the error. */
typedef struct relmc_model_ops {
    relmc_info info;
    size_t state_size;
    relmc_status (*init)(void *self, relmc_arena *, relmc_size *, relmc_error *);
    /* A model on data: in place of init when there are data. */
    relmc_status (*bind)(void *self, relmc_arena *, const relmc_data *, relmc_size *,
                         relmc_error *);
    /* One point, on all the data, for a chain or for none (NULL). */
    int (*point)(const void *self, void *chain, const double *x, double *lp, double *grad,
                 relmc_error *);
    /* Many points, on all the data.  Where there is no density, lp is -inf. */
    int (*lanes)(const void *self, const relmc_shape *, const double *x, double *lp,
                 double *grad, relmc_error *);
    int omits_lp; /* lp may be NULL: the gradient alone, which costs much less; its bits
                     are those from `lanes` wherever lp is finite */
    /* Many points on the same rows of the data, all or some. */
    int (*rows)(const void *self, const relmc_shape *, const double *x, const relmc_rows *,
                double *lp, double *grad, relmc_error *);
    int is_one_by_one; /* it takes one point only */
    /* Optional, with relmc_size.is_float.  The same for one point, in single precision
     * but for lp. */
    int (*rows_float)(const void *self, const float *x, const relmc_rows *, double *lp,
                      float *grad, relmc_error *);
    /* Optional.  As relmc_target_predict. */
    relmc_status (*predict)(const void *self, const double *x, const relmc_data *,
                            void *scratch, double *out, relmc_error *);
    /* Optional.  Where a chain starts; default: uniform in a box. */
    void (*start)(const void *self, relmc_stream *, double *x);
    /* Optional.  Exact mean and variance per coordinate, NaN where unknown. */
    void (*moments)(const void *self, double *mean, double *variance);
    /* Optional.  One exact independent draw. */
    void (*draw)(const void *self, relmc_stream *, double *x);
    /* Optional.  The name of coordinate i, cut off to `room` bytes; the length of all of
     * it.  Default x.1, x.2, ... */
    size_t (*coordinate_name)(const void *self, size_t i, char *out, size_t room);
    /* Optional, both or none.  What a draw shows in place of its coordinates, n_outputs
     * values; random ones come from the chain.  Called for kept draws only.  Undefined
     * values are NaN; an error ends the run. */
    size_t (*output_name)(const void *self, size_t i, char *out, size_t room);
    relmc_status (*output)(const void *self, void *chain, const double *x, double *out,
                           relmc_error *);
    /* Optional, both or none.  What the model keeps for one chain of a run: from
     * before its first evaluation to the end of the run. */
    relmc_status (*chain_open)(const void *self, relmc_arena *, const relmc_chain *,
                               void **out, relmc_error *);
    void (*chain_close)(const void *self, void *chain);
    /* Optional.  What of it moves, for a checkpoint. */
    void (*chain_archive)(const void *self, void *chain, relmc_archive *);
    /* Optional.  The target is destroyed. */
    void (*close)(void *self);
} relmc_model_ops;

/* ---- phase-space state and the system that moves it ---------------------- */

typedef struct relmc_state {
    double *x, *p, *g; /* dim x ld: position, momentum, gradient of lp at x */
    double *lp;        /* one per lane */
} relmc_state;

/* The mass matrix, seen as a change of variables x = S z with M^-1 = S S'.
 * Momentum lives in z-space, so kinetic energies never see it and every
 * kinetic energy works with every scale.  All NULL: the identity. */
typedef struct relmc_scale {
    const double *diag;   /* dim x ld: every lane may have its own */
    const double *chol;   /* dim x dim, lower triangle, row-major: shared ... */
    const double *chol_t; /* ... and its transpose: both or none */
    /* S = diag (I + U (f - 1) U'), shared, with diag: */
    size_t rank;
    const double *low_rank; /* rank x dim, orthonormal rows: U' */
    const double *factor;   /* rank: f */
    double *room;           /* rank x ld, scratch */
} relmc_scale;

/* [warp]  A change of variables that is not linear, x = T(y).  One layer of it:
 * with s = (x_hub - middle) / width the other coordinates are
 *   x = c + l s + a s^2 + y + sum_r v_r ((D_r(s) - 1) (w_r . y) + h_r D_r(s)^2),
 *   D_r(s)^2 = (1 + f_r) / (exp(-2 b_r s) + f_r). */
typedef struct relmc_layer {
    size_t hub;
    double middle, width;
    double *bend;     /* 3 x dim: c, l, a; 0 for the hub */
    size_t rank;      /* 0: it bends, and stretches nothing */
    int is_axial;     /* v and w are the axes, and rank is dim */
    double *rate;     /* rank: b ... */
    double *flat;     /* ... f >= 0, which ends the growth of D ... */
    double *lift;     /* ... and h */
    double *out, *in; /* rank x dim, if it is not: rows v and w, 0 for the hub,
                         and w_q . v_r = 1 if q = r, else 0 */
} relmc_layer;

typedef struct relmc_warp relmc_warp;
/* In place; g and lp may be NULL. */
typedef void (*relmc_warp_fn)(const relmc_warp *, const relmc_shape *, double *x, double *g,
                              double *lp);
struct relmc_warp {
    size_t n; /* layers; 0: x is y */
    /* the first is the last to act: x = T_1(T_2(y)) */
    const relmc_layer *layers;
    relmc_warp_fn apply, undo; /* from y to x, and back: points, gradients and
                                  log densities */
    double *x, *g, *lp;        /* scratch: dim x ld, dim x ld, ld */
    double *room;              /* scratch: 6 x ld */
};

/* The two maps, as a component. */
typedef struct relmc_warp_ops {
    relmc_info info;
    relmc_warp_fn apply, undo;
} relmc_warp_ops;

typedef struct relmc_integrator_ops relmc_integrator_ops;

/* The minibatches of an ensemble. */
typedef struct relmc_batch {
    size_t n_rows;       /* rows of a minibatch; 0: all the data, always */
    double scale;        /* N / n_rows */
    int is_shared;       /* all lanes have the same minibatch */
    int has_replacement; /* RELMC_BATCH_REPLACE */
    int is_fresh;        /* RELMC_BATCH_FRESH */
    uint32_t *order;     /* rows in the order of their use: `stride` of them per lane,
                            or once if the minibatch is shared */
    size_t stride;
    size_t *at;           /* one per lane: the next place in `order` */
    relmc_stream shared;  /* random numbers of a shared minibatch */
    const double *center; /* dim, [control-variate]; NULL: none */
    double *center_grad;  /* dim, of all the data there */
    double center_lp;
    double *work; /* 2 dim */
} relmc_batch;

/* The target, as an ensemble sees it. */
typedef struct relmc_view {
    const relmc_model_ops *ops; /* its evaluators ... */
    const void *self;           /* ... and their ctx */
    void **chain;               /* one per lane, if the model keeps them */
    size_t n_data;              /* rows a minibatch can leave out; or 0 */
    void *scratch;              /* relmc_size.scratch bytes */
    int is_float;               /* relmc_eval_float works */
} relmc_view;

/* How chains move. */
typedef struct relmc_move {
    relmc_kinetic kinetic;   /* in use: one of the next two */
    relmc_kinetic wanted;    /* as the options say */
    relmc_kinetic newtonian; /* with unit mass, for adaptation */
    const relmc_integrator_ops *integrator;
    double *eps;                /* one per lane: the step size, set by adaptation */
    double time;                /* that crossing the target takes, in units of S: how
                                   long a momentum should last; 0: unknown */
    int32_t max_depth;          /* of trees, while adaptation wants less; 0: no limit */
    const char *const *engines; /* those of the sampler; NULL if it has none */
    int engine;                 /* the one at work: adaptation has chosen it */
} relmc_move;

/* The coordinates that are sampled: the target knows x = T(y), and momentum
 * lives in z, y = S z. */
typedef struct relmc_frame {
    relmc_warp warp;   /* T */
    relmc_scale scale; /* S */
    int has_own_scale; /* each chain was given a metric of its own */
    uint32_t epoch;    /* goes up when adaptation changes S or K: a momentum
                          from before has no meaning then */
} relmc_frame;

/* How much the run is. */
typedef struct relmc_extent {
    int64_t transitions; /* of each chain, those of warm-up included */
    int64_t warmup;      /* so many of them are warm-up */
    uint32_t chains;     /* of all ensembles together */
    uint32_t first;      /* number of the first chain of this ensemble, from 0 */
} relmc_extent;

/* Arrays of one value per lane. */
typedef struct relmc_lanes {
    unsigned char *rest;    /* set by the run: begin no transition */
    unsigned char *warming; /* set by the run: in warm-up */
    unsigned char *busy;    /* set by the sampler: on a trajectory */
    relmc_stream *streams[RELMC_N_PURPOSES];
} relmc_lanes;

/* Room for intermediate results. */
typedef struct relmc_scratch {
    double *v;        /* dim x ld, of the integrator */
    double *row, *lp; /* 2 dim, and one per lane: of relmc_eval */
} relmc_scratch;

/* Everything of an ensemble but its state.  Each ensemble has its own, so
 * targets and kinetic energies are constants, which threads share. */
typedef struct relmc_system {
    relmc_shape shape;
    relmc_view target;
    relmc_batch batch;
    relmc_move move;
    relmc_frame frame;
    relmc_extent run;
    relmc_lanes lanes;
    relmc_scratch scratch;
    relmc_error error; /* what ended the run */
} relmc_system;

/* Log density and gradient of every busy lane: the only way in which samplers see a
 * target.  Where the density is zero, or lp is NaN, lp = -inf and g = 0.  With
 * lp = NULL it computes the gradient alone, which has no meaning where the density is
 * zero. */
RELMC_API relmc_status relmc_eval(relmc_system *, const double *x, double *lp, double *g);

/* The same in single precision, if sys->target.is_float. */
RELMC_API relmc_status relmc_eval_float(relmc_system *, const float *x, double *lp,
                                        float *g);

/* Every busy lane goes on to its next minibatch.  Does nothing without minibatches. */
RELMC_API void relmc_advance(relmc_system *);

/* A model that is not in the library's own table, by its functions; `data` may
 * be NULL. */
RELMC_API relmc_status relmc_target_open_ops(relmc_target **out, const relmc_model_ops *,
                                             const char *spec, const relmc_data *data,
                                             relmc_error *err);

/* ---- integrator ---------------------------------------------------------- */

struct relmc_integrator_ops {
    relmc_info info;
    int order;
    /* A palindromic splitting is data: kick, drift, ..., kick fractions. */
    const double *coef;
    size_t n_coef;
    /* One step.  step[k] is the step size of lane k; its sign is the direction of
     * time, and 0 leaves the lane where it is.  z->g is the gradient at z->x before
     * and after; if z->lp is NULL, the density is not computed. */
    relmc_status (*step)(const relmc_integrator_ops *, relmc_system *, relmc_state *z,
                         const double *step);
    /* The parts it is made of: [kick] p += f step S' g and [drift] x += f step S
     * dK/dp; sys->scratch.v is dK/dp, or S dK/dp, afterwards. */
    void (*kick)(const relmc_system *, relmc_state *z, const double *step, double f);
    void (*drift)(const relmc_system *, relmc_state *z, const double *step, double f);
};

/* ---- sampler -------------------------------------------------------------
 * One tick makes one integrator step of every busy lane.  Where lane k completes
 * its transition, the sampler sets done[k] and the statistics of the lane.  The lane
 * begins its next transition in the following tick, unless rest[k] is set. */
typedef struct relmc_transition {
    size_t n_done;       /* lanes that completed a transition in this tick */
    unsigned char *done; /* one per lane, as all that follow */
    double *accept_prob, *energy, *speed;
    int32_t *n_steps, *n_grad, *depth, *divergent;
    int32_t *n_clamped; /* steps whose gradient noise exceeded the friction */
} relmc_transition;

typedef struct relmc_sampler_ops {
    relmc_info info;
    size_t state_size;
    unsigned flags; /* as relmc_component.flags */
    /* With RELMC_HAS_ENGINES: their names, NULL at the end.  Adaptation sets
     * sys->move.engine, an index into it. */
    const char *const *engines;
    relmc_status (*init)(void *self, relmc_arena *, const relmc_system *, relmc_error *);
    relmc_status (*tick)(void *self, relmc_system *, relmc_state *, relmc_transition *);
    /* Optional.  Visits what lane k keeps from one transition to the next.  The run
     * itself archives position, momentum, gradient, step size, streams and
     * minibatches.  The lane is at rest; the run that reads may have another number
     * of lanes. */
    void (*archive)(void *self, const relmc_system *, size_t k, relmc_archive *);
    /* Optional.  Does it keep its state in single precision?  Asked after init. */
    int (*is_float)(const void *self);
    /* Optional.  Does it assume that the noise of minibatches is independent from
     * step to step?  Asked before init. */
    int (*wants_white_noise)(const void *self);
} relmc_sampler_ops;

/* ---- adaptation: edits the tuning between warm-up transitions ------------ */

/* A sync point: all chains have made `iteration` transitions, and none is under
 * way. */
typedef struct relmc_sync {
    int64_t iteration;
    size_t n; /* ensembles, in the order of their chains */
    void *const *self;
    relmc_system *const *sys;
    relmc_state *const *z;
} relmc_sync;

typedef struct relmc_adapt_ops {
    relmc_info info;
    size_t state_size;
    relmc_status (*init)(void *self, relmc_arena *, const relmc_system *, int64_t warmup,
                         relmc_error *);
    /* Before the first transition, and after every sync point: sets sys->move.eps,
     * which holds the first guess.  May move the chains. */
    relmc_status (*start)(void *self, relmc_system *, relmc_state *);
    /* After transition number `iteration` (from 0) of a lane in warm-up. */
    void (*observe)(void *self, relmc_system *, const relmc_state *,
                    const relmc_transition *, size_t lane, int64_t iteration);
    /* Optional, both or none.  The first sync point after that many iterations,
     * 0 if there is none; and what happens there, in one thread.  Their
     * iterations depend on the options only, so that the draws do not depend on
     * threads and lanes. */
    int64_t (*next_sync)(const void *self, int64_t iteration);
    relmc_status (*sync)(const relmc_sync *, relmc_error *);
    /* Optional.  What was decided so far: one JSON object.  The run asks the
     * adaptation of the first ensemble. */
    const char *(*report)(const void *self);
    /* Optional.  Visits what is kept for lane k. */
    void (*archive)(void *self, relmc_system *, size_t k, relmc_archive *);
    /* Optional.  Before the lanes: visits what all ensembles have in common, the scale
     * included.  Writes the state of the first one; when it reads, all get it. */
    void (*archive_common)(const relmc_sync *, relmc_archive *);
} relmc_adapt_ops;

/* ---- sink: where draws go ------------------------------------------------ */

typedef struct relmc_header {
    size_t dim; /* values of a draw: outputs */
    uint32_t chains, first_chain;
    int64_t warmup, draws;
    const char *model;            /* name of the target */
    const char *const *names;     /* dim of them */
    const relmc_options *options; /* every default filled in */
    const char *manifest;         /* JSON: relmc_run_manifest_json */
    size_t n_coordinates;         /* of the metric */
    const char *library, *data;   /* of a Stan model; else NULL and "" */
    int is_resumed;               /* the run goes on: `archive` is called after `open` */
} relmc_header;

/* What is known of a chain when its warm-up ends, and at its end. */
typedef struct relmc_milestone {
    uint32_t chain;
    double step_size;
    const double *inv_metric; /* its diagonal, one value per coordinate; NULL for
                                 the identity */
    const double *chol;       /* lower factor, square, if it is a dense matrix */
    double seconds_warmup, seconds_sampling;
    int64_t draws; /* made after warm-up, thinned-out ones included */
    /* in use, perhaps by the choice of adaptation: the sampler, or its engine,
     * and the kinetic energy */
    const char *engine, *kinetic;
} relmc_milestone;

typedef struct relmc_sink_ops {
    relmc_info info;
    size_t state_size;
    /* `args` is what follows "name:" in the sink spec.  On failure nothing is
     * left behind and close is not called. */
    relmc_status (*open)(void *self, relmc_arena *, const char *args, const relmc_header *,
                         relmc_error *);
    /* These three are called by the thread that runs the chain, the first one
     * also at a sync point. */
    relmc_status (*warmed_up)(void *self, const relmc_milestone *,
                              relmc_error *); /* optional */
    relmc_status (*draw)(void *self, const relmc_draw *, relmc_error *);
    /* Once for every chain that has begun, before `close` at the latest: a
     * chain that was stopped ends there. */
    relmc_status (*ended)(void *self, const relmc_milestone *,
                          relmc_error *);             /* optional */
    relmc_status (*close)(void *self, relmc_error *); /* optional */
    /* Optional; without it a resumed run fills the sink from where it goes on.
     * Written: all that came so far is safe, and how much that was.  Read: the
     * sink is as it was then, whatever has come since; if that fails, or the
     * archive has, nothing is left open and close is not called. */
    relmc_status (*archive)(void *self, relmc_archive *, relmc_error *);
} relmc_sink_ops;

#ifdef __cplusplus
}
#endif
#endif /* RELMC_EXT_H */
