/* claims.c - is what the paper concludes true of our numbers? */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPLICATES = 400 };

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_REPRODUCED] = "reproduced",
        [VERDICT_PARTLY] = "partly",
        [VERDICT_NOT] = "not reproduced",
        [VERDICT_NONE] = "not measured",
    };

    return names[verdict];
}

/* ---- sheets that vary by their standard errors ------------------------------ */

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    const double two_pi = 6.28318530717958647693;
    const double r = sqrt(-2.0 * log(uniform(state)));

    return r * cos(two_pi * uniform(state));
}

/* The column with the standard errors of column c; n_columns: none. */
static size_t column_of_errors(const struct sheet *sheet, size_t c)
{
    char *name = cli_text("%s_se", sheet->columns[c]);
    size_t i = 0;

    while (i < sheet->n_columns && strcmp(sheet->columns[i], name) != 0) {
        i++;
    }
    free(name);
    return i;
}

static void vary(struct sheet *out, const struct sheet *sheet, uint64_t *state)
{
    const size_t n = sheet->n_columns;

    for (size_t c = 0; c < n; c++) {
        const size_t errors = column_of_errors(sheet, c);

        for (size_t i = 0; errors < n && i < sheet->experiment->n_cells; i++) {
            const double *from = sheet->cells[i].values;

            for (size_t r = 0; r < sheet->cells[i].n; r++) {
                const size_t at = r * n + c;
                const double z = normal(state), se = from[r * n + errors];

                out->cells[i].values[at] =
                    isnan(se) ? from[at] : from[at] + se * z;
            }
        }
    }
}

static void copy_sheet(struct sheet *out, const struct sheet *sheet)
{
    sheet_init(out, sheet->experiment, sheet->columns);
    for (size_t i = 0; i < sheet->experiment->n_cells; i++) {
        const struct cell_rows *from = &sheet->cells[i];

        (void)cell_rows_add(&out->cells[i], from->n, sheet->n_columns);
        if (from->n) {
            memcpy(out->cells[i].values, from->values,
                   from->n * sheet->n_columns * sizeof(double));
        }
    }
}

/* ---- the verdict ----------------------------------------------------------- */

struct finding claim_judge(const struct claim *claim, const struct sheet *sheet)
{
    struct finding found = {
        .claim = claim,
        .value = claim->measure(sheet, claim),
        .verdict = VERDICT_NONE,
    };
    struct sheet other;
    uint64_t state = 1;
    double sum = 0.0, squares = 0.0;

    copy_sheet(&other, sheet);
    for (int k = 0; k < REPLICATES; k++) {
        vary(&other, sheet, &state);
        const double d = claim->measure(&other, claim) - found.value;

        sum += d;
        squares += d * d;
    }
    sheet_clear(&other);
    const double mean = sum / REPLICATES;

    const double variance = squares / REPLICATES - mean * mean;

    /* not by fmax, which would hide a NaN */
    found.se = variance < 0.0 ? 0.0 : sqrt(variance);
    if (isfinite(found.value) && isfinite(found.se)) {
        found.verdict =
            found.value - 2.0 * found.se >= claim->holds   ? VERDICT_REPRODUCED
            : found.value + 2.0 * found.se <= claim->fails ? VERDICT_NOT
                                                           : VERDICT_PARTLY;
    }
    return found;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *finding_json(const struct finding *finding)
{
    const struct claim *claim = finding->claim;

    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:f, s:f, s:s}", "id",
                     claim->id, "claim", claim->says, "quantity",
                     claim->quantity, "value", number(finding->value),
                     "standard_error", number(finding->se), "reproduced_from",
                     claim->holds, "refuted_to", claim->fails, "verdict",
                     verdict_name(finding->verdict));
}
