/* orchid/orchid_memory.h: memory of another host that a program reads and writes, from C; a part of
 * orchid/orchid.h. What one thread asks for is done in the order in which it asks. */
#ifndef ORCHID_ORCHID_MEMORY_H
#define ORCHID_ORCHID_MEMORY_H

#include "orchid/orchid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero but `bytes` is a good default. */
typedef struct orchid_memory_options {
  uint64_t bytes;
  const char* host;     /* where it is to be; NULL: wherever there is room */
  uint32_t wait;        /* ORCHID_WAIT_...: how both ends wait for each other */
  uint64_t duration_ms; /* of the lease; 0: 60 000 */
  uint64_t within_ms;   /* to get it, and to connect; 0: 15 000 */
  uint64_t patience_ms; /* with a host that does not get on; then it is lost; 0: 30 000 */
} orchid_memory_options;

/* Memory of an executor, of zero bytes, for this program alone. Its lease is renewed until it is
 * freed. */
orchid_status orchid_memory_take(orchid_client* client, const orchid_memory_options* options,
                                 orchid_memory** memory);
/* Ends the lease of memory that was taken: what was in it is gone. Memory that was attached stays
 * with its lease. */
void orchid_memory_free(orchid_memory* memory);
uint64_t orchid_memory_size(const orchid_memory* memory);
/* Both are valid until the memory is freed. The id is that of its lease, as `orchid leases` shows
 * it. */
const char* orchid_memory_host(const orchid_memory* memory);
const char* orchid_memory_id(const orchid_memory* memory);

/* A lease alone, for calls that are given its id, which goes to `id` with a zero behind it, or for
 * other programs of this user. It lasts for `options->duration_ms`, and so long from each
 * orchid_memory_keep on; orchid_release_lease ends it. */
#define ORCHID_LEASE_ID_SIZE 64
orchid_status orchid_memory_reserve(orchid_client* client, const orchid_memory_options* options,
                                    char id[ORCHID_LEASE_ID_SIZE]);
orchid_status orchid_memory_keep(orchid_client* client, const char* id, uint64_t duration_ms);
/* The memory of a lease that somebody keeps, when nobody else uses it now. `options` may be NULL;
 * `bytes` and `host` are not looked at. ORCHID_STATUS_NOT_FOUND; ORCHID_STATUS_UNREACHABLE: also
 * when somebody uses it. */
orchid_status orchid_memory_attach(orchid_client* client, const char* id,
                                   const orchid_memory_options* options, orchid_memory** memory);

/* These and what follows return when it is done. ORCHID_STATUS_BAD_REQUEST: not within the memory;
 * ORCHID_STATUS_LEASE_ENDED: the memory is gone. */
orchid_status orchid_memory_put(orchid_memory* memory, uint64_t offset, const void* data,
                                size_t size);
orchid_status orchid_memory_get(orchid_memory* memory, uint64_t offset, void* data, size_t size);

/* Rows of `row` bytes each, whose beginnings are `stride` (at least `row`) bytes apart, as a column
 * of a matrix has them. Here their bytes lie one behind the other. No row is no byte. */
typedef struct orchid_memory_rows {
  uint64_t offset;
  uint64_t row;
  uint64_t stride;
  uint64_t count;
} orchid_memory_rows;
orchid_status orchid_memory_put_rows(orchid_memory* memory, const orchid_memory_rows* rows,
                                     const void* data);
orchid_status orchid_memory_get_rows(orchid_memory* memory, const orchid_memory_rows* rows,
                                     void* data);

/* One of a batch: a put of the bytes at `put`, or a get to `get`; the other one is NULL. One row
 * needs no `stride`. */
typedef struct orchid_memory_step {
  orchid_memory_rows rows;
  const void* put;
  void* get;
} orchid_memory_step;
/* Does all of them, in their order, without waiting for each. ORCHID_STATUS_BAD_REQUEST: one is not
 * within the memory, or has bytes and not exactly one of `put` and `get`; none was done. */
orchid_status orchid_memory_run(orchid_memory* memory, const orchid_memory_step* steps,
                                size_t count);

/* Asks for bytes, and returns: they come to `data` while this program waits for anything of this
 * memory. `coming` is used by one thread, and is to be freed, after which nothing more is written
 * to `data`. */
typedef struct orchid_memory_coming orchid_memory_coming;
orchid_status orchid_memory_start_get(orchid_memory* memory, uint64_t offset, void* data,
                                      size_t size, orchid_memory_coming** coming);
/* 1: orchid_memory_wait would not wait. Lets what is on its way come in. */
int orchid_memory_ready(orchid_memory_coming* coming);
/* Until all bytes are there. */
orchid_status orchid_memory_wait(orchid_memory_coming* coming);
void orchid_memory_coming_free(orchid_memory_coming* coming);

/* Of the 8 bytes at `offset`, a multiple of 8, as a number; `before`: what was there.
 * ORCHID_STATUS_OUTCOME_UNKNOWN: it may have happened, and is not sent again. */
orchid_status orchid_memory_fetch_add(orchid_memory* memory, uint64_t offset, uint64_t add,
                                      uint64_t* before);
orchid_status orchid_memory_compare_swap(orchid_memory* memory, uint64_t offset, uint64_t expected,
                                         uint64_t desired, uint64_t* before);
/* Returns when all that any thread has asked for before is done. */
orchid_status orchid_memory_fence(orchid_memory* memory);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ORCHID_ORCHID_MEMORY_H */
