/*
 * relmc_format.h - the files that librelmc writes: the words of Stan CSV, the layout of
 * draws as plain numbers (.rmc), and the head of a checkpoint.  docs/formats.md explains
 * them.  Constants only.  Readers refuse .rmc files and checkpoints of another version.
 */
#ifndef RELMC_FORMAT_H
#define RELMC_FORMAT_H

/* ---- draws as Stan CSV, BASE_1.csv -----------------------------------------------
 * CmdStan's words, which its readers look for, and ours, which begin with relmc_.
 * First, lines "# KEY = VALUE".  These keys are read by relmc; others are only written. */
#define RELMC_KEY_MODEL       "model"
#define RELMC_KEY_METHOD      "method"
#define RELMC_KEY_DRAWS       "num_samples"
#define RELMC_KEY_WARMUP      "num_warmup"
#define RELMC_KEY_SAVE_WARMUP "save_warmup"
#define RELMC_KEY_THIN        "thin"
#define RELMC_KEY_ENGAGED     "engaged" /* does it adapt? */
#define RELMC_KEY_DELTA       "delta"   /* CmdStan only: acceptance aimed at */
#define RELMC_KEY_ALGORITHM   "algorithm"
#define RELMC_KEY_ENGINE      "engine" /* of Stan: nuts or static */
#define RELMC_KEY_MAX_DEPTH   "max_depth"
#define RELMC_KEY_ID          "id" /* of the chain, from 1 */
#define RELMC_KEY_FILE        "file"
#define RELMC_KEY_DIGITS      "sig_figs"
#define RELMC_KEY_STAN_MAJOR  "stan_version_major"
#define RELMC_KEY_STAN_MINOR  "stan_version_minor"

/* The method as it was asked for: specs with all parameters ... */
#define RELMC_KEY_VERSION    "relmc_version"
#define RELMC_KEY_SPEC       "relmc_model"
#define RELMC_KEY_SAMPLER    "relmc_sampler"
#define RELMC_KEY_KINETIC    "relmc_kinetic"
#define RELMC_KEY_INTEGRATOR "relmc_integrator"
#define RELMC_KEY_ADAPT      "relmc_adapt"
/* ... and what adaptation chose, known when the run has ended. */
#define RELMC_KEY_CHOSEN_SAMPLER "relmc_engine"
#define RELMC_KEY_CHOSEN_KINETIC "relmc_energy"
/* Of a Stan program, in place of RELMC_KEY_SPEC: its library, and how many
 * coordinates it has. */
#define RELMC_KEY_LIBRARY     "relmc_library"
#define RELMC_KEY_COORDINATES "relmc_coordinates"

/* Then, the names of the columns: the statistics of a transition, in this order, and
 * the outputs.  The names of statistics end in __. */
#define RELMC_COLUMN_LP          "lp__"
#define RELMC_COLUMN_ACCEPT_PROB "accept_stat__"
#define RELMC_COLUMN_STEP_SIZE   "stepsize__"
#define RELMC_COLUMN_TREE_DEPTH  "treedepth__"
#define RELMC_COLUMN_STEPS       "n_leapfrog__"
#define RELMC_COLUMN_DIVERGENT   "divergent__"
#define RELMC_COLUMN_ENERGY      "energy__"
#define RELMC_COLUMN_SPEED       "speed__"
enum { RELMC_CSV_STATS = 8 };

/* Between warm-up and draws: "# " and one of these, the step size, and the metric in
 * the lines that follow its title. */
#define RELMC_CSV_ADAPTED   "Adaptation terminated"
#define RELMC_CSV_STEP_SIZE "Step size ="
#define RELMC_CSV_METRIC    "inverse mass matrix:" /* the end of both titles: */
#define RELMC_CSV_DIAGONAL  "Diagonal elements of " RELMC_CSV_METRIC
#define RELMC_CSV_DENSE     "Elements of " RELMC_CSV_METRIC

/* Behind the draws, each with a number between the two parts.  Stan's reader takes the
 * seconds from column 17 on. */
#define RELMC_CSV_ELAPSED          "#  Elapsed Time: "
#define RELMC_CSV_ELAPSED_INDENT   "#                "
#define RELMC_CSV_SECONDS_WARMUP   "seconds (Warm-up)"
#define RELMC_CSV_SECONDS_SAMPLING "seconds (Sampling)"
#define RELMC_CSV_SECONDS_TOTAL    "seconds (Total)"

/* ---- draws as plain numbers, BASE_1.rmc ----------------------------------------
 * A head of RELMC_RAW_HEAD bytes, the text of a CSV file up to the names of its
 * columns, rows of warm-up, the text of what adaptation found, rows of draws, and the
 * text of the times.  Numbers are IEEE 754 doubles, the lowest byte first. */
#define RELMC_RAW_MAGIC   "relmcRW\n" /* the first 8 bytes */
#define RELMC_RAW_VERSION 1

/* Places in the head.  All but the first two are unsigned and have 8 bytes, the
 * lowest first. */
enum {
    RELMC_RAW_AT_VERSION = 8,     /* 4 bytes: RELMC_RAW_VERSION */
    RELMC_RAW_AT_COLUMNS = 12,    /* 4 bytes: numbers in a row */
    RELMC_RAW_AT_BODY = 16,       /* where the first row stands */
    RELMC_RAW_AT_WARMUP = 24,     /* rows of warm-up */
    RELMC_RAW_AT_DRAWS = 32,      /* where the draws begin; 0: none yet */
    RELMC_RAW_AT_ROWS = 40,       /* draws; all bits set: up to the end of the file */
    RELMC_RAW_AT_TEXT = 48,       /* bytes of the text in front */
    RELMC_RAW_AT_ADAPTATION = 56, /* bytes of what adaptation found */
    RELMC_RAW_HEAD = 64
};

/* ---- checkpoints ----------------------------------------------------------------
 * A head of RELMC_CHECKPOINT_HEAD bytes; the length of the caller's note in 8 bytes, and
 * the note; then what only the version of librelmc that wrote it can read.  Numbers are
 * as they are in memory. */
#define RELMC_CHECKPOINT_MAGIC   "relmcCP\n" /* the first 8 bytes */
#define RELMC_CHECKPOINT_VERSION 5
#define RELMC_CHECKPOINT_ORDER   0x01020304

/* Places in the head. */
enum {
    RELMC_CHECKPOINT_AT_ORDER = 8,    /* 4 bytes: RELMC_CHECKPOINT_ORDER */
    RELMC_CHECKPOINT_AT_VERSION = 12, /* 4 bytes */
    RELMC_CHECKPOINT_AT_LENGTH = 16,  /* 8 bytes: of the whole file */
    RELMC_CHECKPOINT_AT_HASH = 24,    /* 8 bytes: of the rest, then of the head */
    RELMC_CHECKPOINT_HEAD = 32
};

/* ---- tuning, relmc_run_tuning ------------------------------------------------------
 * The same head with another magic; then what only the version of librelmc that wrote
 * it can read. */
#define RELMC_TUNING_MAGIC   "relmcTU\n"
#define RELMC_TUNING_VERSION 1

#endif
