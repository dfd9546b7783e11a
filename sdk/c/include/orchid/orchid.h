/* orchid/orchid.h: Orchid from C: deploys functions, calls them through the gateway, and takes
 * leases whose workers are called directly. It includes orchid/orchid_data.h, data objects, and
 * orchid/orchid_memory.h, memory of other hosts.
 *
 *     orchid_client* client = NULL;
 *     if (orchid_client_open(NULL, &client) != ORCHID_STATUS_OK)
 *       return fprintf(stderr, "%s\n", orchid_last_error()), 1;
 *
 * Functions return a status; what happened last on this thread is in orchid_last_error(). Handles
 * are opaque, may be used by any thread, and are freed once, in any order: what needs another
 * handle keeps what it needs of it. NULL may be freed. */
#ifndef ORCHID_ORCHID_H
#define ORCHID_ORCHID_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values are stable, and their names are those of the HTTP API (orchid_status_name). */
typedef enum orchid_status {
  ORCHID_STATUS_OK = 0,
  ORCHID_STATUS_BAD_REQUEST = 1,
  ORCHID_STATUS_BAD_CONFIGURATION = 2,
  ORCHID_STATUS_SIGNATURE_MISMATCH = 3,
  ORCHID_STATUS_UNAUTHENTICATED = 4,
  ORCHID_STATUS_DENIED = 5,
  ORCHID_STATUS_NOT_FOUND = 6,
  ORCHID_STATUS_CONFLICT = 7,
  ORCHID_STATUS_TOO_LARGE = 8,
  ORCHID_STATUS_MODULE_REJECTED = 9,
  ORCHID_STATUS_QUOTA = 10,
  ORCHID_STATUS_FUNCTION_ERROR = 11,
  ORCHID_STATUS_FUNCTION_CRASHED = 12,
  ORCHID_STATUS_FUNCTION_EXITED = 13,
  ORCHID_STATUS_LIMIT_EXCEEDED = 14,
  ORCHID_STATUS_DEADLINE_EXCEEDED = 15,
  ORCHID_STATUS_CANCELLED = 16,
  ORCHID_STATUS_EVICTED = 17,
  ORCHID_STATUS_WORKER_LOST = 18,
  ORCHID_STATUS_NO_CAPACITY = 19,
  ORCHID_STATUS_LEASE_ENDED = 20,
  ORCHID_STATUS_UNREACHABLE = 21,
  ORCHID_STATUS_TIMED_OUT = 22,
  ORCHID_STATUS_DISK_FULL = 23,
  ORCHID_STATUS_UNSUPPORTED = 24,
  ORCHID_STATUS_SYSTEM = 25,
  ORCHID_STATUS_INTERNAL = 26,
  ORCHID_STATUS_DATA_LOST = 27,
  ORCHID_STATUS_DATA_ELSEWHERE = 28,
  ORCHID_STATUS_OUTCOME_UNKNOWN = 29
} orchid_status;

const char* orchid_status_name(orchid_status status);
/* One line for people about this thread's last failure; "" when there was none. Valid until the
 * next call of this thread. */
const char* orchid_last_error(void);
/* The same in parts, for programs that decide by it. What is not known is "" or 0; no text is
 * NULL. */
typedef struct orchid_failure {
  orchid_status status;   /* ORCHID_STATUS_OK: there was no failure */
  uint32_t attempt;       /* 1: the call had been started once; 0: not at all, or not said */
  int retryable;          /* 1: the same call may be made again, and has a chance */
  int http_status;        /* 0: no answer of the gateway */
  const char* message;    /* what happened */
  const char* hint;       /* what to do */
  const char* outcome;    /* of the call, as the HTTP API names it: "function_crashed" */
  const char* function;   /* "N.E" */
  const char* invocation; /* its id; calls on a lease have none */
  const char* node;       /* host name */
  const char* log;        /* what a call on a lease had printed when its worker ended */
} orchid_failure;
/* Never NULL. It belongs to this thread, and is valid with its texts until the next call of it. */
const orchid_failure* orchid_last_failure(void);

