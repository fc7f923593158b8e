/* error.c - fills in the caller's error struct, and names the statuses. */
#include "base/base.h"

#include <stdio.h>

relmc_status rmc_fail(relmc_error *err, relmc_status status, const char *format,
                      ...)
{
    if (err) {
        va_list args;

        err->status = status;
        va_start(args, format);
        (void)vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}

relmc_status relmc_fail(relmc_error *err, relmc_status status,
                        const char *message)
{
    return rmc_fail(err, status, "%s", message ? message : "");
}

const char *relmc_status_name(relmc_status status)
{
    static const struct {
        relmc_status status;
        const char *name;
    } names[] = {
        {RELMC_OK, "ok"},
        {RELMC_STOPPED, "stopped"},
        {RELMC_REJECT, "zero density"},
        {RELMC_EINVAL, "invalid argument"},
        {RELMC_ENOMEM, "out of memory"},
        {RELMC_EUNKNOWN, "unknown name"},
        {RELMC_EUNSUPP, "unsupported combination"},
        {RELMC_ETARGET, "target failed"},
        {RELMC_EINIT, "no finite start"},
        {RELMC_EIO, "input or output failed"},
        {RELMC_EABI, "incompatible version"},
        {RELMC_EBUSY, "in use by another process"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].status == status) {
            return names[i].name;
        }
    }
    return "unknown status";
}
