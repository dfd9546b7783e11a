#include "transport/ucx_transfer.h"

#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "ucx/guests.h"
#include "ucx/hello.h"
#include "ucx/transfer_turn.h"
#include "ucx_lane_fixture.h"

namespace orchid::transport {
namespace {

using namespace tests;

UcxTransferListener listen_for(const ConnectionKey& key, std::uint64_t bytes) {
  return UcxTransferListener::listen(context(),
                                     {.address = "127.0.0.1", .key = key, .bytes = {bytes}})
      .value();
}

Result<UcxTransferReceiver> connect_to(const std::string& address, const ConnectionKey& key,
                                       std::uint64_t bytes) {
  return UcxTransferReceiver::connect(
      context(), {.address = address, .key = key, .bytes = {bytes}, .deadline = in(10s)});
}

TransferPace pace() { return {.deadline = in(patience)}; }

/// A link of our own in place of an end, which may say what no end of ours does.
class Forger final : public FrameSink {
 public:
  explicit Forger(std::unique_ptr<UcxLink> link) : link_(std::move(link)) { link_->set_sink(this); }
  [[nodiscard]] const char* on_frame(const Frame& /*frame*/,
                                     std::span<const std::byte> /*payload*/) noexcept override {
    ++frames_;
    return nullptr;
  }
  struct Part {
    std::uint64_t number = 1;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    FrameKind kind = FrameKind::first;
    std::uint64_t position = 0;
  };
  void say(const Part& part, std::span<const std::byte> payload = {}) {
    Frame frame{.kind = part.kind, .position = part.position};
    frame.header.request_id = part.number;
    frame.header.payload_offset = part.offset;
    frame.header.payload_length = part.length;
    link_->send({.frame = frame, .payload = payload});
  }
  /// Until that many frames have come, or the link has ended.
  void wait_for(std::uint64_t frames) {
    for (const auto end = in(20s); frames_ < frames && !link_->failure();) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      link_->progress();
    }
  }
  void wait_for_end() { wait_for(~std::uint64_t{0}); }

 private:
  std::unique_ptr<UcxLink> link_;
  std::uint64_t frames_ = 0;
};

/// What a sender of an object of 4 MiB says to a receiver that asks so.
Failure answer_to(const std::function<void(Forger&)>& asks) {
  const ConnectionKey key = random_key();
  const auto object = pattern(4UL << 20, 1);
  auto listener = listen_for(key, object.size());
  auto sender = std::async(std::launch::async, [&]() -> Result<void> {
    auto accepted = listener.accept(in(10s));
    if (!accepted) return fail(accepted.error());
    return accepted->serve(object, pace());
  });
  auto link = connect_link(
      context(),
      {.address = listener.address(), .magic = transfer_magic, .key = key, .deadline = in(10s)},
      [](const Welcome&) -> Result<void> { return {}; });
  REQUIRE_MESSAGE(link.has_value(), link.error().message);
  Forger forger(std::move(*link));
  asks(forger);
  forger.wait_for_end();
  const auto served = sender.get();
  REQUIRE_FALSE(served.has_value());
  return served.error();
}

/// What a receiver of 4 MiB says to a sender that answers so, and what it has then.
struct Received {
  Failure failure;
  std::uint64_t have = 0;
};
Received receive_from(const std::function<void(Forger&)>& answers) {
  constexpr std::uint64_t size = 4UL << 20;
  const ConnectionKey key = random_key();
  auto guests =
      Guests::listen({.address = "127.0.0.1", .magic = transfer_magic, .key = key}).value();
  auto sender = std::async(std::launch::async, [&] {
    auto guest = guests.wait(in(10s), -1);
    REQUIRE(guest.has_value());
    Door door(std::move(*guest), in(10s));
    auto link =
        accept_link(context(), key, door, {.magic = transfer_magic, .response_bytes = size});
    REQUIRE_MESSAGE(link.has_value(), link.error().message);
    Forger forger(std::move(*link));
    forger.wait_for(4);
    answers(forger);
    forger.wait_for_end();
  });
  Received received;
  {
    auto receiver = connect_to(guests.address(), key, size);
    REQUIRE_MESSAGE(receiver.has_value(), receiver.error().message);
    std::vector<std::byte> room(size);
    const auto done = receiver->receive(room, received.have, pace());
    REQUIRE_FALSE(done.has_value());
    received.failure = done.error();
  }
  sender.get();
  return received;
}

constexpr std::uint64_t child_object = 64UL << 20;

/// A process that sends `pattern(child_object, 5)`, asleep between requests.
void send_object(const Child::Job& job) {
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  auto listener =
      UcxTransferListener::listen(
          own, {.address = "127.0.0.1", .key = job.key, .bytes = ByteCount{child_object}})
          .value();
  const std::string address = listener.address();
  if (::send(job.report, address.data(), address.size(), 0) < 0) ::_exit(1);
  const auto object = pattern(child_object, 5);
  auto sender = listener.accept(in(20s));
  if (!sender || !sender->serve(object, pace())) ::_exit(1);
}

/// The same under a filter that kills whoever opens, connects, accepts or forks.
void send_object_confined(const Child::Job& job) {
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  auto listener =
      UcxTransferListener::listen(
          own, {.address = "127.0.0.1", .key = job.key, .bytes = ByteCount{child_object}})
          .value();
  const std::string address = listener.address();
  if (::send(job.report, address.data(), address.size(), 0) < 0) ::_exit(1);
  const auto object = pattern(child_object, 5);
  auto sender = listener.accept(in(20s));
  if (!sender || !forbid_new_things()) ::_exit(1);
  ::_exit(sender->serve(object, pace()) ? 0 : 2);  // UCX's clean-up opens things
}

/// Receives from `job.address` under the same filter; its exit status says whether all came.
void receive_object_confined(const Child::Job& job) {
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  std::vector<std::byte> room(child_object);
  auto receiver = UcxTransferReceiver::connect(own, {.address = job.address,
                                                     .key = job.key,
                                                     .bytes = ByteCount{child_object},
                                                     .deadline = in(20s)});
  if (!receiver || !forbid_new_things()) ::_exit(1);
  std::uint64_t have = 0;
  if (!receiver->receive(room, have, pace())) ::_exit(2);
  ::_exit(same(room, pattern(child_object, 5)) ? 0 : 3);
}

}  // namespace

