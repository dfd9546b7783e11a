/* orchid/function.h: the contract between a function and the worker that runs it (ABI version 1).
 *
 * A module is LLVM bitcode. Each entry E of a module is an exported function with C linkage:
 *
 *     int32_t orchid_entry_E(orchid_call* call, const void* input, size_t input_size);
 *
 * `input` lies in the connection's buffers (aligned to 64 bytes when larger than 64 bytes, else to
 * 8) and is valid until the entry returns or exchanges chunks; it may be changed in place. The
 * entry asks for room with orchid_output(), writes there, and returns ORCHID_OK, or any other value
 * for an error, best after orchid_error(). Everything runs on one thread of one process; globals
 * live as long as the process does, which is at least one call. Data-parallel kernels, which an
 * entry launches over all its cores or a GPU: orchid/kernel.h.
 *
 * A module may also export, per entry, `const char orchid_signature_E[]`: the types of a typed
 * entry, such as "f64(span<f64>,span<f64>)" (grammar: docs/PROTOCOL.md), and it exports `const
 * uint32_t orchid_abi_version`, which the macros below define. Without it, version 1 is meant.
 *
 * New host functions do not change the version: a module that calls one which its executor does not
 * know is refused, with the name.
 *
 * Any compiler that writes bitcode can make such symbols; this header is a convenience for C. C++:
 * orchid/function.hpp.
 */
#ifndef ORCHID_FUNCTION_H
#define ORCHID_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORCHID_ABI_VERSION 1u

#if defined(__NVPTX__) && !defined(ORCHID_DEVICE)
#define ORCHID_DEVICE 1
#endif

/* One running call. Opaque; valid until the entry returns; not to be used by another thread. */
typedef struct orchid_call orchid_call;

enum {
  ORCHID_OK = 0,
  ORCHID_ERROR = 1,        /* the function failed: outcome function_error */
  ORCHID_BAD_ARGUMENTS = 2 /* the input does not fit the entry's types: outcome bad_request */
};

/* Room for `size` bytes of output, aligned to 64 bytes. May be called again to grow or shrink the
 * output; what was written is kept, the address may change. Only the first `size` bytes of the last
 * call are sent back. NULL: over the limit of this connection, or its room is taken by answers that
 * the caller keeps, and has been for a second (outcome limit_exceeded if the entry then returns
 * anything but ORCHID_OK). */
void* orchid_output(orchid_call* call, size_t size);

/* Room for `size` bytes more behind what was written, not aligned; what was written before may
 * move. NULL as above. */
void* orchid_append(orchid_call* call, size_t size);

/* Streams. A caller may send the input in chunks, and take the output in chunks before the input
 * has ended. The entry gets the first chunk as its input and asks for the others here:
 *
 *     const void* chunk = input;
 *     size_t size = input_size;
 *     int32_t next = ORCHID_CHUNK;
 *     for (; next == ORCHID_CHUNK; next = orchid_exchange(call, &chunk, &size)) {
 *       ... orchid_append(call, n) ...
 *     }
 *
 * The exchange sends what was written since the last one as one chunk of output, at most 32 MiB,
 * and waits for the next of input, which replaces the one before: that is gone. A chunk may be
 * empty: the caller asks for output. What is written after the last exchange goes with the entry's
 * return.
 *
 * ORCHID_END_OF_INPUT: no input follows; the first time this sends nothing, so an entry that now
 * returns answers with all that is left. One that has more to say than fits writes a chunk and
 * exchanges again, which waits until the caller wants more. A producer thus writes a chunk for each
 * exchange, whether that brings input or not.
 *
 * ORCHID_STOP: as orchid_should_stop(); return soon. Nothing was sent.
 *
 * A caller that does not stream has sent the whole input with the call: the first exchange says so,
 * and the output gathers until the return. So one entry serves both. On the entry's thread
 * only. */
enum { ORCHID_STOP = -1, ORCHID_END_OF_INPUT = 0, ORCHID_CHUNK = 1 };
int32_t orchid_exchange(orchid_call* call, const void** input, size_t* size);

/* States why the entry is about to fail: `message` is copied, at most 4 KiB, UTF-8. */
void orchid_error(orchid_call* call, const char* message, size_t size);

/* Appends to the invocation's log, as printf and std::cout do. */
void orchid_log(orchid_call* call, const char* text, size_t size);

/* Non-zero when the caller has cancelled, the deadline has passed, or the place is being taken
 * back: return soon. About 1 ns. */
int orchid_should_stop(orchid_call* call);