typedef struct orchid_client orchid_client;
typedef struct orchid_lease orchid_lease;
typedef struct orchid_function orchid_function;
typedef struct orchid_future orchid_future;
typedef struct orchid_buffer orchid_buffer;
typedef struct orchid_stream orchid_stream;
typedef struct orchid_memory orchid_memory;
typedef struct orchid_leased_data orchid_leased_data;

/* Bytes that Orchid allocated; free them with orchid_bytes_free. */
typedef struct orchid_bytes {
  void* data;
  size_t size;
} orchid_bytes;
void orchid_bytes_free(orchid_bytes* bytes);

/* ---- through the gateway ---- */

/* `gateway`: "http://host:port", "ucx://host:port" or "unix:/path"; NULL: the one that `orchid up`
 * started. */
orchid_status orchid_client_open(const char* gateway, orchid_client** client);
void orchid_client_free(orchid_client* client);
orchid_status orchid_deploy(orchid_client* client, const char* name, const void* module,
                            size_t size);
orchid_status orchid_deploy_file(orchid_client* client, const char* name, const char* path);
/* `deadline_ns`: from now to the result; 0: the gateway's default. */
orchid_status orchid_invoke(orchid_client* client, const char* function, const void* input,
                            size_t size, uint64_t deadline_ns, orchid_bytes* output);
/* Of one invocation; all zero or NULL: as orchid_invoke without a deadline of its own. */
typedef struct orchid_invoke_options {
  uint64_t deadline_ns;
  int at_most_once;
  /* That it is given, and runs beside: "NAME", "NAME@3" or ids; at most 64. */
  const char* const* data;
  size_t data_count;
  /* Its output becomes the next version of the data object of this name, and `output` is the JSON
   * document that describes it; NULL: the output is the answer. */
  const char* output_data;
} orchid_invoke_options;
orchid_status orchid_invoke_with(orchid_client* client, const char* function, const void* input,
                                 size_t size, const orchid_invoke_options* options,
                                 orchid_bytes* output);

/* ---- directly, with workers of a lease ---- */

enum { ORCHID_WAIT_ADAPTIVE = 0, ORCHID_WAIT_HOT = 1, ORCHID_WAIT_BLOCKING = 2 };

/* What one worker has. Kernels of its functions run on its first GPU, which is nobody else's
 * meanwhile. */
typedef struct orchid_worker_size {
  uint32_t cores;        /* 0: one */
  uint32_t gpus;         /* 0: none */
  uint64_t memory;       /* bytes; 0: what the site gives */
  const char* gpu_model; /* NULL: any */
} orchid_worker_size;

/* All zero is a good default: one worker. */
typedef struct orchid_lease_options {
  uint32_t workers;          /* 0: one */
  uint32_t at_least;         /* 0: all of them */
  uint32_t cores_per_worker; /* 0: one */
  uint32_t wait;             /* ORCHID_WAIT_... */
  uint64_t memory;           /* bytes for each worker; 0: what the site gives */
  uint64_t duration_ms;      /* 0: 60 000; renewed for as long as the lease is held */
  uint64_t within_ms;        /* 0: 10 000 */
  /* Constraints on its hosts. */
  const char* host;              /* name; NULL: any */
  const char* const* avoid_host; /* names of hosts on which no worker is placed; at most 64 */
  size_t avoid_host_count;
  const char* architecture;    /* as uname says it: "x86_64"; NULL: any */
  const char* kind;            /* "cpu", "gpu" or "dpu"; NULL: any */
  const char* const* features; /* all of them, as the batch system names them */
  size_t feature_count;
  uint64_t lifetime_ms; /* the cores stay Orchid's for so much longer, as far as is known */
  double watts_at_most; /* of the host, this worker included; 0: any */
  /* For each worker by itself, the best first; 8 at most. NULL: `cores_per_worker` and `memory`. */
  const orchid_worker_size* alternatives;
  size_t alternative_count;
  /* "auto" (NULL: too); "local": within this host; "ucx": as between hosts; "tcp": the same, and
   * never over RDMA. */
  const char* lane;
  int separate_processes; /* not 0: no worker process runs the code of two modules */
  const char* cluster;    /* a constraint: its batch system's name; NULL: any */
} orchid_lease_options;

