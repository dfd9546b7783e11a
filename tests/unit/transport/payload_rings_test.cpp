// The credit of a lane: who may write where, under any order of sending, answering and releasing.
#include "transport/payload_rings.h"

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
    PieceRing pieces(memory);
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
    OutputRing outputs(memory);
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

}  // namespace orchid::transport