/* How far the call is, 0 to 1: who waits for it over HTTP, or looks, sees the last that was said.
 */
void orchid_progress(orchid_call* call, double fraction);

/* Data objects that the call was given, in the order in which the caller named them. */
uint32_t orchid_data_count(orchid_call* call);

/* Object `index`, from 0: its bytes, aligned to 4096, and how many they are. They lie in this
 * process, were not copied, and nobody can change them; writing to them ends the process. They are
 * valid until the entry returns. NULL and 0: it is empty. Anything but ORCHID_OK: there is no such
 * object, and *bytes is NULL. */
int32_t orchid_data(orchid_call* call, uint32_t index, const void** bytes, uint64_t* size);

/* Data objects that the call opens and makes by itself. What goes wrong is told by a status other
 * than ORCHID_OK, and in words, which become the call's error when the entry returns that status:
 * those below, or ORCHID_ERROR. */
enum {
  ORCHID_DATA_NOT_FOUND = 16, /* nobody has data of that name, or with that id, for this user */
  ORCHID_DATA_LOST = 17,      /* no copy of it is left */
  ORCHID_DATA_ELSEWHERE = 18, /* it is on another host; the words say on which */
  ORCHID_DATA_NO_MEMORY = 19  /* it does not fit into the memory for data, or the user's part */
};

/* Opens an object by "NAME" (the newest version), "NAME@3" or its id: its bytes, as with
 * orchid_data(). A name means the same object until the entry returns. Some 50 us for what this
 * host has and the call names by its id, and no time for what was opened before in this call; a
 * name is asked of the gateway. */
int32_t orchid_data_open(orchid_call* call, const char* name, const void** bytes, uint64_t* size);

/* Room for an object of at most `most` bytes (1 at least), which is charged whole at once: zeros,
 * to be written in place, aligned to 4096. It does not count as the worker's memory, but pages are
 * taken when they are first written to. */
int32_t orchid_data_create(orchid_call* call, uint64_t most, void** room);

/* The first `used` bytes of a room become an object that nobody can change, called `name` (NULL:
 * it has none); the rest is given back. The room is unmapped, whatever the status. `id`: NULL, or
 * room for the object's id, with a zero behind it. Others find it, and the name has a new version,
 * when the call has succeeded, before its answer comes. If the call does not succeed, and with
 * rooms that were not sealed, all is as if it had never been. */
#define ORCHID_DATA_ID_SIZE 35
/* A typed entry whose signature gives data<T> answers with the id as bytes: this many, those that
 * the digits of `id` behind its "d-" are. */
#define ORCHID_DATA_ID_BYTES 16
int32_t orchid_data_seal(orchid_call* call, void* room, uint64_t used, const char* name, char* id);

#include "orchid/leased_memory.h"

/* Crews. The workers of a crew may send calls on to each other: what this asks for happens when the
 * entry has returned ORCHID_OK. Then the call goes on at `member`, in entry `entry` of the same
 * module or another one (a name as for orchid_invoke_inline; NULL: in this one), with `size` bytes
 * as its input, at most 64 KiB, which are copied now. Whoever called gets the output of the entry
 * that returns without going on; what was written here is not sent. Deadline, cancellation and log
 * go along. Nobody waits meanwhile, and this worker takes its next call. To itself is allowed. A
 * later call of this replaces an earlier one.
 *
 * Anything but ORCHID_OK: there is no such member or entry, the input is too large, the call has
 * gone on too often (1 000 000 times, or what its caller allows), or this worker is in no crew.
 * Nor can a call go on that has made data objects: only its last step may do that. A child that was
 * spawned cannot go on at another member.
 * The call fails then, with words that say why, whatever the entry returns; in no crew it fails if
 * the entry returns that status. */
int32_t orchid_forward(orchid_call* call, uint32_t member, const char* entry, const void* bytes,
                       size_t size);

/* The same, and the call goes on at a member that is on a host which has the data object `data` (a
 * name or an id, as for orchid_data_open): at one that has it mapped, if there is one, and else at
 * the same one each time. It opens the object there. Where an object is is asked for, and then
 * remembered for a second. Fails also when there is no such object, or when no member of the crew
 * is on a host that has it. */
int32_t orchid_forward_to_data(orchid_call* call, const char* data, const char* entry,
                               const void* bytes, size_t size);

