/* orchid/kernel.h: data-parallel kernels, written once, for cores and for GPUs (C, and C++20).
 *
 *     struct SaxpyArgs { float a; const float* x; float* y; };
 *     ORCHID_KERNEL(saxpy, struct SaxpyArgs) { args.y[item] += args.a * args.x[item]; }
 *
 * A kernel is the body for one item: `item` (uint64_t) and `args` (const) are given. An entry of
 * the same module launches it over a number of items:
 *
 *     struct SaxpyArgs args = {a, x, y};
 *     orchid_launch(call, &saxpy, &args, sizeof args, items);
 *
 * Items run in any order and at once: one may not read what another writes. Without atomics the
 * result has the same bits for any number of threads. On cores the loop over the items becomes
 * vector code; there a call to a function that is not inlined, printf among them, keeps it scalar.
 * A kernel has no orchid_call: it cannot log and cannot ask whether to stop. What it prints may be
 * lost. It may not throw. On cores a launch of items that are all slow is stopped between pieces of
 * 1 to 20 ms, so a single item that never ends costs the worker at its deadline. There a kernel has
 * 256 KiB of stack, its local memory included, and rounds to nearest whatever its entry does.
 *
 * Groups: so many items share local memory.
 *
 *     ORCHID_GROUP_KERNEL(block_sum, struct SumArgs, 256) {
 *       ORCHID_LOCAL(float, part, 256);
 *       ORCHID_ITEMS { part[local] = args.x[item]; }
 *       ORCHID_ITEMS { if (local == 0) ... }
 *     }
 *
 * `group` (uint64_t) is the group's number. Within ORCHID_ITEMS there are also `item` and `local`
 * (uint32_t, the item's place in the group). Between two ORCHID_ITEMS there is a barrier. Leave one
 * by `continue`, never by `break` or `return`. Between them stands only what is the same for the
 * whole group; a variable there keeps no value of an item. The last group may be short: its
 * ORCHID_ITEMS covers only the items that there are.
 *
 * In the compilation for a device ORCHID_HOST is 0, there is no standard library beyond <stddef.h>
 * and <stdint.h>, and entries are checked but not emitted. `#if ORCHID_HOST ... #endif` surrounds
 * what needs more. <math.h>'s usual functions can be used in kernels on both sides.
 */
#ifndef ORCHID_KERNEL_H
#define ORCHID_KERNEL_H

#include "orchid/function.h"

#ifdef ORCHID_DEVICE
#define ORCHID_HOST 0
#else
#define ORCHID_HOST 1
#endif
#if ORCHID_HOST
#include <math.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What orchid_launch is given: the constant that ORCHID_KERNEL(K, Args) defines under the name K
 * (symbol orchid_kernel_info_K). */
typedef struct orchid_kernel {
  const char* name;
  /* Items [begin, end); for a group kernel both are multiples of the group's size, but for the very
   * end. NULL: there is no image for cores. */
  void (*run)(const void* args, uint64_t begin, uint64_t end);
  uint32_t args_size;
  uint32_t args_alignment;
  uint32_t group_size;  /* 0: no groups */
  uint32_t local_bytes; /* of local memory; 0: not known */
} orchid_kernel;

enum { ORCHID_DEVICE_CORES = 0, ORCHID_DEVICE_GPU = 1 };

#define ORCHID_MAXIMUM_ARGS 4096
#define ORCHID_MAXIMUM_ITEMS (UINT64_C(1) << 48)

/* All of these are for the entry's thread only. In a program's own native twin the device is the
 * calling thread. */

/* Where launches of this call run: ORCHID_DEVICE_CORES or ORCHID_DEVICE_GPU. */
int32_t orchid_device_kind(orchid_call* call);

/* Memory that kernels can reach, aligned to 256. What it holds at first is not told. Only
 * orchid_device_write and orchid_device_read reach it from an entry; on cores it is memory of the
 * process. NULL: there is no more (outcome limit_exceeded if the entry then returns anything but
 * ORCHID_OK). What is left when the call ends is freed. */
void* orchid_device_alloc(orchid_call* call, size_t size);
/* NULL is ignored. */
void orchid_device_free(orchid_call* call, void* memory);

