// The credit of a lane: who may write where, under any order of sending, answering and releasing.
#include "transport/payload_rooms.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "foundation/units.h"

namespace orchid::transport {
namespace {

using Random = std::mt19937_64;

constexpr std::size_t slab_size = 64 * 1024;

std::size_t any_size(Random& random) {
  const std::size_t most = random() % 4 == 0 ? slab_size : random() % 4 == 0 ? 8192 : 300;
  return random() % (most + 1);
}

/// A part of the slab that somebody reads or writes now.
struct Use {
  std::uint64_t name = 0;
  std::uint64_t offset = 0;
  std::size_t size = 0;
};

/// What is in use lies within the slab, and nothing twice.
void check_disjoint(std::vector<Use> uses) {
  std::ranges::sort(uses, {}, &Use::offset);
  std::uint64_t end = 0;
  for (const Use& use : uses) {
    REQUIRE(use.offset % 64 == 0);
    REQUIRE(use.offset >= end);
    end = use.offset + std::max<std::size_t>(use.size, 1);
    REQUIRE(end <= slab_size);
  }
}

}  // namespace

TEST_CASE("inputs never overlap or leave the slab, in any order of making and giving back") {
  std::vector<std::byte> memory(slab_size);
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    InputRooms pieces(memory);
    std::vector<Use> uses;
    for (int step = 0; step < 60; ++step) {
      if (random() % 5 < 3) {
        const std::size_t size = any_size(random);
        if (const auto piece = pieces.allocate(size)) {
          uses.push_back({*piece, pieces.offset_of(*piece), size});
          check_disjoint(uses);
        } else {
          REQUIRE(piece.error().code == ErrorCode::no_capacity);
          REQUIRE_FALSE(uses.empty());  // alone in the slab, anything that fits has room
        }
      } else if (!uses.empty()) {
        const std::size_t which = random() % uses.size();
        pieces.free(uses[which].name);
        uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(which));
      }
      REQUIRE(pieces.empty() == uses.empty());
    }
  }
}

TEST_CASE("outputs never overlap, and a client that keeps them all is never overrun") {
  std::vector<std::byte> memory(slab_size);
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    OutputRooms outputs(memory);
    std::deque<Use> published;  // oldest first, until it and all before it are released
    std::vector<bool> released;
    const auto in_use = [&] {
      std::vector<Use> uses;
      for (const Use& use : published)
        if (!released[use.name]) uses.push_back(use);
      return uses;
    };
    for (int step = 0; step < 60; ++step) {
      if (random() % 5 < 3) {
        // A function asks for some room, then perhaps for more, and keeps what it has written.
        outputs.begin();
        std::size_t size = any_size(random);
        bool placed = outputs.place(size, nullptr, 0);
        if (placed && random() % 3 == 0) {
          const std::size_t larger = std::min(slab_size, size + any_size(random));
          std::ranges::fill(std::span(outputs.data(), size), std::byte{42});
          if (outputs.place(larger, nullptr, size)) {
            const std::span kept(outputs.data(), size);
            REQUIRE(std::ranges::all_of(kept, [](std::byte b) { return b == std::byte{42}; }));
            size = larger;
          }
        }
        if (!placed) {
          REQUIRE((outputs.is_full() || !published.empty()));
          continue;
        }
        const std::uint64_t number = released.size();
        auto uses = in_use();
        uses.push_back({number, outputs.offset(), size});
        check_disjoint(uses);
        published.push_back(uses.back());
        released.push_back(false);
        outputs.publish(size, number);
      } else if (!published.empty()) {
        released[published[random() % published.size()].name] = true;
        while (!published.empty() && released[published.front().name]) {
          REQUIRE(outputs.oldest() == published.front().name);
          outputs.free_oldest();
          published.pop_front();
        }
      }
      REQUIRE(published.size() <= ring_entries);
      REQUIRE(outputs.used() <= slab_size);
    }
  }
}

TEST_CASE("a pipeline stays on a few warm pages of a large slab") {
  std::vector<std::byte> memory(64 << 20);
  struct Pipeline {
    std::size_t depth;
    std::size_t size;
    std::uint64_t within;  // bytes from the start of the slab
  };
  for (const Pipeline& pipeline : {Pipeline{64, 1000, 512 << 10}, Pipeline{8, 1 << 20, 9 << 20},
                                   Pipeline{1, 4 << 20, 4 << 20}}) {
    CAPTURE(pipeline.size);
    InputRooms inputs(memory);
    OutputRooms outputs(memory);
    std::deque<std::uint64_t> in_flight;
    std::uint64_t end = 0;
    for (std::uint64_t call = 0; call < 10'000; ++call) {
      if (in_flight.size() == pipeline.depth) {
        inputs.free(in_flight.front());
        in_flight.pop_front();
        outputs.free_oldest();
      }
      in_flight.push_back(inputs.allocate(pipeline.size).value());
      end = std::max(end, inputs.offset_of(in_flight.back()) + pipeline.size);
      outputs.begin();
      REQUIRE(outputs.place(pipeline.size, nullptr, 0));
      end = std::max(end, outputs.offset() + pipeline.size);
      outputs.publish(pipeline.size, call);
    }
    CHECK(end <= pipeline.within);
  }
}

TEST_CASE("what is given back between others is used again") {
  std::vector<std::byte> memory(1 << 20);
  InputRooms inputs(memory);
  std::vector<std::uint64_t> pieces;
  for (int i = 0; i < 4; ++i) pieces.push_back(inputs.allocate(256 << 10).value());
  CHECK(inputs.allocate(1).error().code == ErrorCode::no_capacity);
  const std::uint64_t gap = inputs.offset_of(pieces[2]);
  inputs.free(pieces[2]);
  CHECK(inputs.offset_of(inputs.allocate(256 << 10).value()) == gap);
}

TEST_CASE("an output that grows stays where it is if it can, and is whole if it cannot") {
  std::vector<std::byte> memory(1 << 20);
  OutputRooms outputs(memory);
  outputs.begin();
  REQUIRE(outputs.place(256 << 10, nullptr, 0));
  outputs.publish(256 << 10, 0);
  outputs.begin();
  REQUIRE(outputs.place(100, nullptr, 0));
  const std::uint64_t start = outputs.offset();
  std::ranges::fill(std::span(outputs.data(), 100), std::byte{42});
  REQUIRE(outputs.place(512 << 10, nullptr, 100));
  CHECK(outputs.offset() == start);
  CHECK_FALSE(outputs.place(800 << 10, nullptr, 100));
  CHECK(outputs.offset() == start);
  outputs.free_oldest();
  REQUIRE(outputs.place(1 << 20, nullptr, 100));  // from its old place to one that overlaps it
  CHECK(outputs.offset() == 0);
  const std::span kept(outputs.data(), 100);
  CHECK(std::ranges::all_of(kept, [](std::byte b) { return b == std::byte{42}; }));
}

}  // namespace orchid::transport
