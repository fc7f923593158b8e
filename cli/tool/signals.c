/* signals.c - signals that stop a run. */
#define _POSIX_C_SOURCE 200809L

#include "tool/signals.h"

#include <unistd.h>

static atomic_int caught;
static relmc_run *_Atomic running;

const atomic_int *signals_caught(void)
{
    return &caught;
}

static void on_signal(int number)
{
    if (caught) {
        _exit(CLI_SIGNAL + number);
    }
    caught = number;
    relmc_run *const run = running;

    if (run) {
        relmc_run_stop(run);
    }
}

static void catch_signal(int number, struct sigaction *old)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, NULL, old);
    if (old->sa_handler != SIG_IGN) { /* nohup and shells mean it */
        (void)sigaction(number, &action, NULL);
    }
}

/* A closed pipe must not end a run. */
void signals_catch(struct signals *old, relmc_run *run)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    running = run;
    (void)sigemptyset(&ignore.sa_mask);
    (void)sigaction(SIGPIPE, &ignore, &old->pipe);
    catch_signal(SIGINT, &old->interrupt);
    catch_signal(SIGTERM, &old->terminate);
    catch_signal(SIGHUP, &old->hangup);
    catch_signal(SIGUSR1, &old->user);
}

void signals_begin(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    (void)sigemptyset(&ignore.sa_mask);
    (void)sigaction(SIGXFSZ, &ignore, NULL);
}

void signals_release(const struct signals *old)
{
    (void)sigaction(SIGINT, &old->interrupt, NULL);
    (void)sigaction(SIGTERM, &old->terminate, NULL);
    (void)sigaction(SIGHUP, &old->hangup, NULL);
    (void)sigaction(SIGUSR1, &old->user, NULL);
    (void)sigaction(SIGPIPE, &old->pipe, NULL);
    running = NULL;
}
