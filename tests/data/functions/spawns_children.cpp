// Functions that spawn: trees, and everything that can be wrong with them.
#include <cstring>
#include <string>

#include "orchid/function.hpp"

namespace {

template <typename T>
std::int32_t give(orchid_call* call, const T& value) {
  void* output = orchid_output(call, sizeof(value));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &value, sizeof(value));
  return ORCHID_OK;
}
template <typename T>
bool take(const void* input, std::size_t size, T& value) {
  if (size < sizeof(value)) return false;
  std::memcpy(&value, input, sizeof(value));
  return true;
}
template <typename T>
std::span<const std::byte> bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
bool answers(const orchid::Call& running, std::uint32_t index, std::uint64_t& value) {
  const auto output = running.child(index);
  return take(output.data(), output.size(), value);
}

}  // namespace

/// Input: u32 n. Output: u64, the number of Fibonacci, and which members have had a part, as bits.
struct Fib {
  std::uint64_t value;
  std::uint64_t members;
};
ORCHID_ENTRY(fib) {
  orchid::Call running(call);
  std::uint32_t n = 0;
  if (!take(input, input_size, n)) return ORCHID_BAD_ARGUMENTS;
  if (n < 2) return give(call, Fib{n, std::uint64_t{1} << running.member()});
  const std::uint32_t one = n - 1;
  const std::uint32_t two = n - 2;
  (void)running.spawn("fib", bytes(one));
  (void)running.spawn("fib", bytes(two));
  return running.then("fib_sum", bytes(n)) ? ORCHID_OK : ORCHID_ERROR;
}
ORCHID_ENTRY(fib_sum) {
  orchid::Call running(call);
  Fib sum{0, std::uint64_t{1} << running.member()};
  for (std::uint32_t i = 0; i < running.child_count(); ++i) {
    const auto output = running.child(i);
    Fib part{};
    if (!take(output.data(), output.size(), part)) return ORCHID_ERROR;
    sum.value += part.value;
    sum.members |= part.members;
  }
  return give(call, sum);
}

/// Input: u32 count, u32 size. So many children that answer their number in so many bytes. Output:
/// u64, how many came where they belong.
struct Many {
  std::uint32_t count;
  std::uint32_t size;
};
struct One {
  std::uint32_t number;
  std::uint32_t size;
};
ORCHID_ENTRY(spread) {
  orchid::Call running(call);
  Many many{};
  if (!take(input, input_size, many)) return ORCHID_BAD_ARGUMENTS;
  std::string child(many.size < sizeof(One) ? sizeof(One) : many.size, 'c');
  for (std::uint32_t i = 0; i < many.count; ++i) {
    const One one{i, many.size};
    std::memcpy(child.data(), &one, sizeof(one));
    if (!running.spawn("answer", std::as_bytes(std::span(child)))) return ORCHID_ERROR;
  }
  return running.then("gather", bytes(many)) ? ORCHID_OK : ORCHID_ERROR;
}
ORCHID_ENTRY(answer) {
  One one{};
  if (!take(input, input_size, one)) return ORCHID_BAD_ARGUMENTS;
  void* output = orchid_output(call, one.size);
  if (output == nullptr) return ORCHID_ERROR;
  std::memset(output, static_cast<int>(one.number % 251), one.size);
  return ORCHID_OK;
}
ORCHID_ENTRY(gather) {
  orchid::Call running(call);
  Many many{};
  if (!take(input, input_size, many)) return ORCHID_BAD_ARGUMENTS;
  std::uint64_t right = 0;
  for (std::uint32_t i = 0; i < running.child_count(); ++i) {
    const auto output = running.child(i);
    const std::string expected(many.size, static_cast<char>(i % 251));
    if (output.size() == many.size &&
        (many.size == 0 || std::memcmp(output.data(), expected.data(), many.size) == 0))
      ++right;
  }
  const void* nothing = nullptr;
  std::size_t size = 1;
  if (orchid_child(call, running.child_count(), &nothing, &size) == ORCHID_OK || size != 0)
    return ORCHID_ERROR;
  return give(call, right);
}

