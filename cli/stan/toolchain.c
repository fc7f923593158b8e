/* toolchain.c - finds the programs and files that turn Stan programs into
 * libraries. */
#define _POSIX_C_SOURCE 200809L

#include "stan/toolchain.h"
#include "stan/source.h"
#include "tool/datadir.h"
#include "tool/process.h"
#include "tool/sha256.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTALL "apt-get install --no-install-recommends g++ r-cran-rstan"

enum { OLD_MINOR = 26 }; /* Stan 2.26 brought today's array syntax */

/* ---- small things -------------------------------------------------------- */

static void add_word(char *words[STAN_KIT_WORDS], char *word)
{
    size_t n = 0;

    while (n < STAN_KIT_WORDS - 1 && words[n]) {
        n++;
    }
    if (n == STAN_KIT_WORDS - 1) {
        free(word); /* no kit has so many */
        return;
    }
    words[n] = word;
}

static void clear_words(char *words[STAN_KIT_WORDS])
{
    for (size_t i = 0; i < STAN_KIT_WORDS; i++) {
        free(words[i]);
        words[i] = NULL;
    }
}

/* Adds `what` and the first line of `name` to the names. */
static void add_name(struct stan_kit *kit, const char *what, const char *name)
{
    char *all =
        cli_text("%s%s%s%.*s", kit->names ? kit->names : "",
                 kit->names ? "; " : "", what, (int)strcspn(name, "\n"), name);

    free(kit->names);
    kit->names = all;
}

static bool exists(const char *folder, const char *name)
{
    char *path = cli_text("%s/%s", folder, name);
    const bool is_there = !access(path, R_OK);

    free(path);
    return is_there;
}

static int fail_missing(const char *what)
{
    (void)cli_fail(0, "relmc", "%s is needed to compile Stan programs", what);
    (void)fprintf(stderr, "  on Debian or Ubuntu: %s\n", INSTALL);
    return CLI_MODEL;
}

/* ---- folders ------------------------------------------------------------- */

/* Makes the folder and those above it; errors show later, when it is used. */
static void make_folders(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0777);
            *at = '/';
        }
    }
    (void)mkdir(path, 0777);
}

char *stan_toolchain_cache_folder(const char *given)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;

    if (given) {
        path = cli_text("%s", given);
    } else if (xdg && *xdg == '/') {
        path = cli_text("%s/relmc/stan", xdg);
    } else if (home && *home) {
        path = cli_text("%s/.cache/relmc/stan", home);
    } else {
        (void)cli_fail(0, "relmc",
                       "no folder for compiled programs: set HOME or "
                       "XDG_CACHE_HOME");
        return NULL;
    }
    make_folders(path);
    if (access(path, W_OK | X_OK)) {
        (void)cli_fail(0, "relmc", "cannot write to the cache %s: %s", path,
                       strerror(errno));
        free(path);
        return NULL;
    }
    return path;
}

/* ---- compiler ------------------------------------------------------------ */

/* Is there a C++ library for it? */
static bool can_compile(char *cxx)
{
    char *path = cli_text("%s", "/dev/null");
    char *argv[] = {cxx,        "-x",  "c++",      "-fsyntax-only",
                    "-include", "map", "-include", "vector",
                    path,       NULL};
    char *output = NULL;
    const int code = process_run(argv, &output);

    free(output);
    free(path);
    return code == 0;
}

static bool take_compiler(struct stan_kit *kit, const char *name)
{
    char *path = process_find(name);

    if (!path || !can_compile(path)) {
        free(path);
        return false;
    }
    char *argv[] = {path, "--version", NULL};
    char *output = NULL;

    (void)process_run(argv, &output);
    kit->cxx = path;
    kit->is_clang = strstr(output, "clang") != NULL;
    add_name(kit, "", output);
    free(output);
    return true;
}

/* A program of --cxx or --stanc that cannot be used. */
static int fail_program(const char *option, const char *name)
{
    return cli_fail(CLI_MODEL, "relmc", "%s %s: no such program, or it fails",
                    option, name);
}

