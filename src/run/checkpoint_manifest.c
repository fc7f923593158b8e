/* checkpoint_manifest.c - compares the manifests of a checkpoint and a run, key
 * by key. */
#include "run/checkpoint.h"

#include <string.h>

/* A JSON string or number at *at, of a text that this library has written. */
static struct rmc_span take_value(const char **at)
{
    const char *from = *at, *s = from;

    if (*s == '"') {
        for (s++; *s && *s != '"'; s++) {
            s += *s == '\\' && s[1];
        }
        s += *s == '"';
    } else {
        s += strcspn(s, ",}");
    }
    *at = s;
    return (struct rmc_span){from, (size_t)(s - from)};
}

struct rmc_span rmc_manifest_pair(const char **at, struct rmc_span *value)
{
    *at += strspn(*at, "{}, ");
    const struct rmc_span key = take_value(at);

    *at += strspn(*at, ": ");
    *value = take_value(at);
    return key;
}

int rmc_is_same_span(struct rmc_span a, struct rmc_span b)
{
    return a.n == b.n && !memcmp(a.at, b.at, a.n);
}

relmc_status rmc_compare_manifests(const char *then, const char *now,
                                   relmc_error *err)
{
    static const struct rmc_span draws = {"\"draws\"", 7},
                                 init = {"\"init\"", 6};
    struct rmc_span key, value_then, value_now;

    do {
        key = rmc_manifest_pair(&then, &value_then);
        const struct rmc_span key_now = rmc_manifest_pair(&now, &value_now);

        if (!rmc_is_same_span(key, key_now)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "checkpoint: it has %.*s where this run has %.*s",
                            (int)key.n, key.at, (int)key_now.n, key_now.at);
        }
        if (!rmc_is_same_span(value_then, value_now) &&
            !rmc_is_same_span(key, draws) && !rmc_is_same_span(key, init)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "checkpoint: %.*s was %.*s, and now it is %.*s",
                            (int)key.n, key.at, (int)value_then.n,
                            value_then.at, (int)value_now.n, value_now.at);
        }
    } while (key.n);
    return RELMC_OK;
}
