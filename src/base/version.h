/* version.h - the version of this library as text. */
#ifndef RMC_VERSION_H
#define RMC_VERSION_H

#include "relmc.h"

#define RMC_TEXT(x)         #x
#define RMC_DOTTED(a, b, c) RMC_TEXT(a) "." RMC_TEXT(b) "." RMC_TEXT(c)
/* "0.2.0" */
#define RMC_VERSION_TEXT \
    RMC_DOTTED(RELMC_VERSION_MAJOR, RELMC_VERSION_MINOR, RELMC_VERSION_PATCH)

#endif
