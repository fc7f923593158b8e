/* main.c - relmc-reproduce, the program that `relmc reproduce` runs. */
#define _POSIX_C_SOURCE 200809L

#include "reproduce.h"

#include "tool/openblas_kernels.h"
#include "tool/signals.h"

int main(int argc, char **argv)
{
    openblas_kernels_choose(argv);
    signals_begin();
    return command_finish(
        command_run(&paper_reproduce, NULL, argc - 1, argv + 1));
}
