/* data_options.h - the options about data, and models on them: one place for
 * every command that has a model. */
#ifndef RELMC_CLI_DATA_OPTIONS_H
#define RELMC_CLI_DATA_OPTIONS_H

#include "data/dataset.h"
#include "relmc_ext.h"
#include "tool/options.h"

/* clang-format off */
#define DATA_OPTIONS                                                       \
    {                                                                         \
        .name = "data", .kind = OPT_TEXT, .value = "FILE",                    \
        .doc = "data of the model: CSV, IDX or npy, gzip or not, or the "     \
               "name of a set (relmc data); JSON for a Stan model",           \
        .group = "Data:"},                                                    \
    {                                                                         \
        .name = "response", .kind = OPT_TEXT, .value = "COL",                 \
        .doc = "the column to predict: its name, or its number from 1 "       \
               "(default: the last)"},                                        \
    {                                                                         \
        .name = "labels", .kind = OPT_TEXT, .value = "FILE",                  \
        .doc = "IDX or npy file with the response"},                          \
    {                                                                         \
        .name = "test", .kind = OPT_TEXT, .value = "FILE|SHARE",              \
        .doc = "data to test on: a file, a set, or the share (or number) of " \
               "rows of --data to leave out for it"},                         \
    {                                                                         \
        .name = "split-seed", .kind = OPT_COUNT, .value = "N",                \
        .fallback = "1", .max = 0x1p64,                                       \
        .doc = "random seed that chooses the rows left out"},                 \
    {                                                                         \
        .name = "scale", .kind = OPT_CHOICE, .value = "HOW",                  \
        .fallback = "none", .choices = "none|sd|max|byte",                    \
        .doc = "scale the columns: sd, to mean 0 and standard deviation 1; "  \
               "max, to at most 1; byte, divided by 255; the constants "      \
               "come from --data"},                                           \
    {                                                                         \
        .name = "standardize", .also = {"standardise"}, .kind = OPT_FLAG,     \
        .doc = "the same as --scale sd"},                                     \
    {                                                                         \
        .name = "intercept", .kind = OPT_FLAG,                                \
        .doc = "put a column of ones in front"},                              \
    {                                                                         \
        .name = "classes", .kind = OPT_COUNT, .value = "K", .max = 1000,      \
        .doc = "number of classes (default: those that occur)"},              \
    {                                                                         \
        .name = "task", .kind = OPT_CHOICE, .value = "KIND",                  \
        .fallback = "auto", .choices = "auto|number|classes",                 \
        .doc = "kind of response (default: as the model needs it)"},          \
    {                                                                         \
        .name = "header", .kind = OPT_CHOICE, .value = "WHEN",                \
        .fallback = "auto", .choices = "auto|yes|no",                         \
        .doc = "whether the first line of a CSV file holds names"}

#define BATCH_OPTIONS                                                      \
    {                                                                         \
        .name = "batch-size", .also = {"batch"}, .kind = OPT_COUNT,           \
        .value = "N", .min = 1, .max = 1e9,                                   \
        .doc = "rows of a minibatch (default: all the data at every step)"},  \
    {                                                                         \
        .name = "batch-shared", .kind = OPT_FLAG,                             \
        .doc = "all chains see the same minibatches"},                        \
    {                                                                         \
        .name = "batch-rows", .kind = OPT_CHOICE, .value = "HOW",             \
        .fallback = "auto", .choices = "auto|epochs|fresh|replace",           \
        .doc = "epochs: each row once, then again in another order; fresh: "  \
               "a random subset at each step; replace: random rows, with "    \
               "repetition; auto: fresh for samplers that correct for the "   \
               "noise of gradients, else epochs"}
/* clang-format on */

struct data_split {
    bool has_data, has_test;
    struct dataset train, test;
    relmc_data for_training, for_testing; /* the same, for the library */
};

/* Reads the data that the options name, for that model.  These return 0, or the exit code
 * after a message. */
int data_options_read(struct data_split *out, const struct opt_set *set,
                      const char *model);
void data_options_clear(struct data_split *data);

/* Refuses every option of data but --data: "--response WHY". */
int data_options_check_unused(const struct opt_set *set, const char *why);

/* Is it a built-in model, or one of librelmc-extra? */
bool data_options_knows(const char *spec);
/* The i-th model of librelmc-extra, which all need data; NULL past the end. */
const relmc_info *data_options_extra(size_t i);
int data_options_open(relmc_target **out, const char *spec,
                      const struct data_split *data, const char *who);

/* How the rows of a minibatch are found: "epochs", "fresh", "replace", as a
 * flag of the library; 0 for all else. */
int data_options_rows_kind(const char *how);
/* The options of a run that minibatches need. */
int data_options_batches(relmc_options *out, const struct opt_set *set,
                         const relmc_target *target);

#endif
