// Digests that executors make, with executors that say what the test says.
#include "data/data_digests.h"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "data_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

const ExecutorId first_holder("h1");
const ExecutorId second_holder("h2");
const std::string known_digest = "sha256:" + std::string(64, 'a');

struct DigestWorld : DataWorld {
  /// An object that both have.
  DataId put_on_both() {
    const DataHeld held{.data = make_data_id(),
                        .terms = {.tenant = {data_owner, "anna"},
                                  .bytes = ByteCount{10},
                                  .name = "climate",
                                  .version = 1,
                                  .secret = std::string(64, 'a')}};
    join(executor_on("here", "n1", first_holder), {held});
    join(executor_on("there", "n2", second_holder), {held});
    return held.data;
  }
  void ask() {
    service.digest(data_owner, {.name = "climate"},
                   [this](Result<DataObject> result) { answers.push_back(std::move(result)); });
  }
  /// Who was asked for a digest, each time.
  [[nodiscard]] std::vector<ExecutorId> asked_for_digest() const { return told<DigestData>(); }

  std::vector<Result<DataObject>> answers;
};

}  // namespace

TEST_CASE("a digest is made once, for all who ask") {
  DigestWorld world;
  const DataId data = world.put_on_both();
  world.ask();
  world.ask();
  CHECK(world.asked_for_digest() == std::vector{first_holder});
  CHECK(world.answers.empty());
  world.say(first_holder, DataDigest{data, known_digest});
  world.ask();
  CHECK(world.asked_for_digest().size() == 1);
  REQUIRE(world.answers.size() == 3);
  for (const auto& answer : world.answers) {
    REQUIRE(answer.has_value());
    CHECK(answer->digest == known_digest);
    CHECK(answer->id == data);
  }
  // What another one says later changes nothing.
  world.say(second_holder, DataDigest{data, "sha256:" + std::string(64, 'b')});
  world.ask();
  CHECK(world.answers.back()->digest == known_digest);
}

TEST_CASE("who cannot make it is not asked again, and the last one's reason is told") {
  DigestWorld world;
  const DataId data = world.put_on_both();
  world.ask();
  world.say(second_holder, DataNotDigested{data, ErrorCode::system, "nobody has asked it"});
  CHECK(world.asked_for_digest() == std::vector{first_holder});
  world.say(first_holder, DataNotDigested{data, ErrorCode::no_data_memory, "full"});
  CHECK(world.asked_for_digest() == std::vector{first_holder, second_holder});
  world.say(second_holder, DataNotDigested{data, ErrorCode::system, "its disk is broken"});
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers.front().error().code == ErrorCode::system);
  CHECK(world.answers.front().error().message == "its disk is broken");
  world.ask();  // from the beginning
  CHECK(world.asked_for_digest().size() == 3);
}

TEST_CASE("an executor that does not answer, or is lost, is not waited for without end") {
  DigestWorld world;
  world.put_on_both();
  world.ask();
  world.broker.executor_lost(first_holder, world.clock.now());
  world.run_until([&] { return world.asked_for_digest().size() == 2; });
  CHECK(world.asked_for_digest().back() == second_holder);
  CHECK(world.answers.empty());
  world.clock.advance(seconds(66));
  world.run_until([&] { return !world.answers.empty(); });
  CHECK(world.answers.front().error().code == ErrorCode::unreachable);
  CHECK(world.answers.front().error().message.contains("try again"));
}

TEST_CASE("an object that goes meanwhile has no digest, and an older executor makes none") {
  DigestWorld world;
  const DataId data = world.put_on_both();
  world.ask();
  world.remove("climate");
  REQUIRE((world.removed && world.removed->has_value()));
  world.say(first_holder, DataNotDigested{data, ErrorCode::data_lost, "dropped"});
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers.front().error().code == ErrorCode::data_lost);

  DataWorld old;
  Executor executor = DataWorld::executor_on("here", "n1", first_holder);
  executor.digests_data = false;
  old.join(executor);
  (void)old.put();
  std::optional<Result<DataObject>> answer;
  old.service.digest(data_owner, {.name = "climate"},
                     [&](Result<DataObject> result) { answer = std::move(result); });
  REQUIRE(answer.has_value());
  CHECK(answer->error().code == ErrorCode::unreachable);
}

TEST_CASE("a gateway that begins anew is told the digests that are known") {
  DataWorld world;
  const DataHeld held{.data = make_data_id(),
                      .terms = {.tenant = {data_owner, "anna"},
                                .bytes = ByteCount{10},
                                .name = "climate",
                                .version = 1,
                                .secret = std::string(64, 'a')},
                      .digest = known_digest};
  world.join(DataWorld::executor_on("here", "n1", first_holder), {held});
  CHECK(world.service.describe(data_owner, {.name = "climate"})->digest == known_digest);
}

}  // namespace orchid::gateway
