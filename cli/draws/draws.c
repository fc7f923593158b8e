/* draws.c - the chains of one run: files that belong together, read in as many
 * pieces as the memory requires. */
#define _POSIX_C_SOURCE 200809L

#include "draws/draws.h"
#include "draws/column.h"
#include "relmc_diag.h"
#include "relmc_format.h"
#include "tool/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Columns that are turned into chains together: a cache line of every row. */
enum { COLUMNS = 8 };

/* ---- files that belong together ------------------------------------------ */

const char *draws_name(const struct draws *draws, size_t column)
{
    return draws->files[0].names[column];
}

bool draws_is_sampler(const struct draws *draws, size_t column)
{
    return column_is_sampler(draws_name(draws, column));
}

/* The model with its parameters, if the file has it. */
static const char *model_of(const struct chain_file *chain)
{
    const char *ours = chain_setting(chain, RELMC_KEY_SPEC);

    return ours ? ours : chain_setting(chain, RELMC_KEY_MODEL);
}

static int check_model(const struct draws *draws, size_t k)
{
    const struct chain_file *first = &draws->files[0];
    const struct chain_file *chain = &draws->files[k];
    const char *wanted = model_of(first);
    const char *found = model_of(chain);

    if (!wanted || !found || !strcmp(wanted, found)) {
        return CLI_OK;
    }
    return cli_fail(CLI_MODEL, draws->who,
                    "%s: its model is %s, that of %s is %s: these are no "
                    "chains of one run",
                    chain->path, found, first->path, wanted);
}

/* Draws of one model may be combined whatever sampler made them.  But chains of an
 * earlier run that were left in the folder are there by mistake: a warning. */
static void mention_settings(const struct draws *draws, size_t k)
{
    static const char *const keys[] = {RELMC_KEY_SAMPLER, RELMC_KEY_KINETIC,
                                       RELMC_KEY_INTEGRATOR, RELMC_KEY_ADAPT};
    const struct chain_file *first = &draws->files[0];
    const struct chain_file *chain = &draws->files[k];

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *wanted = chain_setting(first, keys[i]);
        const char *found = chain_setting(chain, keys[i]);

        if (wanted && found && strcmp(wanted, found) != 0) {
            cli_warn(draws->voice,
                     "%s and %s are of different runs: %s is %.60s, and %.60s",
                     first->path, chain->path, keys[i] + strlen("relmc_"),
                     wanted, found);
            return;
        }
    }
}

/* A name and the column it stands at. */
struct entry {
    const char *name;
    size_t column;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    return strcmp(x->name, y->name);
}

static struct entry *make_index(const struct chain_file *chain)
{
    struct entry *index = cli_alloc(chain->n_columns, sizeof *index);

    for (size_t j = 0; j < chain->n_columns; j++) {
        index[j] = (struct entry){chain->names[j], j};
    }
    qsort(index, chain->n_columns, sizeof *index, compare_entries);
    return index;
}

/* A name in `chain` that `other` lacks, or NULL.  `places` gets the columns of
 * `other`. */
static const char *find_lone(const struct chain_file *chain,
                             const struct chain_file *other, size_t *places)
{
    struct entry *index = make_index(other);
    const char *lone = NULL;

    for (size_t j = 0; j < chain->n_columns && !lone; j++) {
        const struct entry key = {chain->names[j], 0};
        const struct entry *found = bsearch(&key, index, other->n_columns,
                                            sizeof *index, compare_entries);

        if (!found) {
            lone = chain->names[j];
        } else if (places) {
            places[j] = found->column;
        }
    }
    free(index);
    return lone;
}

static bool has_same_header(const struct chain_file *a,
                            const struct chain_file *b)
{
    if (a->n_columns != b->n_columns) {
        return false;
    }
    for (size_t j = 0; j < a->n_columns; j++) {
        if (strcmp(a->names[j], b->names[j]) != 0) {
            return false;
        }
    }
    return true;
}

/* The order of columns may differ, their names may not. */
static int check_columns(struct draws *draws, size_t k)
{
    const struct chain_file *first = &draws->files[0];
    const struct chain_file *chain = &draws->files[k];
    const char *lone;

    if (has_same_header(first, chain)) {
        return CLI_OK;
    }
    draws->places[k] = cli_alloc(first->n_columns, sizeof **draws->places);
    if ((lone = find_lone(first, chain, draws->places[k]))) {
        return cli_fail(CLI_MODEL, draws->who,
                        "%s:%zu: no column %.100s, which %s has", chain->path,
                        chain->header_line, lone, first->path);
    }
    if ((lone = find_lone(chain, first, NULL))) {
        return cli_fail(CLI_MODEL, draws->who,
                        "%s:%zu: column %.100s, which %s has not", chain->path,
                        chain->header_line, lone, first->path);
    }
    return CLI_OK;
}

