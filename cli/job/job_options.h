/* job_options.h - rows that the option tables of sample, optimize and resume
 * share. A command adds its own fields: OPT_LANES(.doc = "..."). */
#ifndef RELMC_CLI_JOB_OPTIONS_H
#define RELMC_CLI_JOB_OPTIONS_H

#include "tool/options.h"

/* clang-format off */
#define OPT_CHAINS(...)                                                       \
    {                                                                         \
        .name = "chains", .letter = 'c', .kind = OPT_COUNT, .min = 1,         \
        .max = 100000, __VA_ARGS__                                            \
    }
#define OPT_SAMPLES(...)                                                      \
    {                                                                         \
        .name = "samples", .also = {"draws", "num-samples"},                  \
        .kind = OPT_COUNT, .value = "N", .max = 1e12, __VA_ARGS__             \
    }
#define OPT_TIME_LIMIT(...)                                                   \
    {.name = "time-limit", .kind = OPT_TEXT, .value = "T", __VA_ARGS__}
#define OPT_CHECKPOINT(...)                                                   \
    {.name = "checkpoint", .kind = OPT_TEXT, .value = "FILE", __VA_ARGS__}
#define OPT_CHECKPOINT_EVERY(...)                                             \
    {.name = "checkpoint-every", .kind = OPT_TEXT, .value = "T", __VA_ARGS__}
#define OPT_NO_OUTPUT(...)                                                    \
    {.name = "no-output", .kind = OPT_FLAG, __VA_ARGS__}
#define OPT_STRICT                                                            \
    {                                                                         \
        .name = "strict", .kind = OPT_FLAG,                                   \
        .doc = "exit with 1 if a check fails"                                 \
    }
#define OPT_PROGRESS(...)                                                     \
    {                                                                         \
        .name = "progress", .kind = OPT_CHOICE, .value = "HOW",               \
        .choices = "auto|bar|plain|json|none",                                \
        .doc = "what standard error shows", __VA_ARGS__                       \
    }
#define OPT_REFRESH(...)                                                      \
    {                                                                         \
        .name = "refresh", .kind = OPT_COUNT, .value = "N", .max = 1e12,      \
        .doc = "a plain line every N iterations; 0 for none", __VA_ARGS__     \
    }
#define OPT_LANES(...)                                                        \
    {                                                                         \
        .name = "lanes", .kind = OPT_COUNT, .value = "N", .min = 1,           \
        .max = 1024, __VA_ARGS__                                              \
    }
/* clang-format on */

#endif
