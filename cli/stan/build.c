/*
 * build.c - compiles a Stan program to a library with the BridgeStan ABI.
 *
 * The cache is a folder with
 *
 *   kit-*       the programs and headers that a search has found
 *   head-*      a folder: Stan's headers, precompiled, and the compiled shim
 *   NAME-*.so   compiled programs, named after all that went into them
 *   *.lock      held while one of these is being made
 *   work.*      files of a compilation that is going on
 *
 * Everything is made under another name, then renamed, so that it is complete.
 */
#define _POSIX_C_SOURCE 200809L

#include "stan/build.h"
#include "stan/cache.h"
#include "stan/compiler_message.h"
#include "stan/legacy221/syntax.h"
#include "stan/source.h"
#include "stan/toolchain.h"
#include "tool/process.h"
#include "tool/sha256.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One compilation. */
struct build {
    const char *model; /* path of the program */
    const struct voice *voice;
    struct stan_kit kit;
    struct stan_source source;
    char *program; /* the text that stanc reads */
    char *name;    /* of the C++ class */
    char *head;    /* folder */
    char *library;
    char *work; /* folder */
    char *code; /* C++ */
};

/* ---- files --------------------------------------------------------------- */

static int fail_file(const char *path)
{
    return cli_fail(CLI_IO, "relmc", "cannot write %s: %s", path,
                    strerror(errno));
}

static int write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    if (!out) {
        return fail_file(path);
    }
    const bool is_short = fputs(text, out) < 0;
    return fclose(out) || is_short ? fail_file(path) : CLI_OK;
}

static bool is_there(const char *path)
{
    return !access(path, R_OK);
}

/* ---- names --------------------------------------------------------------- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The file's name without folders and .stan. */
static char *stem_of(const char *path)
{
    const char *name = last_part(path);
    const char *dot = strrchr(name, '.');

    return cli_text(
        "%.*s", (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name)),
        name);
}

/* A C++ name: eight-schools becomes eight_schools_model. */
static char *class_of(const char *stem)
{
    char *name = cli_text("%s%s_model",
                          isdigit((unsigned char)*stem) ? "model_" : "", stem);

    for (char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c)) {
            *c = '_';
        }
    }
    return name;
}

static void add_text(struct sha256 *sum, const char *text)
{
    sha256_add(sum, text, strlen(text) + 1);
}

/* The folder of the headers: named after compiler, flags and our own files. */
static int name_head(struct build *b)
{
    static const char *const files[] = {"stan.hpp", "json.hpp", "shim.cpp"};
    const struct stan_kit *kit = &b->kit;
    struct sha256 sum;
    char hex[SHA256_HEX];

    sha256_init(&sum);
    add_text(&sum, kit->names);
    add_text(&sum, kit->cxx);
    for (size_t i = 0; kit->flags[i]; i++) {
        add_text(&sum, kit->flags[i]);
    }
    for (size_t i = 0; kit->libraries[i]; i++) {
        add_text(&sum, kit->libraries[i]);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = cli_text("%s/%s", kit->share, files[i]);
        const int error = sha256_file(path, hex);

        if (error) {
            (void)cli_fail(0, "relmc", "cannot read %s: %s", path,
                           strerror(error));
            free(path);
            return CLI_IO;
        }
        free(path);
        add_text(&sum, hex);
    }
    sha256_hex(&sum, hex);
    b->head = cli_text("%s/head-%.16s", kit->cache, hex);
    return CLI_OK;
}

static void name_library(struct build *b, const char *stem)
{
    struct sha256 sum;
    char hex[SHA256_HEX];

    sha256_init(&sum);
    add_text(&sum, last_part(b->head));
    add_text(&sum, b->name);
    for (size_t i = 0; i < b->source.n_files; i++) {
        add_text(&sum, last_part(b->source.files[i]));
    }
    add_text(&sum, b->program);
    sha256_hex(&sum, hex);
    b->library = cli_text("%s/%s-%.16s.so", b->kit.cache, stem, hex);
}

/* ---- from Stan to C++ ---------------------------------------------------- */

/* Replaces all of `from` by `to`; frees `text`. */
static char *replace_all(char *text, const char *from, const char *to)
{
    char *out = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&out, &bytes);
    const char *at = text;
    const char *found;

    if (!stream) {
        return text;
    }
    while ((found = strstr(at, from))) {
        (void)fwrite(at, 1, (size_t)(found - at), stream);
        (void)fputs(to, stream);
        at = found + strlen(from);
    }
    (void)fputs(at, stream);
    (void)fclose(stream);
    free(text);
    return out;
}

