/*
 * fixed.h - the fixed run of a harness without libFuzzer: files made of seeds,
 * each changed at up to three places.
 */
#ifndef RMC_TESTS_FIXED_H
#define RMC_TESTS_FIXED_H

#include <stdint.h>
#include <string.h>

enum { FIXED_ROOM = 8192 };

struct fixed {
    uint64_t seed;
    int n_runs;
    size_t (*make)(uint64_t *state, char *text); /* a file; its length */
    const char *alphabet;                        /* of inserted bytes */
    size_t n_letters;
    size_t first; /* bytes before this one are not changed */
};

/* splitmix64 of Steele, Lea and Flood (2014) */
static size_t fixed_below(uint64_t *state, size_t n)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % n);
}

static size_t fixed_join(char *text, size_t n, const char *seed, size_t m)
{
    if (n + m < FIXED_ROOM) {
        memcpy(text + n, seed, m);
        n += m;
    }
    return n;
}

static size_t fixed_mutate(const struct fixed *f, uint64_t *state, char *text,
                           size_t n)
{
    for (size_t j = fixed_below(state, 4);
         j > 0 && n > f->first + 1 && n < FIXED_ROOM - 1; j--) {
        const size_t at = f->first + fixed_below(state, n - f->first);
        const char c = f->alphabet[fixed_below(state, f->n_letters)];

        switch (fixed_below(state, 8)) {
        case 0: /* cut */
            n = at + 1;
            break;
        case 1:
        case 2: /* delete */
            memmove(text + at, text + at + 1, n - at - 1);
            n--;
            break;
        case 3:
        case 4: /* insert */
            memmove(text + at + 1, text + at, n - at);
            text[at] = c;
            n++;
            break;
        default:
            text[at] = c;
        }
    }
    return n;
}

static void fixed_run(const struct fixed *f,
                      int (*test)(const uint8_t *data, size_t size))
{
    static char text[FIXED_ROOM];
    uint64_t state = f->seed;

    for (int i = 0; i < f->n_runs; i++) {
        const size_t n = fixed_mutate(f, &state, text, f->make(&state, text));

        (void)test((const uint8_t *)text, n);
    }
}

#endif
