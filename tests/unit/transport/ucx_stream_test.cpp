// Transfers with a pipe at one end.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>

#include "foundation/pipe.h"
#include "transport/ucx_transfer.h"
#include "ucx/guests.h"
#include "ucx/hello.h"
#include "ucx_lane_fixture.h"

namespace orchid::transport {
namespace {

using namespace tests;

Pipe non_blocking_pipe() {
  ::signal(SIGPIPE, SIG_IGN);  // as the program does
  Pipe pipe = make_pipe().value();
  for (const UniqueFd* end : {&pipe.reader, &pipe.writer})
    REQUIRE(::fcntl(end->get(), F_SETFL, O_NONBLOCK) == 0);
  return pipe;
}

UcxTransferListener stream_listener(const ConnectionKey& key, std::uint64_t bytes) {
  return UcxTransferListener::listen(context(),
                                     {.address = "127.0.0.1", .key = key, .bytes = {bytes}})
      .value();
}

/// Into a pipe, at most so much at once.
void write_into(UniqueFd pipe, std::span<const std::byte> bytes, std::size_t at_once) {
  for (const auto end = in(20s); !bytes.empty();) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    const ssize_t count = ::write(pipe.get(), bytes.data(), std::min(at_once, bytes.size()));
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EPIPE) return;
    REQUIRE(errno == EAGAIN);
    pollfd room{.fd = pipe.get(), .events = POLLOUT, .revents = 0};
    ::poll(&room, 1, 1000);
  }
}

std::vector<std::byte> read_from(const UniqueFd& pipe, std::size_t most) {
  std::vector<std::byte> bytes(most);
  std::size_t got = 0;
  for (const auto end = in(20s); got < most;) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    pollfd there{.fd = pipe.get(), .events = POLLIN, .revents = 0};
    ::poll(&there, 1, 1000);
    const ssize_t count = ::read(pipe.get(), bytes.data() + got, most - got);
    if (count == 0) break;
    if (count > 0) got += static_cast<std::size_t>(count);
  }
  bytes.resize(got);
  return bytes;
}

/// Sends `bytes`, as an object of that size, out of a pipe to a receiver that listens.
struct Push {
  std::vector<std::byte> room;
  Result<void> sent;
  Result<void> received;
};
Push push(std::span<const std::byte> bytes, std::uint64_t size, std::size_t at_once,
          std::chrono::milliseconds patience_of_ends = 5s) {
  const ConnectionKey key = random_key();
  Push result{.room = std::vector<std::byte>(size), .sent = {}, .received = {}};
  auto listener = stream_listener(key, size);
  auto receiver = std::async(std::launch::async, [&]() -> Result<void> {
    auto accepted = listener.accept_sender(in(10s));
    if (!accepted) return fail(accepted.error());
    std::uint64_t have = 0;
    return accepted->receive(result.room, have, {.deadline = in(patience), .patience = patience});
  });
  Pipe pipe = non_blocking_pipe();
  auto source = std::async(std::launch::async, [&, writer = std::move(pipe.writer)]() mutable {
    write_into(std::move(writer), bytes, at_once);
  });
  {
    auto sender = UcxTransferSender::connect(
        context(),
        {.address = listener.address(), .key = key, .bytes = {size}, .deadline = in(10s)});
    REQUIRE_MESSAGE(sender.has_value(), sender.error().message);
    result.sent = sender->serve_from(pipe.reader.get(),
                                     {.deadline = in(patience), .patience = patience_of_ends});
    pipe.reader.reset();
  }
  result.received = receiver.get();
  source.get();
  return result;
}

/// What is asked of an object that another thread sends from memory.
void with_receiver(std::span<const std::byte> object,
                   const std::function<void(UcxTransferReceiver&)>& use) {
  const ConnectionKey key = random_key();
  auto listener = stream_listener(key, object.size());
  auto sender = std::async(std::launch::async, [&]() -> Result<void> {
    auto accepted = listener.accept(in(10s));
    if (!accepted) return fail(accepted.error());
    return accepted->serve(object, {.deadline = in(patience), .patience = patience});
  });
  {
    auto receiver = UcxTransferReceiver::connect(
        context(),
        {.address = listener.address(), .key = key, .bytes = {object.size()}, .deadline = in(10s)});
    REQUIRE_MESSAGE(receiver.has_value(), receiver.error().message);
    use(*receiver);
  }
  (void)sender.get();
}

std::vector<std::byte> large_object() { return pattern(40UL << 20, 5); }