/* Another entry runs here and now, in this worker, and returns: a part of the call, as a C function
 * would be. Deadline, cancellation, log and data objects that are opened or made are those of the
 * call; what orchid_data() finds is not. `function`: "E" is an entry of the same module, or else of
 * the only other module that has such an entry and that this worker has loaded; "sha256:DIGEST.E"
 * is one of the module with that digest. All members of a crew have loaded all modules that its
 * client has asked for; a worker of a call over HTTP has its own alone. Nothing is fetched.
 *
 * ORCHID_OK: *output is what it has written, aligned to 64 bytes: at most what a call may answer
 * here, in the worker's memory. It is valid until the next orchid_invoke_inline of this entry has
 * returned, or this entry returns; so it may be that one's input. NULL for `output` and
 * `output_size`: nobody wants it. Anything else: the status of that entry, ORCHID_ERROR for an
 * exception that escaped from it or when entries are 32 deep within each other, or
 * ORCHID_NO_FUNCTION: it is not there, or several modules have it. The words for it become the
 * call's error when this entry returns a status other than ORCHID_OK and says nothing else; it may
 * as well go on without. One that crashes, calls exit() or runs until the deadline ends the call.
 *
 * It gets no chunks of a stream, and cannot let the call go on at another member, nor spawn. How it
 * has set rounding is put back as at a call's start. */
enum { ORCHID_NO_FUNCTION = 32 };
int32_t orchid_invoke_inline(orchid_call* call, const char* function, const void* input,
                             size_t input_size, const void** output, size_t* output_size);

/* Fork and join, in crews. No entry ever waits for another: it says which children are to run, says
 * what the call goes on with when all of them have answered, and returns ORCHID_OK:
 *
 *     orchid_spawn(call, "part", &left, sizeof left);
 *     orchid_spawn(call, "part", &right, sizeof right);
 *     return orchid_then(call, "join", &state, sizeof state);
 *
 * orchid_spawn: a child of this call, which is a run of `function` (a name as for
 * orchid_invoke_inline) with `size` bytes of input. orchid_then: where the call goes on, with
 * `size` bytes of its own as its input; a later one replaces it. Both take at most 64 KiB, which
 * are copied now; all begins when this entry has returned ORCHID_OK, and what it has written is not
 * sent. A call that spawns has to say orchid_then; one that says orchid_then alone goes on at once.
 * `entry`, too, may spawn and say orchid_then, and so may children.
 *
 * Children wait at this member, and the one that was spawned first runs first, before older ones
 * that wait; members that have nothing to do are given the oldest. The call goes on at this member.
 * Deadline, cancellation and hops go along: each child, and each orchid_then, has one hop less than
 * its call. What children log comes with the error of the call that fails. The first child that
 * fails fails the call that has spawned it, with its words, and so on up to the caller; children
 * that have not begun are dropped then. One that crashes ends the call, as any entry does. Children
 * neither go on at other members nor make data objects; the call may, when it has no children.
 *
 * Anything but ORCHID_OK: there is no such function, the bytes are too many, the hops are used up,
 * this member has no room for more (65 536 children that wait and calls that wait for theirs, or
 * 64 MiB of their inputs and outputs: outcome no_capacity), or this worker is in no crew. The call
 * fails then, with words that say why, whatever the entry returns; in no crew, and in an entry that
 * was invoked by another one, it fails if the entry returns that status. */
int32_t orchid_spawn(orchid_call* call, const char* function, const void* input, size_t size);
int32_t orchid_then(orchid_call* call, const char* entry, const void* state, size_t size);

/* What the children have answered for whom this call has waited: how many they were, and the output
 * of number `index`, from 0, as they were spawned. Aligned to 64 bytes, valid until the entry
 * returns. NULL and 0: it is empty. Anything but ORCHID_OK: there was no such child. */
uint32_t orchid_child_count(orchid_call* call);
int32_t orchid_child(orchid_call* call, uint32_t index, const void** output, size_t* size);

/* Modules that a call of a crew makes while it runs. What goes wrong is told by a status other than
 * ORCHID_OK, and in words, which become the call's error when the entry returns that status: those
 * below, or ORCHID_ERROR (the worker is in no crew; the call is to stop; nobody answers). */
enum {
  ORCHID_MODULE_REJECTED = 48, /* it is no module, cannot be compiled or linked, or is too large */
  ORCHID_MODULE_TOO_COSTLY = 49, /* compiling it takes too much time or memory */
  ORCHID_MODULE_QUOTA = 50       /* the user's functions have had their compile time, or the crew
                                    has as many modules as it may */
};
#define ORCHID_DIGEST_SIZE 72