/* These return ORCHID_OK, or ORCHID_ERROR after an orchid_error() that says why, or ORCHID_STOP
 * when orchid_should_stop(): part of the items may have run; return soon. */
int32_t orchid_device_write(orchid_call* call, void* device, const void* host, size_t size);
int32_t orchid_device_read(orchid_call* call, void* host, const void* device, size_t size);
/* `args` is copied. No items: nothing happens. A launch runs after those before it have ended. */
int32_t orchid_launch(orchid_call* call, const orchid_kernel* kernel, const void* args,
                      size_t args_size, uint64_t items);
/* Until all launches have ended. */
int32_t orchid_device_wait(orchid_call* call);

#ifdef __cplusplus
} /* extern "C" */

namespace orchid {
/* A kernel that takes Args. */
template <typename Args>
struct Kernel : ::orchid_kernel {
  using Arguments = Args;
};
}  // namespace orchid
#define ORCHID_KERNEL_TYPE(Args) ::orchid::Kernel<Args>
#define ORCHID_KERNEL_VALUE(...) \
  {                              \
    {                            \
      __VA_ARGS__                \
    }                            \
  }
#define ORCHID_ARGS_REFERENCE(Args) const Args&
#define ORCHID_CHECK_ARGS(Args)                                                             \
  static_assert(__is_trivially_copyable(Args), "a kernel's arguments are copied as bytes"); \
  static_assert(sizeof(Args) <= ORCHID_MAXIMUM_ARGS, "a kernel's arguments are at most 4 KiB");
#define ORCHID_ALIGNMENT_OF(Args) alignof(Args)
#define ORCHID_ARGS_AT(Args, pointer) (*static_cast<const Args*>(pointer))
#else
#define ORCHID_KERNEL_TYPE(Args) orchid_kernel
#define ORCHID_KERNEL_VALUE(...) {__VA_ARGS__}
#define ORCHID_ARGS_REFERENCE(Args) const Args
#define ORCHID_CHECK_ARGS(Args) \
  _Static_assert(sizeof(Args) <= ORCHID_MAXIMUM_ARGS, "a kernel's arguments are at most 4 KiB");
#define ORCHID_ALIGNMENT_OF(Args) _Alignof(Args)
#define ORCHID_ARGS_AT(Args, pointer) (*(const Args*)(pointer))
#endif

/* NOLINTBEGIN(bugprone-macro-parentheses): types and declared names, which take none */
#define ORCHID_KERNEL_BODY static inline __attribute__((always_inline, unused)) void

/* In C an `extern` beside an initialiser is a warning, and in C++ a constant needs it. */
#define ORCHID_KERNEL_LAYOUT(name, Args, group_size)                      \
  ORCHID_DECLARE_C __attribute__((visibility("default")))                 \
  const uint32_t orchid_kernel_layout_##name[4];                          \
  __attribute__((used)) const uint32_t orchid_kernel_layout_##name[4] = { \
      (uint32_t)sizeof(Args), (uint32_t)ORCHID_ALIGNMENT_OF(Args), (uint32_t)(group_size), 0};
#define ORCHID_KERNEL_CONSTANT(name, Args)                                               \
  ORCHID_DECLARE_C __attribute__((visibility("default"))) const ORCHID_KERNEL_TYPE(Args) \
      name __asm__("orchid_kernel_info_" #name);

#if ORCHID_HOST

/* That items are independent is a promise to Orchid's own compiler alone: `orchid build` and
 * orchid_add_functions define ORCHID_MODULE where the source becomes a module. Others believe it
 * also of an array that an item has for itself, which inlining has made one for all items. */
#if defined(__clang__)
/* The loop over a group's items cannot always become vector code; that is no reason to warn. */
#pragma clang diagnostic ignored "-Wpass-failed"
#ifdef ORCHID_MODULE
#define ORCHID_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define ORCHID_VECTORISE _Pragma("clang loop vectorize(enable)")
#endif
#else
#define ORCHID_VECTORISE
#endif

#define ORCHID_KERNEL_INFO(name, Args, run, group_size)                                            \
  ORCHID_KERNEL_CONSTANT(name, Args)                                                               \
  __attribute__((used)) const ORCHID_KERNEL_TYPE(Args) name =                                      \
      ORCHID_KERNEL_VALUE(#name, run, (uint32_t)sizeof(Args), (uint32_t)ORCHID_ALIGNMENT_OF(Args), \
                          (uint32_t)(group_size), 0);
#define ORCHID_KERNEL_SYMBOL(name)                         \
  ORCHID_EXTERN_C ORCHID_EXPORT void orchid_kernel_##name( \
      const void* orchid_arguments, uint64_t orchid_begin, uint64_t orchid_end)

