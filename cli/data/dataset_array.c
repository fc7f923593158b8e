/* dataset_array.c - reads arrays of numbers: IDX files (MNIST) and npy. */
#define _POSIX_C_SOURCE 200809L

#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DIMS = 16, MAX_HEADER = 1 << 16 };

struct element {
    char kind; /* 'u', 'i', 'f' or 'b' */
    size_t width;
};

/* What the first bytes say. */
struct array {
    const char *format;
    struct element element;
    bool is_big;     /* the most significant byte is first */
    bool is_fortran; /* the first index runs fastest */
    size_t n_dims;
    size_t dims[MAX_DIMS];
    double n; /* elements; may be more than a size_t holds */
};

static const char npy_magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static const struct {
    unsigned char code;
    struct element element;
} idx_types[] = {{0x08, {'u', 1}}, {0x09, {'i', 1}}, {0x0b, {'i', 2}},
                 {0x0c, {'i', 4}}, {0x0d, {'f', 4}}, {0x0e, {'f', 8}}};
enum { N_IDX_TYPES = sizeof idx_types / sizeof *idx_types };

static const struct element *idx_type(unsigned char code)
{
    for (size_t i = 0; i < N_IDX_TYPES; i++) {
        if (idx_types[i].code == code) {
            return &idx_types[i].element;
        }
    }
    return NULL;
}

static bool is_npy(const struct input_stream *from)
{
    return input_stream_at_hand(from) >= sizeof npy_magic &&
           !memcmp(from->block + from->begin, npy_magic, sizeof npy_magic);
}

bool dataset_is_array(const struct input_stream *from)
{
    const unsigned char *start = from->block + from->begin;

    return is_npy(from) || (input_stream_at_hand(from) >= 4 && start[0] == 0 &&
                            start[1] == 0 && idx_type(start[2]));
}

static int bad_header(const struct input_stream *from, const char *why)
{
    return cli_fail(CLI_MODEL, from->who, "%s: %s", from->path, why);
}

/* ---- IDX ----------------------------------------------------------------- */

static int idx_open(struct array *a, struct input_stream *from)
{
    unsigned char word[4];
    size_t got = 0;
    int code = input_stream_read(from, word, sizeof word, &got);

    if (code) {
        return code;
    }
    a->format = "IDX";
    a->element = *idx_type(word[2]);
    a->is_big = true;
    a->n_dims = word[3];
    if (a->n_dims == 0 || a->n_dims > MAX_DIMS) {
        return bad_header(from, "the header of an IDX file with a strange "
                                "number of dimensions");
    }
    for (size_t k = 0; k < a->n_dims; k++) {
        if ((code = input_stream_read(from, word, sizeof word, &got))) {
            return code;
        }
        if (got < sizeof word) {
            return bad_header(from, "ends within its header: truncated");
        }
        a->dims[k] = (size_t)word[0] << 24 | (size_t)word[1] << 16 |
                     (size_t)word[2] << 8 | (size_t)word[3];
    }
    return CLI_OK;
}

/* ---- npy ----------------------------------------------------------------- */

/* What follows 'key': in the header, or NULL. */
static const char *npy_value(const char *header, const char *key)
{
    const char *at = strstr(header, key);

    if (at) {
        at += strlen(key);
        at += strspn(at, " ");
        at = *at == ':' ? at + 1 : NULL;
    }
    return at ? at + strspn(at, " ") : NULL;
}

/* '<f8', '|u1', ... */
static bool npy_type(struct array *a, const char *text)
{
    if (!text || (*text != '\'' && *text != '"') || !text[1] || !text[2] ||
        !text[3] || text[4] != *text || !strchr("<>|", text[1])) {
        return false;
    }
    a->is_big = text[1] == '>';
    a->element.kind = text[2];
    a->element.width = (size_t)(text[3] - '0');

    const size_t w = a->element.width;
    switch (text[2]) {
    case 'b':
        return w == 1;
    case 'f':
        return w == 4 || w == 8;
    case 'i':
    case 'u':
        return w == 1 || w == 2 || w == 4 || w == 8;
    default:
        return false;
    }
}