/* `options` may be NULL. Errors: ORCHID_STATUS_BAD_REQUEST: an option makes no sense;
 * ORCHID_STATUS_NO_CAPACITY, ORCHID_STATUS_QUOTA; ORCHID_STATUS_UNSUPPORTED: that lane does not
 * lead to them from here. */
orchid_status orchid_lease_take(orchid_client* client, const orchid_lease_options* options,
                                orchid_lease** lease);
/* Ends all its calls with ORCHID_STATUS_LEASE_ENDED and gives the workers back at once. The handle
 * stays, and those that came from it, for other threads that may be using them: what is called then
 * fails with ORCHID_STATUS_LEASE_ENDED. Again: changes nothing. */
orchid_status orchid_lease_release(orchid_lease* lease);
/* Releases it, and frees the handle. */
void orchid_lease_free(orchid_lease* lease);
/* Connected now. */
uint32_t orchid_lease_workers(const orchid_lease* lease);
/* As `orchid leases` shows it; valid until the lease is freed. */
const char* orchid_lease_id(const orchid_lease* lease);
/* Gives back a lease of another program of the same user: `id` as orchid_lease_id told it there.
 * ORCHID_STATUS_NOT_FOUND: there is no such lease. */
orchid_status orchid_release_lease(orchid_client* client, const char* id);

/* A deployed function: "N", "N.E" or "N@<version>". */
orchid_status orchid_lease_function(orchid_lease* lease, const char* name,
                                    orchid_function** function);
/* An entry of a module that is not deployed; `entry` NULL: its only one. */
orchid_status orchid_lease_module(orchid_lease* lease, const void* module, size_t size,
                                  const char* entry, orchid_function** function);
void orchid_function_free(orchid_function* function);

/* Of one call; all zero or NULL: 60 s, started again when its worker is lost. */
typedef struct orchid_call_options {
  uint64_t deadline_ns;
  int at_most_once;
  /* That it is given (orchid_lease_data), at most 64, in the order in which its function asks for
   * them. It waits until a worker has them: on a host that lacks one, until that is copied there.
   * Errors of such a call: ORCHID_STATUS_DATA_LOST, ORCHID_STATUS_DATA_ELSEWHERE. Streams take
   * none. */
  const orchid_leased_data* const* data;
  size_t data_count;
} orchid_call_options;

/* Writes the output to `output` and its size to `*output_size`. ORCHID_STATUS_TOO_LARGE: it did not
 * fit; the function has run. */
orchid_status orchid_call_into(orchid_function* function, const void* input, size_t size,
                               void* output, size_t capacity, size_t* output_size,
                               const orchid_call_options* options);
/* The same with an output that Orchid allocates. */
orchid_status orchid_call_bytes(orchid_function* function, const void* input, size_t size,
                                const orchid_call_options* options, orchid_bytes* output);

/* Memory of a worker's lane: an input that is written there is not copied. */
orchid_status orchid_buffer_make(orchid_lease* lease, size_t size, orchid_buffer** buffer);
void* orchid_buffer_data(orchid_buffer* buffer);
void orchid_buffer_free(orchid_buffer* buffer);
/* Frees `buffer`, whatever it returns. */
orchid_status orchid_call_buffer(orchid_function* function, orchid_buffer* buffer, void* output,
                                 size_t capacity, size_t* output_size,
                                 const orchid_call_options* options);

