/* work.c - measures the cells of an experiment, on all cores. */
#define _POSIX_C_SOURCE 200809L

#include "reproduce.h"

#include "tool/atomic_file.h"
#include "tool/signals.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
    struct sheet *sheet;
    const struct work_setup *setup;
    pthread_mutex_t lock; /* of all below */
    size_t next;          /* cell to look at */
    size_t n_done, n_todo;
    double start, last_word; /* of the clock */
    FILE *part;
    int code;
};

/* ---- progress -------------------------------------------------------------- */

static void report_progress(struct job *job, bool is_last)
{
    const struct voice *voice = &job->setup->voice;
    const double now = cli_clock();
    const bool is_terminal = isatty(STDERR_FILENO);

    if (voice->is_quiet ||
        (!is_last && now - job->last_word < (is_terminal ? 0.2 : 15.0))) {
        return;
    }
    job->last_word = now;
    const double seconds = now - job->start;
    const double left = job->n_done ? seconds / (double)job->n_done *
                                          (double)(job->n_todo - job->n_done)
                                    : 0.0;

    (void)fprintf(
        stderr, "%s%-13s %4zu of %zu cells, %.0f s, about %.0f s left%s",
        is_terminal ? "\r" : "", job->sheet->experiment->name, job->n_done,
        job->n_todo, seconds, left, is_terminal && !is_last ? "\x1b[K" : "\n");
}

/* ---- the crew -------------------------------------------------------------- */

/* The next cell that is not measured; n_cells if there is none. */
static size_t take(struct job *job)
{
    const size_t n = job->sheet->experiment->n_cells;

    if (job->code || atomic_load(signals_caught())) {
        return n;
    }
    while (job->next < n && job->sheet->cells[job->next].values) {
        job->next++;
    }
    return job->next < n ? job->next++ : n;
}

static void *labour(void *ctx)
{
    struct job *job = ctx;
    struct sheet *sheet = job->sheet;
    const struct experiment *e = sheet->experiment;

    (void)pthread_mutex_lock(&job->lock);
    for (size_t i; (i = take(job)) < e->n_cells;) {
        struct cell_rows rows = {0};

        (void)pthread_mutex_unlock(&job->lock);
        const int code = job->setup->measure->run(&rows, e, &e->cells[i]);

        (void)pthread_mutex_lock(&job->lock);
        if (code) {
            job->code = job->code ? job->code : code;
            free(rows.values);
            break;
        }
        sheet->cells[i] = rows;
        sheet_write_cell(sheet, i, job->part);
        (void)fflush(job->part);
        job->n_done++;
        report_progress(job, false);
    }
    (void)pthread_mutex_unlock(&job->lock);
    return NULL;
}

static void employ(struct job *job)
{
    const size_t n = job->setup->n_threads;
    pthread_t *crew = cli_alloc(n, sizeof *crew);
    size_t n_hired = 0;

    while (n_hired + 1 < n &&
           !pthread_create(&crew[n_hired], NULL, labour, job)) {
        n_hired++;
    }
    (void)labour(job);
    for (size_t i = 0; i < n_hired; i++) {
        (void)pthread_join(crew[i], NULL);
    }
    free(crew);
}

/* ---- files ----------------------------------------------------------------- */

static int write_all(const struct sheet *sheet, const struct work_setup *setup)
{
    struct atomic_file out;
    const int code =
        atomic_file_open(&out, sheet->experiment->who, setup->path);

    if (code) {
        return code;
    }
    sheet_write_head(sheet, out.file);
    for (size_t i = 0; i < sheet->experiment->n_cells; i++) {
        sheet_write_cell(sheet, i, out.file);
    }
    return atomic_file_close(&out);
}

static FILE *open_part(const struct sheet *sheet, const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        (void)cli_fail(0, sheet->experiment->who, "cannot write %s: %s", path,
                       strerror(errno));
        return NULL;
    }
    sheet_write_head(sheet, file);
    for (size_t i = 0; i < sheet->experiment->n_cells; i++) {
        sheet_write_cell(sheet, i, file);
    }
    return file;
}

static int work_with(struct job *job, const char *part)
{
    struct signals old;

    job->part = open_part(job->sheet, part);
    if (!job->part) {
        return CLI_IO;
    }
    signals_catch(&old, NULL);
    employ(job);
    signals_release(&old);
    report_progress(job, true);
    if (ferror(job->part) | fclose(job->part)) {
        return cli_fail(CLI_IO, job->sheet->experiment->who, "cannot write %s",
                        part);
    }
    if (!job->code && job->n_done < job->n_todo) {
        cli_say(&job->setup->voice,
                "stopped; what is done is kept, and the same command goes on");
        return CLI_SIGNAL + atomic_load(signals_caught());
    }
    return job->code;
}

int work_run(struct sheet *sheet, const struct work_setup *setup)
{
    const size_t n = sheet->experiment->n_cells;
    char *part = cli_text("%s.part", setup->path);
    size_t n_old = sheet_read(sheet, setup->path);
    const bool has_file = n_old == n;

    if (n_old == 0) {
        n_old = sheet_read(sheet, part);
    }
    struct job job = {
        .sheet = sheet,
        .setup = setup,
        .n_todo = n - n_old,
        .start = cli_clock(),
        .last_word = cli_clock(),
    };
    int code = CLI_OK;

    if (n_old) {
        cli_say(&setup->voice, "%s: %zu of %zu cells are already there",
                sheet->experiment->name, n_old, n);
    }
    if (n_old < n) {
        (void)pthread_mutex_init(&job.lock, NULL);
        code = work_with(&job, part);
        (void)pthread_mutex_destroy(&job.lock);
    }
    if (!code && !has_file && !(code = write_all(sheet, setup))) {
        (void)unlink(part);
    }
    free(part);
    return code;
}
