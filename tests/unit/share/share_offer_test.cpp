#include "share/share_offer.h"

#include <doctest/doctest.h>

#include <random>

namespace orchid::share {
namespace {

using namespace std::chrono_literals;
constexpr MonotonicTime offer_start{1h};

}  // namespace

TEST_CASE("what a job does not use is offered, and left at once when it is used") {
  ShareOffer offer(first_numbers(4), 0);
  CHECK(offer.decide(offer_start, {}) == first_numbers(4));
  CHECK(offer.decide(offer_start, {.cores = {1}}) == CoreList{0, 2, 3});
  CHECK(offer.decide(offer_start, {.cores = first_numbers(4)}).empty());
}

TEST_CASE("a core is offered again when it was not used for a moment") {
  ShareOffer offer(first_numbers(2), 0);
  CHECK(offer.decide(offer_start, {.cores = {0}}) == CoreList{1});
  CHECK(offer.decide(offer_start + 999ms, {}) == CoreList{1});
  CHECK(offer.decide(offer_start + 1000ms, {}) == CoreList{0, 1});
  CHECK(offer.decide(offer_start + 1100ms, {.cores = {0}}) == CoreList{1});
  CHECK(offer.decide(offer_start + 2000ms, {.cores = {0}}) == CoreList{1});
  CHECK(offer.decide(offer_start + 2900ms, {}) == CoreList{1});
}

TEST_CASE("whoever is bound to nothing is left the lowest cores") {
  ShareOffer offer(first_numbers(4), 0);
  CHECK(offer.decide(offer_start, {.cores = {1}, .loose = 2}) == CoreList{3});
  CHECK(offer.decide(offer_start, {.cores = {}, .loose = 9}).empty());
}

TEST_CASE("no more is offered than may be, and what was offered stays") {
  ShareOffer offer(first_numbers(4), 2);
  CHECK(offer.decide(offer_start, {}) == CoreList{2, 3});
  CHECK(offer.decide(offer_start, {.cores = {3}}) == CoreList{1, 2});
  CHECK(offer.decide(offer_start + 5s, {}) == CoreList{1, 2});
  CHECK(offer.decide(offer_start + 5s, {.cores = {1, 2, 3}}) == CoreList{0});
}

TEST_CASE("whatever happens, a core that is used is not offered") {
  std::mt19937 random(7);
  const CoreList cores{0, 1, 2, 5, 8, 13};
  for (std::uint32_t most = 0; most < 5; ++most) {
    ShareOffer offer(cores, most);
    MonotonicTime now = offer_start;
    for (int step = 0; step < 2000; ++step) {
      now += std::chrono::milliseconds(random() % 700);
      CoresUsed used;
      for (const std::uint32_t core : cores)
        if (random() % 3 == 0) used.cores.push_back(core);
      used.loose = static_cast<std::uint32_t>(random() % 3);
      const CoreList& offered = offer.decide(now, used);
      REQUIRE(without(offered, cores).empty());
      REQUIRE(without(used.cores, offered).size() == used.cores.size());
      REQUIRE(offered.size() + used.cores.size() + used.loose <=
              std::max(cores.size(), used.cores.size() + used.loose));
      if (most != 0) REQUIRE(offered.size() <= most);
    }
  }
}

}  // namespace orchid::share