static int check_twins(const struct draws *draws, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        if (!strcmp(draws->files[i].path, draws->files[k].path)) {
            return cli_fail(CLI_USAGE, draws->who, "%s is given twice",
                            draws->files[k].path);
        }
    }
    return CLI_OK;
}

/* One more chain, the k-th of its file. */
static int add_chain(struct draws *draws, const char *path, size_t k)
{
    char message[CHAIN_MESSAGE];
    const size_t n = draws->n_files;
    int code = chain_open(&draws->files[n], path, k, message);

    draws->n_files++;
    if (code) {
        return cli_fail(code, draws->who, "%s", message);
    }
    if (draws->files[n].remark) {
        cli_warn(draws->voice, "%s", draws->files[n].remark);
    }
    if ((code = check_twins(draws, n)) || (code = check_model(draws, n))) {
        return code;
    }
    mention_settings(draws, n);
    return check_columns(draws, n);
}

/* There are n more chains to come. */
static void make_room(struct draws *draws, size_t n)
{
    const size_t old = draws->n_files;
    struct chain_file *files = cli_alloc(old + n, sizeof *files);
    size_t **places = cli_alloc(old + n, sizeof *places);

    if (old > 0) {
        memcpy(files, draws->files, old * sizeof *files);
        memcpy(places, draws->places, old * sizeof(size_t *));
    }
    free(draws->files);
    free(draws->places);
    draws->files = files;
    draws->places = places;
}

static int add_file(struct draws *draws, const char *path, size_t n_after)
{
    char message[CHAIN_MESSAGE];
    size_t n = 1;
    int code = chain_count(path, &n, message);

    if (code) {
        return cli_fail(code, draws->who, "%s", message);
    }
    if (n > 1) {
        make_room(draws, n + n_after);
    }
    for (size_t k = 0; k < n && !code; k++) {
        code = add_chain(draws, path, k);
    }
    return code;
}

int draws_open(struct draws *draws, const char *const *paths, size_t n,
               const struct opt_set *set, const struct voice *voice)
{
    int code = CLI_OK;

    *draws = (struct draws){.who = set->who, .voice = voice, .share_to = 1.0};
    make_room(draws, n);
    if (n == 0) {
        return cli_fail(CLI_USAGE, set->who,
                        "FILE is missing: %s FILE..., one file for each chain",
                        set->who);
    }
    progress_line_start(&draws->gauge);
    for (size_t k = 0; k < n && !code; k++) {
        code = add_file(draws, paths[k], n - k - 1);
    }
    return code;
}

void draws_clear(struct draws *draws)
{
    for (size_t k = 0; k < draws->n_files; k++) {
        chain_clear(&draws->files[k]);
        free(draws->places[k]);
    }
    free(draws->files);
    free(draws->places);
    free(draws->chosen);
    progress_line_end(&draws->gauge);
}

/* ---- which columns ------------------------------------------------------- */

/* Does `wanted` mean this variable: x for x, x[1] and x.1? */
static bool is_meant(const char *wanted, const char *name)
{
    char *pretty = column_pretty(name);
    const size_t n = strlen(wanted);
    const bool is_it =
        !strcmp(wanted, name) || !strcmp(wanted, pretty) ||
        (!strncmp(wanted, pretty, n) && (pretty[n] == '[' || pretty[n] == '.'));

    free(pretty);
    return is_it;
}

static int unknown_variable(const struct draws *draws, const char *wanted)
{
    const struct chain_file *chain = &draws->files[0];
    struct nearest nearest = {.wanted = wanted};
    const size_t n = chain->n_columns < 1000 ? chain->n_columns : 1000;
    char **words = cli_alloc(n, sizeof *words);

    for (size_t j = 0; j < n; j++) {
        words[j] = cli_text("%.*s", (int)strcspn(chain->names[j], ".:"),
                            chain->names[j]);
        cli_nearest_offer(&nearest, words[j]);
    }
    const int code =
        cli_fail(CLI_USAGE, draws->who, "no variable \"%s\" in %s%s%s%s",
                 wanted, chain->path, nearest.word ? " (did you mean \"" : "",
                 nearest.word ? nearest.word : "", nearest.word ? "\"?)" : "");
    for (size_t j = 0; j < n; j++) {
        free(words[j]);
    }
    free(words);
    return code;
}

static double default_memory(void)
{
    const double pages = (double)sysconf(_SC_PHYS_PAGES);
    const double bytes = (double)sysconf(_SC_PAGESIZE);

    return pages > 0.0 && bytes > 0.0 ? 0.5 * pages * bytes : 0x1p30;
}