/// A sender's life, as in a program of its own.
void send_large_object(const Child::Job& job) {
  const auto object = large_object();
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  auto listener = UcxTransferListener::listen(
                      own, {.address = "127.0.0.1", .key = job.key, .bytes = {object.size()}})
                      .value();
  const std::string address = listener.address();
  if (::send(job.report, address.data(), address.size(), 0) < 0) ::_exit(1);
  auto accepted = listener.accept(in(20s));
  if (accepted) (void)accepted->serve(object, {.deadline = in(patience), .patience = patience});
}

}  // namespace

TEST_CASE("what comes out of a pipe arrives whole at a receiver that listens") {
  struct Case {
    std::uint64_t size;
    std::size_t at_once;
  };
  for (const auto& [size, at_once] :
       {Case{0, 1}, Case{1, 1}, Case{100'000, 777}, Case{transfer_part, 1 << 20},
        Case{transfer_part + 1, 4096}, Case{(40UL << 20) + 3, 64 << 10}}) {
    CAPTURE(size);
    const auto object = pattern(size, 1);
    const Push result = push(object, size, at_once);
    CHECK_MESSAGE(result.sent.has_value(), result.sent.error().message);
    CHECK_MESSAGE(result.received.has_value(), result.received.error().message);
    CHECK(same(result.room, object));
  }
}

TEST_CASE("a source that ends early ends the transfer at both ends") {
  const auto half = pattern(3UL << 20, 2);
  const Push result = push(half, 6UL << 20, 64 << 10);
  REQUIRE_FALSE(result.sent.has_value());
  CHECK(result.sent.error().code == ErrorCode::cancelled);
  REQUIRE_FALSE(result.received.has_value());
  CHECK(result.received.error().code == ErrorCode::unreachable);
}

TEST_CASE("a sender is not out of patience with a receiver that waits for the sender's source") {
  const ConnectionKey key = random_key();
  const auto object = pattern(100'000, 3);
  auto listener = stream_listener(key, object.size());
  std::vector<std::byte> room(object.size());
  auto receiver = std::async(std::launch::async, [&]() -> Result<void> {
    auto accepted = listener.accept_sender(in(10s));
    if (!accepted) return fail(accepted.error());
    std::uint64_t have = 0;
    return accepted->receive(room, have, {.deadline = in(patience), .patience = patience});
  });
  Pipe pipe = non_blocking_pipe();
  auto sender = UcxTransferSender::connect(
      context(),
      {.address = listener.address(), .key = key, .bytes = {object.size()}, .deadline = in(10s)});
  REQUIRE_MESSAGE(sender.has_value(), sender.error().message);
  // The pipe is dry for longer than the patience lasts: only the deadline of all ends it.
  const auto served =
      sender->serve_from(pipe.reader.get(), {.deadline = in(1500ms), .patience = 100ms});
  REQUIRE_FALSE(served.has_value());
  CHECK(served.error().message.find("longer than it may") != std::string::npos);
  sender = fail(ErrorCode::cancelled, "");
  CHECK_FALSE(receiver.get().has_value());
}

TEST_CASE("a part of an object arrives in a pipe, and nothing besides") {
  const auto object = pattern((20UL << 20) + 5, 4);
  for (const TransferRange& range :
       {TransferRange{0, object.size()}, TransferRange{0, 1}, TransferRange{object.size() - 1, 1},
        TransferRange{12'345, 18UL << 20}, TransferRange{transfer_part, transfer_part},
        TransferRange{7, 0}}) {
    CAPTURE(range.begin);
    CAPTURE(range.length);
    Pipe pipe = non_blocking_pipe();
    auto reader =
        std::async(std::launch::async, [&] { return read_from(pipe.reader, object.size() + 1); });
    with_receiver(object, [&](UcxTransferReceiver& receiver) {
      const auto received =
          receiver.receive_into(pipe.writer.get(), range, {.deadline = in(patience)});
      CHECK_MESSAGE(received.has_value(), received.error().message);
      pipe.writer.reset();
    });
    CHECK(same(reader.get(), std::span(object).subspan(range.begin, range.length)));
  }
}

TEST_CASE("a receiver ends when nobody reads its pipe any more, or nobody sends") {
  const auto object = large_object();
  Pipe pipe = non_blocking_pipe();
  SUBCASE("the reader goes") {
    // UCX 1.13 may end a process whose peer hangs up while a part is on its way (uct_iface.h: an
    // assertion, comp->count > 0): the sender has one of its own, as it has in a site.
    const Child sender = Child::start_worker(send_large_object);
    auto reader = std::async(std::launch::async, [&] {
      CHECK(read_from(pipe.reader, 1000).size() == 1000);
      pipe.reader.reset();
    });
    {
      auto receiver = UcxTransferReceiver::connect(context(), {.address = sender.address(),
                                                               .key = sender.key(),
                                                               .bytes = {object.size()},
                                                               .deadline = in(20s)});
      REQUIRE_MESSAGE(receiver.has_value(), receiver.error().message);
      const auto received =
          receiver->receive_into(pipe.writer.get(), {0, object.size()}, {.deadline = in(patience)});
      REQUIRE_FALSE(received.has_value());
      CHECK(received.error().code == ErrorCode::cancelled);
    }
    reader.get();
  }
  SUBCASE("a full pipe is no reason to give the sender up, but the deadline is") {
    with_receiver(object, [&](UcxTransferReceiver& receiver) {
      const auto received = receiver.receive_into(pipe.writer.get(), {0, object.size()},
                                                  {.deadline = in(1500ms), .patience = 200ms});
      REQUIRE_FALSE(received.has_value());
      CHECK(received.error().message.find("longer than it may") != std::string::npos);
    });
  }
  SUBCASE("a part that there is not") {
    with_receiver(object, [&](UcxTransferReceiver& receiver) {
      const auto received =
          receiver.receive_into(pipe.writer.get(), {object.size(), 1}, {.deadline = in(patience)});
      REQUIRE_FALSE(received.has_value());
      CHECK(received.error().code == ErrorCode::internal);
    });
  }
}

TEST_CASE("an end of the other kind, or for another size, is none") {
  const ConnectionKey key = random_key();
  SUBCASE("two senders") {
    auto listener = stream_listener(key, 1000);
    auto accepted = std::async(std::launch::async, [&] { return listener.accept(in(10s)); });
    const auto sender = UcxTransferSender::connect(
        context(),
        {.address = listener.address(), .key = key, .bytes = {1000}, .deadline = in(10s)});
    REQUIRE_FALSE(sender.has_value());
    CHECK(sender.error().code == ErrorCode::bad_request);
    CHECK_FALSE(accepted.get().has_value());
  }
  SUBCASE("another size") {
    auto listener = stream_listener(key, 1000);
    auto accepted = std::async(std::launch::async, [&] { return listener.accept_sender(in(10s)); });
    const auto sender = UcxTransferSender::connect(
        context(),
        {.address = listener.address(), .key = key, .bytes = {1001}, .deadline = in(10s)});
    REQUIRE_FALSE(sender.has_value());
    CHECK(sender.error().code == ErrorCode::bad_request);
    CHECK_FALSE(accepted.get().has_value());
  }
}

namespace {

/// Asks for these parts, whatever a receiver of ours would ask for.
class WrongReceiver final : public FrameSink {
 public:
  [[nodiscard]] const char* on_frame(const Frame& /*frame*/,
                                     std::span<const std::byte> /*payload*/) noexcept override {
    ++heard;
    return nullptr;
  }
  unsigned heard = 0;
};

}  // namespace

TEST_CASE("a sender with a pipe answers parts in their order only") {
  constexpr std::uint64_t size = 4UL << 20;
  for (const std::uint64_t second : {std::uint64_t{0}, std::uint64_t{99}, std::uint64_t{101}}) {
    CAPTURE(second);
    const ConnectionKey key = random_key();
    auto guests =
        Guests::listen({.address = "127.0.0.1", .magic = transfer_magic, .key = key}).value();
    auto peer = std::async(std::launch::async, [&] {
      auto guest = guests.wait(in(10s), -1);
      REQUIRE(guest.has_value());
      Door door(std::move(*guest), in(10s));
      auto link =
          accept_link(context(), key, door, {.magic = transfer_magic, .request_bytes = size});
      REQUIRE_MESSAGE(link.has_value(), link.error().message);
      WrongReceiver sink;
      (*link)->set_sink(&sink);
      for (const auto end = in(20s); sink.heard == 0;) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        (*link)->progress();
      }
      std::uint64_t number = 0;
      for (const std::uint64_t offset : {std::uint64_t{0}, second}) {
        Frame frame{.kind = FrameKind::first};
        frame.header.request_id = ++number;
        frame.header.payload_offset = offset;
        frame.header.payload_length = 100;
        (*link)->send({.frame = frame});
      }
      for (const auto end = in(20s); !(*link)->failure();) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        (*link)->progress();
      }
    });
    Pipe pipe = non_blocking_pipe();
    const auto bytes = pattern(50'000, 6);
    write_into(std::move(pipe.writer), bytes, bytes.size());
    {
      auto sender = UcxTransferSender::connect(
          context(),
          {.address = guests.address(), .key = key, .bytes = {size}, .deadline = in(10s)});
      REQUIRE_MESSAGE(sender.has_value(), sender.error().message);
      const auto served = sender->serve_from(pipe.reader.get(), {.deadline = in(patience)});
      REQUIRE_FALSE(served.has_value());
      CHECK(served.error().code == ErrorCode::bad_request);
    }
    peer.get();
  }
}

}  // namespace orchid::transport