/// One child each, for ever.
ORCHID_ENTRY(spawn_for_ever) {
  orchid::Call running(call);
  (void)running.spawn("spawn_for_ever", {});
  return running.then("gather", {}) ? ORCHID_OK : ORCHID_ERROR;
}
/// Goes on with itself for ever.
ORCHID_ENTRY(then_for_ever) {
  orchid::Call running(call);
  return running.then("then_for_ever", {}) ? ORCHID_OK : ORCHID_ERROR;
}

/// Input: u32 n, and a function's name. A tree as of fib, in which the last leaf is that function.
ORCHID_ENTRY(tree_with) {
  orchid::Call running(call);
  std::uint32_t n = 0;
  if (!take(input, input_size, n)) return ORCHID_BAD_ARGUMENTS;
  const std::string_view text(static_cast<const char*>(input), input_size);
  const std::string name(text.substr(sizeof(n)));
  orchid_log(call, ".", 1);
  if (n == 0) {
    (void)running.spawn(name.c_str(), {});
    return running.then("fib_sum", {}) ? ORCHID_OK : ORCHID_ERROR;
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t small = 3;
    (void)running.spawn("fib", bytes(small));
  }
  std::string below(text);
  --n;
  std::memcpy(below.data(), &n, sizeof(n));
  (void)running.spawn("tree_with", std::as_bytes(std::span(below)));
  return running.then("fib_sum", {}) ? ORCHID_OK : ORCHID_ERROR;
}
ORCHID_ENTRY(fail) {
  orchid_error(call, "a leaf has failed", 17);
  return ORCHID_ERROR;
}
ORCHID_ENTRY(crash) {
  *reinterpret_cast<volatile int*>(8) = 1;
  return ORCHID_OK;
}
ORCHID_ENTRY(linger) {
  while (orchid_should_stop(call) == 0) {
  }
  return ORCHID_ERROR;
}
ORCHID_ENTRY(move) { return orchid_forward(call, 1, "fib", input, input_size); }
ORCHID_ENTRY(make_data) {
  void* room = nullptr;
  (void)orchid_data_create(call, 4096, &room);
  return ORCHID_OK;
}
ORCHID_ENTRY(log_and_fail) {
  orchid_log(call, "I was here", 10);
  return ORCHID_ERROR;
}

ORCHID_ENTRY(spawn_only) {
  const std::uint32_t n = 1;
  (void)orchid_spawn(call, "fib", &n, sizeof(n));
  return ORCHID_OK;
}
ORCHID_ENTRY(spawn_nobody) {
  (void)orchid_spawn(call, "nonesuch", nullptr, 0);
  return ORCHID_OK;
}
ORCHID_ENTRY(spawn_too_much) {
  const std::string much((64U << 10U) + 1, 'x');
  (void)orchid_spawn(call, "fib", much.data(), much.size());
  return ORCHID_OK;
}
ORCHID_ENTRY(both_ways) {
  const std::uint32_t n = 1;
  (void)orchid_forward(call, 1, "fib", &n, sizeof(n));
  (void)orchid_then(call, "fib_sum", nullptr, 0);
  return ORCHID_OK;
}
ORCHID_ENTRY(spawn_and_fail) {
  const std::uint32_t n = 20;
  (void)orchid_spawn(call, "fib", &n, sizeof(n));
  (void)orchid_then(call, "fib_sum", nullptr, 0);
  orchid_error(call, "it has changed its mind", 23);
  return ORCHID_ERROR;
}
/// Goes on at another member when its children have answered.
ORCHID_ENTRY(join_and_move) {
  const std::uint32_t n = 10;
  (void)orchid_spawn(call, "fib", &n, sizeof(n));
  return orchid_then(call, "move_with_sum", nullptr, 0);
}
ORCHID_ENTRY(move_with_sum) {
  orchid::Call running(call);
  std::uint64_t value = 0;
  if (!answers(running, 0, value)) return ORCHID_ERROR;
  const std::uint32_t next = running.member() % running.member_count() + 1;
  return running.forward(next, bytes(value), "say_where") ? ORCHID_OK : ORCHID_ERROR;
}
ORCHID_ENTRY(say_where) {
  std::uint64_t value = 0;
  if (!take(input, input_size, value)) return ORCHID_BAD_ARGUMENTS;
  return give(call, Fib{value, orchid_member(call)});
}