static int find_compiler(struct stan_kit *kit, const char *given)
{
    enum { NEWEST_CLANG = 22, OLDEST_CLANG = 11 };
    char name[32];

    if (given) {
        return take_compiler(kit, given) ? CLI_OK
                                         : fail_program("--cxx", given);
    }
    if (take_compiler(kit, "clang++")) {
        return CLI_OK;
    }
    for (int version = NEWEST_CLANG; version >= OLDEST_CLANG; version--) {
        (void)snprintf(name, sizeof name, "clang++-%d", version);
        if (take_compiler(kit, name)) {
            return CLI_OK;
        }
    }
    if (take_compiler(kit, "g++") || take_compiler(kit, "c++")) {
        return CLI_OK;
    }
    return fail_missing("a C++ compiler");
}

/* ---- Stan of R ----------------------------------------------------------- */

/* The next line "key value"; NULL at the end.  Cuts the text up. */
static char *next_pair(char **rest, char **value)
{
    char *line = *rest;

    if (!line || !*line) {
        return NULL;
    }
    const size_t n = strcspn(line, "\n");
    *rest = line + n + (line[n] == '\n');
    line[n] = '\0';
    *value = strchr(line, ' ');
    if (!*value) {
        *value = line + n;
        return line;
    }
    *(*value)++ = '\0';
    return line;
}

/* A library outside the folders of the system must be found again at run
 * time. */
static void add_library(struct stan_kit *kit, const char *path)
{
    const char *slash = strrchr(path, '/');

    add_word(kit->libraries, cli_text("%s", path));
    if (slash && strstr(path, ".so") &&
        (strncmp(path, "/usr/lib/", 9) != 0 ||
         strstr(path, "/RcppParallel/"))) {
        add_word(kit->libraries,
                 cli_text("-Wl,-rpath,%.*s", (int)(slash - path), path));
    }
}

static int ask_r(struct stan_kit *kit, char **answer)
{
    kit->rscript = process_find("Rscript");
    if (!kit->rscript) {
        return fail_missing("R with its package rstan");
    }
    char *script = cli_text("%s/stanc.R", kit->share);
    char *argv[] = {kit->rscript, "--vanilla", script, "where", NULL};
    const int code = process_run(argv, answer);

    free(script);
    if (code) {
        return cli_fail(CLI_MODEL, "relmc", "%s fails:\n%s", kit->rscript,
                        *answer);
    }
    if (!strncmp(*answer, "missing ", 8)) {
        return fail_missing("the R package rstan");
    }
    return CLI_OK;
}

static int take_r(struct stan_kit *kit, bool needs_headers, FILE *memo)
{
    char *answer = NULL;
    char *value = NULL;
    const char *key;
    const int code = ask_r(kit, &answer);
    char *rest = answer;

    while (!code && (key = next_pair(&rest, &value))) {
        if (!strcmp(key, "rstan")) {
            add_name(kit, "rstan ", value);
        } else if (!strcmp(key, "file")) {
            (void)fprintf(memo, "%s\n", value);
        } else if (needs_headers && !strcmp(key, "stanheaders")) {
            add_name(kit, "StanHeaders ", value);
        } else if (needs_headers && !strcmp(key, "include")) {
            add_word(kit->flags, cli_text("-I%s", value));
        } else if (needs_headers && !strcmp(key, "library")) {
            add_library(kit, value);
        }
    }
    free(answer);
    return code;
}

/* ---- Stan of the user ---------------------------------------------------- */

/* The folders of CmdStan, of Stan's repository, and of one tree with all. */
static const char *const include_places[] = {
    "",
    "src",
    "include",
    "include/src",
    "stan/src",
    "lib/stan_math",
    "stan/lib/stan_math",
    "lib/stan_math/lib/eigen_*",
    "lib/stan_math/lib/boost_*",
    "lib/stan_math/lib/sundials_*/include",
    "lib/stan_math/lib/tbb_*/include",
    "stan/lib/stan_math/lib/eigen_*",
    "stan/lib/stan_math/lib/boost_*",
    "stan/lib/stan_math/lib/sundials_*/include",
    "stan/lib/stan_math/lib/tbb_*/include",
    "include/lib/eigen_*",
    "include/lib/boost_*",
    "include/lib/sundials_*/include",
    "include/lib/tbb_*/include",
};

