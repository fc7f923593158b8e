/* progress.c - reports on a run while it is going on: bars on a terminal,
 * Stan's lines elsewhere, JSON for programs. */
#define _POSIX_C_SOURCE 200809L

#include "job/progress.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PERIOD_MS = 100 };

/* One chain, or the sum of all. */
struct view {
    relmc_progress now;
    int64_t shown;  /* iterations that were reported */
    double rate;    /* iterations per second, smoothed */
    double seconds; /* when `done` last grew */
    int64_t before; /* `done` at that time */
};

struct progress {
    struct progress_setup with;
    const struct mode *mode;
    pthread_t thread;
    int pipe[2]; /* closing [1] ends the thread */
    struct view *chains;
    struct view all;
    double start;
    bool has_utf8;
    bool has_said_stop;
    size_t n_lines; /* of the last frame */
    char *text;
    size_t used, room;
};

struct mode {
    const char *name;
    void (*frame)(struct progress *, bool is_last);
};

/* ---- text ---------------------------------------------------------------- */

static void add(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct progress *p, const char *format, ...)
{
    char piece[256];
    va_list args;

    va_start(args, format);
    const int n = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    const size_t length = n < 0                      ? 0
                          : (size_t)n < sizeof piece ? (size_t)n
                                                     : sizeof piece - 1;

    if (p->used + length > p->room) {
        p->room = 2 * (p->used + length);
        char *grown = cli_alloc(p->room, 1);
        memcpy(grown, p->text, p->used);
        free(p->text);
        p->text = grown;
    }
    memcpy(p->text + p->used, piece, length);
    p->used += length;
}

/* One write for everything; errors are ignored, since the reader may have gone
 * away. */
static void flush(struct progress *p)
{
    size_t sent = 0;

    while (sent < p->used) {
        const ssize_t n = write(STDERR_FILENO, p->text + sent, p->used - sent);

        if (n < 0 && errno != EINTR) {
            break;
        }
        sent += n > 0 ? (size_t)n : 0;
    }
    p->used = 0;
}

/* ---- counters ------------------------------------------------------------ */

static void update_rate(struct view *v, double now)
{
    const double span = now - v->seconds;

    if (v->now.done > v->before && span > 0.0) {
        const double rate = (double)(v->now.done - v->before) / span;
        const double keep = exp(-span / 3.0); /* a mean over the last seconds */

        v->rate = v->rate > 0.0 ? keep * v->rate + (1.0 - keep) * rate : rate;
        v->before = v->now.done;
        v->seconds = now;
    }
}

/* The mean of two numbers of which one may be NaN. */
static double blend(double mean, double value, double weight)
{
    return isnan(mean)    ? value
           : isnan(value) ? mean
                          : mean + (value - mean) * weight;
}

static void poll_chains(struct progress *p)
{
    const double now = cli_clock() - p->start;
    relmc_progress sum = {.step_size = CLI_NAN, .speed = CLI_NAN};
    bool is_warmup = false;

    for (size_t k = 0; k < p->with.n_chains; k++) {
        struct view *v = &p->chains[k];
        relmc_progress r = {.size = sizeof r};

        if (relmc_run_progress(p->with.run, (uint32_t)k, &r, NULL)) {
            continue;
        }
        v->now = r;
        update_rate(v, now);
        sum.done += r.done;
        sum.total += r.total;
        is_warmup |= r.done < r.warmup || r.total == r.warmup;
        sum.n_grad += r.n_grad;
        sum.n_divergent += r.n_divergent;
        sum.step_size =
            blend(sum.step_size, r.step_size, 1.0 / (double)(k + 1));
        sum.speed = blend(sum.speed, r.speed, 1.0 / (double)(k + 1));
    }
    sum.warmup =
        is_warmup ? sum.total
                  : 0; /* the run is in warm-up until all chains have left it */
    p->all.now = sum;
    update_rate(&p->all, now);
}

