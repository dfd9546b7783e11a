#include "protocol/data_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace orchid {
namespace {

std::vector<DataId> some_data(std::size_t count) {
  std::vector<DataId> data(count);
  std::ranges::generate(data, make_data_id);
  return data;
}

std::vector<std::byte> payload_of_data(const std::vector<DataId>& data, std::size_t input) {
  std::vector<std::byte> payload(data_table_bytes(data.size(), input) + input, std::byte{0xee});
  write_data_table(data, input, payload);
  return payload;
}

TEST_CASE("a table of 1 to 64 objects is read as it was written, and ends at a line") {
  CHECK(data_table_bytes(0, 100) == 0);
  CHECK(data_table_bytes(1, 41) == 64);
  CHECK(data_table_bytes(3, 9) == 64);
  CHECK(data_table_bytes(4, 0) == 128);
  for (std::size_t count = 1; count <= limits::data_per_call; ++count) {
    const std::vector<DataId> data = some_data(count);
    const std::vector<std::byte> payload = payload_of_data(data, 65);
    const auto table = read_data_table(payload);
    REQUIRE(table.has_value());
    CHECK(std::ranges::equal(table->data(), data));
    CHECK(table->bytes % 64 == 0);
    CHECK(payload.size() - table->bytes == 65);
    CHECK(payload[table->bytes] == std::byte{0xee});
  }
}

TEST_CASE("a table and an input that fit share one line, with the input at a multiple of 8") {
  for (const auto& [count, input] : {std::pair(1, 0), {1, 40}, {2, 24}, {3, 8}}) {
    const std::vector<DataId> data = some_data(static_cast<std::size_t>(count));
    const std::vector<std::byte> payload = payload_of_data(data, static_cast<std::size_t>(input));
    CHECK(payload.size() <= 64);
    const auto table = read_data_table(payload);
    REQUIRE(table.has_value());
    CHECK(std::ranges::equal(table->data(), data));
    CHECK(table->bytes % 8 == 0);
    CHECK(payload.size() - table->bytes == static_cast<std::size_t>(input));
  }
}

TEST_CASE("a payload that is shorter than its table, or no table, is refused") {
  const std::vector<std::byte> payload = payload_of_data(some_data(4), 0);
  for (std::size_t size = 0; size < payload.size(); ++size)
    CHECK_FALSE(read_data_table(std::span(payload).first(size)).has_value());
  CHECK(read_data_table(payload).has_value());
  const auto with_byte = [&](std::size_t at, int value) {
    std::vector<std::byte> changed = payload;
    changed.resize(4096);
    changed[at] = std::byte(value);
    return read_data_table(changed).has_value();
  };
  CHECK(with_byte(0, 4));
  CHECK_FALSE(with_byte(0, 3));  // of another length than it says
  CHECK_FALSE(with_byte(0, 64));
  CHECK_FALSE(with_byte(0, 0));
  CHECK_FALSE(with_byte(0, 65));
  CHECK_FALSE(with_byte(3, 0xff));  // a count that overflows when it is multiplied
  CHECK_FALSE(with_byte(4, 1));
}

}  // namespace
}  // namespace orchid