/* The arguments are copied, so that no store of the body can change them. */
#define ORCHID_KERNEL(name, Args)                                                          \
  ORCHID_CHECK_ARGS(Args)                                                                  \
  ORCHID_KERNEL_BODY orchid_item_of_##name(ORCHID_ARGS_REFERENCE(Args), uint64_t);         \
  ORCHID_KERNEL_SYMBOL(name);                                                              \
  ORCHID_KERNEL_LAYOUT(name, Args, 0)                                                      \
  ORCHID_KERNEL_INFO(name, Args, orchid_kernel_##name, 0)                                  \
  ORCHID_KERNEL_SYMBOL(name) {                                                             \
    const Args orchid_copy = ORCHID_ARGS_AT(Args, orchid_arguments);                       \
    ORCHID_VECTORISE                                                                       \
    for (uint64_t orchid_at = orchid_begin; orchid_at < orchid_end; ++orchid_at)           \
      orchid_item_of_##name(orchid_copy, orchid_at);                                       \
  }                                                                                        \
  ORCHID_KERNEL_BODY orchid_item_of_##name(ORCHID_UNUSED ORCHID_ARGS_REFERENCE(Args) args, \
                                           ORCHID_UNUSED uint64_t item)

#define ORCHID_GROUP_KERNEL(name, Args, size)                                                  \
  ORCHID_CHECK_ARGS(Args)                                                                      \
  ORCHID_KERNEL_BODY orchid_group_of_##name(ORCHID_ARGS_REFERENCE(Args), uint64_t, uint64_t,   \
                                            uint32_t);                                         \
  ORCHID_KERNEL_SYMBOL(name);                                                                  \
  ORCHID_KERNEL_LAYOUT(name, Args, size)                                                       \
  ORCHID_KERNEL_INFO(name, Args, orchid_kernel_##name, size)                                   \
  ORCHID_KERNEL_SYMBOL(name) {                                                                 \
    const Args orchid_copy = ORCHID_ARGS_AT(Args, orchid_arguments);                           \
    for (uint64_t orchid_at = orchid_begin; orchid_at < orchid_end; orchid_at += (size)) {     \
      const uint64_t orchid_left = orchid_end - orchid_at;                                     \
      orchid_group_of_##name(orchid_copy, orchid_at / (size), orchid_at,                       \
                             orchid_left < (size) ? (uint32_t)orchid_left : (uint32_t)(size)); \
    }                                                                                          \
  }                                                                                            \
  ORCHID_KERNEL_BODY orchid_group_of_##name(                                                   \
      ORCHID_UNUSED ORCHID_ARGS_REFERENCE(Args) args, ORCHID_UNUSED uint64_t group,            \
      ORCHID_UNUSED uint64_t orchid_first, ORCHID_UNUSED uint32_t orchid_count)

#define ORCHID_LOCAL(Type, name, count)                         \
  __attribute__((aligned(64))) Type orchid_local_##name[count]; \
  Type* const name = orchid_local_##name

/* The inner loop runs once: it only declares `item`. */
#define ORCHID_ITEMS                                            \
  ORCHID_VECTORISE                                              \
  for (uint32_t local = 0; local < orchid_count; ++local)       \
    for (uint64_t item = orchid_first + local, orchid_once = 1; \
         orchid_once != 0 && (ORCHID_USE(item), 1); orchid_once = 0)
#define ORCHID_USE(name) ((void)(name))

/* A kernel whose only image is for GPUs, such as one of a .cu file. */
#define ORCHID_DECLARE_KERNEL(name, Args) \
  ORCHID_CHECK_ARGS(Args)                 \
  ORCHID_KERNEL_INFO(name, Args, NULL, 0)

#else /* for a device */

#define ORCHID_KERNEL_SYMBOL(name, Args)                                                \
  ORCHID_EXTERN_C                                                                       \
  __attribute__((nvptx_kernel, visibility("default"), used)) void orchid_kernel_##name( \
      Args orchid_arguments, uint64_t orchid_begin, uint64_t orchid_end)

