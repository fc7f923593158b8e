/* version.c - which library this is. */
#include "base/base.h"

int relmc_version(void)
{
    return RELMC_VERSION;
}
