/*
 * data_fuzz.c - reads any bytes as a file of data, or as two: covariates and labels.
 *
 * With libFuzzer (cmake -DRELMC_FUZZ=ON, see tests/CMakeLists.txt) this is its
 * harness.  Without, it is a test: CSV, IDX, npy and gzip files, cut, joined and
 * mutated a fixed number of times.
 *
 * What must hold: no crash; an error has an exit code and one printable line that names
 * the file; data are finite, and classes are in range; reading them again gives the
 * same, and so does reading them as test data of themselves, where possible.
 */
#include "support/messages.h"

#include "data/dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int n_messages; /* of the last reading */
static int n_read;     /* inputs that were data */

static void demand(int is_true, const char *what)
{
    if (!is_true) {
        (void)fprintf(stderr, "data_fuzz: %s\n%s\n", what, caught_text);
        abort();
    }
}

/* ---- what must hold ------------------------------------------------------------ */

static void check_message(int code)
{
    demand(code == CLI_USAGE || code == CLI_MODEL || code == CLI_IO ||
               code == CLI_NUMERIC,
           "exit code");
    demand(n_messages == 1, "one message");
    demand(strstr(caught_text, "x.dat") || strstr(caught_text, "y.dat"),
           "name of the file");
    for (const char *s = caught_text; *s; s++) {
        demand((unsigned char)*s >= ' ' && *s != 0x7f, "one printable line");
    }
}

static void check_data(const struct dataset *set)
{
    char text[INPUT_STREAM_SHOWN];

    demand(set->n_rows > 0 && set->n_columns > 0 && set->y && set->format,
           "nothing was read");
    demand(!set->x != !set->x_float, "one matrix");
    for (size_t i = 0; i < set->n_rows; i++) {
        demand(isfinite(set->y[i]) != 0, "y is not finite");
        demand(set->n_classes == 0 ||
                   (set->y[i] >= 0.0 && set->y[i] < (double)set->n_classes &&
                    set->y[i] == floor(set->y[i])),
               "no class");
        for (size_t j = 0; j < set->n_columns; j++) {
            demand(isfinite(dataset_at(set, i, j)) != 0, "x is not finite");
        }
    }
    for (size_t j = 0; j < set->n_columns; j++) {
        demand(*dataset_column(text, set, j) || *set->names[j] == '\0',
               "no name");
    }
    for (size_t k = 0; set->classes && k < set->n_classes; k++) {
        demand(set->classes[k] != NULL, "no label");
    }
}

static void check_same(const struct dataset *a, const struct dataset *b)
{
    demand(a->n_rows == b->n_rows && a->n_columns == b->n_columns &&
               a->n_classes == b->n_classes,
           "another shape");
    for (size_t i = 0; i < a->n_rows; i++) {
        demand(a->y[i] == b->y[i], "another y");
        for (size_t j = 0; j < a->n_columns; j++) {
            demand(dataset_at(a, i, j) == dataset_at(b, i, j), "another x");
        }
    }
}

struct input {
    const uint8_t *x, *y; /* y: labels, or NULL */
    size_t n_x, n_y;
};

static int open_part(struct input_stream *bytes, const uint8_t *data,
                     size_t size, const char *name)
{
    /* fmemopen takes no const pointer, also for reading */
    union {
        const uint8_t *from;
        void *to;
    } part = {.from = data};
    FILE *stream =
        size > 0 ? fmemopen(part.to, size, "r") : fopen("/dev/null", "r");

    demand(stream != NULL, "fmemopen");
    return input_stream_open_file(bytes, stream, name, "relmc data");
}

static int read_input(struct dataset *out, const struct input *in,
                      const struct dataset_options *options)
{
    struct input_stream x = {0}, y = {0};

    catch_begin();
    *out = (struct dataset){0};
    int code = open_part(&x, in->x, in->n_x, "x.dat");
    if (!code && in->y) {
        code = open_part(&y, in->y, in->n_y, "y.dat");
    }
    if (!code) {
        code = dataset_read_bytes(out, &x, in->y ? &y : NULL, options);
    }
    input_stream_close(&x);
    input_stream_close(&y);
    n_messages = catch_end();
    return code;
}

