/* column.c - names of columns: x.1 in files, x[1] for people. */
#include "draws/column.h"

#include <string.h>

bool column_is_sampler(const char *name)
{
    const size_t n = strlen(name);

    return n > 2 && name[n - 1] == '_' && name[n - 2] == '_';
}

char *column_pretty(const char *name)
{
    const size_t n = strlen(name);
    char *out = cli_alloc(2 * n + 2, 1);
    size_t used = 0;
    bool is_open = false;

    for (size_t i = 0; i <= n; i++) {
        const char c = name[i];

        if ((c == ':' || !c) && is_open) {
            out[used++] = ']';
            is_open = false;
        }
        if (c == '.' && i > 0) {
            out[used++] = is_open ? ',' : '[';
            is_open = true;
        } else {
            out[used++] = (char)(c == ':' ? '.' : c);
        }
    }
    return out;
}
