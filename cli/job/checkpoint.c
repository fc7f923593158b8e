/* checkpoint.c - checkpoints of the tool: the library's state of the run, the
 * options, and the tool's own state. */
#define _POSIX_C_SOURCE 200809L

#include "job/checkpoint.h"

#include "draws/overwrite_check.h"
#include "tool/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the note: the configuration and the state --------------------------- */

char *checkpoint_put(char *to, const void *from, size_t bytes)
{
    if (!to) {
        return NULL;
    }
    if (bytes) {
        memcpy(to, from, bytes);
    }
    return to + bytes;
}

/* The configuration and the progress of the run; yours. */
static char *describe(const struct checkpoint *c)
{
    json_t *root = json_loads(c->config, 0, NULL);

    (void)json_object_set_new(root, "progress",
                              json_pack("{s:I, s:I, s:b}", "iterations",
                                        (json_int_t)relmc_run_position(c->run),
                                        "of", (json_int_t)c->total, "finished",
                                        (int)c->is_finished));
    char *text = config_print(root);
    json_decref(root);
    return text;
}

static char *make_note(const struct checkpoint *c, size_t *bytes)
{
    char *config = describe(c);
    const size_t text = strlen(config) + 1;

    *bytes = text + c->keep(c->state, NULL);
    char *note = malloc(*bytes);
    if (note) {
        (void)c->keep(c->state, checkpoint_put(note, config, text));
    }
    free(config);
    return note;
}

/* Sums that are kept of a chain, besides the statistics of its draws. */
enum { N_SUMS = 4 };

size_t checkpoint_keep_record(const void *state, char *to)
{
    const struct record *record = state;
    size_t bytes = 0;

    for (size_t k = 0; k < record->n_chains; k++) {
        const struct chain_record *c = &record->chains[k];
        const double sums[N_SUMS] = {c->last, c->mean, c->squares, c->jumps};
        const uint64_t n = c->n;
        const size_t stats = c->stats ? c->n * N_STATS * sizeof(double) : 0;

        to = checkpoint_put(to, &n, sizeof n);
        to = checkpoint_put(to, sums, sizeof sums);
        to = checkpoint_put(to, c->stats, stats);
        bytes += sizeof n + sizeof sums + stats;
    }
    return bytes;
}

/* ---- writing ------------------------------------------------------------- */

relmc_status checkpoint_write(struct checkpoint *c, relmc_error *err)
{
    size_t bytes = 0;

    if (!c->path) {
        return RELMC_OK;
    }
    char *note = make_note(c, &bytes);
    if (!note) {
        *err = (relmc_error){RELMC_ENOMEM, "out of memory for a checkpoint"};
        return err->status;
    }
    const relmc_status status =
        relmc_run_save(c->run, c->path, note, bytes, err);
    free(note);
    c->last = cli_clock();
    if (!status) {
        c->is_written = true;
        c->position = relmc_run_position(c->run);
    }
    return status;
}

relmc_status checkpoint_tend(struct checkpoint *c, relmc_error *err)
{
    return c->path && cli_clock() - c->last >= c->every
               ? checkpoint_write(c, err)
               : RELMC_OK;
}

/* ---- reading ------------------------------------------------------------- */

static relmc_status read_note(struct resumed *out, const char *path,
                              relmc_error *err)
{
    size_t bytes = 0;
    relmc_status status = relmc_checkpoint_note(path, NULL, 0, &bytes, err);

    if (status) {
        return status;
    }
    out->note =
        cli_alloc(bytes + 1, 1); /* ends with 0, whatever the file holds */
    status = relmc_checkpoint_note(path, out->note, bytes, &out->bytes, err);
    if (!status && out->bytes > bytes) {
        *err = (relmc_error){RELMC_EIO, "it has changed while it was read"};
        status = err->status;
    }
    if (!status) {
        out->file = cli_text("%s", path);
    }
    return status;
}

/* A damaged file is renamed: else the next checkpoint would replace the good
 * one, PATH.1, with it. */
