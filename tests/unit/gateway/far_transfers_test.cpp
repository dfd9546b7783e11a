// Bodies to and from other hosts, with processes and executors that do what the test says.
#include "data/far_transfers.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <memory>

#include "data_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

/// Every process that was started, in order; one that is gone has no handlers.
struct FakeEnds {
  struct Started {
    CopyMessage order;
    UniqueFd pipe;
    FarEnd::Handlers handlers;
    bool is_there = true;
  };
  class Fake final : public FarEnd {
   public:
    explicit Fake(Started& started) : started_(started) {}
    Fake(const Fake&) = delete;
    Fake& operator=(const Fake&) = delete;
    ~Fake() override {
      started_.is_there = false;
      started_.pipe.reset();
    }

   private:
    Started& started_;
  };
  [[nodiscard]] StartFarEnd starter() {
    return [this](const CopyMessage& order, const UniqueFd& pipe,
                  FarEnd::Handlers handlers) -> Result<std::unique_ptr<FarEnd>> {
      if (refuses) return fail(ErrorCode::system, "no process more");
      Started& one = all.emplace_back(
          Started{.order = order, .pipe = UniqueFd(::dup(pipe.get())), .handlers = handlers});
      return std::make_unique<Fake>(one);
    };
  }
  std::deque<Started> all;
  bool refuses = false;
};

struct FarWorld {
  FarWorld() : FarWorld(FarTransfers::Options{}) {}
  explicit FarWorld(FarTransfers::Options options)
      : transfers({.loop = loop,
                   .broker = broker,
                   .send = [this](const ExecutorId& to,
                                  ControlMessage message) { sent.emplace_back(to, message); },
                   .start = ends.starter()},
                  options) {
    for (const ExecutorId& id : {near, other}) {
      Executor executor = DataWorld::executor_on("there", "n2", id);
      executor.lane_address = "10.0.0.2:7000";
      executor.streams_data = true;
      broker.executor_joined(executor, {}, clock.now());
    }
  }
  struct Outcome {
    std::optional<Result<UniqueFd>> opened{};
    std::optional<Result<void>> ended{};
  };
  FarTransfers::Handlers handlers(Outcome& outcome) {
    return {.opened =
                [&outcome](Result<UniqueFd> pipe) {
                  REQUIRE_FALSE(outcome.opened.has_value());
                  outcome.opened.emplace(std::move(pipe));
                },
            .ended =
                [&outcome](Result<void> result) {
                  REQUIRE_FALSE(outcome.ended.has_value());
                  outcome.ended.emplace(std::move(result));
                }};
  }
  [[nodiscard]] FarData data(std::uint64_t bytes = 100, uid_t tenant = data_owner) const {
    return {.data = make_data_id(),
            .executor = near,
            .host = "n2",
            .tenant = tenant,
            .bytes = ByteCount{bytes}};
  }
  FarTransfers::Number send(const FarData& to, Outcome& outcome) {
    const auto number = transfers.send(to, handlers(outcome));
    turn();
    return number;
  }
  void turn() {
    io.restart();
    io.poll();
  }
  template <typename Message>
  [[nodiscard]] std::size_t count() const {
    std::size_t found = 0;
    for (const auto& [to, message] : sent)
      found += std::holds_alternative<Message>(message) ? 1 : 0;
    return found;
  }
  template <typename Message>
  [[nodiscard]] const Message& last() const {
    REQUIRE_FALSE(sent.empty());
    const auto* message = std::get_if<Message>(&sent.back().second);
    REQUIRE(message != nullptr);
    return *message;
  }
  /// To where its bytes move.
  FarTransfers::Number open(const FarData& to, Outcome& outcome) {
    const auto number = send(to, outcome);
    REQUIRE(transfers.hear(near, DataOffered{to.data, number, "0.0.0.0:4711"}));
    ends.all.back().handlers.met();
    REQUIRE(outcome.opened.has_value());
    REQUIRE(outcome.opened->has_value());
    return number;
  }

