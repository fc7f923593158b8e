/*
 * bridgestan_worker.c - a process that makes the calls of one chain, for Stan models
 * whose library was not built for threads.
 *
 * Questions and answers are in memory that both processes see; a byte through a
 * socket announces each.  A worker that dies closes its end, which ends the wait for
 * it.  A parent that dies closes the write end of a pipe; the signal from that ends
 * the worker even during a call.  Later workers hold copies of the ends of earlier
 * ones: they end in reverse.
 */
#include "target/bridgestan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum question { DENSITY = 'd', OUTPUTS = 'o' };

/* What both see. */
struct mail {
    int code;
    uint64_t n_drawn; /* outputs so far */
    double lp;
    char said[RMC_SAID];
    double values[]; /* dim: x; dim: gradient; n_outputs: outputs */
};

struct rmc_stan_worker {
    pid_t pid; /* 0: it is gone */
    int socket, life;
    size_t bytes;
    struct mail *mail;
};

/* ---- the worker -------------------------------------------------------------- */

/* Nothing of the parent's is flushed or run. */
static void leave(int code) __attribute__((noreturn));
static void leave(int code)
{
    _exit(code); /* lint: allow _exit: only the worker ends */
}

/* Signals from the terminal are for the parent to handle. */
static void settle(int life)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};
    struct pollfd gone = {.fd = life};
    sigset_t none;

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        (void)signal(ignored[i], SIG_IGN);
    }
    (void)signal(SIGIO, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)fcntl(life, F_SETOWN, getpid());
    (void)fcntl(life, F_SETFL, O_ASYNC);
    if (poll(&gone, 1, 0) && (gone.revents & POLLHUP)) {
        leave(0); /* it went before we could listen */
    }
}

static void serve(const struct rmc_stan *stan, const relmc_chain *about,
                  int socket, struct mail *mail) __attribute__((noreturn));
static void serve(const struct rmc_stan *stan, const relmc_chain *about,
                  int socket, struct mail *mail)
{
    double *x = mail->values, *grad = x + stan->dim, *out = grad + stan->dim;
    ssize_t n;
    char question;

    while ((n = read(socket, &question, 1)) != 0) {
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            break;
        }
        if (question == DENSITY) {
            mail->code = rmc_stan_density(stan, x, &mail->lp, grad, mail->said);
        } else {
            mail->code = rmc_stan_outputs(stan, about, mail->n_drawn, x, out,
                                          mail->said);
        }
        if (write(socket, &question, 1) != 1) {
            break;
        }
    }
    leave(0);
}

/* ---- making and ending ------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static relmc_status fork_worker(struct rmc_stan_chain *chain,
                                const relmc_chain *about, const int socket[2],
                                const int life[2])
{
    struct rmc_stan_worker *w = chain->worker;
    const pid_t pid = fork();

    if (pid == 0) {
        (void)close(socket[0]);
        (void)close(life[1]);
        settle(life[0]);
        serve(chain->stan, about, socket[1], w->mail);
    }
    w->pid = pid > 0 ? pid : 0;
    w->socket = socket[0];
    w->life = life[1];
    (void)close(socket[1]);
    (void)close(life[0]);
    return pid < 0 ? RELMC_ENOMEM : RELMC_OK;
}

/* The signals that would end us at a bad moment wait until it has settled. */
static relmc_status launch(struct rmc_stan_chain *chain,
                           const relmc_chain *about)
{
    int socket[2], life[2];
    sigset_t all, old;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, socket)) {
        return RELMC_ENOMEM;
    }
    if (pipe(life)) {
        (void)close(socket[0]);
        (void)close(socket[1]);
        return RELMC_ENOMEM;
    }
    for (int i = 0; i < 2;
         i++) { /* programs started by others do not get them */
        (void)fcntl(socket[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(life[i], F_SETFD, FD_CLOEXEC);
    }
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    const relmc_status status = fork_worker(chain, about, socket, life);
    const int why = errno;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = why;
    return status;
}

relmc_status rmc_stan_worker_start(struct rmc_stan_chain *chain,
                                   relmc_arena *arena, const relmc_chain *about,
                                   relmc_error *err)
{
    const struct rmc_stan *stan = chain->stan;
    struct rmc_stan_worker *w = relmc_arena_get(arena, sizeof *w);

    if (!w) {
        return relmc_arena_check(arena, err);
    }
    *w = (struct rmc_stan_worker){.socket = -1, .life = -1};
    w->bytes = sizeof *w->mail +
               (2 * stan->dim + stan->n_outputs) * sizeof *w->mail->values;
    void *shared = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    w->mail = shared == MAP_FAILED ? NULL : shared;
    chain->worker = w;
    if (!w->mail || launch(chain, about)) {
        const int why = errno;

        rmc_stan_worker_stop(w);
        return rmc_fail(err, RELMC_ENOMEM,
                        "stan: no process for chain %u: %s; with one thread "
                        "none is needed",
                        about->number + 1, strerror(why));
    }
    return RELMC_OK;
}

/* It has nothing to tidy up, and may be in a call that never ends. */
static int reap(struct rmc_stan_worker *w)
{
    int status = 0;

    if (!w->pid) {
        return 0;
    }
    (void)kill(w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {
    }
    w->pid = 0;
    return status;
}

void rmc_stan_worker_stop(struct rmc_stan_worker *worker)
{
    (void)reap(worker);
    close_fd(&worker->socket);
    close_fd(&worker->life);
    if (worker->mail) {
        (void)munmap(worker->mail, worker->bytes);
        worker->mail = NULL;
    }
}

/* ---- asking ------------------------------------------------------------------ */

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {
        {SIGSEGV, "segmentation fault"},  {SIGABRT, "abort"},
        {SIGFPE, "arithmetic exception"}, {SIGBUS, "bus error"},
        {SIGILL, "illegal instruction"},  {SIGKILL, "killed"},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].number == number) {
            return known[i].name;
        }
    }
    return "another signal";
}