static const char *const library_places[] = {
    "lib/stan_math/lib/sundials_*/lib/libsundials_*.a",
    "stan/lib/stan_math/lib/sundials_*/lib/libsundials_*.a",
    "lib/libsundials_*.a",
};

static const char *const tbb_places[] = {
    "lib/stan_math/lib/tbb/libtbb.so",
    "stan/lib/stan_math/lib/tbb/libtbb.so",
    "lib/libtbb.so",
    "lib/libtbb.so.*",
};

/* Calls take() for every file that matches; returns how many. */
static size_t each_match(struct stan_kit *kit, const char *folder,
                         const char *pattern,
                         void (*take)(struct stan_kit *, const char *))
{
    char *whole = cli_text("%s/%s", folder, pattern);
    glob_t found = {0};
    size_t n = 0;

    if (!glob(whole, 0, NULL, &found)) {
        n = found.gl_pathc;
        for (size_t i = 0; i < n; i++) {
            take(kit, found.gl_pathv[i]);
        }
    }
    globfree(&found);
    free(whole);
    return n;
}

static void take_include(struct stan_kit *kit, const char *path)
{
    add_word(kit->flags, cli_text("-I%s", path));
}

/* The version of these headers; false without any. */
static bool read_version(const struct stan_kit *kit, int *minor)
{
    for (size_t i = 0; kit->flags[i]; i++) {
        char *path = cli_text("%s/stan/version.hpp", kit->flags[i] + 2);
        char *text = stan_source_read_file(path);
        const char *at = text ? strstr(text, "define STAN_MINOR ") : NULL;

        *minor = at ? (int)strtol(at + 18, NULL, 10) : 0;
        free(text);
        free(path);
        if (at) {
            return true;
        }
    }
    return false;
}

static bool has_old_tbb(const struct stan_kit *kit)
{
    for (size_t i = 0; kit->flags[i]; i++) {
        if (exists(kit->flags[i] + 2, "tbb/task_scheduler_init.h")) {
            return true;
        }
    }
    return exists("/usr/include", "tbb/task_scheduler_init.h");
}

static int take_headers(struct stan_kit *kit, const char *folder, int *minor)
{
    size_t n = 0;

    for (size_t i = 0; i < sizeof include_places / sizeof(char *); i++) {
        (void)each_match(kit, folder, include_places[i], take_include);
    }
    if (!read_version(kit, minor)) {
        return cli_fail(CLI_MODEL, "relmc",
                        "--stan-headers %s: there is no stan/version.hpp",
                        folder);
    }
    for (size_t i = 0; i < sizeof library_places / sizeof(char *); i++) {
        (void)each_match(kit, folder, library_places[i], add_library);
    }
    for (size_t i = 0; i < sizeof tbb_places / sizeof(char *) && !n; i++) {
        n = each_match(kit, folder, tbb_places[i], add_library);
    }
    if (!n) {
        add_word(kit->libraries, cli_text("-ltbb"));
    }
    if (!has_old_tbb(kit)) {
        add_word(kit->flags, cli_text("-DTBB_INTERFACE_NEW"));
    }
    char *name = cli_text("Stan 2.%d in %s", *minor, folder);
    add_name(kit, "", name);
    free(name);
    return CLI_OK;
}

/* "stanc3 v2.36.0", "stanc version 2.21.0" */
static int take_stanc(struct stan_kit *kit, const char *name, int *minor)
{
    char *output = NULL;

    kit->stanc = process_find(name);
    if (!kit->stanc) {
        return fail_program("--stanc", name);
    }
    char *argv[] = {kit->stanc, "--version", NULL};
    const int code = process_run(argv, &output);
    const char *at = strstr(output, "2.");

    *minor = at ? (int)strtol(at + 2, NULL, 10) : 0;
    add_name(kit, "", output);
    free(output);
    return code || !at ? fail_program("--stanc", name) : CLI_OK;
}

