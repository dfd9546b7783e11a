// Loops over arrays that may overlap, as plain C has them, with a wish for vector code and beside a
// kernel: what an iteration writes the next ones read. And kernels whose own loop wishes for vector
// code: an item's sum is in one order, whether the item is among those of a vector or left over.
#include <orchid/kernel.h>
#include <stdio.h>
#include <string.h>

enum { items = 256 };

struct Args {
  const float* x;
  float* y;
  uint64_t n;
};

ORCHID_KERNEL(mean_distance, struct Args) {
  float sum = 0;
  for (uint64_t j = 0; j < args.n; ++j) sum += (args.x[item] - args.x[j]) / (1.0f + args.x[j]);
  args.y[item] = sum;
}

ORCHID_KERNEL(wishes_inside, struct Args) {
  float sum = 0;
#pragma clang loop vectorize(enable)
  for (uint64_t j = 0; j < args.n; ++j) sum += args.x[j] * args.x[item];
  args.y[item] = sum;
}

ORCHID_KERNEL(wishes_apart, struct Args) {
  float sum = 0;
  for (uint64_t j = 0; j < args.n; ++j) sum += args.x[j] * args.x[item];
#pragma clang loop vectorize_width(4) interleave_count(2)
  for (uint64_t j = 0; j < args.n; ++j) sum -= args.x[j] / 3;
  args.y[item] = sum;
}

__attribute__((noinline)) static void carry(double* to, const double* from, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) to[i] = from[i] * 0.5 + 1.0;
}

__attribute__((noinline)) static void carry_as_wished(double* to, const double* from, uint64_t n) {
#pragma clang loop vectorize(enable)
  for (uint64_t i = 0; i < n; ++i) to[i] = from[i] * 0.5 + 1.0;
}

// As a vector of C++ grows: moved, and nothing is left behind.
__attribute__((noinline)) static void move(uint64_t* to, uint64_t* from, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    to[i] = from[i];
    from[i] = 0;
  }
}

// A loop around one of its own, as a kernel's items have it, and one with arrays that overlap.
__attribute__((noinline)) static void beside_items(struct Args args, double* to, const double* from,
                                                   uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) to[i] = from[i] * 0.25 + 2.0;
#pragma clang loop vectorize(assume_safety)
  for (uint64_t item = 0; item < items; ++item) {
    float sum = 0;
    for (uint64_t j = 0; j < args.n; ++j) sum += (args.x[item] - args.x[j]) / (1.0f + args.x[j]);
    args.y[item] = sum;
  }
#pragma clang loop vectorize(enable)
  for (uint64_t i = 0; i < n; ++i) to[i] = from[i] * 0.5 + 1.0;
}

static void say(orchid_call* call, const char* name, const void* bytes, size_t size) {
  uint64_t sum = 14695981039346656037ULL;
  for (size_t i = 0; i < size; ++i)
    sum = (sum ^ ((const unsigned char*)bytes)[i]) * 1099511628211ULL;
  char line[80];
  const int length = snprintf(line, sizeof(line), "%s %016llx\n", name, (unsigned long long)sum);
  void* room = orchid_append(call, (size_t)length);
  if (room != NULL) memcpy(room, line, (size_t)length);
}

ORCHID_ENTRY(run_all) {
  (void)input, (void)input_size;
  double numbers[items + 8];
  uint64_t words[items + 8];
  float x[items], y[items];
  for (int i = 0; i < items; ++i) x[i] = (float)i / 16;
  const struct Args args = {x, y, items};
  for (int shift = 0; shift < 4; ++shift) {
    for (int i = 0; i < items + 8; ++i) numbers[i] = i, words[i] = (uint64_t)i + 1;
    carry(numbers + shift, numbers, items);
    say(call, "carry", numbers, sizeof(numbers));
    carry_as_wished(numbers + shift, numbers, items);
    say(call, "carry_as_wished", numbers, sizeof(numbers));
    move(words + shift, words, items);
    say(call, "move", words, sizeof(words));
    beside_items(args, numbers + shift, numbers, items);
    say(call, "beside_items", numbers, sizeof(numbers));
    say(call, "items", y, sizeof(y));
  }
  const orchid_kernel* const kernels[] = {&mean_distance, &wishes_inside, &wishes_apart};
  for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); ++k)
    for (uint64_t end = items - 3; end <= items; ++end) {  // not all are a vector's
      memset(y, 0, sizeof(y));
      kernels[k]->run(&args, 0, end);
      say(call, kernels[k]->name, y, sizeof(y));
    }
  return ORCHID_OK;
}