static int gone(const struct rmc_stan_chain *chain, char question,
                relmc_error *err)
{
    struct rmc_stan_worker *w = chain->worker;
    const char *where = question == DENSITY ? "the log density" : "the outputs";

    if (!w->pid) {
        return rmc_fail(err, RELMC_ETARGET,
                        "stan: the process of chain %u is gone",
                        chain->about.number + 1);
    }
    /* it closed its end, so it is ending by itself: no need to kill */
    int status = 0;
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {
    }
    w->pid = 0;
    if (WIFSIGNALED(status)) {
        return rmc_fail(err, RELMC_ETARGET,
                        "stan: the model crashed in %s of chain %u: signal %d "
                        "(%s)",
                        where, chain->about.number + 1, WTERMSIG(status),
                        signal_name(WTERMSIG(status)));
    }
    return rmc_fail(err, RELMC_ETARGET,
                    "stan: the model ended its process in %s of chain %u "
                    "(exit code %d)",
                    where, chain->about.number + 1,
                    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* The answer's code; a negative one ends the run. */
static int ask(struct rmc_stan_chain *chain, char question, const double *x,
               char said[RMC_SAID], relmc_error *err)
{
    const struct rmc_stan_worker *w = chain->worker;
    char answer;
    ssize_t n;

    if (!w->pid) {
        return gone(chain, question, err);
    }
    memcpy(w->mail->values, x, chain->stan->dim * sizeof *x);
    w->mail->n_drawn = chain->n_drawn;
    do {
        n = send(w->socket, &question, 1, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    while (n == 1 && (n = read(w->socket, &answer, 1)) < 0 && errno == EINTR) {
        n = 1;
    }
    if (n != 1) {
        return gone(chain, question, err);
    }
    if (w->mail->code) {
        memcpy(said, w->mail->said, RMC_SAID);
    }
    return w->mail->code < 0
               ? rmc_fail(err, w->mail->code, "stan: chain %u: %s",
                          chain->about.number + 1, said)
               : w->mail->code;
}

int rmc_stan_worker_density(struct rmc_stan_chain *chain, const double *x,
                            double *lp, double *grad, char said[RMC_SAID],
                            relmc_error *err)
{
    const int code = ask(chain, DENSITY, x, said, err);
    const size_t dim = chain->stan->dim;

    if (code >= 0) {
        *lp = chain->worker->mail->lp;
        memcpy(grad, chain->worker->mail->values + dim, dim * sizeof *grad);
    }
    return code;
}

int rmc_stan_worker_outputs(struct rmc_stan_chain *chain, const double *x,
                            double *out, char said[RMC_SAID], relmc_error *err)
{
    const struct rmc_stan *stan = chain->stan;
    const int code = ask(chain, OUTPUTS, x, said, err);

    if (code >= 0) {
        memcpy(out, chain->worker->mail->values + 2 * stan->dim,
               stan->n_outputs * sizeof *out);
    }
    return code;
}
