/* arena.c - allocates blocks one by one and releases them together. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* At the start of every block, one cache line before the caller's memory. */
struct rmc_block {
    struct rmc_block *next;
    size_t bytes; /* of the whole block */
};

_Static_assert(sizeof(struct rmc_block) <= ALIGNMENT, "header fits its line");

static void *acquire(const struct rmc_memory *m, size_t bytes)
{
    return m->acquire ? m->acquire(m->ctx, bytes)
                      : aligned_alloc(ALIGNMENT, bytes);
}

static void release(const struct rmc_memory *m, void *block, size_t bytes)
{
    if (m->acquire) {
        m->release(m->ctx, block, bytes);
    } else {
        free(block);
    }
}

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *rmc_arena_get_unset(relmc_arena *arena, size_t bytes)
{
    const size_t room = rounded(bytes);
    struct rmc_block *block = NULL;

    if (bytes < SIZE_MAX - (size_t)2 * ALIGNMENT && !arena->has_failed) {
        block = acquire(&arena->memory, room + ALIGNMENT);
    }
    if (!block) {
        arena->has_failed = 1;
        return NULL;
    }
    block->next = arena->blocks;
    block->bytes = room + ALIGNMENT;
    arena->blocks = block;
    return (unsigned char *)block + ALIGNMENT;
}

void *relmc_arena_get(relmc_arena *arena, size_t bytes)
{
    void *block = rmc_arena_get_unset(arena, bytes);

    return block ? memset(block, 0, rounded(bytes)) : NULL;
}

relmc_status relmc_arena_check(const relmc_arena *arena, relmc_error *err)
{
    return arena->has_failed ? rmc_fail(err, RELMC_ENOMEM, "out of memory")
                             : RELMC_OK;
}

void rmc_arena_release(relmc_arena *arena)
{
    while (arena->blocks) {
        struct rmc_block *block = arena->blocks;
        arena->blocks = block->next;
        release(&arena->memory, block, block->bytes);
    }
}

char *rmc_arena_copy_text(relmc_arena *arena, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = relmc_arena_get(arena, bytes);

    return copy ? memcpy(copy, text, bytes) : NULL;
}

double *rmc_arena_copy(relmc_arena *arena, const double *from, size_t n)
{
    double *copy = NULL;

    if (from) { /* a size that overflows must fail, too */
        copy = relmc_arena_get(
            arena, n <= SIZE_MAX / sizeof *copy ? n * sizeof *copy : SIZE_MAX);
    }
    return copy ? memcpy(copy, from, n * sizeof *copy) : NULL;
}
