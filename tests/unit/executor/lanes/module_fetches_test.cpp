// What becomes of those who wait for a module that a client has to send once more.
#include "lanes/module_fetches.h"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace orchid::executor {
namespace {

using std::chrono::seconds;

struct Told {
  std::vector<ErrorCode> refusals;
  ModuleFetches::Fetched listen() {
    return [this](const Result<FetchedModule>& bytes) {
      if (!bytes) refusals.push_back(bytes.error().code);
    };
  }
};

}  // namespace

TEST_CASE("a client is asked once for a module, however many wait for it") {
  ModuleFetches fetches;
  Told told;
  const MonotonicTime start{};
  CHECK(fetches.add("a", told.listen(), start));
  CHECK_FALSE(fetches.add("a", told.listen(), start));
  CHECK(fetches.add("b", told.listen(), start));
  CHECK(fetches.take("a").size() == 2);
  CHECK(fetches.take("a").empty());
  CHECK(fetches.add("a", told.listen(), start));
  CHECK(told.refusals.empty());
}

TEST_CASE("who waits for a module that does not come is told so, and may ask again") {
  ModuleFetches fetches;
  Told told;
  const MonotonicTime start{};
  (void)fetches.add("a", told.listen(), start);
  (void)fetches.add("a", told.listen(), start + seconds(5));
  (void)fetches.add("b", told.listen(), start + seconds(5));
  fetches.expire(start + ModuleFetches::patience - seconds(1));
  CHECK(told.refusals.empty());
  fetches.expire(start + ModuleFetches::patience);
  CHECK(told.refusals == std::vector{ErrorCode::timed_out, ErrorCode::timed_out});
  CHECK(fetches.take("a").empty());
  CHECK(fetches.add("a", told.listen(), start + seconds(20)));
  CHECK(fetches.take("b").size() == 1);
}

TEST_CASE("who is told that nothing comes may ask for it at once") {
  ModuleFetches fetches;
  const MonotonicTime late = MonotonicTime{} + ModuleFetches::patience;
  bool asked = false;
  (void)fetches.add(
      "a",
      [&](const Result<FetchedModule>&) {
        asked = fetches.add("a", [](const Result<FetchedModule>&) {}, late);
      },
      MonotonicTime{});
  fetches.expire(late);
  CHECK(asked);
  CHECK(fetches.take("a").size() == 1);
}

TEST_CASE("a client that is to keep a module is called late in other words") {
  ModuleFetches keepings("taken the module");
  std::string words;
  (void)keepings.add(
      "a", [&](const Result<FetchedModule>& kept) { words = kept.error().message; },
      MonotonicTime{});
  keepings.expire(MonotonicTime{} + ModuleFetches::patience);
  CHECK(words.find("has not taken the module within 10 s") != std::string::npos);
}

}  // namespace orchid::executor
