// Objects that are to have a file, with executors that say what the test says.
#include "data/data_filing.h"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "data_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

const ExecutorId plain_holder("p1");
const ExecutorId file_keeper("f1");
const ExecutorId other_keeper("f2");

struct FilingWorld : DataWorld {
  void join_one(const std::string& host, const ExecutorId& id, bool keeps,
                const std::vector<DataHeld>& held = {}) {
    Executor executor = executor_on("on " + host, host, id);
    executor.keeps_data = keeps;
    executor.copies_data = true;
    executor.lane_address = "127.0.0.1:7";
    join(executor, held);
  }
  static DataHeld held_object() {
    return {.data = make_data_id(),
            .terms = {.tenant = {data_owner, "anna"},
                      .bytes = ByteCount{10},
                      .name = {},
                      .expires_in = std::chrono::hours(1),
                      .secret = std::string(64, 'a')}};
  }
  void ask(const DataId& data, std::optional<std::chrono::milliseconds> life = std::nullopt) {
    service.keep_as_file(data_owner, {.id = data}, life, [this](Result<DataObject> result) {
      answers.push_back(std::move(result));
    });
  }
  [[nodiscard]] std::vector<ExecutorId> asked_for_files() const { return told<FileData>(); }

  std::vector<Result<DataObject>> answers;
};

}  // namespace

TEST_CASE("a holder with a directory writes the file, for all who want it, and it lives longer") {
  FilingWorld world;
  const DataHeld held = FilingWorld::held_object();
  world.join_one("n1", plain_holder, false, {held});
  world.join_one("n2", file_keeper, true, {held});
  world.ask(held.data, std::chrono::hours(100));
  world.ask(held.data);
  CHECK(world.asked_for_files() == std::vector{file_keeper});
  CHECK(std::get<FileData>(world.sent.back().second).expires_in == std::chrono::hours(100));
  world.say(plain_holder, DataNotFiled{held.data, ErrorCode::system, "nobody has asked it"});
  CHECK(world.answers.empty());
  world.say(file_keeper, DataFiled{held.data});
  REQUIRE(world.answers.size() == 2);
  for (const auto& answer : world.answers) {
    REQUIRE(answer.has_value());
    CHECK(answer->durable);
    CHECK(answer->expires == world.clock.now() + std::chrono::hours(100));
  }
}

TEST_CASE("who asks for a longer life while the file is written has it at the executor, too") {
  FilingWorld world;
  const DataHeld held = FilingWorld::held_object();
  world.join_one("n1", file_keeper, true, {held});
  world.ask(held.data, std::chrono::hours(100));
  world.ask(held.data, std::chrono::hours(50));
  world.ask(held.data, std::chrono::hours(200));
  CHECK(world.asked_for_files() == std::vector{file_keeper});
  world.say(file_keeper, DataFiled{held.data});
  CHECK(world.answers.size() == 3);
  REQUIRE(world.asked_for_files() == std::vector{file_keeper, file_keeper});
  CHECK(std::get<FileData>(world.sent.back().second).expires_in == std::chrono::hours(200));
  world.say(file_keeper, DataFiled{held.data});
  CHECK(world.asked_for_files().size() == 2);
}

TEST_CASE("where no holder has a directory it is copied to one that has, and written there") {
  FilingWorld world;
  const DataHeld held = FilingWorld::held_object();
  world.join_one("n1", plain_holder, false, {held});
  world.join_one("n2", file_keeper, true);
  world.ask(held.data);
  CHECK(world.asked_for_files().empty());
  CHECK(std::get<MakeData>(world.sent.back().second).data == held.data);
  CHECK(world.sent.back().first == file_keeper);
  // The copy cannot be made: whoever waits hears of it.
  world.say(file_keeper, DataRefused{held.data, ErrorCode::no_data_memory, "full"});
  world.run_until([&] { return !world.answers.empty(); });
  CHECK_FALSE(world.answers.front().has_value());
}

TEST_CASE("who cannot write it is not asked again, and where nobody keeps files that is told") {
  FilingWorld world;
  const DataHeld held = FilingWorld::held_object();
  world.join_one("n1", file_keeper, true, {held});
  world.join_one("n2", other_keeper, true, {held});
  world.ask(held.data);
  world.say(file_keeper, DataNotFiled{held.data, ErrorCode::disk_full, "no space"});
  CHECK(world.asked_for_files() == std::vector{file_keeper, other_keeper});
  world.say(other_keeper, DataNotFiled{held.data, ErrorCode::disk_full, "none here"});
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers.front().error().code == ErrorCode::disk_full);
  CHECK(world.answers.front().error().message == "none here");

  FilingWorld plain;
  plain.join_one("n1", plain_holder, false, {held});
  plain.ask(held.data);
  REQUIRE(plain.answers.size() == 1);
  CHECK(plain.answers.front().error().code == ErrorCode::unsupported);
  CHECK(plain.answers.front().error().message.contains("--data-durable"));
}

TEST_CASE("an executor that does not answer is not waited for without end") {
  FilingWorld world;
  const DataHeld held = FilingWorld::held_object();
  world.join_one("n1", file_keeper, true, {held});
  world.ask(held.data);
  world.clock.advance(seconds(600));
  world.run_until([&] { return !world.answers.empty(); });
  CHECK(world.answers.front().error().code == ErrorCode::unreachable);
}

}  // namespace orchid::gateway