  boost::asio::io_context io;
  SetClock clock;
  WorkerBroker broker{{.epoch = 1, .boot_id = "here"}, {}};
  BrokerLoop loop{io, clock, broker};
  std::vector<std::pair<ExecutorId, ControlMessage>> sent;
  FakeEnds ends;
  ExecutorId near{"e1"};
  ExecutorId other{"e2"};
  FarTransfers transfers;
};

}  // namespace

TEST_CASE("a body goes to an executor that listens, and is there when that says so") {
  FarWorld world;
  FarWorld::Outcome outcome;
  const FarData to = world.data();
  const auto number = world.send(to, outcome);
  const ReceiveData asked = world.last<ReceiveData>();
  CHECK(asked.transfer == number);
  CHECK(asked.data == to.data);
  CHECK(asked.key.size() == 32);
  CHECK(asked.within >= seconds(600));
  // Only the port is the executor's to say.
  REQUIRE(world.transfers.hear(world.near, DataOffered{to.data, number, "127.0.0.1:4711"}));
  REQUIRE(world.ends.all.size() == 1);
  const auto& order = std::get<CopyPush>(world.ends.all.front().order);
  CHECK(order.address == "10.0.0.2:4711");
  CHECK(order.key == asked.key);
  CHECK(order.bytes == to.bytes);
  CHECK_FALSE(outcome.opened.has_value());
  world.ends.all.front().handlers.met();
  REQUIRE(outcome.opened.has_value());
  REQUIRE(outcome.opened->has_value());
  CHECK((::fcntl((*outcome.opened)->get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK(::write((*outcome.opened)->get(), "abc", 3) == 3);
  std::array<char, 4> got{};
  CHECK(::read(world.ends.all.front().pipe.get(), got.data(), got.size()) == 3);
  // The process may end before its executor has said it, or after.
  SUBCASE("before") {
    world.ends.all.front().handlers.ended(std::nullopt);
    CHECK_FALSE(outcome.ended.has_value());
  }
  SUBCASE("after") {}
  REQUIRE(world.transfers.hear(world.near, DataFetched{to.data, number}));
  REQUIRE(outcome.ended.has_value());
  CHECK(outcome.ended->has_value());
  CHECK_FALSE(world.ends.all.front().is_there);
  CHECK(world.count<EndDataTransfer>() == 0);
  CHECK_FALSE(world.transfers.hear(world.near, DataFetched{to.data, number}));
}

TEST_CASE("a body of nothing is there, whoever says so first") {
  FarWorld world;
  FarWorld::Outcome outcome;
  const FarData to = world.data(0);
  const auto number = world.send(to, outcome);
  REQUIRE(world.transfers.hear(world.near, DataOffered{to.data, number, "0.0.0.0:4711"}));
  REQUIRE(world.transfers.hear(world.near, DataFetched{to.data, number}));
  CHECK_FALSE(outcome.opened.has_value());
  SUBCASE("the two have met") { world.ends.all.front().handlers.met(); }
  SUBCASE("the other one has gone before ours had met it") {
    world.ends.all.front().handlers.ended(Failure{ErrorCode::unreachable, "gone"});
  }
  REQUIRE(outcome.opened.has_value());
  CHECK(outcome.opened->has_value());
  REQUIRE(outcome.ended.has_value());
  CHECK(outcome.ended->has_value());
  CHECK_FALSE(world.ends.all.front().is_there);
  CHECK(world.count<EndDataTransfer>() == 0);
}

TEST_CASE("what is whole at the executor is there, although our end has failed") {
  FarWorld world;
  FarWorld::Outcome outcome;
  const FarData to = world.data();
  const auto number = world.open(to, outcome);
  world.ends.all.front().handlers.ended(Failure{ErrorCode::unreachable, "gone"});
  CHECK_FALSE(outcome.ended.has_value());
  CHECK(world.count<EndDataTransfer>() == 0);
  REQUIRE(world.transfers.hear(world.near, DataFetched{to.data, number}));
  REQUIRE(outcome.ended.has_value());
  CHECK(outcome.ended->has_value());
}

TEST_CASE("an executor that cannot be met is out of reach for a while") {
  FarWorld world;
  FarWorld::Outcome outcome;
  const FarData to = world.data();
  const auto number = world.send(to, outcome);
  REQUIRE(world.transfers.hear(world.near, DataOffered{to.data, number, "0.0.0.0:4711"}));
  SUBCASE("it is") {
    world.ends.all.front().handlers.ended(Failure{ErrorCode::timed_out, "nobody there"});
    CHECK(world.transfers.is_out_of_reach(world.near));
    CHECK_FALSE(world.transfers.is_out_of_reach(world.other));
    SUBCASE("until it begins anew") { world.transfers.executor_joined(world.near); }
    SUBCASE("for a minute") {
      world.clock.advance(seconds(59));
      world.transfers.tick(world.clock.now());
      CHECK(world.transfers.is_out_of_reach(world.near));
      world.clock.advance(seconds(1));
      world.transfers.tick(world.clock.now());
    }
    SUBCASE("until it is met") {
      FarWorld::Outcome next;
      world.open(world.data(), next);
    }
  }
  SUBCASE("not if it refuses") {
    world.transfers.hear(world.near, DataNotFetched{.data = to.data,
                                                    .transfer = number,
                                                    .have = {},
                                                    .code = ErrorCode::no_capacity,
                                                    .message = "too many copies"});
  }
  SUBCASE("not if it ends") { world.transfers.executor_joined(world.near); }
  SUBCASE("not if it fails later") {
    world.ends.all.front().handlers.met();
    world.transfers.hear(world.near, DataNotFetched{.data = to.data,
                                                    .transfer = number,
                                                    .have = {},
                                                    .code = ErrorCode::timed_out,
                                                    .message = "late"});
  }
  CHECK_FALSE(world.transfers.is_out_of_reach(world.near));
}

TEST_CASE("a part of an object comes through a pipe") {
  FarWorld world;
  FarWorld::Outcome outcome;
  const FarData from = world.data(1000);
  const auto number = world.transfers.fetch(from, 10, 20, world.handlers(outcome));
  world.turn();
  const OfferData asked = world.last<OfferData>();
  CHECK(asked.transfer == number);
  CHECK(asked.patience == std::chrono::minutes(10));
  REQUIRE(world.transfers.hear(world.near, DataOffered{from.data, number, "10.0.0.2:4711"}));
  const auto& order = std::get<CopyPull>(world.ends.all.front().order);
  CHECK(order.begin == 10);
  CHECK(order.length == 20);
  CHECK(order.bytes == from.bytes);
  world.ends.all.front().handlers.met();
  REQUIRE(outcome.opened.has_value());
  SUBCASE("all of it") {
    // Its sender sees the connection end, which says nothing about what has come.
    REQUIRE(world.transfers.hear(
        world.near, DataNotOffered{from.data, number, ErrorCode::unreachable, "gone"}));
    CHECK_FALSE(outcome.ended.has_value());
    world.ends.all.front().handlers.ended(std::nullopt);
    REQUIRE(outcome.ended.has_value());
    CHECK(outcome.ended->has_value());
  }
  SUBCASE("not all of it") {
    world.ends.all.front().handlers.ended(Failure{ErrorCode::unreachable, "gone"});
    REQUIRE(outcome.ended.has_value());
    CHECK_FALSE(outcome.ended->has_value());
    CHECK(world.count<EndDataTransfer>() == 1);
  }
  SUBCASE("nobody wants it any more") {
    world.transfers.stop(number);
    CHECK_FALSE(world.ends.all.front().is_there);
    CHECK(world.last<EndDataTransfer>().transfer == number);
    CHECK_FALSE(outcome.ended.has_value());
  }
}

TEST_CASE("what fails before the two ends meet is the answer, with the host") {
  FarWorld world;
  FarWorld::Outcome outcome;
  const FarData to = world.data();
  const auto number = world.send(to, outcome);
  SUBCASE("the executor refuses") {
    world.transfers.hear(world.near, DataNotFetched{.data = to.data,
                                                    .transfer = number,
                                                    .have = {},
                                                    .code = ErrorCode::no_capacity,
                                                    .message = "too many copies"});
    CHECK(outcome.opened->error().code == ErrorCode::no_capacity);
    CHECK(outcome.opened->error().message.find("too many copies") != std::string::npos);
  }
  SUBCASE("the executor says nothing") {
    world.clock.advance(seconds(11));
    world.transfers.tick(world.clock.now());
    CHECK(outcome.opened->error().code == ErrorCode::unreachable);
    CHECK(world.count<EndDataTransfer>() == 1);
  }
  SUBCASE("the executor begins anew") {
    world.transfers.executor_joined(world.other);
    CHECK_FALSE(outcome.opened.has_value());
    world.transfers.executor_joined(world.near);
    CHECK(outcome.opened->error().code == ErrorCode::unreachable);
  }
  SUBCASE("no process can be started") {
    world.ends.refuses = true;
    world.transfers.hear(world.near, DataOffered{to.data, number, "10.0.0.2:4711"});
    CHECK(outcome.opened->error().message.find("no process more") != std::string::npos);
  }
  SUBCASE("the process ends") {
    world.transfers.hear(world.near, DataOffered{to.data, number, "10.0.0.2:4711"});
    SUBCASE("with a reason") {
      world.ends.all.front().handlers.ended(Failure{ErrorCode::timed_out, "nobody there"});
      CHECK(outcome.opened->error().message.find("nobody there") != std::string::npos);
    }
    SUBCASE("as if it had done it") { world.ends.all.front().handlers.ended(std::nullopt); }
    CHECK(outcome.opened->error().code == ErrorCode::unreachable);
    CHECK_FALSE(world.ends.all.front().is_there);
  }
  SUBCASE("its address makes no sense") {
    world.transfers.hear(world.near, DataOffered{to.data, number, "nowhere"});
    CHECK(outcome.opened->error().code == ErrorCode::unreachable);
    CHECK(world.ends.all.empty());
  }
  REQUIRE(outcome.opened.has_value());
  CHECK(outcome.opened->error().message.find("n2") != std::string::npos);
  CHECK_FALSE(outcome.ended.has_value());
}

TEST_CASE("a body that cannot come whole is told once") {
  FarWorld world;
  FarWorld::Outcome outcome;
  const FarData to = world.data();
  const auto number = world.open(to, outcome);
  SUBCASE("the executor cannot take it") {
    world.transfers.hear(world.near, DataNotFetched{.data = to.data,
                                                    .transfer = number,
                                                    .have = ByteCount{10},
                                                    .code = ErrorCode::timed_out,
                                                    .message = "late"});
  }
  SUBCASE("its own process fails") {
    SUBCASE("and its executor says nothing") {
      world.ends.all.front().handlers.ended(Failure{ErrorCode::unreachable, "gone"});
      world.clock.advance(seconds(1));
      world.transfers.tick(world.clock.now());
      REQUIRE(outcome.ended.has_value());
      CHECK(outcome.ended->error().message.find("gone") != std::string::npos);
    }
    SUBCASE("and there is no more to come") {
      world.ends.all.front().handlers.ended(Failure{ErrorCode::timed_out, "late"});
    }
    CHECK(world.count<EndDataTransfer>() == 1);
  }
  SUBCASE("all was sent, and the executor says nothing") {
    world.ends.all.front().handlers.ended(std::nullopt);
    CHECK_FALSE(outcome.ended.has_value());
    world.clock.advance(seconds(11));
    world.transfers.tick(world.clock.now());
  }
  SUBCASE("the executor begins anew") { world.transfers.executor_joined(world.near); }
  SUBCASE("it takes for ever") {
    world.clock.advance(std::chrono::hours(1));
    world.transfers.tick(world.clock.now());
  }
  REQUIRE(outcome.ended.has_value());
  CHECK_FALSE(outcome.ended->has_value());
  CHECK(outcome.ended->error().code == ErrorCode::unreachable);
  CHECK_FALSE(world.ends.all.front().is_there);
  world.transfers.executor_joined(world.near);
  world.transfers.stop(number);
}

TEST_CASE("nobody but its executor speaks of a transfer") {
  FarWorld world;
  FarWorld::Outcome outcome;
  const FarData to = world.data();
  const auto number = world.open(to, outcome);
  CHECK_FALSE(world.transfers.hear(world.other, DataFetched{to.data, number}));
  CHECK_FALSE(world.transfers.hear(world.near, DataFetched{make_data_id(), number}));
  CHECK_FALSE(world.transfers.hear(world.near, DataFetched{to.data, number + 1}));
  CHECK_FALSE(outcome.ended.has_value());
  // Said twice: one process.
  CHECK(world.transfers.hear(world.near, DataOffered{to.data, number, "10.0.0.2:4712"}));
  CHECK(world.ends.all.size() == 1);
}

TEST_CASE("at most so many move at a time, also of a tenant, and the others wait") {
  FarWorld world({.most = 4, .most_of_executor = 3, .most_of_tenant = 2});
  std::array<FarWorld::Outcome, 8> outcomes;
  std::array<FarTransfers::Number, 8> numbers{};
  const auto want = [&](std::size_t number, uid_t tenant, const ExecutorId& executor) {
    FarData data = world.data(100, tenant);
    data.executor = executor;
    numbers.at(number) = world.send(data, outcomes.at(number));
  };
  want(0, 1, world.near);
  want(1, 1, world.near);
  want(2, 1, world.near);  // waits for its tenant's
  CHECK(world.count<ReceiveData>() == 2);
  want(3, 2, world.near);
  want(4, 3, world.near);  // waits for the executor
  CHECK(world.count<ReceiveData>() == 3);
  want(5, 3, world.other);
  want(6, 4, world.other);  // waits for all
  CHECK(world.count<ReceiveData>() == 4);
  world.transfers.stop(numbers[3]);
  CHECK(world.count<ReceiveData>() == 5);
  CHECK(world.last<ReceiveData>().transfer == numbers[4]);
  world.transfers.stop(numbers[0]);
  CHECK(world.count<ReceiveData>() == 6);
  CHECK(world.last<ReceiveData>().transfer == numbers[2]);
}

TEST_CASE("who waits for a place for long is told") {
  FarWorld world({.most = 1});
  FarWorld::Outcome first;
  FarWorld::Outcome second;
  world.open(world.data(), first);
  world.send(world.data(), second);
  world.clock.advance(seconds(21));
  world.transfers.tick(world.clock.now());
  CHECK_FALSE(first.ended.has_value());
  REQUIRE(second.opened.has_value());
  REQUIRE_FALSE(second.opened->has_value());
  CHECK(second.opened->error().code == ErrorCode::no_capacity);
  CHECK(world.count<ReceiveData>() == 1);
}

TEST_CASE("too many do not even wait") {
  FarWorld world({.most = 1, .most_waiting = 2, .most_waiting_of_tenant = 1});
  std::array<FarWorld::Outcome, 5> outcomes;
  world.send(world.data(1, 1), outcomes[0]);
  world.send(world.data(1, 1), outcomes[1]);
  world.send(world.data(1, 1), outcomes[2]);
  REQUIRE(outcomes[2].opened.has_value());
  CHECK(outcomes[2].opened->error().code == ErrorCode::no_capacity);
  world.send(world.data(1, 2), outcomes[3]);
  CHECK_FALSE(outcomes[3].opened.has_value());
  world.send(world.data(1, 3), outcomes[4]);
  CHECK(outcomes[4].opened.has_value());
}

namespace {

Executor far_executor(const ExecutorId& id) {
  Executor executor = DataWorld::executor_on("there", "n2", id);
  executor.lane_address = "10.0.0.2:7000";
  executor.streams_data = true;
  return executor;
}

}  // namespace

TEST_CASE("an object goes to this host while it has room, and to another one else") {
  FakeEnds ends;
  DataWorld world({}, {}, ends.starter());
  const ExecutorId here("051bb1bfa80a3f62");  // as long as they are
  const ExecutorId there("57e59767682ad875");
  world.join(far_executor(there));
  world.make();
  CHECK(world.asked().first == there);
  world.say(there, DataMade{world.asked().second});
  REQUIRE(world.made.has_value());
  CHECK((*world.made)->far == there);
  CHECK((*world.made)->lane_socket.empty());
  world.join(here);
  world.make("second");
  CHECK(world.asked().first == here);
  // One that refuses is not the last word.
  world.say(here, DataRefused{world.asked().second, ErrorCode::no_data_memory, "full"});
  CHECK(world.asked().first == there);
  // A program of this host writes here, or is told to send.
  const auto room = [&world] {
    world.made.reset();
    world.service.make({.tenant = {.uid = data_owner, .name = "anna"},
                        .bytes = ByteCount{10},
                        .name = "room",
                        .is_here = true},
                       [&world](const Result<ReachableData>& result) { world.made = result; });
  };
  room();
  CHECK(world.asked().first == here);
  world.say(here, DataRefused{world.asked().second, ErrorCode::no_data_memory, "full"});
  REQUIRE(world.made.has_value());
  CHECK(world.made->error().code == ErrorCode::unsupported);
}

TEST_CASE("an executor of another host without an address, or an old one, is given nothing") {
  FakeEnds ends;
  DataWorld world({}, {}, ends.starter());
  const ExecutorId there("there");
  Executor executor = far_executor(there);
  SUBCASE("without an address") { executor.lane_address.clear(); }
  SUBCASE("an old one") { executor.streams_data = false; }
  world.join(executor);
  world.make();
  REQUIRE(world.made.has_value());
  CHECK(world.made->error().code == ErrorCode::no_data_memory);
  CHECK(world.made->error().message.find("--lane-listen") != std::string::npos);
}

TEST_CASE("an object is read here if it is here, and else from where it is") {
  FakeEnds ends;
  DataWorld world({}, {}, ends.starter());
  const ExecutorId there("there");
  const DataHeld held{.data = make_data_id(),
                      .terms = {.tenant = {.uid = data_owner, .name = "anna"},
                                .bytes = ByteCount{10},
                                .name = "climate",
                                .version = 1,
                                .expires_in = {},
                                .secret = std::string(64, 'a')}};
  world.join(far_executor(there), {held});
  const auto find = [&world] {
    return world.service.find(data_owner, parse_data_reference("climate").value());
  };
  REQUIRE(find().has_value());
  CHECK(find()->far == there);
  const ExecutorId here("here");
  world.join(DataWorld::executor_on("here", "n1", here), {held});
  REQUIRE(find().has_value());
  CHECK_FALSE(find()->far.has_value());
  CHECK(find()->lane_socket == "/run/here");
}

TEST_CASE("what cannot be met is not asked again while there are others") {
  FakeEnds ends;
  DataWorld world({}, {}, ends.starter());
  const ExecutorId first("57e59767682ad875");
  const ExecutorId second("67e59767682ad875");
  const DataHeld held{.data = make_data_id(),
                      .terms = {.tenant = {.uid = data_owner, .name = "anna"},
                                .bytes = ByteCount{10},
                                .name = "climate",
                                .version = 1,
                                .expires_in = {},
                                .secret = std::string(64, 'a')}};
  world.join(far_executor(first), {held});
  world.join(far_executor(second), {held});
  const auto find = [&world] {
    return world.service.find(data_owner, parse_data_reference("climate").value())->far;
  };
  const auto fail_at = [&](const ExecutorId& executor) {
    std::optional<Result<UniqueFd>> opened;
    const DataId data = make_data_id();
    const auto number = world.service.far().send(
        {.data = data, .executor = executor, .host = "n2", .tenant = data_owner, .bytes = 1_B},
        {.opened = [&](Result<UniqueFd> pipe) { opened.emplace(std::move(pipe)); },
         .ended = [](const Result<void>&) {}});
    world.io.restart();
    world.io.poll();
    REQUIRE(world.service.far().hear(executor, DataOffered{data, number, "0.0.0.0:4711"}));
    ends.all.back().handlers.ended(Failure{ErrorCode::unreachable, "nobody there"});
    REQUIRE(opened.has_value());
  };
  world.make("new");
  const ExecutorId best = world.asked().first;
  const ExecutorId other = best == first ? second : first;
  fail_at(best);
  world.make("newer");
  CHECK(world.asked().first == other);
  CHECK(find() == other);
  // There is no better one any more.
  fail_at(other);
  CHECK(find().has_value());
  world.join(far_executor(best), {held});
  world.make("newest");
  CHECK(world.asked().first == best);
  CHECK(find() == best);
}

}  // namespace orchid::gateway
