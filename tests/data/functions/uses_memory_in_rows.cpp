// Expected: "same". A matrix of 64 x 64 numbers in the leased memory that its input names, by
// orchid/leased_memory.hpp: it goes there by rows in one batch, and comes back by its diagonal, and
// as a whole while something else is asked for.
#include <array>
#include <cstring>
#include <string>

#include "orchid/leased_memory.hpp"

namespace {

constexpr std::uint64_t n = 64;
constexpr std::uint64_t number_size = sizeof(std::uint64_t);
using Numbers = std::array<std::uint64_t, n * n>;

std::int32_t say(orchid_call* call, std::string_view text) {
  void* output = orchid_output(call, text.size());
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, text.data(), text.size());
  return ORCHID_OK;
}

template <typename All>
auto row_of(All& matrix, std::uint64_t i) {
  return std::span(matrix).subspan(i * n, n);
}

bool put(orchid::LeasedMemory& memory, const Numbers& matrix) {
  orchid::LeasedBatch batch = memory.batch();
  const orchid::LeasedRows too_long{.offset = 0, .row = number_size * matrix.size() + 1};
  if (batch.put(too_long, std::as_bytes(std::span(matrix))).run()) return false;
  // That one is forgotten.
  for (std::uint64_t i = 0; i < n; ++i)
    batch.put(i * n * number_size, std::as_bytes(row_of(matrix, i)));
  return batch.run();
}

}  // namespace

ORCHID_ENTRY(uses_memory_in_rows) {
  static Numbers matrix, back;
  for (std::uint64_t i = 0; i < matrix.size(); ++i) matrix[i] = i * i + 1;
  orchid::Call running(call);
  auto memory = orchid::LeasedMemory::open(running, {static_cast<const char*>(input), input_size});
  if (!memory || !put(*memory, matrix)) return ORCHID_ERROR;

  std::array<std::uint64_t, n> diagonal{};
  const orchid::LeasedRows rows{
      .offset = 0, .row = number_size, .stride = (n + 1) * number_size, .count = n};
  if (memory->get(rows, std::as_writable_bytes(std::span(diagonal).first(n - 1))))
    return say(call, "got fewer bytes than there are");
  auto coming = memory->get_async(0, std::as_writable_bytes(std::span(back)));
  if (!coming || !memory->get(rows, std::as_writable_bytes(std::span(diagonal))))
    return ORCHID_ERROR;
  if (!memory->put(rows, std::as_bytes(std::span(diagonal)))) return ORCHID_ERROR;
  if (!coming->wait() || back != matrix) return say(call, "different");
  for (std::uint64_t i = 0; i < n; ++i)
    if (diagonal[i] != matrix[i * (n + 1)]) return say(call, "another diagonal");
  return say(call, "same");
}
