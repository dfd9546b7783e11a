// When the removal of data that is kept as files is answered.
#include "data/data_removals.h"

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

const ExecutorId keeper("keeper");
const ExecutorId copier("copier");
const ExecutorId next("next");

struct Waiting {
  explicit Waiting(std::map<DataId, std::set<ExecutorId>> files) {
    removals.await({.label = "climate",
                    .files = std::move(files),
                    .due = start + time_to_remove_files,
                    .done = [this](const Result<void>& result) {
                      ++answers;
                      answer = result;
                    }});
  }
  [[nodiscard]] std::vector<DataId> join(const ExecutorId& executor, std::vector<DataId> held,
                                         bool others_are_connected) {
    std::vector<DataHeld> all;
    for (const DataId& id : held) all.push_back({.data = id, .terms = {}});
    return removals.executor_joined(executor, all,
                                    [&](const ExecutorId&) { return others_are_connected; });
  }

  DataRemovals removals;
  MonotonicTime start{std::chrono::hours(1)};
  int answers = 0;
  std::optional<Result<void>> answer;
};

}  // namespace

TEST_CASE("a removal without files is answered at once") {
  const Waiting waiting({});
  REQUIRE(waiting.answer.has_value());
  CHECK(waiting.answer->has_value());
}

TEST_CASE("a removal is answered when the last of its files is gone, once") {
  const DataId one = make_data_id();
  const DataId two = make_data_id();
  Waiting waiting({{one, {keeper, copier}}, {two, {keeper}}});
  waiting.removals.dropped(keeper, two);
  waiting.removals.dropped(copier, two);
  waiting.removals.dropped(copier, one);
  CHECK(waiting.answers == 0);
  waiting.removals.dropped(keeper, one);
  waiting.removals.dropped(keeper, one);
  waiting.removals.give_up_late(waiting.start + time_to_remove_files);
  CHECK(waiting.answers == 1);
  CHECK(waiting.answer->has_value());
}

TEST_CASE("who does not answer is said not to have done it") {
  const DataId one = make_data_id();
  Waiting waiting({{one, {keeper}}});
  waiting.removals.give_up_late(waiting.start + time_to_remove_files - seconds(1));
  CHECK(waiting.answers == 0);
  waiting.removals.give_up_late(waiting.start + time_to_remove_files);
  REQUIRE(waiting.answers == 1);
  REQUIRE_FALSE(waiting.answer->has_value());
  CHECK(waiting.answer->error().code == ErrorCode::unreachable);
  CHECK(waiting.answer->error().message.contains("'climate'"));
  waiting.removals.dropped(keeper, one);
  CHECK(waiting.answers == 1);
}

TEST_CASE("an executor that comes back with a fresh stream is told once more") {
  const DataId one = make_data_id();
  Waiting waiting({{one, {keeper}}});
  CHECK(waiting.join(keeper, {}, true) == std::vector{one});
  CHECK(waiting.answers == 0);
  waiting.removals.dropped(keeper, one);
  CHECK(waiting.answers == 1);
}

TEST_CASE("the next executor of the files answers in the place of one that has ended") {
  const DataId one = make_data_id();
  Waiting waiting({{one, {keeper, copier}}});
  CHECK(waiting.join(next, {one}, false).empty());
  waiting.removals.dropped(next, one);
  REQUIRE(waiting.answers == 1);
  CHECK(waiting.answer->has_value());
}

TEST_CASE("one that comes back with a copy is no answer of those that are connected") {
  const DataId one = make_data_id();
  Waiting waiting({{one, {keeper}}});
  CHECK(waiting.join(copier, {one}, true).empty());
  waiting.removals.dropped(copier, one);
  CHECK(waiting.answers == 0);
  waiting.removals.dropped(keeper, one);
  CHECK(waiting.answers == 1);
}

}  // namespace orchid::gateway
