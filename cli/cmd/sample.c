/* sample.c - relmc sample: samples a model. */
#include "job/sample.h"
#include "cmd/help.h"
#include "data/data_options.h"
#include "job/job_options.h"
#include "job/team.h"

#include <stdio.h>

/* ---- options ------------------------------------------------------------- */

static const struct opt options[] = {
    OPT_CHAINS(.value = "N", .fallback = "4", .doc = "number of chains",
               .group = "Run:"),
    {.name = "warmup",
     .also = {"tune", "num-warmup"},
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "500",
     .max = 1e12,
     .doc = "warm-up iterations of each chain"},
    OPT_SAMPLES(
            .fallback = "1000",
            .doc =
                "draws of each chain; 0 for warm-up only; with --until-ess or "
                "--until-rhat the most draws (default there: 100000)"),
    OPT_SEED(.doc = "random seed; equal seeds give equal draws (default: "
                    "random, printed)"),
    {.name = "init",
     .kind = OPT_TEXT,
     .value = "R|FILE",
     .fallback = "2",
     .doc = "start uniformly in (-R, R), or at the points of a "
            "JSON file: {\"x\": [1, 2]}, of a Stan model "
            "{\"mu\": 1, ...}, or a list with one for each chain"},
    {.name = "thin",
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "1",
     .min = 1,
     .max = 1e9,
     .doc = "keep every N-th draw"},
    {.name = "save-warmup",
     .kind = OPT_FLAG,
     .doc = "write warm-up draws, too"},
    {.name = "chain-id",
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "1",
     .min = 1,
     .max = 1e9,
     .doc = "number of the first chain"},
    {.name = "until-ess",
     .kind = OPT_REAL,
     .value = "N",
     .min = 1,
     .max = 1e15,
     .doc = "stop when every parameter has this effective "
            "sample size"},
    {.name = "until-rhat",
     .kind = OPT_REAL,
     .value = "R",
     .min = 1,
     .max = 100,
     .doc = "stop when every parameter has this R-hat, or "
            "less; with --until-ess, when both hold"},
    OPT_TIME_LIMIT(.doc = "stop after this time, warm-up included: 90, "
                          "30s, 10m, 3h50m"),
    OPT_CHECKPOINT(.doc = "keep the run in FILE; relmc resume FILE goes on "
                          "with it, or makes it longer"),
    OPT_CHECKPOINT_EVERY(.fallback = "60s",
                         .doc =
                             "how often FILE is written: 90, 30s, 10m, 3h50m"),
    {.name = "sampler",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .fallback = "auto",
     .choices = "sampler",
     .doc = "such as nuts, or hmc:steps=20",
     .group = "Method:"},
    {.name = "kinetic",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .fallback = "relativistic:cruise=0.79",
     .choices = "kinetic",
     .doc = "kinetic energy, such as separable:m=1,c=2"},
    {.name = "integrator",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .fallback = "leapfrog",
     .choices = "integrator",
     .doc = "integrator of the trajectories"},
    {.name = "step-size",
     .also = {"stepsize"},
     .kind = OPT_REAL,
     .value = "E",
     .min = 1e-12,
     .max = 1e12,
     .doc = "step size eps; the first guess when it is "
            "adapted"},
    {.name = "max-step",
     .kind = OPT_REAL,
     .value = "X",
     .min = 1e-12,
     .max = 1e12,
     .doc = "eps times c, the longest step of a coordinate (in units of its "
            "scale, if there is a metric); needs --fix"},
    {.name = "speed",
     .kind = OPT_PARAM,
     .choices = "kinetic",
     .key = "c",
     .value = "C",
     .doc = "speed of light c"},
    {.name = "mass",
     .kind = OPT_PARAM,
     .choices = "kinetic",
     .key = "m",
     .value = "M",
     .doc = "rest mass m"},
    {.name = "cruise",
     .kind = OPT_PARAM,
     .choices = "kinetic",
     .key = "cruise",
     .value = "V",
     .doc = "wanted mean speed over c, in place of --mass"},
    {.name = "leapfrog",
     .kind = OPT_PARAM,
     .choices = "sampler",
     .key = "steps",
     .value = "L",
     .doc = "integrator steps of a trajectory"},
    {.name = "int-time",
     .kind = OPT_PARAM,
     .choices = "sampler",
     .key = "time",
     .value = "T",
     .doc = "integration time eps L, in place of --leapfrog"},
    {.name = "jitter",
     .kind = OPT_PARAM,
     .choices = "sampler",
     .key = "jitter",
     .value = "J",
     .doc = "vary L at random by this fraction"},
    {.name = "friction",
     .kind = OPT_PARAM,
     .choices = "sampler",
     .key = "friction",
     .value = "D",
     .doc = "friction of stochastic-gradient samplers"},
    {.name = "adapt",
     .kind = OPT_SPEC,
     .value = "SPEC",
     .fallback = "auto",
     .choices = "adapt",
     .doc = "adaptation in warm-up",
     .group = "Adaptation:"},
    {.name = "target-accept",
     .also = {"adapt-delta"},
     .kind = OPT_PARAM,
     .choices = "adapt",
     .key = "delta",
     .value = "P",
     .doc = "wanted mean acceptance probability"},
    {.name = "fix",
     .kind = OPT_FLAG,
     .doc = "no adaptation; the step size is 1 unless given"},
    {.name = "metric",
     .kind = OPT_CHOICE,
     .value = "KIND",
     .choices = "unit_e|diag_e|dense_e",
     .doc = "kind of mass matrix to adapt, or of that in --inv-metric FILE"},
    {.name = "inv-metric",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "inverse mass matrix, from JSON: {\"inv_metric\": [...]}"},
    DATA_OPTIONS,
    BATCH_OPTIONS,
    {.name = "control-variates",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "reduce the noise of minibatches around a point, such as a mode; "
            "FILE is JSON or npy"},
    OPT_OUTPUT(.value = "BASE",
               .doc = "write BASE_1.csv ... and BASE_config.json (default: "
                      "the name of the model, here); BASE.rmc: plain "
                      "numbers, BASE_1.rmc ...; BASE.nc: one NetCDF file",
               .group = "Output:"),
    OPT_NO_OUTPUT(.doc = "write no files, print the summary only"),
    {.name = "sig-figs",
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "8",
     .min = 1,
     .max = 17,
     .doc = "significant digits in files; 17 keep every bit"},
    {.name = "no-summary",
     .kind = OPT_FLAG,
     .doc = "write the draws only, and compute nothing from them"},
    OPT_JSON(.doc = "print the summary as JSON"),
    OPT_STRICT,
    OPT_PROGRESS(.fallback = "auto"),
    OPT_REFRESH(.fallback = "100"),
    OPT_QUIET(.doc = "errors only"),
    OPT_CORES(.doc = "threads (default: one per chain, at most one per "
                     "processor)",
              .group = "Execution (does not change the draws):"),
    OPT_LANES(.doc = "chains advanced in lockstep (default: chosen)"),
    {.name = "memory",
     .kind = OPT_REAL,
     .value = "MB",
     .min = 0,
     .max = 1e12,
     .doc = "keep the draws for the summary if they need at most this much, "
            "else running estimates (default: half of the memory)"},
    OPT_MPI,
    {.name = "config",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "options from the BASE_config.json of an earlier "
            "run; those given here override it",
     .group = "Other:"},
    OPT_COMMON,
    {0},
};

