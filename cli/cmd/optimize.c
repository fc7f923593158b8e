/* optimize.c - relmc optimize: finds a mode of a model with an optimiser. */
#include "job/optimize.h"
#include "data/data_options.h"
#include "job/job_options.h"
#include "job/team.h"
#include "tool/spec.h"

/* ---- options ------------------------------------------------------------- */

static const struct opt options[] = {
    {.name = "optimizer",
     .also = {"optimiser", "sampler"},
     .kind = OPT_SPEC,
     .value = "SPEC",
     .choices = "sampler",
     .is_offered = spec_optimises,
     .doc = "such as adam:lr=0.001 (default: sgd, which is RSGD with linear "
            "friction); networks use single precision unless precision=double "
            "is given",
     .group = "Method:"},
    {.name = "kinetic",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .choices = "kinetic",
     .doc = "kinetic energy of sgd; newtonian is plain momentum (default: "
            "separable)"},
    {.name = "epochs",
     .kind = OPT_COUNT,
     .value = "E",
     .min = 1,
     .max = 1e12,
     .doc = "passes over the data (default: 20, or 1000 without minibatches; "
            "10000 steps without data)",
     .group = "Run:"},
    {.name = "steps",
     .kind = OPT_COUNT,
     .value = "S",
     .min = 1,
     .max = 1e12,
     .doc = "number of steps, in place of --epochs"},
    {.name = "patience",
     .kind = OPT_COUNT,
     .value = "P",
     .min = 1,
     .max = 1e9,
     .doc = "stop when the test loss has not fallen for P reports, and keep "
            "the best point"},
    {.name = "every",
     .kind = OPT_COUNT,
     .value = "N",
     .min = 1,
     .max = 1e12,
     .doc = "report after every N epochs (default: every one, or "
            "20 times in all if there are more than 100)"},
    OPT_TIME_LIMIT(.doc = "stop after this time: 90, 30s, 10m, 3h50m"),
    OPT_CHECKPOINT(
            .doc = "keep the run in FILE; relmc resume FILE goes on with it"),
    OPT_CHECKPOINT_EVERY(.fallback = "60s",
                         .doc =
                             "how often FILE is written: 90, 30s, 10m, 3h50m"),
    OPT_CHAINS(.value = "K", .fallback = "1",
               .doc = "number of chains, each with its own start"),
    OPT_SEED(.doc = "random seed; equal seeds give equal paths (default: "
                    "random, printed)"),
    {.name = "init",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "start at the points of an npy or JSON file (default: where the "
            "model starts)"},
    DATA_OPTIONS,
    BATCH_OPTIONS,
    OPT_OUTPUT(.value = "BASE",
               .doc = "write BASE_curve.csv and BASE_theta.npy (default: "
                      "MODEL_OPTIMIZER, here)",
               .group = "Output:"),
    OPT_NO_OUTPUT(.doc = "write no files"),
    OPT_JSON(.doc = "print the result as JSON, not as a table"),
    OPT_QUIET(.doc = "errors only"),
    OPT_CORES(.doc = "threads (default: one per chain, at most one per "
                     "processor)"),
    OPT_MPI,
    OPT_COMMON,
    {0},
};

const struct command cmd_optimize = {
    .name = "optimize",
    .argument = "MODEL",
    .doc = "find the mode of a model, by RSGD and other optimizers",
    .examples =
        "relmc optimize banana --seed 1\n"
        "relmc optimize logistic --data pima --test 0.25 --standardize\n"
        "relmc optimize mlp:hidden=100 --data mnist --test mnist-test "
        "--scale byte \\\n"
        "    --batch-size 100 --epochs 20\n"
        "relmc optimize mlp --data train.csv --test 0.2 --optimizer "
        "adam:lr=0.001 \\\n"
        "    --batch-size 50 --epochs 200 --patience 10 -o net\n"
        "relmc optimize mlp --data mnist --batch-size 100 --checkpoint "
        "run.ckpt\n",
    .options = options,
    .run = job_command,
    .job = &job_optimize,
};
