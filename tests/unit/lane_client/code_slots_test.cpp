#include "lane_client/code_slots.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

namespace orchid::lane_client {
namespace {

struct Module {
  std::string digest;
};
using Codes = CodeSlots<std::shared_ptr<const Module>>;

std::shared_ptr<const Module> module_of(std::uint64_t number) {
  return std::make_shared<const Module>(Module{"digest-" + std::to_string(number)});
}

}  // namespace

TEST_CASE("a module is announced once, sent when it is asked for, and then ready") {
  Codes codes;
  CHECK(codes.announce(7, module_of(7)));
  CHECK_FALSE(codes.announce(7, module_of(7)));
  CHECK(codes.is_loading(7));
  CHECK(codes.ready(7) == nullptr);
  REQUIRE(codes.needs("digest-7") != nullptr);
  CHECK(codes.needs("digest-8") == nullptr);
  unsigned asked = 0;
  codes.send_needed([&](const auto&) { return ++asked > 1; });
  codes.send_needed([&](const auto&) { return ++asked > 1; });
  codes.send_needed([&](const auto&) { return ++asked > 1; });
  CHECK(asked == 2);  // it was not there the first time
  const auto loaded = codes.loaded({.digest = "digest-7", .slot = 3, .generation = 9});
  REQUIRE(loaded);
  CHECK(loaded->number == 7);
  CHECK(loaded->module->digest == "digest-7");
  REQUIRE(codes.ready(7) != nullptr);
  CHECK(codes.ready(7)->slot == 3);
  CHECK(codes.ready(7)->generation == 9);
  CHECK(codes.ready(7)->module == nullptr);
  CHECK_FALSE(codes.loads_anything());
  CHECK_FALSE(codes.loaded({.digest = "digest-7"}));
}

TEST_CASE("a rejected module may be announced again, a refused one not before the next worker") {
  Codes codes;
  CHECK(codes.announce(1, module_of(1)));
  CHECK(codes.rejected("digest-1"));
  CHECK_FALSE(codes.rejected("digest-1"));
  CHECK(codes.announce(1, module_of(1)));
  CHECK(codes.rejected("digest-1"));
  codes.refuse(1);
  CHECK_FALSE(codes.announce(1, module_of(1)));
  CHECK_FALSE(codes.loads_anything());
  codes.clear();
  CHECK(codes.announce(1, module_of(1)));
}

TEST_CASE("whatever is said in whatever order, each module is in one state, and counted once") {
  std::mt19937 random(2);
  Codes codes;
  std::map<std::uint64_t, Codes::State> model;
  for (int step = 0; step < 50'000; ++step) {
    const std::uint64_t number = random() % 12 * (random() % 2 == 0 ? 1 : 1000);
    const std::string digest = "digest-" + std::to_string(number);
    const auto known = model.find(number);
    const bool loads = known != model.end() && known->second <= Codes::State::needed;
    switch (random() % 8) {
      case 0:
      case 1:
        CHECK(codes.announce(number, module_of(number)) == (known == model.end()));
        model.emplace(number, Codes::State::announced);
        break;
      case 2:
        CHECK((codes.needs(digest) != nullptr) == loads);
        if (loads) known->second = Codes::State::needed;
        break;
      case 3:
        CHECK(codes.loaded({.digest = digest, .slot = 5}).has_value() == loads);
        if (loads) known->second = Codes::State::ready;
        break;
      case 4:
        CHECK(codes.rejected(digest).has_value() == loads);
        if (loads) model.erase(known);
        break;
      case 5:
        codes.forget(number);
        model.erase(number);
        break;
      case 6:
        codes.refuse(number);
        model[number] = Codes::State::refused;
        break;
      default:
        if (random() % 100 != 0) break;
        codes.clear();
        model.clear();
    }
    bool any = false;
    for (const auto& [each, state] : model) {
      CHECK((codes.ready(each) != nullptr) == (state == Codes::State::ready));
      CHECK(codes.is_loading(each) == (state <= Codes::State::needed));
      any = any || state <= Codes::State::needed;
    }
    CHECK(codes.loads_anything() == any);
    CHECK(codes.loads_any([](std::uint64_t) { return true; }) == any);
  }
}

}  // namespace orchid::lane_client