static bool npy_shape(struct array *a, const char *text)
{
    if (!text || *text != '(') {
        return false;
    }
    text++;
    for (;;) {
        char *end = NULL;

        text += strspn(text, " ");
        if (*text == ')') {
            return a->n_dims > 0;
        }
        if (*text < '0' || *text > '9' || a->n_dims == MAX_DIMS) {
            return false;
        }
        const unsigned long long size = strtoull(text, &end, 10);
        if (size > (1ull << 53)) {
            return false;
        }
        a->dims[a->n_dims++] = (size_t)size;
        text = end + strspn(end, " L");
        text += *text == ',';
    }
}

/* The length of the header, which is little-endian; 0 if it is strange. */
static size_t npy_header_size(const unsigned char *start)
{
    const size_t two = (size_t)start[8] | (size_t)start[9] << 8;
    const size_t four = two | (size_t)start[10] << 16 | (size_t)start[11] << 24;
    const size_t n = start[6] == 1 ? two : start[6] <= 3 ? four : 0;

    return n <= MAX_HEADER ? n : 0;
}

static int npy_parse(struct array *a, const struct input_stream *from,
                     const char *header)
{
    const char *order = npy_value(header, "'fortran_order'");

    if (!npy_type(a, npy_value(header, "'descr'"))) {
        return bad_header(from, "a type of element that is not read; make it "
                                "f4, f8, i1 ... i8, u1 ... u8 or b1");
    }
    if (!order || (*order != 'T' && *order != 'F') ||
        !npy_shape(a, npy_value(header, "'shape'"))) {
        return bad_header(from, "the header is no valid header of npy");
    }
    a->is_fortran = *order == 'T';
    return CLI_OK;
}

static int npy_open(struct array *a, struct input_stream *from)
{
    enum { V1 = 10, V2 = 12 };
    size_t got = 0;
    int code = input_stream_peek(from, V2);

    if (code) {
        return code;
    }
    a->format = "npy";
    if (input_stream_at_hand(from) < V2) {
        return bad_header(from, "ends within its header: truncated");
    }
    const unsigned char *start = from->block + from->begin;
    const size_t n = npy_header_size(start);
    if (n == 0) {
        return bad_header(from, "an npy file of a version that is not read");
    }
    input_stream_skip(from, start[6] == 1 ? V1 : V2);
    char *header = cli_alloc(n + 1, 1);
    code = input_stream_read(from, header, n, &got);
    if (!code && got < n) {
        code = bad_header(from, "ends within its header: truncated");
    } else if (!code) {
        code = npy_parse(a, from, header);
    }
    free(header);
    return code;
}

/* ---- elements ------------------------------------------------------------ */

static uint64_t gather(const unsigned char *at, size_t width, bool is_big)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < width; i++) {
        bits = bits << 8 | at[is_big ? i : width - 1 - i];
    }
    return bits;
}