/* ---- Stan's lines -------------------------------------------------------- */

/* Stan's rule: of each phase the first iteration and every refresh-th; and the
 * very last.  The one that comes after `it`, or total + 1. */
static int64_t next_milestone(int64_t it, const relmc_progress *r,
                              int64_t refresh)
{
    const bool is_warmup = it < r->warmup;
    const int64_t start = is_warmup ? 0 : r->warmup;
    const int64_t in_phase = it - start;
    const int64_t next =
        in_phase == 0 ? it + 1 : start + (in_phase / refresh + 1) * refresh;

    if (it >= r->total) {
        return r->total + 1;
    }
    if (is_warmup && next > r->warmup) {
        return r->warmup < r->total ? r->warmup + 1 : r->total;
    }
    return next < r->total ? next : r->total;
}

static int digits_of(int64_t n)
{
    int digits = 1;

    while (n >= 10) {
        n /= 10;
        digits++;
    }
    return digits;
}

static void plain_lines(struct progress *p, size_t k)
{
    struct view *v = &p->chains[k];
    const relmc_progress *r = &v->now;
    int64_t it = next_milestone(v->shown, r, p->with.refresh);

    for (; it <= r->done; it = next_milestone(it, r, p->with.refresh)) {
        add(p, "Chain [%zu] Iteration: %*lld / %lld [%3d%%]  (%s)\n",
            k + 1 + p->with.first_chain, digits_of(r->total), (long long)it,
            (long long)r->total, (int)(100.0 * (double)it / (double)r->total),
            it <= r->warmup ? "Warmup" : "Sampling");
        v->shown = it;
    }
}

static void plain_frame(struct progress *p, bool is_last)
{
    (void)is_last;
    for (size_t k = 0; k < p->with.n_chains && p->with.refresh > 0; k++) {
        plain_lines(p, k);
    }
    if (*p->with.signal && !p->has_said_stop) {
        add(p, "stopping after the transitions at hand (a second signal ends "
               "it at once)\n");
        p->has_said_stop = true;
    }
}

/* ---- JSON ---------------------------------------------------------------- */

static void json_number(struct progress *p, const char *key, double value)
{
    if (isfinite(value)) {
        add(p, ",\"%s\":%.6g", key, value);
    } else {
        add(p, ",\"%s\":null", key);
    }
}

static const char *phase_of(const relmc_progress *r)
{
    return r->done < r->warmup || r->total == r->warmup ? "warmup" : "sampling";
}

static void json_frame(struct progress *p, bool is_last)
{
    const double t = cli_clock() - p->start;

    for (size_t k = 0; k < p->with.n_chains; k++) {
        struct view *v = &p->chains[k];

        if (v->now.done == v->shown && !is_last) {
            continue;
        }
        v->shown = v->now.done;
        add(p, "{\"t\":%.2f,\"chain\":%zu,\"it\":%lld,\"of\":%lld", t,
            k + 1 + p->with.first_chain, (long long)v->now.done,
            (long long)v->now.total);
        add(p, ",\"phase\":\"%s\",\"div\":%lld", phase_of(&v->now),
            (long long)v->now.n_divergent);
        json_number(p, "eps", v->now.step_size);
        json_number(p, "c", p->with.speed_of_light);
        json_number(p, "vbar", v->now.speed);
        add(p, ",\"grads\":%lld}\n", (long long)v->now.n_grad);
    }
}

/* ---- bars ---------------------------------------------------------------- */

enum { WIDEST_BAR = 28, NARROWEST_BAR = 8 };

struct size {
    size_t rows, columns;
};

static struct size terminal_size(void)
{
    struct winsize w = {0};
    struct size size = {24, 80};

    if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > 0) {
        size = (struct size){w.ws_row, w.ws_col};
    }
    return size;
}

/* The fields right of the bar, and the order in which they are left out when
 * the line is too long. */