static int mark_wanted(const struct draws *draws,
                       const struct opt_value *include, bool *is_wanted)
{
    const struct chain_file *chain = &draws->files[0];

    for (size_t i = 0; i < include->n_items; i++) {
        bool is_found = false;

        for (size_t j = 0; j < chain->n_columns; j++) {
            if (is_meant(include->items[i], chain->names[j])) {
                is_wanted[j] = is_found = true;
            }
        }
        if (!is_found) {
            return unknown_variable(draws, include->items[i]);
        }
    }
    return CLI_OK;
}

int draws_choose(struct draws *draws, const struct opt_value *include,
                 const struct opt_value *memory)
{
    const size_t n = draws->files[0].n_columns;
    bool *is_wanted = cli_alloc(n, sizeof *is_wanted);
    const bool takes_all = !include || include->n_items == 0;
    const int code =
        takes_all ? CLI_OK : mark_wanted(draws, include, is_wanted);

    draws->memory = memory->text ? 1e6 * memory->real : default_memory();
    draws->chosen = cli_alloc(n, sizeof *draws->chosen);
    for (int pass = 0; pass < 2 && !code; pass++) {
        for (size_t j = 0; j < n; j++) {
            if ((takes_all || is_wanted[j]) &&
                draws_is_sampler(draws, j) == !pass) {
                draws->chosen[draws->n_chosen++] = j;
            }
        }
    }
    free(is_wanted);
    return code;
}

void draws_add(struct draws *draws, size_t column)
{
    for (size_t i = 0; i < draws->n_chosen; i++) {
        if (draws->chosen[i] == column) {
            return;
        }
    }
    draws->chosen[draws->n_chosen++] = column;
}

/* ---- reading ------------------------------------------------------------- */

/* Some of the chosen columns: those that are in memory at a time. */
struct piece {
    size_t first, n;
    uint64_t read, bytes; /* of all files */
    struct draws *draws;
    double from, to; /* share of the work */
};

static void on_read(void *ctx, uint64_t bytes)
{
    const struct piece *p = ctx;
    const double half = 0.5 * (p->to - p->from);

    if (p->bytes > 0) {
        progress_line_move(&p->draws->gauge, "reading",
                           p->from + half * (double)(p->read + bytes) /
                                         (double)p->bytes);
    }
}

/* A number takes about eight characters in a file, and eight bytes here. */
static size_t columns_at_a_time(const struct draws *draws)
{
    double bytes = 0.0;

    for (size_t k = 0; k < draws->n_files; k++) {
        bytes += (double)draws->files[k].bytes;
    }
    const double per_column = bytes / (double)draws->files[0].n_columns;
    const double n = per_column > 0.0 ? floor(draws->memory / per_column)
                                      : (double)draws->n_chosen;

    return n < 1.0                       ? 1
           : n < (double)draws->n_chosen ? (size_t)n
                                         : draws->n_chosen;
}

static int read_file(struct draws *draws, struct piece *piece, size_t k)
{
    struct chain_file *chain = &draws->files[k];
    size_t *slots = cli_alloc(chain->n_columns, sizeof *slots);
    char message[CHAIN_MESSAGE];

    for (size_t j = 0; j < chain->n_columns; j++) {
        slots[j] = CHAIN_SKIP;
    }
    for (size_t i = 0; i < piece->n; i++) {
        const size_t j = draws->chosen[piece->first + i];

        slots[draws->places[k] ? draws->places[k][j] : j] = i;
    }
    chain->tick = on_read;
    chain->tick_ctx = piece;
    const int code = chain_read(chain, slots, piece->n, message);
    piece->read += chain->bytes;
    free(slots);
    return code ? cli_fail(code, draws->who, "%s", message) : CLI_OK;
}

/* Of each chain as many draws are used as the shortest has. */
static int settle_length(struct draws *draws)
{
    size_t least = SIZE_MAX, most = 0;
    const char *shortest = "";

    for (size_t k = 0; k < draws->n_files; k++) {
        const struct chain_file *chain = &draws->files[k];

        most = chain->n_rows > most ? chain->n_rows : most;
        if (chain->n_rows < least) {
            least = chain->n_rows;
            shortest = chain->path;
        }
    }
    if (draws->n_each > 0 && draws->n_each != least) {
        return cli_fail(CLI_IO, draws->who,
                        "%s has changed while it was read: is the run still "
                        "going on?",
                        shortest);
    }
    if (least != most && draws->n_each == 0) {
        progress_line_end(&draws->gauge);
        cli_warn(draws->voice,
                 "%s has %zu draws, another chain %zu: the last %zu of each "
                 "are used",
                 shortest, least, most, least);
    }
    draws->n_each = least;
    return CLI_OK;
}