/* The `size` bytes of bitcode become a module that the crew has from now on: `digest` (room for
 * ORCHID_DIGEST_SIZE characters, with a zero behind it) is its name. It is verified and compiled as
 * any module of this user is, which takes some milliseconds at the first time and some 100 us then;
 * the entry waits for that. An entry E of it is named "<digest>.E" in orchid_forward,
 * orchid_invoke_inline, orchid_spawn and orchid_then, at once and at all members. Its static
 * initialisers run within this call, and before the first call elsewhere. At most 4 MiB. It stays
 * until the crew ends or is formed anew; a call that is begun again makes it again. There are at
 * most 64 that calls of a crew have made. A call that is cancelled meanwhile ends its worker. */
int32_t orchid_deploy_module(orchid_call* call, const void* module, size_t size, char* digest);

/* The same for a module that is there already, compiled anew with other values for some of its
 * constants (ORCHID_CONSTANT), so that the compiler knows them: loops with a known count, folded
 * arithmetic. `module`: the digest of a module that the crew's program has loaded, or NULL: the one
 * that runs. `value`: `size` bytes, as many as the constant has; numbers and arrays of numbers. */
typedef struct orchid_constant {
  const char* name; /* without orchid_constant_ */
  const void* value;
  size_t size;
} orchid_constant;
int32_t orchid_specialise(orchid_call* call, const char* module, const orchid_constant* constants,
                          size_t count, char* digest);

/* Which member of its crew this worker is, from 1, and how many there are; 0: it is in none. */
uint32_t orchid_member(orchid_call* call);
uint32_t orchid_member_count(orchid_call* call);

/* Nanoseconds left until the deadline; INT64_MAX when there is none. */
int64_t orchid_time_left_ns(orchid_call* call);

/* Own place: the id of this call, the worker's first core (-1: unbound) and the number of its
 * cores. */
uint64_t orchid_invocation_id(orchid_call* call);
int32_t orchid_core(orchid_call* call);
int32_t orchid_core_count(orchid_call* call);

#ifdef __cplusplus
} /* extern "C" */
#define ORCHID_EXTERN_C extern "C"
#define ORCHID_DECLARE_C extern "C"
#else
#define ORCHID_EXTERN_C
#define ORCHID_DECLARE_C extern
#endif

#define ORCHID_EXPORT __attribute__((visibility("default"), used))
#define ORCHID_UNUSED __attribute__((unused)) /* an entry may ignore what it is given */

/* One definition in each module, however many of its files include this header. An image for a
 * device (orchid/kernel.h) has none. */
#ifndef ORCHID_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
extern __attribute__((visibility("default"), weak)) const uint32_t orchid_abi_version;
__attribute__((used)) const uint32_t orchid_abi_version = ORCHID_ABI_VERSION;
#ifdef __cplusplus
}
#endif
#endif

/* A constant of the module: orchid_constant_NAME, which has `value` unless orchid_specialise sets
 * another one. The compiler of the module does not know it, and that of the executor does. */
#define ORCHID_CONSTANT(type, name, value)                                                         \
  ORCHID_DECLARE_C __attribute__((visibility("default"), weak)) const type orchid_constant_##name; \
  const type orchid_constant_##name = value

/* The module's functions have an effect outside of their call, called `name`: they append to
 * a queue in leased memory, say. Running a call of them twice is not the same as once. So the
 * module's calls over HTTP are never started twice, as if each said Orchid-At-Most-Once, and in a
 * crew only calls that say at_most_once run it. A lease's own calls must say at_most_once
 * themselves. A module that invokes one with effects inline declares an effect, too, or is refused
 * (in a crew its call says at_most_once). Once in the module for each effect:
 * ORCHID_EFFECT(queue); orchid_leased_fetch_add and orchid_leased_compare_swap are effects by
 * themselves. */
#ifdef ORCHID_DEVICE
#define ORCHID_EFFECT(name) ORCHID_DECLARE_C const uint32_t orchid_effect_##name
#else
#define ORCHID_EFFECT(name)                                     \
  ORCHID_DECLARE_C __attribute__((visibility("default"), weak)) \
  const uint32_t orchid_effect_##name;                          \
  __attribute__((used)) const uint32_t orchid_effect_##name = 1
#endif

/* A function whose module lies in the same program, put there by orchid_add_functions of the CMake
 * package. It is the constant `orchid_embedded_E` of the entry E. */