/* C++ that gives messages at run time the origin of every line:
 * reader.add_event(..) wherever another file begins. */
static char *events(const struct stan_source *source)
{
    char *out = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&out, &bytes);

    for (size_t i = 0; stream && i <= source->n_lines; i++) {
        const struct stan_line at = stan_source_at(source, i + 1);
        const bool is_last = i == source->n_lines;

        if (i && !is_last && at.file == source->lines[i - 1].file &&
            at.number == source->lines[i - 1].number + 1) {
            continue;
        }
        const char *name = last_part(source->files[is_last ? 0 : at.file]);

        (void)fprintf(stream, "    reader.add_event(%zu, %zu, \"%s\", \"",
                      is_last ? i + 3 : i, at.number - 1,
                      is_last ? "end" : "restart");
        for (const char *c = name; *c; c++) {
            (void)fprintf(stream, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        }
        (void)fputs("\");\n", stream);
    }
    if (stream) {
        (void)fclose(stream);
    }
    return out ? out : cli_text("%s", "");
}

static char *set_events(const struct stan_source *source, char *code)
{
    static const char call[] = "    reader.add_event(";
    char *from = strstr(code, call);
    char *to = from;

    while (to && !strncmp(to, call, sizeof call - 1)) {
        to += strcspn(to, "\n");
        to += *to == '\n';
    }
    if (!from) {
        return code;
    }
    char *ours = events(source);
    char *out = cli_text("%.*s%s%s", (int)(from - code), code, ours, to);

    free(ours);
    free(code);
    return out;
}

/*
 * Changes the C++ of stanc 2.21: the current line is kept per thread; our own
 * function, with better messages, checks the sizes of data; messages name the
 * .stan file and its lines.
 */
static char *improve(const struct build *b, char *code)
{
    code = replace_all(code, "static int current_statement_begin__;",
                       "static thread_local int current_statement_begin__;");
    code = replace_all(code, "context__.validate_dims(",
                       "relmc::validate_dims(context__, ");
    return set_events(&b->source, code);
}

static int run_stanc(struct build *b, const char *from, const char *to,
                     char **said)
{
    const struct stan_kit *kit = &b->kit;
    int code;

    if (kit->stanc) {
        char *out = cli_text("--o=%s", to);
        char *name = cli_text("--name=%s", b->name);
        char *argv[] = {kit->stanc, out, name, cli_text("%s", from), NULL};

        code = process_run(argv, said);
        free(argv[3]);
        free(name);
        free(out);
        return code;
    }
    char *script = cli_text("%s/stanc.R", kit->share);
    char *argv[] = {
        kit->rscript,         "--vanilla",        script,  "translate",
        cli_text("%s", from), cli_text("%s", to), b->name, NULL};

    code = process_run(argv, said);
    free(argv[5]);
    free(argv[4]);
    free(script);
    return code;
}

static int translate(struct build *b, const char *cpp)
{
    char *from = cli_text("%s/program.stan", b->work);
    char *said = NULL;
    int code = write_file(from, b->program);

    if (!code) {
        const int failed = run_stanc(b, from, cpp, &said);

        if (failed > CLI_SIGNAL) {
            code = failed;
        } else if (failed) {
            code = stan_compiler_message_stanc(&b->source, b->program, said,
                                               b->kit.is_old);
        }
    }
    if (!code && !(b->code = stan_source_read_file(cpp))) {
        code =
            cli_fail(CLI_MODEL, "relmc", "%s: stanc says:\n%s", b->model, said);
    }
    if (!code && b->kit.is_old) {
        b->code = improve(b, b->code);
        code = write_file(cpp, b->code);
    }
    free(said);
    free(from);
    return code;
}

/* ---- the compiler -------------------------------------------------------- */

enum { EXTRA_WORDS = 16 };

/* Runs `cxx flags extra... libraries`; returns the exit code of the
 * compiler. */
