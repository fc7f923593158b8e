/* version.c - which library this is. */
#include "relmc.h"

#define TEXT(x)         #x
#define DOTTED(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *relmc_version(void)
{
    return DOTTED(RELMC_VERSION_MAJOR, RELMC_VERSION_MINOR,
                  RELMC_VERSION_PATCH);
}