/* ---- all of it ----------------------------------------------------------- */

static void add_flags(struct stan_kit *kit, int minor)
{
    static const char *const flags[] = {
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-pthread",
        "-ffp-contract=off",
        "-DSTAN_THREADS",
        "-D_REENTRANT",
        "-DBOOST_DISABLE_ASSERTS",
        "-DNDEBUG", /* a failed assertion of Eigen would end the program */
        "-w",
    };

    add_word(kit->flags, cli_text("-std=c++%d", minor < OLD_MINOR ? 14 : 17));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        add_word(kit->flags, cli_text("%s", flags[i]));
    }
    add_word(kit->flags, cli_text("-I%s", kit->share));
}

/* Fills `kit`, and lists in `memo` the files whose change makes a new search
 * necessary. */
static int look(struct stan_kit *kit, const struct stan_tools *tools,
                FILE *memo)
{
    int stanc_minor = 21, headers_minor = 21;
    int code = find_compiler(kit, tools->cxx);

    if (!code && tools->headers) {
        code = take_headers(kit, tools->headers, &headers_minor);
    }
    if (!code && tools->stanc) {
        code = take_stanc(kit, tools->stanc, &stanc_minor);
    }
    if (!code && (!tools->stanc || !tools->headers)) {
        code = take_r(kit, !tools->headers, memo);
    }
    if (code) {
        return code;
    }
    if (stanc_minor / OLD_MINOR != headers_minor / OLD_MINOR) {
        return cli_fail(CLI_USAGE, "relmc",
                        "stanc 2.%d and headers of Stan 2.%d do not fit: give "
                        "--stanc and --stan-headers of one version",
                        stanc_minor, headers_minor);
    }
    kit->is_old = stanc_minor < OLD_MINOR;
    add_flags(kit, headers_minor);
    (void)fprintf(memo, "%s\n", kit->cxx);
    if (kit->stanc) {
        (void)fprintf(memo, "%s\n", kit->stanc);
    }
    if (kit->rscript) {
        (void)fprintf(memo, "%s\n", kit->rscript);
    }
    return CLI_OK;
}

/* ---- the memo: asking R and the compiler takes most of a second ---------- */

/* The name of the memo: everything on which the search depends. */
static char *memo_path(const struct stan_kit *kit,
                       const struct stan_tools *tools)
{
    static const char *const variables[] = {
        "PATH",   "R_LIBS", "R_LIBS_SITE",  "R_LIBS_USER",
        "R_HOME", "CPATH",  "LIBRARY_PATH", "HOME"};
    const char *const given[] = {tools->stanc, tools->headers, tools->cxx,
                                 kit->share};
    struct sha256 sum;
    char hex[SHA256_HEX];

    sha256_init(&sum);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const char *text = given[i] ? given[i] : "";

        sha256_add(&sum, text, strlen(text) + 1);
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);

        text = text ? text : "";
        sha256_add(&sum, text, strlen(text) + 1);
    }
    sha256_hex(&sum, hex);
    return cli_text("%s/kit-%.16s", kit->cache, hex);
}

/* Size and time of a file, which differ if it has changed. */
static char *state_of(const char *path)
{
    struct stat now = {0};

    if (stat(path, &now)) {
        return cli_text("gone");
    }
    return cli_text("%lld,%lld,%ld", (long long)now.st_size,
                    (long long)now.st_mtim.tv_sec, now.st_mtim.tv_nsec);
}

static void write_words(FILE *out, const char *key, char *const *words)
{
    for (; *words; words++) {
        (void)fprintf(out, "%s %s\n", key, *words);
    }
}