/* The grid strides over the items. */
#define ORCHID_KERNEL(name, Args)                                                            \
  ORCHID_CHECK_ARGS(Args)                                                                    \
  ORCHID_KERNEL_CONSTANT(name, Args)                                                         \
  ORCHID_KERNEL_LAYOUT(name, Args, 0)                                                        \
  ORCHID_KERNEL_BODY orchid_item_of_##name(ORCHID_ARGS_REFERENCE(Args), uint64_t);           \
  ORCHID_KERNEL_SYMBOL(name, Args) {                                                         \
    const uint64_t orchid_block = (uint64_t)__nvvm_read_ptx_sreg_ntid_x();                   \
    const uint64_t orchid_stride = orchid_block * (uint64_t)__nvvm_read_ptx_sreg_nctaid_x(); \
    for (uint64_t orchid_at = orchid_begin +                                                 \
                              orchid_block * (uint64_t)__nvvm_read_ptx_sreg_ctaid_x() +      \
                              (uint64_t)__nvvm_read_ptx_sreg_tid_x();                        \
         orchid_at < orchid_end; orchid_at += orchid_stride)                                 \
      orchid_item_of_##name(orchid_arguments, orchid_at);                                    \
  }                                                                                          \
  ORCHID_KERNEL_BODY orchid_item_of_##name(ORCHID_UNUSED ORCHID_ARGS_REFERENCE(Args) args,   \
                                           ORCHID_UNUSED uint64_t item)

/* A block is a group, and the blocks stride over the groups. */
#define ORCHID_GROUP_KERNEL(name, Args, size)                                                    \
  ORCHID_CHECK_ARGS(Args)                                                                        \
  ORCHID_KERNEL_CONSTANT(name, Args)                                                             \
  ORCHID_KERNEL_LAYOUT(name, Args, size)                                                         \
  ORCHID_KERNEL_BODY orchid_group_of_##name(ORCHID_ARGS_REFERENCE(Args), uint64_t, uint64_t,     \
                                            uint32_t);                                           \
  ORCHID_KERNEL_SYMBOL(name, Args) {                                                             \
    const uint64_t orchid_stride = (uint64_t)(size) * (uint64_t)__nvvm_read_ptx_sreg_nctaid_x(); \
    for (uint64_t orchid_at =                                                                    \
             orchid_begin + (uint64_t)(size) * (uint64_t)__nvvm_read_ptx_sreg_ctaid_x();         \
         orchid_at < orchid_end; orchid_at += orchid_stride) {                                   \
      const uint64_t orchid_left = orchid_end - orchid_at;                                       \
      orchid_group_of_##name(orchid_arguments, orchid_at / (size), orchid_at,                    \
                             orchid_left < (size) ? (uint32_t)orchid_left : (uint32_t)(size));   \
    }                                                                                            \
  }                                                                                              \
  ORCHID_KERNEL_BODY orchid_group_of_##name(                                                     \
      ORCHID_UNUSED ORCHID_ARGS_REFERENCE(Args) args, ORCHID_UNUSED uint64_t group,              \
      ORCHID_UNUSED uint64_t orchid_first, ORCHID_UNUSED uint32_t orchid_count)

/* Memory that the block shares (PTX's .shared), which cannot have a first value. */
#define ORCHID_LOCAL(Type, name, count)                                \
  static __attribute__((address_space(3), loader_uninitialized,        \
                        aligned(64))) Type orchid_local_##name[count]; \
  Type* const name = (Type*)orchid_local_##name

/* Every thread comes to the barrier, also those of a short group that have no item. */
#define ORCHID_ITEMS                                                                      \
  __syncthreads();                                                                        \
  for (uint32_t local = (uint32_t)__nvvm_read_ptx_sreg_tid_x(), orchid_once = 1;          \
       orchid_once != 0 && local < orchid_count; orchid_once = 0)                         \
    for (uint64_t item = orchid_first + local; orchid_once != 0 && (ORCHID_USE(item), 1); \
         orchid_once = 0)
#define ORCHID_USE(name) ((void)(name))

