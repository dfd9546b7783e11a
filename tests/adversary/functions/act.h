/* act.h: what hostile functions are written with. Each file in acts/ is one act: an entry of the
 * file's name. Called without input it does nothing, so that loading it and acting are two calls.
 *
 * System calls are made past the list of symbols, as any function may. */
#pragma once
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "orchid/function.h"

#define ACT(name)                                                                                \
  static int32_t act_of_##name(orchid_call* call, const void* input, size_t input_size);         \
  ORCHID_ENTRY(name) {                                                                           \
    return input_size == 0 ? ORCHID_OK : act_of_##name(call, input, input_size);                 \
  }                                                                                              \
  static int32_t act_of_##name(ORCHID_UNUSED orchid_call* call, ORCHID_UNUSED const void* input, \
                               ORCHID_UNUSED size_t input_size)

/* A negative errno when it failed. */
static inline long raw_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long which __asm__("x8") = number;
  register long first __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  register long fifth __asm__("x4") = e;
  register long sixth __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(first)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "memory");
  return first;
#endif
}

/* The act's output. */
static inline int32_t say(orchid_call* call, const char* text) {
  const size_t size = strlen(text);
  void* output = orchid_output(call, size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, size);
  return ORCHID_OK;
}

/* What the sandbox must refuse: what was not refused is named. */
struct tries {
  char let_through[2048];
  unsigned refused;
};

static inline void note_try(struct tries* tries, const char* name, long result) {
  if (result == -EPERM || result == -EACCES || result == -ENOSYS) {
    ++tries->refused;
    return;
  }
  const size_t size = strlen(tries->let_through);
  snprintf(tries->let_through + size, sizeof tries->let_through - size, " %s=%ld", name, result);
}

static inline int32_t say_tries(orchid_call* call, const struct tries* tries) {
  return say(call, tries->let_through[0] == 0 ? "all refused" : tries->let_through);
}

#ifndef __cplusplus
#define TRY(name, ...) try_call(&tries, #name, SYS_##name, (const long[6]){__VA_ARGS__})
static inline void try_call(struct tries* tries, const char* name, long number,
                            const long* arguments) {
  note_try(tries, name,
           raw_call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                    arguments[5]));
}
#endif

/* Where the worker's things lie, as somebody finds out who reads its source. The descriptors have
 * numbers; call and lane are laid out as in call_context.h and lane_layout.h, the page as in
 * status_page.h. */
enum { control_socket = 3, wake_worker = 4, wake_client = 5 };
enum {
  lane_entry_bytes = 128,
  lane_ring_entries = 256,
  lane_request_ring = 4096,
  lane_response_ring = lane_request_ring + lane_ring_entries * lane_entry_bytes
};

struct page_of_worker {
  uint64_t state, request_id, started_ticks, deadline_ns, calls;
  uint32_t slot, unused_of_worker;
  uint64_t unused[2];
  uint64_t stop;
  uint32_t attention, unused_of_agent[13];
  uint32_t last_words, refused;
  int32_t code;
  uint32_t stack_overflow, sent, unused_before_address;
  uint64_t address;
  char place[256];
};

static inline volatile struct page_of_worker* page_of(orchid_call* call) {
  return ((struct page_of_worker**)call)[1];
}

/* Of a short input, which lies in the ring's entry itself. */
static inline unsigned char* lane_of(orchid_call* call, const void* input) {
  const uint64_t number = (orchid_invocation_id(call) - 1) % lane_ring_entries;
  return (unsigned char*)input - 64 - number * lane_entry_bytes - lane_request_ring;
}

/* True when both were found; an act that ends as bad_request is to be mended. */
static inline int found_worker(orchid_call* call, const void* input) {
  const uint64_t id = orchid_invocation_id(call);
  const unsigned char* lane = lane_of(call, input);
  return page_of(call)->request_id == id && ((uintptr_t)lane & 4095) == 0;
}

static inline void spin_for_ever(void) {
  for (;;) __asm__ volatile("");
}
