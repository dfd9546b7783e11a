/* orchid/leased_memory.h: memory of this or another host that a function uses; a part of
 * orchid/function.h. C++: orchid/leased_memory.hpp. */
#ifndef ORCHID_LEASED_MEMORY_H
#define ORCHID_LEASED_MEMORY_H

#include "orchid/function.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Leased memory: of this or another host, which a program of the same user has leased. The program
 * gives the call the id of the lease ("l-3-17"), in its input. One at a time uses it: a program
 * that is attached to it, or one call. What goes wrong is told by a status other than ORCHID_OK,
 * and in words, which become the call's error when the entry returns that status: those below, or
 * ORCHID_ERROR (what is asked for is not within the memory; the call is to stop). */
enum {
  ORCHID_MEMORY_ENDED = 20, /* this user has no such lease, or no more: its content is gone */
  ORCHID_MEMORY_BUSY = 21,  /* somebody else uses it */
  ORCHID_MEMORY_LOST = 22,  /* the way there has broken, and what was asked for may be done or not;
                               the lease may be there: it can be opened again */
  ORCHID_MEMORY_UNKNOWN = 23, /* the same of an atomic operation, which is never sent twice */
  ORCHID_MEMORY_NO_WAY = 24   /* too much is open or being opened, or nobody can say where it is */
};

/* Opens the memory of a lease until the entry returns: `memory` is its number in this call, and
 * `size` its bytes. Some 50 ms, since a process is started that goes there. One that is open has
 * its number already. At most 4 at once. */
int32_t orchid_leased_open(orchid_call* call, const char* lease, uint32_t* memory, uint64_t* size);

/* Writes or reads `size` bytes from `offset` on, and returns when that is done. If they are not all
 * within the memory, nothing is done. */
int32_t orchid_leased_put(orchid_call* call, uint32_t memory, uint64_t offset, const void* bytes,
                          uint64_t size);
int32_t orchid_leased_get(orchid_call* call, uint32_t memory, uint64_t offset, void* bytes,
                          uint64_t size);

/* A put of the bytes at `put`, or a get to `get`; the other one is NULL. In the memory they are
 * `count` rows of `row` bytes each, whose beginnings are `stride` (at least `row`) bytes apart, as
 * a column of a matrix has them; here they lie one behind the other. One row needs no `stride`, and
 * no row is no byte. */
typedef struct orchid_leased_step {
  uint64_t offset; /* of the first row */
  uint64_t row;
  uint64_t stride;
  uint64_t count;
  const void* put;
  void* get;
} orchid_leased_step;

/* Does `count` steps in their order, many of them on their way at once, and returns when all are
 * done. If one is not within the memory, none is done. */
int32_t orchid_leased_run(orchid_call* call, uint32_t memory, const orchid_leased_step* steps,
                          uint64_t count);

/* The same, but returns when all steps are on their way: what is put may be changed again, and the
 * targets of gets stay where they are until orchid_leased_wait has returned for `ticket`, or the
 * entry has. Of one memory 16 parts of at most 64 KiB are on their way at most: for more, this
 * waits. The bytes of gets lie in another process meanwhile, and come when this call waits for
 * anything of this memory. What is asked for later is done later. What nobody has waited for when
 * the entry returns may be done or not. */
int32_t orchid_leased_start(orchid_call* call, uint32_t memory, const orchid_leased_step* steps,
                            uint64_t count, uint64_t* ticket);

/* Returns when those steps are done. ORCHID_MEMORY_LOST: also when the memory was opened again
 * since. Once more: returns the same at once. */
int32_t orchid_leased_wait(orchid_call* call, uint32_t memory, uint64_t ticket);

/* Of the 8 bytes at `offset`, a multiple of 8, as a number: *before is what was there.
 * compare_swap: `desired` is there afterwards, if `expected` was. */
int32_t orchid_leased_fetch_add(orchid_call* call, uint32_t memory, uint64_t offset, uint64_t add,
                                uint64_t* before);
int32_t orchid_leased_compare_swap(orchid_call* call, uint32_t memory, uint64_t offset,
                                   uint64_t expected, uint64_t desired, uint64_t* before);

/* ORCHID_OK: all that was asked for before is done, and the memory is there. */
int32_t orchid_leased_fence(orchid_call* call, uint32_t memory);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ORCHID_LEASED_MEMORY_H */
