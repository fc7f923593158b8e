/* ascending.c - compares two doubles, for qsort. */
#include "base/base.h"

int rmc_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}
