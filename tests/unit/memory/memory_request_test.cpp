#include "ucx/memory_request.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid::transport {
namespace {

constexpr std::uint64_t all = ~std::uint64_t{0};
constexpr ByteCount memory = 1_MiB;

bool fits(const MemoryRows& rows) { return !rows.fault(memory).has_value(); }

/// What the server says to a request with this head.
std::string fault_of(const CallHeader& header) {
  const char* wrong = decode(header, memory).wrong;
  return wrong == nullptr ? "" : wrong;
}

CallHeader head_of(MemoryOp op, const MemoryRows& rows) {
  return encode({.number = 1, .op = op, .rows = rows});
}

}  // namespace

TEST_CASE("a request for memory is read as it was written") {
  for (const MemoryRequest& request :
       {MemoryRequest{.number = 7, .op = MemoryOp::put, .rows = {4096, 100, 100, 1}},
        MemoryRequest{.number = 1, .op = MemoryOp::get, .rows = {0, 8, 64, 1000}},
        MemoryRequest{.number = all, .op = MemoryOp::get, .rows = {0, memory_part, memory_part, 1}},
        MemoryRequest{.number = 2, .op = MemoryOp::fetch_add, .rows = {8, 8, 8, 1}, .operand = all},
        MemoryRequest{.number = 3,
                      .op = MemoryOp::compare_swap,
                      .rows = {memory.value - 8, 8, 8, 1},
                      .operand = 5,
                      .expected = 6}}) {
    const auto [read, wrong] = decode(encode(request), memory);
    REQUIRE_MESSAGE(wrong == nullptr, wrong);
    CHECK(read == request);
  }
}

TEST_CASE("rows lie in the memory to their last byte, or the fault says where they do not") {
  CHECK(fits({memory.value, 0}));
  CHECK(fits({memory.value - 1, 1}));
  CHECK(fits({0, memory.value}));
  CHECK_FALSE(fits({memory.value, 1}));
  CHECK_FALSE(fits({memory.value + 1, 0}));
  CHECK_FALSE(fits({1, memory.value}));
  CHECK_FALSE(fits({all, 1}));
  CHECK_FALSE(fits({1, all}));
  CHECK(fits({0, 8, 1024, 1024}));
  CHECK(fits({1016, 8, 1024, 1024}));
  CHECK_FALSE(fits({1017, 8, 1024, 1024}));
  CHECK_FALSE(fits({0, 8, 1024, 1025}));
  CHECK_FALSE(fits({0, 8, 1024, all}));
  CHECK_FALSE(fits({0, 8, all, 2}));
  CHECK(fits({0, 8, 8, 0}));
  const MemoryRows overlapping{0, 8, 7, 2};
  CHECK(overlapping.fault(memory)->message.find("overlap") != std::string::npos);
  const MemoryRows beyond{memory.value - 4, 8};
  CHECK(beyond.fault(memory)->code == ErrorCode::bad_request);
  CHECK(beyond.fault(memory)->message ==
        "8 bytes from byte 1048572 on are not within the memory, which has 1048576 bytes");
}

TEST_CASE("a server takes no request that it could not serve") {
  CHECK(fault_of(head_of(MemoryOp::get, {0, 8, 8, 1})).empty());
  CHECK(fault_of(head_of(MemoryOp::get, {memory.value - 7, 8, 8, 1})) == "place of a request");
  CHECK(fault_of(head_of(MemoryOp::put, {0, 0, 0, 1})) == "length of a request");
  CHECK(fault_of(head_of(MemoryOp::put, {0, memory_part + 1, 0, 1})) == "length of a request");
  CHECK(fault_of(head_of(MemoryOp::put, {0, 1, 2, strided_part + 1})) == "length of a request");
  CHECK(fault_of(head_of(MemoryOp::get, {0, 8, 4, 2})) == "place of a request");
  CHECK(fault_of(head_of(MemoryOp::get, {0, 8, all / 2, 3})) == "place of a request");
  CHECK(fault_of(head_of(MemoryOp::fetch_add, {4, 8, 8, 1})) == "place of an atomic");
  CHECK(fault_of(head_of(MemoryOp::compare_swap, {0, 4, 4, 1})) == "place of an atomic");
  CHECK(fault_of(head_of(MemoryOp::fetch_add, {memory.value, 8, 8, 1})) == "place of a request");
  CallHeader odd = head_of(MemoryOp::get, {0, 24, 24, 1});
  odd.deadline_ns = 7;
  CHECK(fault_of(odd) == "length of a request");
  odd.deadline_ns = 0;
  CHECK(fault_of(odd) == "length of a request");
  for (const int kind : {0, 5, 255}) {
    CallHeader unknown = head_of(MemoryOp::get, {0, 8, 8, 1});
    unknown.kind = static_cast<std::uint8_t>(kind);
    CHECK(fault_of(unknown) == "kind of request");
  }
}

}  // namespace orchid::transport