static int run_cxx(const struct stan_kit *kit, const char *const *extra,
                   char **said)
{
    char *argv[2 * STAN_KIT_WORDS + EXTRA_WORDS + 3] = {kit->cxx};
    char *copies[EXTRA_WORDS] = {0};
    size_t n = 1;

    for (size_t i = 0; kit->flags[i]; i++) {
        argv[n++] = kit->flags[i];
    }
    if (!kit->is_clang) {
        argv[n++] = "-fno-gnu-unique";
    }
    for (size_t i = 0; extra[i] && i < EXTRA_WORDS; i++) {
        argv[n++] = copies[i] = cli_text("%s", extra[i]);
    }
    for (size_t i = 0; kit->libraries[i]; i++) {
        argv[n++] = kit->libraries[i];
    }
    argv[n] = NULL;
    const int code = process_run(argv, said);
    for (size_t i = 0; i < EXTRA_WORDS; i++) {
        free(copies[i]);
    }
    return code;
}

/* Compiles a file of ours; 0, or the exit code after a message. */
static int compile_own(struct build *b, const char *const *extra)
{
    struct stan_kit kit = b->kit;
    char *said = NULL;

    kit.libraries[0] = NULL; /* nothing is linked */
    const int failed = run_cxx(&kit, extra, &said);
    int code = CLI_OK;
    if (failed > CLI_SIGNAL) {
        code = failed;
    } else if (failed) {
        code = cli_fail(CLI_MODEL, "relmc",
                        "%s cannot compile Stan's headers (another compiler: "
                        "--cxx g++); it says:\n%s",
                        b->kit.cxx, said);
    }
    free(said);
    return code;
}

/* Precompiles Stan's headers. Clang reads their text again, so it stays beside
 * the result. */
static int precompile(struct build *b)
{
    char *from = cli_text("%s/stan.hpp", b->kit.share);
    char *header = cli_text("%s/stan.hpp", b->head);
    char *draft = cli_text("%s/stan.pch", b->work);
    char *final = cli_text("%s/stan.pch", b->head);
    char *text = stan_source_read_file(from);
    const char *const extra[] = {
        "-x",  "c++-header", "-fpch-instantiate-templates", header, "-o",
        draft, NULL};
    int code = text ? write_file(header, text) : fail_file(from);

    if (!code && !(code = compile_own(b, extra)) && rename(draft, final)) {
        code = fail_file(final);
    }
    free(text);
    free(final);
    free(draft);
    free(header);
    free(from);
    return code;
}

static int compile_shim(struct build *b, const char *pch)
{
    char *from = cli_text("%s/shim.cpp", b->kit.share);
    char *draft = cli_text("%s/shim.o", b->work);
    char *final = cli_text("%s/shim.o", b->head);
    const char *const extra[] = {
        "-c", from, "-o", draft, b->kit.is_clang ? "-include-pch" : NULL,
        pch,  NULL};
    int code = compile_own(b, extra);

    if (!code && rename(draft, final)) {
        code = fail_file(final);
    }
    free(final);
    free(draft);
    free(from);
    return code;
}

static bool has_head(const struct build *b)
{
    char *shim = cli_text("%s/shim.o", b->head);
    const bool is_made = is_there(shim);

    free(shim);
    return is_made;
}

/* The shim comes last: with it the folder is complete. */
static int make_head(struct build *b)
{
    char *lock_path = cli_text("%s.lock", b->head);
    char *pch = cli_text("%s/stan.pch", b->head);
    const int fd = stan_cache_lock(lock_path);
    int code = CLI_OK;

    if (!has_head(b)) {
        if (mkdir(b->head, 0777) && errno != EEXIST) {
            code = fail_file(b->head);
        }
        if (!code && b->kit.is_clang) {
            code = precompile(b);
        }
        if (!code) {
            code = compile_shim(b, pch);
        }
    }
    stan_cache_unlock(fd, lock_path);
    free(pch);
    free(lock_path);
    return code;
}

static int run_linker(const struct build *b, const char *cpp,
                      const char *library, char **said)
{
    char *shim = cli_text("%s/shim.o", b->head);
    char *header = b->kit.is_clang ? cli_text("%s/stan.pch", b->head)
                                   : cli_text("%s/stan.hpp", b->kit.share);
    const char *const extra[] = {b->kit.is_clang ? "-include-pch" : "-include",
                                 header,
                                 "-shared",
                                 cpp,
                                 shim,
                                 "-o",
                                 library,
                                 NULL};
    const int code = run_cxx(&b->kit, extra, said);

    free(header);
    free(shim);
    return code;
}

/* Clang refuses a precompiled header if a file in it has changed since. */
static bool is_stale(const char *said)
{
    return strstr(said, "precompiled header") || strstr(said, "PCH file");
}