/* Copies the input and returns at once. */
orchid_status orchid_call_start(orchid_function* function, const void* input, size_t size,
                                const orchid_call_options* options, orchid_future** future);
/* ORCHID_STATUS_TIMED_OUT: it is still going. */
orchid_status orchid_future_wait(orchid_future* future, uint64_t timeout_ns);
/* Waits for the output, or says why there is none. Once. */
orchid_status orchid_future_get(orchid_future* future, orchid_bytes* output);
void orchid_future_cancel(orchid_future* future);
/* `done`: the call, for orchid_future_get, which does not wait any more. It is not `future`, which
 * may be freed before, is valid until the callback returns, and is not to be freed. */
typedef void (*orchid_callback)(orchid_future* done, void* context);
/* Has `callback` called once with `context`, which Orchid only hands on: when there is a result or
 * a failure, a cancelled call and a released lease included, or now if there is one already. That
 * is on the thread that looks after the lanes of all leases of the client: it must be short (some
 * 100 us, since other asynchronous calls, and calls of a lost worker, wait for it) and must not
 * wait for calls, but may start some. (Once the lease is released it may be the calling
 * thread.) The result is taken once: by it or by another, not by both. A second callback is called
 * as well. If this fails, `callback` is not called. */
orchid_status orchid_future_then(orchid_future* future, orchid_callback callback, void* context);
/* The call goes on, and so do its callbacks. */
void orchid_future_free(orchid_future* future);

typedef struct orchid_input {
  const void* data;
  size_t size;
} orchid_input;
/* Calls `function`, which is of this lease, for each of `count` inputs, on all workers, and waits.
 * Output i, which is to be freed with orchid_bytes_free, goes to `outputs[i]`; the inputs are read
 * until it returns. A call that lasts much longer than the others is started again on an idle
 * worker as well, and one whose worker is lost, unless `options->at_most_once`. The deadline is
 * that of each call. The first failure cancels the rest and is returned; then all outputs are NULL.
 * Several threads may do this at once. */
orchid_status orchid_lease_map(orchid_lease* lease, orchid_function* function,
                               const orchid_input* inputs, size_t count,
                               const orchid_call_options* options, orchid_bytes* outputs);

/* A call whose input and output go in chunks of at most 32 MiB while it runs; it has a worker for
 * itself. Used by one thread at a time, apart from orchid_stream_cancel. At most 16 chunks are with
 * the worker or wait to be read. `options->deadline_ns` is that of the whole. */
orchid_status orchid_stream_open(orchid_function* function, const orchid_call_options* options,
                                 orchid_stream** stream);
/* Waits while the worker has too many. `*sent` (may be NULL) is 0 when the function has returned
 * already. ORCHID_STATUS_NO_CAPACITY: read first. */
orchid_status orchid_stream_write(orchid_stream* stream, const void* chunk, size_t size, int* sent);
/* The same without waiting; `*sent` is 0 also when there is no room now. */
orchid_status orchid_stream_try_write(orchid_stream* stream, const void* chunk, size_t size,
                                      int* sent);
/* No input follows. */
orchid_status orchid_stream_finish(orchid_stream* stream);
/* Waits for the next chunk of output, which is valid until the next read. `*chunk` is NULL when
 * none is to come: the function has returned, or may get more input. */
orchid_status orchid_stream_read(orchid_stream* stream, const void** chunk, size_t* size);
/* The same without waiting. */
orchid_status orchid_stream_try_read(orchid_stream* stream, const void** chunk, size_t* size);
/* 1: the function has returned, and all its output has been read. */
int orchid_stream_ended(const orchid_stream* stream);
void orchid_stream_cancel(orchid_stream* stream);
/* Cancels what has not ended. */
void orchid_stream_free(orchid_stream* stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "orchid/orchid_data.h"
#include "orchid/orchid_memory.h"

#endif /* ORCHID_ORCHID_H */