static void put_aside(const char *path)
{
    char *aside = cli_text("%s.damaged", path);

    (void)rename(path, aside);
    free(aside);
}

int checkpoint_read(struct resumed *out, const char *path, const char *who,
                    const struct voice *voice)
{
    relmc_error err = {0}, other = {0};
    char *before = cli_text("%s.1", path);

    *out = (struct resumed){.path = cli_text("%s", path)};
    relmc_status status = read_note(out, path, &err);
    if (status && !access(before, F_OK)) {
        free(out->note);
        out->note = NULL;
        if (!read_note(out, before, &other)) {
            cli_warn(voice, "%s; going on from the one before, %s", err.message,
                     before);
            put_aside(path);
            status = RELMC_OK;
        }
    }
    free(before);
    return status ? cli_fail_status(who, status, &err) : CLI_OK;
}

void checkpoint_clear(struct resumed *resumed)
{
    free(resumed->path);
    free(resumed->file);
    free(resumed->note);
    *resumed = (struct resumed){0};
}

struct checkpoint_reader checkpoint_state(const struct resumed *from)
{
    const size_t text = strlen(from->note) + 1;

    return (struct checkpoint_reader){
        from->note + text, from->bytes > text ? from->bytes - text : 0};
}

bool checkpoint_take(struct checkpoint_reader *r, void *to, size_t bytes)
{
    if (bytes > r->left) {
        return false;
    }
    if (bytes) {
        memcpy(to, r->at, bytes);
    }
    r->at += bytes;
    r->left -= bytes;
    return true;
}

bool checkpoint_restore(struct record *record, const struct resumed *from,
                        size_t room)
{
    struct checkpoint_reader r = checkpoint_state(from);

    for (size_t k = 0; k < record->n_chains; k++) {
        struct chain_record *c = &record->chains[k];
        double sums[N_SUMS];
        uint64_t n = 0;

        if (!checkpoint_take(&r, &n, sizeof n) ||
            !checkpoint_take(&r, sums, sizeof sums) || (c->stats && n > room) ||
            (c->stats &&
             !checkpoint_take(&r, c->stats,
                              (size_t)n * N_STATS * sizeof(double)))) {
            return false;
        }
        c->n = (size_t)n;
        c->last = sums[0];
        c->mean = sums[1];
        c->squares = sums[2];
        c->jumps = sums[3];
    }
    return r.left == 0;
}

/* ---- what is there already ----------------------------------------------- */

/* Only a run that can go on may not be replaced; an empty file may. */
static int check_there(const char *path, const char *who)
{
    struct resumed old = {0};
    struct stat status;
    relmc_error err = {0};
    json_int_t done = 0, total = 0;
    int is_finished = 0, code = CLI_OK;

    if (stat(path, &status) || !S_ISREG(status.st_mode) || !status.st_size) {
        return CLI_OK;
    }
    if (read_note(&old, path, &err)) {
        code =
            cli_fail(CLI_USAGE, who, "%s, and --checkpoint does not replace it",
                     err.message);
    } else {
        json_t *root = json_loads(old.note, 0, NULL);

        (void)json_unpack(root, "{s:{s:I, s:I, s:b}}", "progress", "iterations",
                          &done, "of", &total, "finished", &is_finished);
        json_decref(root);
    }
    if (!code && !is_finished) {
        code = cli_fail(CLI_USAGE, who,
                        "%s holds a run that is not finished (%lld of %lld "
                        "iterations): go on with it by relmc resume %s, or "
                        "remove it",
                        path, (long long)done, (long long)total, path);
    }
    checkpoint_clear(&old);
    return code;
}

int checkpoint_guard(const struct opt_set *set)
{
    static const char *const tails[] = {"", ".1"};
    const char *path = opt_get(set, "checkpoint")->text;
    int code = CLI_OK;

    for (size_t i = 0; path && i < sizeof tails / sizeof *tails && !code; i++) {
        char *file = cli_text("%s%s", path, tails[i]);

        code = overwrite_check_output(set, "checkpoint", file);
        free(file);
    }
    return path && !code ? check_there(path, set->who) : code;
}
