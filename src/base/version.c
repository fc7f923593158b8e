/* version.c - the version of the library in use. */
#include "base/base.h"

int relmc_version(void)
{
    return RELMC_VERSION;
}
