#include "devices/piece_schedule.h"

#include <doctest/doctest.h>

#include <vector>

namespace orchid::executor {
namespace {

constexpr std::uint64_t target = 1000;

/// All pieces, each of whose items takes `per_item` ticks.
std::vector<PieceSchedule::Piece> cut(const PieceSchedule::Options& options, double per_item) {
  PieceSchedule schedule(options);
  std::vector<PieceSchedule::Piece> pieces;
  while (const auto piece = schedule.take()) {
    pieces.push_back(*piece);
    schedule.note(*piece,
                  static_cast<std::uint64_t>(per_item * static_cast<double>(piece->size())));
  }
  CHECK(schedule.left() == 0);
  return pieces;
}

void check_whole(const std::vector<PieceSchedule::Piece>& pieces, std::uint64_t items) {
  std::uint64_t at = 0;
  for (const auto& piece : pieces) {
    REQUIRE(piece.begin == at);
    REQUIRE(piece.end > piece.begin);
    at = piece.end;
  }
  CHECK(at == items);
}

}  // namespace

TEST_CASE("pieces are all items, each once, whatever the threads, groups and speed") {
  for (const std::uint64_t items : {1ULL, 2ULL, 63ULL, 64ULL, 65ULL, 1000ULL, 100'003ULL})
    for (const unsigned threads : {1U, 2U, 7U})
      for (const std::uint32_t group : {0U, 1U, 48U, 256U})
        for (const double per_item : {0.01, 1.0, 5000.0}) {
          CAPTURE(items);
          CAPTURE(threads);
          CAPTURE(group);
          check_whole(
              cut({.items = items, .group_size = group, .threads = threads, .target_ticks = target},
                  per_item),
              items);
        }
}

TEST_CASE("pieces of a group kernel begin at a group") {
  for (const auto& piece :
       cut({.items = 10'000, .group_size = 96, .threads = 3, .target_ticks = target}, 0.3))
    CHECK(piece.begin % 96 == 0);
}

TEST_CASE("long pieces begin at a multiple of 64") {
  std::uint64_t before = 0;
  for (const auto& piece : cut({.items = 100'000, .threads = 2, .target_ticks = target}, 1)) {
    if (before >= 64) CHECK(piece.begin % 64 == 0);
    before = piece.size();
  }
}

TEST_CASE("the first piece is one item, and slow items stay alone") {
  const auto pieces = cut({.items = 20, .threads = 2, .target_ticks = target}, 50'000);
  CHECK(pieces.size() == 20);
}

TEST_CASE("pieces grow until they take what is wanted, and no longer") {
  constexpr double per_item = 0.5;
  const auto pieces = cut({.items = 1'000'000, .threads = 1, .target_ticks = target}, per_item);
  constexpr std::uint64_t wanted = 2000;  // items
  CHECK(pieces.front().size() == 1);
  bool reached = false;
  for (const auto& piece : pieces) {
    CHECK(piece.size() < wanted + 64);
    reached = reached || piece.size() >= wanted;
  }
  CHECK(reached);
}

TEST_CASE("items that get slower make pieces shorter at once") {
  PieceSchedule schedule({.items = 1'000'000'000, .threads = 1, .target_ticks = target});
  for (int i = 0; i < 20; ++i) {
    const auto piece = schedule.take();
    REQUIRE(piece.has_value());
    schedule.note(*piece, piece->size());
  }
  REQUIRE(schedule.take()->size() >= target);
  const auto slow = schedule.take();
  schedule.note(*slow, slow->size() * 20);
  CHECK(schedule.take()->size() <= target / 20 + 64);
}

TEST_CASE("towards the end pieces get shorter, so that threads end together") {
  const auto pieces = cut({.items = 100'000, .threads = 4, .target_ticks = 10'000}, 1);
  CHECK(pieces.back().size() <= 10'000 / 8);
}

TEST_CASE("the most items that there can be do not overflow anything") {
  PieceSchedule schedule(
      {.items = std::uint64_t{1} << 48, .threads = 1, .target_ticks = std::uint64_t{1} << 40});
  std::uint64_t end = 0;
  while (const auto piece = schedule.take()) {
    end = piece->end;
    schedule.note(*piece, 0);
  }
  CHECK(end == std::uint64_t{1} << 48);
}

}  // namespace orchid::executor
