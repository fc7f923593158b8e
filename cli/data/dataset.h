/* dataset.h - tables of observations, read from files. */
#ifndef RELMC_CLI_DATASET_H
#define RELMC_CLI_DATASET_H

#include "data/input_stream.h"

struct dataset {
    size_t n_rows, n_columns;
    double *x;        /* n_rows x n_columns, a row per observation; or NULL, */
    float *x_float;   /* and this: image sets are kept in single precision */
    double *y;        /* n_rows; classes are 0, 1, ... */
    size_t n_classes; /* 0: y is a number */
    char **names;     /* of the columns; NULL: they have none */
    char **classes;   /* their labels; NULL: 0, 1, ... */
    char *response;   /* its name; NULL: it has none */
    const char *format; /* "CSV", "IDX", "npy" */
};

enum dataset_header {
    DATASET_HEADER_AUTO,
    DATASET_HEADER_YES,
    DATASET_HEADER_NO
};

enum dataset_task {
    DATASET_TASK_AUTO,   /* text and labels that are integers by their type are
                          * classes, other numbers are numbers */
    DATASET_TASK_NUMBER, /* text is an error */
    DATASET_TASK_CLASSES /* whole numbers are classes, too */
};

enum { DATASET_MAX_CLASSES = 1000, DATASET_MAX_LEVELS = 1000 };

struct dataset_options {
    const char *response; /* name or number from 1; NULL: the last column */
    const char *labels;   /* file with the response of an IDX or npy file; NULL:
                           * found by its name (IDX), or a column (npy) */
    enum dataset_header header;
    enum dataset_task task;
    size_t n_classes; /* labels are below this; 0: find out */
    double memory;    /* bytes to use at most; 0: what is free */
    /* The training set of a test set: columns, classes and text are to mean
     * the same as there.  May be NULL. */
    const struct dataset *like;
};

/* A file, or the name of a set (catalogue.h).  These return 0, or the exit code
 * after one message; `out` is empty then. */
int dataset_read(struct dataset *out, const char *who, const char *source,
                 const struct dataset_options *options);
/* The same of open files; `labels` may be NULL. */
int dataset_read_bytes(struct dataset *out, struct input_stream *from,
                       struct input_stream *labels,
                       const struct dataset_options *options);
void dataset_clear(struct dataset *set);

/* The value in row i and column j. */
static inline double dataset_at(const struct dataset *set, size_t i, size_t j)
{
    const size_t k = i * set->n_columns + j;

    return set->x ? set->x[k] : (double)set->x_float[k];
}

/* "glucose", or "column 3" if there are no names. */
const char *dataset_column(char out[INPUT_STREAM_SHOWN],
                           const struct dataset *set, size_t j);
/* "pos", or "1" if there are no labels. */
const char *dataset_class(char out[INPUT_STREAM_SHOWN],
                          const struct dataset *set, size_t k);

/* ---- for the readers ----------------------------------------------------- */

int dataset_read_csv(struct dataset *out, struct input_stream *from,
                     const struct dataset_options *options);
int dataset_read_arrays(struct dataset *out, struct input_stream *from,
                        struct input_stream *labels,
                        const struct dataset_options *options);
/* The first bytes look like an IDX or npy file. */
bool dataset_is_array(const struct input_stream *from);

/* Is there enough memory?  `what` needs it: "60000 x 784 numbers". */
int dataset_check_room(const struct input_stream *from, double bytes,
                       double limit, const char *what);

/* Texts that occur in a column, in order of their first occurrence. */
struct levels {
    char **texts;
    size_t n;
    size_t *sorted; /* which text is first, second, ... in order of bytes */
};
enum { LEVELS_FULL = -1 };
/* The number of a text; LEVELS_FULL if there are too many. */
ptrdiff_t dataset_levels_add(struct levels *levels, const char *text);
void dataset_levels_clear(struct levels *levels);

/* y becomes classes; it holds whole numbers, and `row` says where in the file
 * a row is. */
struct dataset_place {
    const struct input_stream *from;
    const size_t *lines; /* of the rows; NULL: rows are counted from 1 */
};
int dataset_classify(struct dataset *set, const struct dataset_place *place,
                     const struct dataset_options *options);
/* The column meant by --response among n. */
int dataset_find_response(size_t *out, char *const *names, size_t n,
                          const struct input_stream *from,
                          const char *response);

#endif