/* Columns i ... i + n of a piece, each as chains one after another. */
static void turn(const struct draws *draws, size_t i, size_t n, double *out)
{
    const size_t each = draws->n_each;

    for (size_t k = 0; k < draws->n_files; k++) {
        const struct chain_file *chain = &draws->files[k];
        const double *row =
            chain->values + (chain->n_rows - each) * chain->n_slots + i;

        for (size_t t = 0; t < each; t++, row += chain->n_slots) {
            for (size_t j = 0; j < n; j++) {
                out[(j * draws->n_files + k) * each + t] = row[j];
            }
        }
    }
}

static void show_piece(struct draws *draws, const struct piece *piece,
                       draws_fn fn, void *ctx)
{
    const size_t all = draws->n_files * draws->n_each;
    const size_t width = piece->n < COLUMNS ? piece->n : COLUMNS;
    double *chains = cli_alloc(all * width, sizeof *chains);

    for (size_t i = 0; i < piece->n; i += width) {
        const size_t n = piece->n - i < width ? piece->n - i : width;

        turn(draws, i, n, chains);
        for (size_t j = 0; j < n; j++) {
            const relmc_series series = {chains + j * all, draws->n_files,
                                         draws->n_each, 1, draws->n_each};
            const double share = 0.5 + 0.5 * (double)(i + j) / (double)piece->n;

            progress_line_move(&draws->gauge, "computing",
                               piece->from + share * (piece->to - piece->from));
            fn(ctx, draws->chosen[piece->first + i + j], &series);
        }
    }
    free(chains);
}

int draws_visit(struct draws *draws, draws_fn fn, void *ctx)
{
    const size_t step = columns_at_a_time(draws);
    const double span = draws->share_to - draws->share_from;
    struct piece piece = {.draws = draws};
    int code = CLI_OK;

    for (size_t k = 0; k < draws->n_files; k++) {
        piece.bytes += draws->files[k].bytes;
    }
    for (; piece.first < draws->n_chosen && !code; piece.first += step) {
        const size_t left = draws->n_chosen - piece.first;
        const double n = (double)draws->n_chosen;

        piece.n = left < step ? left : step;
        piece.read = 0;
        piece.from = draws->share_from + span * (double)piece.first / n;
        piece.to = piece.from + span * (double)piece.n / n;
        for (size_t k = 0; k < draws->n_files && !code; k++) {
            code = read_file(draws, &piece, k);
        }
        if (!code && !(code = settle_length(draws))) {
            show_piece(draws, &piece, fn, ctx);
        }
        for (size_t k = 0; k < draws->n_files; k++) {
            free(draws->files[k].values);
            draws->files[k].values = NULL;
        }
    }
    progress_line_end(&draws->gauge);
    return code;
}

/* ---- the configuration in the files ---------------------------------------- */

const char *draws_setting(const struct draws *draws, const char *key)
{
    return chain_setting(&draws->files[0], key);
}

double draws_number(const struct draws *draws, const char *key)
{
    return chain_number(&draws->files[0], key);
}

char *draws_model(const struct draws *draws)
{
    static const char tail[] = "_model";
    const char *name = draws_setting(draws, RELMC_KEY_MODEL);
    const size_t n = name ? strlen(name) : 0;
    const size_t m = sizeof tail - 1;
    const bool has_tail = n > m && !strcmp(name + n - m, tail);

    return n ? cli_text("%.*s", (int)(has_tail ? n - m : n), name)
             : cli_text("unknown");
}

char *draws_method(const struct draws *draws)
{
    const char *engine = draws_setting(draws, RELMC_KEY_ENGINE);
    const char *sampler = draws_setting(draws, RELMC_KEY_SAMPLER);
    const char *kinetic = draws_setting(draws, RELMC_KEY_KINETIC);
    const char *algorithm = draws_setting(draws, RELMC_KEY_ALGORITHM);

    if (algorithm && !strcmp(algorithm, "fixed_param")) {
        return cli_text("fixed parameters");
    }
    if (!sampler && !engine) {
        return cli_text("sampler unknown");
    }
    if (!sampler) {
        sampler = strcmp(engine, "static") != 0 ? engine : "hmc";
    }
    return spec_method(sampler, kinetic);
}

double draws_seconds(const struct draws *draws)
{
    double most = 0.0;

    for (size_t k = 0; k < draws->n_files; k++) {
        const double seconds = draws->files[k].seconds_sampling;

        if (isnan(seconds)) {
            return CLI_NAN;
        }
        most = fmax(most, seconds);
    }
    return most;
}

bool draws_are_constant(const relmc_series *series)
{
    const size_t n = series->n_chains * series->n_draws;

    for (size_t i = 1; i < n; i++) {
        if (!(series->draws[i] == series->draws[0])) {
            return false;
        }
    }
    return isfinite(series->draws[0]);
}
