/* commands.c - the table of commands.  A new one is a file in cmd/ and a line here. */
#include "commands.h"

extern const struct command cmd_sample, cmd_resume, cmd_summary, cmd_diagnose,
    cmd_compare, cmd_convert, cmd_models, cmd_data, cmd_gradcheck, cmd_logp,
    cmd_compile, cmd_optimize, cmd_predict, cmd_reproduce, cmd_version,
    cmd_help;

const struct command *const cli_commands[] = {
    &cmd_sample,    &cmd_resume,  &cmd_optimize, &cmd_predict,   &cmd_summary,
    &cmd_diagnose,  &cmd_compare, &cmd_convert,  &cmd_models,    &cmd_data,
    &cmd_gradcheck, &cmd_logp,    &cmd_compile,  &cmd_reproduce, &cmd_version,
    &cmd_help,      NULL,
};