#define ORCHID_DECLARE_KERNEL(name, Args) \
  ORCHID_CHECK_ARGS(Args)                 \
  ORCHID_KERNEL_CONSTANT(name, Args)

/* The part of <math.h> that kernels use. What PTX has no instruction for comes from libdevice where
 * the build has found it; else the names stay undefined, and the deploy tells them. */
#ifdef __cplusplus
extern "C" {
#endif
#define ORCHID_BUILTIN_MATH1(type, name)                                   \
  static inline __attribute__((always_inline, unused)) type name(type x) { \
    return __builtin_##name(x);                                            \
  }
#define ORCHID_BUILTIN_MATH2(type, name)                                           \
  static inline __attribute__((always_inline, unused)) type name(type x, type y) { \
    return __builtin_##name(x, y);                                                 \
  }
#define ORCHID_BUILTIN_MATH3(type, name)                                                   \
  static inline __attribute__((always_inline, unused)) type name(type x, type y, type z) { \
    return __builtin_##name(x, y, z);                                                      \
  }
ORCHID_BUILTIN_MATH1(float, sqrtf)
ORCHID_BUILTIN_MATH1(double, sqrt)
ORCHID_BUILTIN_MATH1(float, fabsf)
ORCHID_BUILTIN_MATH1(double, fabs)
ORCHID_BUILTIN_MATH1(float, floorf)
ORCHID_BUILTIN_MATH1(double, floor)
ORCHID_BUILTIN_MATH1(float, ceilf)
ORCHID_BUILTIN_MATH1(double, ceil)
ORCHID_BUILTIN_MATH1(float, truncf)
ORCHID_BUILTIN_MATH1(double, trunc)
ORCHID_BUILTIN_MATH2(float, fminf)
ORCHID_BUILTIN_MATH2(double, fmin)
ORCHID_BUILTIN_MATH2(float, fmaxf)
ORCHID_BUILTIN_MATH2(double, fmax)
ORCHID_BUILTIN_MATH3(float, fmaf)
ORCHID_BUILTIN_MATH3(double, fma)

#ifdef ORCHID_LIBDEVICE
#define ORCHID_DEVICE_MATH1(type, name) \
  type __nv_##name(type);               \
  static inline __attribute__((always_inline, unused)) type name(type x) { return __nv_##name(x); }
#define ORCHID_DEVICE_MATH2(type, name)                                            \
  type __nv_##name(type, type);                                                    \
  static inline __attribute__((always_inline, unused)) type name(type x, type y) { \
    return __nv_##name(x, y);                                                      \
  }
#else
#define ORCHID_DEVICE_MATH1(type, name) type name(type);
#define ORCHID_DEVICE_MATH2(type, name) type name(type, type);
#endif
ORCHID_DEVICE_MATH1(float, expf)
ORCHID_DEVICE_MATH1(double, exp)
ORCHID_DEVICE_MATH1(float, exp2f)
ORCHID_DEVICE_MATH1(double, exp2)
ORCHID_DEVICE_MATH1(float, logf)
ORCHID_DEVICE_MATH1(double, log)
ORCHID_DEVICE_MATH1(float, log2f)
ORCHID_DEVICE_MATH1(double, log2)
ORCHID_DEVICE_MATH1(float, sinf)
ORCHID_DEVICE_MATH1(double, sin)
ORCHID_DEVICE_MATH1(float, cosf)
ORCHID_DEVICE_MATH1(double, cos)
ORCHID_DEVICE_MATH1(float, tanf)
ORCHID_DEVICE_MATH1(double, tan)
ORCHID_DEVICE_MATH1(float, atanf)
ORCHID_DEVICE_MATH1(double, atan)
ORCHID_DEVICE_MATH1(float, tanhf)
ORCHID_DEVICE_MATH1(double, tanh)
ORCHID_DEVICE_MATH2(float, powf)
ORCHID_DEVICE_MATH2(double, pow)
ORCHID_DEVICE_MATH2(float, atan2f)
ORCHID_DEVICE_MATH2(double, atan2)
ORCHID_DEVICE_MATH2(float, fmodf)
ORCHID_DEVICE_MATH2(double, fmod)
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ORCHID_HOST */
/* NOLINTEND(bugprone-macro-parentheses) */

#endif /* ORCHID_KERNEL_H */