static int compile(struct build *b, const char *cpp)
{
    char *draft = cli_text("%s/program.so", b->work);
    char *said = NULL;
    int code = make_head(b);
    int failed = code ? 0 : run_linker(b, cpp, draft, &said);

    if (failed && is_stale(said)) {
        free(said);
        said = NULL;
        stan_cache_remove_folder(b->head);
        code = make_head(b);
        failed = code ? 0 : run_linker(b, cpp, draft, &said);
    }
    if (failed > CLI_SIGNAL) {
        code = failed;
    } else if (failed) {
        code = stan_compiler_message_cxx(&b->source, cpp, b->code, said);
    } else if (!code && rename(draft, b->library)) {
        code = fail_file(b->library);
    }
    free(said);
    free(draft);
    return code;
}

/* ---- the whole build ----------------------------------------------------- */

static void announce(const struct build *b)
{
    cli_say(b->voice, "compiling %s%s", b->model,
            has_head(b) ? ""
            : b->kit.is_clang
                ? " (first time: about 20 s more for a precompiled header)"
                : " (first time: about 30 s more for the interface)");
}

static int make_library(struct build *b)
{
    const double start = cli_clock();

    b->work = cli_text("%s/work.XXXXXX", b->kit.cache);
    if (!mkdtemp(b->work)) {
        return fail_file(b->work);
    }
    char *cpp = cli_text("%s/program.cpp", b->work);
    int code = translate(b, cpp);
    if (!code) {
        announce(b);
        code = compile(b, cpp);
    }
    if (!code) {
        cli_say(b->voice, "compiled in %.1f s", cli_clock() - start);
    }
    free(cpp);
    stan_cache_remove_folder(b->work);
    return code;
}

static int prepare(struct build *b, const struct stan_tools *tools)
{
    int code = stan_source_read(&b->source, b->model);

    if (code || (code = stan_toolchain_find(&b->kit, tools)) ||
        (code = name_head(b))) {
        return code;
    }
    char *stem = stem_of(b->model);
    b->name = class_of(stem);
    b->program = b->kit.is_old ? stan_syntax_old(b->source.text)
                               : cli_text("%s", b->source.text);
    name_library(b, stem);
    free(stem);
    return CLI_OK;
}

static int make_locked(struct build *b, bool is_forced)
{
    char *lock_path = cli_text("%s.lock", b->library);
    const int fd = stan_cache_lock(lock_path);
    int code = CLI_OK;

    stan_cache_remove_old(b->kit.cache);
    if (is_forced || !is_there(b->library)) {
        code = make_library(b);
    }
    stan_cache_unlock(fd, lock_path);
    free(lock_path);
    return code;
}

/* Values that are not given come from the environment. */
static struct stan_tools complete(const struct stan_tools *given)
{
    struct stan_tools tools = *given;
    const struct {
        const char **value;
        const char *variable;
    } all[] = {{&tools.stanc, "RELMC_STANC"},
               {&tools.headers, "RELMC_STAN_HEADERS"},
               {&tools.cxx, "RELMC_CXX"},
               {&tools.cache, "RELMC_CACHE"}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *text = getenv(all[i].variable);

        if (!*all[i].value && text && *text) {
            *all[i].value = text;
        }
    }
    return tools;
}

int stan_build(char **library, const char *model,
               const struct stan_tools *tools, const struct voice *voice)
{
    const struct stan_tools all = complete(tools);
    struct build b = {.model = model, .voice = voice};
    int code = prepare(&b, &all);

    if (!code && (all.is_forced || !is_there(b.library))) {
        code = make_locked(&b, all.is_forced);
    }
    *library = code ? NULL : b.library;
    if (code) {
        free(b.library);
    }
    free(b.program);
    free(b.name);
    free(b.head);
    free(b.work);
    free(b.code);
    stan_source_clear(&b.source);
    stan_toolchain_clear(&b.kit);
    return code;
}

/* ---- cleaning ------------------------------------------------------------ */

int stan_build_clean(const struct stan_tools *tools, const struct voice *voice)
{
    const struct stan_tools all = complete(tools);
    char *cache = stan_toolchain_cache_folder(all.cache);
    size_t n = 0;
    const bool is_done = cache && stan_cache_empty(cache, &n);

    if (is_done) {
        cli_say(voice, "removed %zu files from %s", n, cache);
    }
    free(cache);
    return is_done ? CLI_OK : CLI_IO;
}