enum { F_PHASE, F_DIV, F_EPS, F_C, F_SPEED, F_GRADS, F_TIME, N_FIELDS };
static const int first_to_go[] = {F_GRADS, F_C, F_SPEED, F_EPS, F_PHASE};
enum { FIELD_SIZE = 32 };

static void field_time(char out[FIELD_SIZE], const struct view *v)
{
    const int64_t left = v->now.total - v->now.done;
    const double seconds = left ? (double)left / v->rate : v->seconds;

    if (left && !(v->rate > 0.0)) {
        (void)snprintf(out, FIELD_SIZE, "  eta -:--");
    } else if (seconds < 3600.0) {
        (void)snprintf(out, FIELD_SIZE, "  %s%d:%02d", left ? "eta " : "",
                       (int)seconds / 60, (int)seconds % 60);
    } else {
        const double minutes = fmin(floor(seconds / 60.0), 6e7);
        (void)snprintf(out, FIELD_SIZE, "  %s%dh%02d", left ? "eta " : "",
                       (int)minutes / 60, (int)minutes % 60);
    }
}

static void make_fields(char fields[][FIELD_SIZE], const struct progress *p,
                        const struct view *v)
{
    const relmc_progress *r = &v->now;
    const bool is_sampling = r->done > r->warmup && r->n_grad_sampling > 0;
    const double grads =
        is_sampling ? (double)r->n_grad_sampling / (double)(r->done - r->warmup)
                    : (double)r->n_grad / fmax((double)r->done, 1.0);

    (void)snprintf(fields[F_PHASE], FIELD_SIZE, "  %-8s",
                   *p->with.signal ? "stopping" : phase_of(r));
    (void)snprintf(fields[F_DIV], FIELD_SIZE, "  div %lld",
                   (long long)r->n_divergent);
    (void)snprintf(fields[F_EPS], FIELD_SIZE, "  eps %-4.2g", r->step_size);
    (void)snprintf(fields[F_C], FIELD_SIZE, "  c %.2g", p->with.speed_of_light);
    if (isnan(p->with.speed_of_light)) {
        fields[F_C][0] = '\0';
    }
    (void)snprintf(fields[F_SPEED], FIELD_SIZE,
                   isnan(r->speed) ? "  v/c  -  " : "  v/c %.2f", r->speed);
    (void)snprintf(fields[F_GRADS], FIELD_SIZE, "  %3.0f grad/draw", grads);
    field_time(fields[F_TIME], v);
}

static size_t width_of(char fields[][FIELD_SIZE])
{
    size_t width = 0;

    for (size_t f = 0; f < N_FIELDS; f++) {
        width += strlen(fields[f]);
    }
    return width;
}

static void add_bar(struct progress *p, const relmc_progress *r, size_t width)
{
    const size_t halves =
        r->total > 0
            ? (size_t)((double)(2 * width) * (double)r->done / (double)r->total)
            : 0;
    const char *full = p->has_utf8 ? "\xe2\x94\x81" : "=";
    const char *half = p->has_utf8 ? "\xe2\x95\xb8" : ">";

    add(p, "%s",
        p->with.has_colour ? r->done < r->warmup ? "\x1b[33m" : "\x1b[32m"
                           : "");
    for (size_t i = 0; i < width; i++) {
        add(p, "%s", 2 * i + 1 < halves ? full : 2 * i < halves ? half : " ");
    }
    add(p, "%s", p->with.has_colour ? "\x1b[0m" : "");
}