static double element_value(const struct array *a, const unsigned char *at)
{
    const size_t width = a->element.width;
    const uint64_t bits = gather(at, width, a->is_big);

    if (a->element.kind == 'u' || a->element.kind == 'b') {
        return (double)bits;
    }
    if (a->element.kind == 'i') { /* the sign is the highest bit */
        const uint64_t sign = 1ull << (8 * width - 1);

        return bits & sign ? -(double)(((sign - 1) & ~bits) + 1) : (double)bits;
    }
    if (width == 4) {
        const uint32_t half = (uint32_t)bits;
        float value;

        memcpy(&value, &half, sizeof value);
        return (double)value;
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Where the elements go: one of the two. */
struct sink {
    double *wide;
    float *narrow;
};

/* The place of the next element, row by row. */
struct place {
    size_t k;
    size_t at[MAX_DIMS]; /* of an array in Fortran's order */
};

static void advance(struct place *place, const struct array *a)
{
    if (!a->is_fortran) {
        place->k++;
        return;
    }
    for (size_t d = 0; d < a->n_dims; d++) {
        if (++place->at[d] < a->dims[d]) {
            break;
        }
        place->at[d] = 0;
    }
    place->k = 0;
    for (size_t d = 0; d < a->n_dims; d++) {
        place->k = place->k * a->dims[d] + place->at[d];
    }
}

static int not_finite(const struct input_stream *from, const struct array *a,
                      size_t k, uint64_t offset)
{
    const size_t width = (size_t)(a->n / (double)a->dims[0]);

    return cli_fail(CLI_MODEL, from->who,
                    "%s: observation %zu, value %zu (byte %llu) is not a "
                    "finite number",
                    from->path, k / width + 1, k % width + 1,
                    (unsigned long long)offset);
}

/* As many elements as are at hand. */
static int take_block(struct input_stream *from, const struct array *a,
                      size_t n, const struct sink *sink, struct place *place)
{
    const size_t width = a->element.width;
    const unsigned char *at = from->block + from->begin;

    for (size_t i = 0; i < n; i++) {
        const double value = element_value(a, at + i * width);

        if (!isfinite(value)) {
            return not_finite(from, a, place->k, from->offset + i * width);
        }
        if (sink->wide) {
            sink->wide[place->k] = value;
        } else if (sink->narrow) {
            sink->narrow[place->k] = (float)value;
        }
        advance(place, a);
    }
    input_stream_skip(from, n * width);
    return CLI_OK;
}

static int truncated(const struct input_stream *from, double wanted)
{
    const double there =
        (double)from->offset + (double)input_stream_at_hand(from);

    return cli_fail(CLI_MODEL, from->who,
                    "%s ends after %.0f of the %.0f bytes that its header "
                    "promises: truncated",
                    from->path, there, wanted);
}

static int take_elements(struct input_stream *from, const struct array *a,
                         const struct sink *sink)
{
    const size_t width = a->element.width;
    const size_t n = (size_t)a->n;
    const double wanted = (double)from->offset + a->n * (double)width;
    struct place place = {0};
    int code = CLI_OK;

    for (size_t done = 0; done < n && !code;) {
        if ((code = input_stream_peek(from, width))) {
            return code;
        }
        size_t m = input_stream_at_hand(from) / width;
        m = m < n - done ? m : n - done;
        if (m == 0) {
            return truncated(from, wanted);
        }
        code = take_block(from, a, m, sink, &place);
        done += m;
    }
    if (!code && !(code = input_stream_peek(from, 1)) &&
        input_stream_at_hand(from) > 0) {
        code = cli_fail(CLI_MODEL, from->who,
                        "%s goes on after the %.0f bytes that its header "
                        "promises",
                        from->path, wanted);
    }
    return code;
}

/* ---- both ---------------------------------------------------------------- */

static int array_open(struct array *a, struct input_stream *from)
{
    *a = (struct array){.n = 1.0};
    int code = input_stream_peek(from, 8);

    if (!code && !dataset_is_array(from)) {
        code = bad_header(from, "wrong magic number: neither IDX nor npy");
    } else if (!code) {
        code = is_npy(from) ? npy_open(a, from) : idx_open(a, from);
    }
    for (size_t d = 0; d < a->n_dims && !code; d++) {
        a->n *= (double)a->dims[d];
    }
    if (!code && a->n == 0.0) {
        code = bad_header(from, "there is nothing in it: a dimension is 0");
    }
    return code;
}

/* Memory, if there is enough; `bytes` is what one number takes. */
static int array_room(void **out, const struct array *a, size_t bytes,
                      const struct input_stream *from, double limit)
{
    char what[80];
    const double size = a->n * (double)bytes;

    (void)snprintf(what, sizeof what, "%zu x %.0f numbers", a->dims[0],
                   a->n / (double)a->dims[0]);
    const int code = dataset_check_room(from, size, limit, what);
    if (code) {
        return code;
    }
    *out = size < (double)(SIZE_MAX / 2) ? calloc((size_t)a->n, bytes) : NULL;
    return *out ? CLI_OK
                : cli_fail(CLI_NUMERIC, from->who, "%s: out of memory",
                           from->path);
}

static int read_labels(struct dataset *set, struct input_stream *from,
                       const struct dataset_options *options)
{
    const struct dataset_place place = {.from = from};
    struct array a;
    void *room = NULL;
    int code = array_open(&a, from);

    if (code) {
        return code;
    }
    if (a.n != (double)a.dims[0]) {
        return bad_header(from, "has more than one number for an observation: "
                                "no file of labels");
    }
    if (a.dims[0] != set->n_rows) {
        return cli_fail(CLI_MODEL, from->who,
                        "%s has %zu labels, but there are %zu observations",
                        from->path, a.dims[0], set->n_rows);
    }
    if ((code = array_room(&room, &a, sizeof(double), from, options->memory))) {
        return code;
    }
    set->y = room;
    code = take_elements(from, &a, &(struct sink){.wide = set->y});
    const bool are_classes =
        options->task == DATASET_TASK_CLASSES ||
        (options->task == DATASET_TASK_AUTO && a.element.kind != 'f');
    return !code && are_classes ? dataset_classify(set, &place, options) : code;
}

/* A column of the matrix itself is the response. */
static int split_response(struct dataset *set, const struct input_stream *from,
                          const struct dataset_options *options)
{
    const struct dataset_place place = {.from = from};
    const size_t d = set->n_columns;
    size_t column = 0;

    if (d < 2 || !set->x) {
        return bad_header(from, "one column only: there is nothing to explain "
                                "the response with; --labels FILE gives one");
    }
    const int code =
        dataset_find_response(&column, NULL, d, from, options->response);
    if (code) {
        return code;
    }
    set->y = cli_alloc(set->n_rows, sizeof *set->y);
    double *to = set->x;
    for (size_t i = 0; i < set->n_rows; i++) {
        const double *row = set->x + i * d;

        set->y[i] = row[column];
        for (size_t j = 0; j < d; j++) {
            if (j != column) {
                *to++ = row[j];
            }
        }
    }
    set->n_columns = d - 1;
    return options->task == DATASET_TASK_CLASSES ||
                   (options->like && options->like->n_classes > 0)
               ? dataset_classify(set, &place, options)
               : CLI_OK;
}

int dataset_read_arrays(struct dataset *out, struct input_stream *from,
                        struct input_stream *labels,
                        const struct dataset_options *options)
{
    struct array a;
    void *room = NULL;
    int code = array_open(&a, from);

    if (code) {
        return code;
    }
    if (a.n_dims < 2) {
        return bad_header(from, "has one dimension only, as files of labels "
                                "have; the covariates come first");
    }
    /* single precision holds these exactly */
    const bool is_single =
        labels && (a.element.width < 4 ||
                   (a.element.kind == 'f' && a.element.width == 4));
    code = array_room(&room, &a, is_single ? sizeof(float) : sizeof(double),
                      from, options->memory);
    if (code) {
        return code;
    }
    out->format = a.format;
    out->n_rows = a.dims[0];
    out->n_columns = (size_t)(a.n / (double)a.dims[0]);
    out->x = is_single ? NULL : room;
    out->x_float = is_single ? room : NULL;
    code = take_elements(
        from, &a, &(struct sink){.wide = out->x, .narrow = out->x_float});
    if (!code) {
        code = labels ? read_labels(out, labels, options)
                      : split_response(out, from, options);
    }
    return code;
}