TEST_CASE("an object arrives whole, whatever its size and however much of it is there already") {
  struct Case {
    std::uint64_t size;
    std::uint64_t have;
  };
  for (const auto& [size, begin] :
       {Case{0, 0}, Case{1, 0}, Case{1, 1}, Case{4096, 0}, Case{100'000, 6145},
        Case{transfer_part, 0}, Case{transfer_part + 1, transfer_part}, Case{40UL << 20, 0},
        Case{40UL << 20, 12'345'678}}) {
    CAPTURE(size);
    CAPTURE(begin);
    const ConnectionKey key = random_key();
    const auto object = pattern(size, 1);
    auto listener = listen_for(key, size);
    auto sender = std::async(std::launch::async, [&]() -> Result<void> {
      auto accepted = listener.accept(in(10s));
      if (!accepted) return fail(accepted.error());
      return accepted->serve(object, pace());
    });
    auto receiver = connect_to(listener.address(), key, size);
    REQUIRE_MESSAGE(receiver.has_value(), receiver.error().message);
    std::vector<std::byte> room(size, std::byte{0xee});
    std::uint64_t have = begin;
    const auto received = receiver->receive(room, have, pace());
    REQUIRE_MESSAGE(received.has_value(), received.error().message);
    const auto sent = sender.get();
    CHECK_MESSAGE(sent.has_value(), sent.error().message);
    CHECK(have == size);
    CHECK(same(std::span(room).subspan(begin), std::span(object).subspan(begin)));
    CHECK(std::ranges::all_of(std::span(room).first(begin),
                              [](std::byte byte) { return byte == std::byte{0xee}; }));
  }
}

namespace {

/// Receives from a process that is killed when the second part has begun to come. Nothing: it was
/// faster than the signal.
std::optional<std::uint64_t> receive_until_killed(std::span<std::byte> room,
                                                  std::span<const std::byte> object) {
  Child sender = Child::start_worker(send_object);
  auto receiver = connect_to(sender.address(), sender.key(), child_object);
  REQUIRE_MESSAGE(receiver.has_value(), receiver.error().message);
  constexpr std::size_t place = transfer_part + 64;
  room[place] = ~object[place];
  auto killer = std::async(std::launch::async, [&] {
    for (const auto end = in(20s); std::chrono::steady_clock::now() < end;)
      if (std::atomic_ref(room[place]).load() == object[place]) break;
    sender.kill();
  });
  std::uint64_t have = 0;
  const auto received = receiver->receive(room, have, pace());
  killer.get();
  if (received) return std::nullopt;
  CHECK(received.error().code == ErrorCode::unreachable);
  return have;
}

}  // namespace

TEST_CASE("when a sender is killed, another one goes on where it stopped") {
  const auto object = pattern(child_object, 5);
  std::vector<std::byte> room(child_object);
  std::optional<std::uint64_t> begin;
  for (int attempt = 0; !begin && attempt < 20; ++attempt)
    begin = receive_until_killed(room, object);
  REQUIRE(begin.has_value());
  CHECK(*begin >= transfer_part);
  REQUIRE(*begin < child_object);
  CHECK(same(std::span(room).first(*begin), std::span(object).first(*begin)));

  Child second = Child::start_worker(send_object);
  auto receiver = connect_to(second.address(), second.key(), child_object);
  REQUIRE_MESSAGE(receiver.has_value(), receiver.error().message);
  // What was there is not sent again.
  std::memset(room.data(), 0xee, *begin);
  std::uint64_t have = *begin;
  REQUIRE(receiver->receive(room, have, pace()).has_value());
  CHECK(have == child_object);
  CHECK(room[0] == std::byte{0xee});
  CHECK(room[*begin - 1] == std::byte{0xee});
  CHECK(same(std::span(room).subspan(*begin), std::span(object).subspan(*begin)));
  CHECK(second.wait() == 0);
}

TEST_CASE("a sender reads nothing but its object, whatever is asked of it") {
  constexpr std::uint64_t size = 4UL << 20;
  constexpr std::uint64_t far = ~std::uint64_t{0};
  for (const Forger::Part& wrong :
       {Forger::Part{.offset = size - 1, .length = 2},
        Forger::Part{.offset = size + 1, .length = 0}, Forger::Part{.offset = far, .length = 2},
        Forger::Part{.offset = 0, .length = far},
        Forger::Part{.offset = 0, .length = transfer_part + 1},
        Forger::Part{.number = 2, .length = 10}, Forger::Part{.number = 0, .length = 10},
        Forger::Part{.length = 10, .kind = FrameKind::more},
        Forger::Part{.length = 10, .kind = FrameKind::trim},
        Forger::Part{.length = 10, .kind = static_cast<FrameKind>(77)}}) {
    CAPTURE(wrong.offset);
    CAPTURE(wrong.length);
    CHECK(answer_to([&](Forger& forger) { forger.say(wrong); }).code == ErrorCode::bad_request);
  }
  const std::array<std::byte, 8> bytes{};
  CHECK(answer_to([&](Forger& forger) { forger.say({.length = 8}, bytes); }).code ==
        ErrorCode::bad_request);
}

TEST_CASE("a sender keeps no more requests than a receiver may have under way") {
  const Failure why = answer_to([](Forger& forger) {
    for (std::uint64_t number = 1; number <= 400; ++number)
      forger.say({.number = number, .length = transfer_part});
  });
  CHECK(why.code == ErrorCode::bad_request);
}

TEST_CASE("a receiver writes nothing but what it has asked for, where it belongs") {
  const auto bytes = pattern(1000, 3);
  const std::uint64_t part = transfer_part;
  struct Case {
    Forger::Part said;
    std::size_t bytes;
  };
  for (const auto& [said, size] : {
           Case{{.offset = 1, .length = part}, 1000},
           Case{{.offset = 0, .length = part - 1}, 1000},
           Case{{.number = 2, .offset = part, .length = part}, 1000},
           Case{{.offset = 0, .length = part, .position = 8}, 1000},
           Case{{.offset = 0, .length = part, .kind = FrameKind::more}, 1000},
           Case{{.offset = 0, .length = part}, 0},
           Case{{.offset = 0, .length = part, .kind = FrameKind::released}, 1000},
       }) {
    CAPTURE(said.number);
    CAPTURE(said.offset);
    const Received received =
        receive_from([&](Forger& forger) { forger.say(said, std::span(bytes).first(size)); });
    CHECK(received.failure.code == ErrorCode::bad_request);
    CHECK(received.have == 0);
  }
  // A part that is longer than it should be, by its second piece.
  const auto large = pattern(transfer_part, 4);
  const Received received = receive_from([&](Forger& forger) {
    forger.say({.length = part}, std::span(bytes).first(1000));
    forger.say({.length = part, .kind = FrameKind::more, .position = 1000}, std::span(large));
    forger.wait_for_end();  // `large` is sent from its place
  });
  CHECK(received.failure.code == ErrorCode::bad_request);
  CHECK(received.have >= 1000);
  CHECK(received.have < part);
}

TEST_CASE("a sender that sends nothing, and a receiver that asks for nothing, are not waited for") {
  const ConnectionKey key = random_key();
  const auto object = pattern(1UL << 20, 1);
  auto listener = listen_for(key, object.size());
  auto accepted = std::async(std::launch::async, [&] { return listener.accept(in(10s)); });
  auto receiver = connect_to(listener.address(), key, object.size());
  REQUIRE_MESSAGE(receiver.has_value(), receiver.error().message);
  auto sender = accepted.get();
  REQUIRE_MESSAGE(sender.has_value(), sender.error().message);
  const auto served = sender->serve(object, {.deadline = in(patience), .patience = 50ms});
  REQUIRE_FALSE(served.has_value());
  CHECK(served.error().code == ErrorCode::timed_out);
  std::vector<std::byte> room(object.size());
  std::uint64_t have = 0;
  const auto received = receiver->receive(room, have, {.deadline = in(patience), .patience = 50ms});
  REQUIRE_FALSE(received.has_value());
  CHECK(received.error().code == ErrorCode::timed_out);
  CHECK(have == 0);
}

TEST_CASE("an end that had no processor for longer than its patience looks once more") {
  const ConnectionKey key = random_key();
  auto listener = listen_for(key, 1);
  auto accepted = std::async(std::launch::async, [&] { return listener.accept(in(10s)); });
  auto link = connect_link(
      context(),
      {.address = listener.address(), .magic = transfer_magic, .key = key, .deadline = in(10s)},
      [](const Welcome&) -> Result<void> { return {}; });
  REQUIRE_MESSAGE(link.has_value(), link.error().message);
  const auto sender = accepted.get();
  REQUIRE_MESSAGE(sender.has_value(), sender.error().message);
  TransferTurn turn(**link, {.deadline = in(patience), .patience = 20ms}, "sender");
  for (const auto resumed = in(60ms); std::chrono::steady_clock::now() < resumed;) {
  }
  // What has come meanwhile is seen by this turn, and counted by the next.
  REQUIRE(turn.take(0).has_value());
  REQUIRE(turn.take(1).has_value());
  Result<void> taken;
  while (taken) taken = turn.take(1);
  CHECK(taken.error().code == ErrorCode::timed_out);
  CHECK(taken.error().message.find("does not get on") != std::string::npos);
}

TEST_CASE("either end stops when it is told to, and at its deadline") {
  const ConnectionKey key = random_key();
  const auto object = pattern(1UL << 20, 1);
  auto listener = listen_for(key, object.size());
  auto accepted = std::async(std::launch::async, [&] { return listener.accept(in(10s)); });
  auto receiver = connect_to(listener.address(), key, object.size());
  REQUIRE_MESSAGE(receiver.has_value(), receiver.error().message);
  auto sender = accepted.get();
  REQUIRE_MESSAGE(sender.has_value(), sender.error().message);
  const UniqueFd stop(::eventfd(1, EFD_CLOEXEC));
  const auto served = sender->serve(object, {.deadline = in(patience), .stop = stop.get()});
  REQUIRE_FALSE(served.has_value());
  CHECK(served.error().code == ErrorCode::cancelled);
  std::vector<std::byte> room(object.size());
  std::uint64_t have = 0;
  const auto received = receiver->receive(room, have, {.deadline = in(0ms)});
  REQUIRE_FALSE(received.has_value());
  CHECK(received.error().code == ErrorCode::timed_out);
}

TEST_CASE("a receiver goes to no sender of another object, with another key, or of calls") {
  const ConnectionKey key = random_key();
  const auto refused = [&](const std::string& address, const ConnectionKey& with,
                           std::uint64_t bytes) {
    auto receiver = connect_to(address, with, bytes);
    REQUIRE_FALSE(receiver.has_value());
    return receiver.error().code;
  };
  {
    auto listener = listen_for(key, 1000);
    auto accepted = std::async(std::launch::async, [&] { return listener.accept(in(10s)); });
    CHECK(refused(listener.address(), random_key(), 1000) == ErrorCode::unreachable);
    CHECK(refused(listener.address(), key, 999) == ErrorCode::bad_request);
    CHECK_FALSE(accepted.get().has_value());
  }
  auto lane = UcxLaneListener::listen(context(), {.address = "127.0.0.1", .key = key}).value();
  auto worker = std::async(std::launch::async, [&] { return lane.accept(in(1s)); });
  CHECK(refused(lane.address(), key, 1000) == ErrorCode::unreachable);
  CHECK(worker.get().error().code == ErrorCode::timed_out);
}

TEST_CASE("once connected, neither end opens, connects, accepts or forks") {
  Child sender = Child::start_worker(send_object_confined);
  Child receiver = Child::start_client(receive_object_confined, sender);
  CHECK(receiver.wait() == 0);
  CHECK(sender.wait() == 0);
}

TEST_CASE("transfers leave no descriptors behind") {
  const auto transfer = [] {
    const ConnectionKey key = random_key();
    const auto object = pattern(100'000, 1);
    auto listener = listen_for(key, object.size());
    auto sender = std::async(std::launch::async, [&] {
      return listener.accept(in(10s)).value().serve(object, pace()).has_value();
    });
    std::vector<std::byte> room(object.size());
    std::uint64_t have = 0;
    CHECK(connect_to(listener.address(), key, object.size())
              .value()
              .receive(room, have, pace())
              .has_value());
    CHECK(sender.get());
  };
  transfer();
  const std::size_t before = Usage::now().descriptors;
  for (int i = 0; i < 20; ++i) transfer();
  CHECK(Usage::now().descriptors == before);
}

}  // namespace orchid::transport