/* The first bytes choose the options and where the labels start. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const responses[] = {NULL, "1", "2", "b"};
    struct input in = {0};
    struct dataset set, again;

    if (size < 4) {
        return 0;
    }
    struct dataset_options options = {
        .header = (enum dataset_header)(data[0] % 3),
        .task = (enum dataset_task)(data[0] / 3 % 3),
        .n_classes = data[0] / 9 % 5,
        .response = responses[data[1] % 4],
        .memory = 1e7,
    };
    const size_t at = (size_t)data[2] | (size_t)data[3] << 8;
    in.x = data + 4;
    in.n_x = size - 4;
    if (at > 0 && at < in.n_x) {
        in.y = in.x + at;
        in.n_y = in.n_x - at;
        in.n_x = at;
    }
    const int code = read_input(&set, &in, &options);
    if (code) {
        check_message(code);
        demand(!set.x && !set.x_float && !set.y && !set.names, "left behind");
        return 0;
    }
    n_read++;
    check_data(&set);
    demand(!read_input(&again, &in, &options), "read once only");
    check_same(&set, &again);
    dataset_clear(&again);
    options.like = &set;
    const int like = read_input(&again, &in, &options);
    if (like) {
        check_message(like);
    } else {
        check_same(&set, &again);
    }
    dataset_clear(&again);
    dataset_clear(&set);
    return 0;
}

/* ---- the fixed run ------------------------------------------------------------- */

#ifndef RELMC_LIBFUZZER

#include "fixed.h"

enum { N_RUNS = 100000 };

#define SEED(text)            \
    {                         \
        text, sizeof text - 1 \
    }

/* Whole files, those of arrays with labels from `labels` on. */
static const struct {
    const char *bytes;
    size_t n;
} seeds[] = {
    SEED("a,b,y\n1,2.5,0\n3,-4e2,1\n5,6,1\n"),
    SEED("\xef\xbb\xbf"
         "a;b;y\r\n1;red;no\r\n2;\"dark \"\"red\"\"; or so\";yes\r\n\r\n"),
    SEED("1\t2\t3\n4\t5\t6\n7\t8\t-1\n"),
    SEED("\"x\",\"y\"\n\"1\",\"2\"\n\"line\nbreak\",\"3\"\n"),
    SEED("a,b\n1,NA\n2,nan\n3,inf\n,\n"),
    SEED("a,b\n1,99999999999999999999999999\n1e400,2\n"),
};
enum { N_SEEDS = sizeof seeds / sizeof *seeds };

/* 3 images of 2 x 2 and their labels, as IDX. */
static const char idx[] = "\0\0\x08\3\0\0\0\3\0\0\0\2\0\0\0\2"
                          "\1\2\3\4\5\6\7\10\11\12\13\14"
                          "\0\0\x08\1\0\0\0\3\0\2\1";
enum { IDX_LABELS = 28 };

/* Two rows of three doubles, and a gzip file of "a,b\n1,2\n3,4\n". */
static const char npy[] =
    "\x93NUMPY\1\0\x45\0{'descr': '<f8', 'fortran_order': False, 'shape': "
    "(2, 3), }         \n"
    "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\x08\x40"
    "\0\0\0\0\0\0\x10\x40\0\0\0\0\0\0\x14\x40\0\0\0\0\0\0\x18\x40";
static const char packed[] =
    "\037\213\010\000\000\000\000\000\002\003\113\324\111\342\062\324\061"
    "\342\062\326\061\341\002\000\345\351\326\316\014\000\000\000";

static size_t make_file(uint64_t *state, char *text)
{
    size_t n = 4;

    text[0] = (char)fixed_below(state, 45);
    text[1] = (char)(fixed_below(state, 3) ? 0 : fixed_below(state, 4));
    text[2] = text[3] = 0;
    switch (fixed_below(state, 5)) {
    case 0:
        text[2] = IDX_LABELS;
        return fixed_join(text, n, idx, sizeof idx - 1);
    case 1:
        return fixed_join(text, n, npy, sizeof npy - 1);
    case 2:
        n = fixed_join(text, n, packed, sizeof packed - 1);
        return fixed_below(state, 4)
                   ? n
                   : fixed_join(text, n, packed, sizeof packed - 1);
    default:
        for (size_t j = 1 + fixed_below(state, 4) / 3; j > 0; j--) {
            const size_t k = fixed_below(state, N_SEEDS);

            n = fixed_join(text, n, seeds[k].bytes, seeds[k].n);
        }
        return n;
    }
}

int main(void)
{
    static const char alphabet[] =
        "0123456789.,;:()<>fuib-+eENAx \t\"\"\r\n\0\0\1\2\x08\x0c\x0e\x7f\xff";
    static const struct fixed fixed = {.seed = 5,
                                       .n_runs = N_RUNS,
                                       .make = make_file,
                                       .alphabet = alphabet,
                                       .n_letters = sizeof alphabet - 1,
                                       .first = 4};

    fixed_run(&fixed, LLVMFuzzerTestOneInput);
    (void)printf("%d files, %d of them read\n", (int)N_RUNS, n_read);
    demand(n_read > N_RUNS / 10, "hardly anything could be read");
    return 0;
}

#endif