static void write_memo(const struct stan_kit *kit, const char *path,
                       char *files)
{
    char *draft = cli_text("%s.%ld", path, (long)getpid());
    FILE *out = fopen(draft, "w");

    if (!out) {
        free(draft);
        return; /* without a memo the next search takes longer */
    }
    while (*files) {
        const size_t n = strcspn(files, "\n");

        files[n] = '\0';
        char *state = state_of(files);
        (void)fprintf(out, "state %s %s\n", state, files);
        free(state);
        files += n + 1;
    }
    (void)fprintf(out, "cxx %s\nclang %d\nold %d\nnames %s\n", kit->cxx,
                  kit->is_clang, kit->is_old, kit->names);
    if (kit->stanc) {
        (void)fprintf(out, "stanc %s\n", kit->stanc);
    }
    if (kit->rscript) {
        (void)fprintf(out, "rscript %s\n", kit->rscript);
    }
    write_words(out, "flag", kit->flags);
    write_words(out, "library", kit->libraries);
    (void)fputs("end \n", out);
    if (fclose(out) || rename(draft, path)) {
        (void)unlink(draft);
    }
    free(draft);
}

static bool is_state(const char *pair)
{
    const char *path = strchr(pair, ' ');

    if (!path) {
        return false;
    }
    char *state = state_of(path + 1);
    const size_t n = strlen(state);
    const bool is_same = n == (size_t)(path - pair) && !memcmp(state, pair, n);

    free(state);
    return is_same;
}

/* Takes one line of the memo; false if it is out of date. */
static bool take_memo_line(struct stan_kit *kit, const char *key,
                           const char *value)
{
    const struct {
        const char *key;
        char **text;
    } texts[] = {{"cxx", &kit->cxx},
                 {"names", &kit->names},
                 {"stanc", &kit->stanc},
                 {"rscript", &kit->rscript}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!strcmp(key, texts[i].key)) {
            free(*texts[i].text);
            *texts[i].text = cli_text("%s", value);
            return true;
        }
    }
    if (!strcmp(key, "state")) {
        return is_state(value);
    }
    if (!strcmp(key, "flag")) {
        add_word(kit->flags, cli_text("%s", value));
    } else if (!strcmp(key, "library")) {
        add_word(kit->libraries, cli_text("%s", value));
    } else if (!strcmp(key, "clang")) {
        kit->is_clang = *value == '1';
    } else if (!strcmp(key, "old")) {
        kit->is_old = *value == '1';
    }
    return true;
}

static void forget(struct stan_kit *kit)
{
    char **const texts[] = {&kit->stanc, &kit->rscript, &kit->cxx, &kit->names};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
    clear_words(kit->flags);
    clear_words(kit->libraries);
}

static bool read_memo(struct stan_kit *kit, const char *path)
{
    char *text = stan_source_read_file(path);
    char *rest = text;
    char *value = NULL;
    const char *key;
    bool is_whole = false;

    while ((key = next_pair(&rest, &value)) &&
           take_memo_line(kit, key, value)) {
        is_whole = !strcmp(key, "end");
    }
    free(text);
    if (!is_whole) {
        forget(kit);
    }
    return is_whole;
}

int stan_toolchain_find(struct stan_kit *kit, const struct stan_tools *tools)
{
    char *files = NULL;
    size_t bytes = 0;

    *kit =
        (struct stan_kit){.cache = stan_toolchain_cache_folder(tools->cache)};
    if (!kit->cache) {
        return CLI_IO;
    }
    kit->share = datadir_find_folder("stan", "shim.cpp");
    if (!kit->share) {
        return CLI_IO;
    }
    char *path = memo_path(kit, tools);
    if (read_memo(kit, path)) {
        free(path);
        return CLI_OK;
    }
    FILE *memo = open_memstream(&files, &bytes);
    int code = memo ? look(kit, tools, memo)
                    : cli_fail(CLI_NUMERIC, "relmc", "out of memory");
    if (memo && fclose(memo)) {
        code = cli_fail(CLI_NUMERIC, "relmc", "out of memory");
    }
    if (!code) {
        write_memo(kit, path, files);
    }
    free(files);
    free(path);
    return code;
}

void stan_toolchain_clear(struct stan_kit *kit)
{
    forget(kit);
    free(kit->cache);
    free(kit->share);
    *kit = (struct stan_kit){0};
}