static void more_help(void)
{
    (void)printf(
        "MODEL is a .stan file, a .so file with the BridgeStan ABI, or the "
        "name\n"
        "of a built-in model (relmc models).  Names and SPECs are NAME or\n"
        "NAME:key=value,...; the names are\n");
    help_component_names();
    (void)printf(
        "\nAn option may also be set as RELMC_NAME in the environment, and in\n"
        "$XDG_CONFIG_HOME/relmc/config.json: {\"sample\": {\"chains\": 8}}.\n");
}

const struct command cmd_sample = {
    .name = "sample",
    .argument = "MODEL",
    .doc = "draw from a model",
    .examples =
        "relmc sample banana\n"
        "relmc sample gaussian:dim=10,rho=0.9 --seed 1 -o runs/g\n"
        "relmc sample model.stan --data data.json\n"
        "relmc sample funnel --kinetic relativistic --cruise 0.6 --chains 8\n"
        "relmc sample gmm1 --fix --step-size 0.5 --max-step 1\n"
        "relmc sample banana --until-ess 1000 --time-limit 10m\n"
        "relmc sample funnel --checkpoint run.ckpt --samples 1e6\n"
        "relmc sample --config banana_config.json\n",
    .options = options,
    .run = job_command,
    .job = &job_sample,
    .help = more_help,
};
