/* team_mpi.c - the processes that mpirun or srun has started. */
#define _POSIX_C_SOURCE 200809L

#include "job/team.h"
#include "relmc_team.h"

#include <mpi.h>

#include <string.h>
#include <time.h>

/* A message of MPI has less than 2^31 bytes. */
static const size_t MOST = (size_t)1 << 30;
enum { TAG = 1 };

static int part_of(size_t bytes)
{
    return (int)(bytes < MOST ? bytes : MOST);
}

/* MPI waits in a loop that uses the whole processor, also when there are more
 * processes than processors. So this one polls for a short time and then sleeps
 * between polls. */
static void await(MPI_Request request)
{
    enum { PATIENCE = 200 }; /* polls: some tens of microseconds */
    const struct timespec nap = {.tv_nsec = 50000};
    int is_done = 0;

    for (int n = 0;; n += n < PATIENCE) {
        (void)MPI_Request_get_status(request, &is_done, MPI_STATUS_IGNORE);
        if (is_done) {
            return;
        }
        if (n == PATIENCE) {
            (void)nanosleep(&nap, NULL);
        }
    }
}

/* No errors are returned: by default MPI ends all processes. */
static void tell(void *ctx, void *data, size_t bytes)
{
    char *at = data;

    (void)ctx;
    while (bytes) {
        const int n = part_of(bytes);
        MPI_Request request;

        (void)MPI_Ibcast(at, n, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        await(request);
        (void)MPI_Wait(&request, MPI_STATUS_IGNORE);
        at += n;
        bytes -= (size_t)n;
    }
}

static void give(void *ctx, const void *data, size_t bytes)
{
    const char *at = data;

    (void)ctx;
    while (bytes) {
        const int n = part_of(bytes);
        MPI_Request request;

        (void)MPI_Isend(at, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        await(request);
        (void)MPI_Wait(&request, MPI_STATUS_IGNORE);
        at += n;
        bytes -= (size_t)n;
    }
}

static void take(void *ctx, uint32_t from, void *data, size_t bytes)
{
    char *at = data;

    (void)ctx;
    while (bytes) {
        const int n = part_of(bytes);
        MPI_Request request;

        (void)MPI_Irecv(at, n, MPI_BYTE, (int)from, TAG, MPI_COMM_WORLD,
                        &request);
        await(request);
        (void)MPI_Wait(&request, MPI_STATUS_IGNORE);
        at += n;
        bytes -= (size_t)n;
    }
}

static relmc_team ours = {.size = sizeof ours, .n_members = 1};

void team_begin(void)
{
    int level = 0, rank = 0, size = 1;

    (void)MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    ours = (relmc_team){.size = sizeof ours,
                        .rank = (uint32_t)rank,
                        .n_members = (uint32_t)size,
                        .tell = tell,
                        .give = give,
                        .take = take};
}

int team_end(int code)
{
    (void)MPI_Finalize();
    return code;
}

void team_abort(int code)
{
    (void)MPI_Abort(MPI_COMM_WORLD, code);
}

const relmc_team *team(void)
{
    return &ours;
}

/* "Open MPI v4.1.4, package: ..." */
const char *team_library(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;

    (void)MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = '\0';
    for (char *tab = text; (tab = strchr(tab, '\t'));) {
        *tab = ' ';
    }
    return text;
}