struct orchid_embedded_function {
  const char* name;                /* "E" */
  const unsigned char* module;     /* bitcode */
  const unsigned char* module_end; /* the byte after its last */
  int32_t (*native)(orchid_call* call, const void* input, size_t input_size); /* the native twin */
};
#ifndef __cplusplus
typedef struct orchid_embedded_function orchid_embedded_function;
#endif

/* orchid_add_functions defines ORCHID_EMBEDDED_MODULE where it compiles for the program itself: the
 * name of the module beside it. Everywhere else an entry has no such constant. */
#ifdef ORCHID_EMBEDDED_MODULE
#define ORCHID_JOINED(a, b) a##b
#define ORCHID_JOIN(a, b) ORCHID_JOINED(a, b)
#define ORCHID_MODULE_END ORCHID_JOIN(ORCHID_EMBEDDED_MODULE, _end)
#ifdef __cplusplus
extern "C" {
#endif
extern __attribute__((visibility("hidden"))) const unsigned char ORCHID_EMBEDDED_MODULE[];
extern __attribute__((visibility("hidden"))) const unsigned char ORCHID_MODULE_END[];
#ifdef __cplusplus
} /* extern "C" */
#endif
#define ORCHID_EMBED(entry)                                                                      \
  ORCHID_EXTERN_C ORCHID_EXPORT int32_t orchid_entry_##entry(orchid_call*, const void*, size_t); \
  ORCHID_DECLARE_C __attribute__((visibility("default")))                                        \
  const orchid_embedded_function orchid_embedded_##entry;                                        \
  const orchid_embedded_function orchid_embedded_##entry = {                                     \
      #entry, ORCHID_EMBEDDED_MODULE, ORCHID_MODULE_END, orchid_entry_##entry};
#else
#define ORCHID_EMBED(entry)
#endif

/* Declares and opens an entry in C:   ORCHID_ENTRY(echo) { void* out = orchid_output(call,
 * input_size); ... return ORCHID_OK; } */
#ifdef ORCHID_DEVICE /* checked, never emitted: a device has kernels only */
#define ORCHID_ENTRY(name)                                                          \
  ORCHID_UNUSED static int32_t orchid_entry_##name(ORCHID_UNUSED orchid_call* call, \
                                                   ORCHID_UNUSED const void* input, \
                                                   ORCHID_UNUSED size_t input_size)
#else
#define ORCHID_ENTRY(name)                                                                   \
  ORCHID_EMBED(name)                                                                         \
  ORCHID_EXTERN_C ORCHID_EXPORT int32_t orchid_entry_##name(ORCHID_UNUSED orchid_call* call, \
                                                            ORCHID_UNUSED const void* input, \
                                                            ORCHID_UNUSED size_t input_size)
#endif

/* The source's part of the entry E, both optional: it runs in the program that begins a call of a
 * crew in place (orchid::CrewMember::invoke_in_place in orchid/crew.h), which is linked with this
 * file, as orchid_add_functions does. A worker never runs it. `source`: what the program gives.
 *
 * ORCHID_SOURCE_SIZE(E): how many bytes the input will have at most; without it 64 KiB.
 * ORCHID_SOURCE_FILL(E): writes the input to `input`, which is where E will read it: zeroed by
 * nobody, aligned to 64 bytes. *size is how many bytes there is room for, and then how many it has
 * written. Anything but ORCHID_OK: the call fails with that status, and does not begin. Without it
 * the input is a copy of `source`. It runs again when the call does, and must not call the crew. */
#ifdef ORCHID_DEVICE
#define ORCHID_SOURCE_PART ORCHID_UNUSED static
#else
#define ORCHID_SOURCE_PART ORCHID_EXTERN_C ORCHID_EXPORT
#endif
#define ORCHID_SOURCE_SIZE(name)                                                        \
  ORCHID_SOURCE_PART size_t orchid_source_size_##name(ORCHID_UNUSED const void* source, \
                                                      ORCHID_UNUSED size_t source_size)
#define ORCHID_SOURCE_FILL(name)                                          \
  ORCHID_SOURCE_PART int32_t orchid_source_fill_##name(                   \
      ORCHID_UNUSED const void* source, ORCHID_UNUSED size_t source_size, \
      ORCHID_UNUSED void* input, ORCHID_UNUSED size_t* size)

/* For headers: another file of the program has the entry E, and orchid_embedded_E names it. C++ has
 * ORCHID_DECLARE_FUNCTION (orchid/embedded.h) for typed ones. */
#define ORCHID_DECLARE_ENTRY(name) \
  ORCHID_DECLARE_C const orchid_embedded_function orchid_embedded_##name;

#endif /* ORCHID_FUNCTION_H */