static void add_line(struct progress *p, const struct view *v,
                     const char *label, size_t columns)
{
    char fields[N_FIELDS][FIELD_SIZE];
    char counts[64];
    const relmc_progress *r = &v->now;
    const int digits = digits_of(r->total);
    const size_t n_to_go = sizeof first_to_go / sizeof *first_to_go;

    make_fields(fields, p, v);
    (void)snprintf(counts, sizeof counts, " %*lld/%lld", digits,
                   (long long)r->done, (long long)r->total);
    size_t fixed = strlen(label) + strlen(counts) + 1;
    for (size_t i = 0;
         i < n_to_go && fixed + width_of(fields) + NARROWEST_BAR > columns;
         i++) {
        fields[first_to_go[i]][0] = '\0';
    }
    fixed += width_of(fields);
    const size_t room = columns > fixed ? columns - fixed : 0;

    add(p, "\r\x1b[2K%s", label);
    add_bar(p, r, room < WIDEST_BAR ? room : WIDEST_BAR);
    add(p, "%s", counts);
    for (int f = 0; f < N_FIELDS; f++) {
        const bool is_red =
            f == F_DIV && r->n_divergent > 0 && p->with.has_colour;

        add(p, "%s%s%s", is_red ? "\x1b[31m" : "", fields[f],
            is_red ? "\x1b[0m" : "");
    }
    add(p, "\n");
    p->n_lines++;
}

static void bar_frame(struct progress *p, bool is_last)
{
    const struct size size = terminal_size();
    const int digits =
        digits_of((int64_t)p->with.n_chains + p->with.first_chain);
    char label[64];

    (void)is_last;
    if (p->n_lines) {
        add(p, "\x1b[%zuA\r\x1b[J", p->n_lines);
    }
    p->n_lines = 0;
    if (size.rows < p->with.n_chains + 3) {
        (void)snprintf(label, sizeof label, " %zu chains ", p->with.n_chains);
        add_line(p, &p->all, label, size.columns);
        return;
    }
    for (size_t k = 0; k < p->with.n_chains; k++) {
        (void)snprintf(label, sizeof label, " chain %*zu ", digits,
                       k + 1 + p->with.first_chain);
        add_line(p, &p->chains[k], label, size.columns);
    }
}

/* ---- the reporter -------------------------------------------------------- */

static const struct mode modes[] = {
    {"bar", bar_frame},
    {"plain", plain_frame},
    {"json", json_frame},
};

static void frame(struct progress *p, bool is_last)
{
    poll_chains(p);
    p->mode->frame(p, is_last);
    flush(p);
}

static void *report(void *argument)
{
    struct progress *p = argument;
    struct pollfd end = {.fd = p->pipe[0], .events = POLLIN};

    while (poll(&end, 1, PERIOD_MS) == 0) {
        frame(p, false);
    }
    return NULL;
}

static const struct mode *find_mode(const char *name)
{
    const char *term = getenv("TERM");

    if (!strcmp(name, "auto")) {
        const bool is_terminal =
            isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
        name = is_terminal ? "bar" : "plain";
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (!strcmp(modes[i].name, name)) {
            return &modes[i];
        }
    }
    return NULL;
}

/* Signals are for the main thread. */
static int start_thread(struct progress *p)
{
    sigset_t all, old;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    const int failed = pthread_create(&p->thread, NULL, report, p);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed;
}

static void release(struct progress *p)
{
    (void)close(p->pipe[0]);
    free(p->chains);
    free(p->text);
    free(p);
}

struct progress *progress_start(const struct progress_setup *setup)
{
    const struct mode *mode = find_mode(setup->mode);
    struct progress *p = cli_alloc(1, sizeof *p);

    if (!mode || pipe(p->pipe)) {
        free(p);
        return NULL;
    }
    p->with = *setup;
    p->mode = mode;
    p->chains = cli_alloc(setup->n_chains, sizeof *p->chains);
    p->room = 4096;
    p->text = cli_alloc(p->room, 1);
    p->has_utf8 = cli_has_utf8();
    p->start = cli_clock();
    if (start_thread(p)) {
        (void)close(p->pipe[1]);
        release(p);
        return NULL;
    }
    return p;
}

void progress_finish(struct progress *p)
{
    if (!p) {
        return;
    }
    (void)close(p->pipe[1]);
    (void)pthread_join(p->thread, NULL);
    frame(p, true);
    release(p);
}
