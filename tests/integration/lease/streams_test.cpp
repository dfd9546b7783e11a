#include "orchid/stream.h"

#include <signal.h>

#include <array>
#include <cstring>
#include <random>
#include <thread>

#include "lease_fixture.h"
#include "protocol/lane_messages.h"

namespace orchid::tests {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t size, std::mt19937_64& random) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, std::min<std::size_t>(8, size - i));
  }
  return bytes;
}

/// As streams_sum has it.
struct Sum {
  std::uint64_t size = 0;
  std::uint64_t hash = 0xcbf29ce484222325U;
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
      hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
    size += bytes.size();
  }
  bool operator==(const Sum&) const = default;
};

std::string text_of(const std::optional<std::span<const std::byte>>& output) {
  if (!output) return "(nothing)";
  return {reinterpret_cast<const char*>(output->data()), output->size()};
}

/// All that is still to be read.
std::string rest_of(Stream& stream) {
  std::string text;
  while (const auto output = stream.read()) text += text_of(output);
  return text;
}

/// The same module with another digest: behind a wrapper's header, whose last field is free.
Bytes variant_of(const Bytes& module, std::uint32_t number) {
  const std::array<std::uint32_t, 5> header{0x0b17c0deU, 0, 20,
                                            static_cast<std::uint32_t>(module.size()), number};
  Bytes wrapped(sizeof header + module.size());
  std::memcpy(wrapped.data(), header.data(), sizeof header);
  std::memcpy(wrapped.data() + sizeof header, module.data(), module.size());
  return wrapped;
}

/// Loads so many modules that a lease's only worker has dropped what was loaded before.
void fill_worker(Lease& lease) {
  const Bytes module = module_bytes(example("echo"));
  for (std::uint32_t i = 0; i < modules_per_worker; ++i)
    (void)lease.module(variant_of(module, i)).function();
}

}  // namespace

TEST_CASE_FIXTURE(LeaseFixture, "a stream answers each chunk while it goes on") {
  Stream stream = load("streams_echo").stream();
  for (const std::string chunk : {"one", "two", "three"}) {
    CHECK(stream.write(chunk));
    CHECK(text_of(stream.read()) == chunk);
  }
  CHECK_FALSE(stream.ended());
  CHECK(text_of(stream.try_read()) == "(nothing)");
  stream.finish();
  stream.finish();
  CHECK(text_of(stream.read()) == "(nothing)");
  CHECK(stream.ended());
  CHECK(stream.run_time().count() > 0);
  CHECK(error_of([&] { (void)stream.write("late"); }).kind() == ErrorKind::bad_request);
}

TEST_CASE_FIXTURE(LeaseFixture, "10 000 chunks of random sizes go in, and one sum comes out") {
  Stream stream = load("streams_sum").stream({.deadline = seconds(250)});
  std::mt19937_64 random(1);
  const Bytes source = random_bytes(1 << 20, random);
  Sum expected;
  for (int i = 0; i < 10'000; ++i) {
    // Most are small, as the sum takes its time: 20 in 10 000 have a whole MiB or nearly.
    const std::size_t limit = i % 500 == 0 ? source.size() : i % 5 == 0 ? 20'000 : 200;
    const auto chunk = std::span(source).first(random() % (limit + 1));
    expected.add(chunk);
    REQUIRE(stream.write(chunk));
  }
  stream.finish();
  const auto output = stream.read();
  REQUIRE(output.has_value());
  Sum sum;
  REQUIRE(output->size() == sizeof sum);
  std::memcpy(&sum, output->data(), sizeof sum);
  CHECK(sum == expected);
  CHECK_FALSE(stream.read().has_value());
}

TEST_CASE_FIXTURE(LeaseFixture, "what an echo puts out is what was put in, whatever the sizes") {
  for (const Wait wait : {Wait::adaptive, Wait::blocking}) {
    take({.workers = 1, .wait = wait});
    const LeasedFunction echo = load("streams_echo");
    std::mt19937_64 random(static_cast<unsigned>(wait));
    const Bytes source = random_bytes(1 << 20, random);
    for (int round = 0; round < 20; ++round) {
      Stream stream = echo.stream();
      Bytes sent;
      Bytes got;
      const auto take = [&](const auto& output) {
        got.insert(got.end(), output->begin(), output->end());
      };
      for (auto chunks = random() % 60; chunks > 0; --chunks) {
        const std::size_t size = random() % (std::size_t{1} << (random() % 21));
        const auto chunk = std::span(source).subspan(random() % (source.size() - size), size);
        while (!stream.try_write(chunk)) take(stream.read());
        sent.insert(sent.end(), chunk.begin(), chunk.end());
        while (const auto output = stream.try_read()) take(output);
      }
      stream.finish();
      while (const auto output = stream.read()) take(output);
      REQUIRE(stream.ended());
      REQUIRE(got == sent);
    }
  }
}

TEST_CASE_FIXTURE(LeaseFixture, "a producer needs no input, and goes no faster than its reader") {
  const LeasedFunction numbers = load("streams_numbers");
  Stream stream = numbers.stream();
  CHECK(stream.write("1000 100000"));
  stream.finish();
  for (int i = 0; i < 1000; ++i) {
    const auto output = stream.read();
    REQUIRE(output.has_value());
    REQUIRE(output->size() == 100'000);
    REQUIRE(output->front() == static_cast<std::byte>(i));
    REQUIRE(output->back() == static_cast<std::byte>(i));
  }
  CHECK_FALSE(stream.read().has_value());
  CHECK(stream.ended());
}

TEST_CASE_FIXTURE(LeaseFixture, "a stream whose worker ends after it is answered to its end") {
  for (int round = 0; round < 5; ++round) {
    CAPTURE(round);
    take({.workers = 1});  // a stream that is sent to a worker which ends is not sent again
    Stream stream = load("streams_badly").stream();
    CHECK(stream.write("chunk"));
    CHECK(text_of(stream.read()) == "chunk");
    stream.finish();
    CHECK(text_of(stream.read()) == "(nothing)");
    CHECK(stream.ended());
  }
}

TEST_CASE_FIXTURE(LeaseFixture, "a stream that forges what its worker says has crashed") {
  // Within a host the lane tells who has answered last, and that has been a chunk of the stream.
  if (lane_under_test() != LaneKind::ucx) return;
  Stream stream = load("streams_badly").stream();
  CHECK(stream.write("chunk"));
  CHECK(text_of(stream.read()) == "chunk");
  CHECK(stream.write("forges"));
  const Error error = error_of([&] { (void)stream.read(); });
  check_clear(error, ErrorKind::function_crashed);
  CHECK(error.attempt() == 1);
  CHECK(error.message().find("broke the rules of its sandbox") != std::string::npos);
}

TEST_CASE_FIXTURE(LeaseFixture, "a worker that has dropped a stream's function gets it again") {
  const LeasedFunction echo = load("streams_echo");
  const LeasedFunction sum = load("streams_sum");
  const LeasedFunction plain = load(example("echo"));
  fill_worker(lease);
  {
    Stream stream = echo.stream();
    CHECK(stream.write("one"));
    CHECK(stream.write("two"));
    stream.finish();
    CHECK(rest_of(stream) == "onetwo");
    CHECK(stream.ended());
  }
  {
    Stream stream = sum.stream();
    Buffer chunk = stream.buffer(3);
    std::memcpy(chunk.bytes().data(), "abc", 3);
    CHECK(stream.write(std::move(chunk)));
    stream.finish();
    Sum expected;
    expected.add(std::as_bytes(std::span("abc", 3)));
    const auto output = stream.read();
    REQUIRE(output.has_value());
    CHECK(std::memcmp(output->data(), &expected, sizeof expected) == 0);
  }
  CHECK(plain.invoke("x").text() == "x");
}

TEST_CASE_FIXTURE(LeaseFixture, "a stream is cancelled while its function comes again") {
  const LeasedFunction echo = load("streams_echo");
  fill_worker(lease);
  Stream stream = echo.stream();
  CHECK(stream.write("one"));
  stream.cancel();
  CHECK(error_of([&] { (void)rest_of(stream); }).kind() == ErrorKind::cancelled);
  CHECK(load(example("echo")).invoke("x").text() == "x");
}

TEST_CASE_FIXTURE(LeaseFixture, "a function that streams serves those who do not") {
  CHECK(load("streams_echo").invoke("whole").text() == "whole");
  CHECK(load("streams_numbers").invoke("3 2").text() == std::string_view("\0\0\1\1\2\2", 6));
  const Reply reply = load("streams_sum").invoke("abc");
  Sum expected;
  expected.add(std::as_bytes(std::span("abc", 3)));
  CHECK(std::memcmp(reply.output.data(), &expected, sizeof expected) == 0);
}

TEST_CASE_FIXTURE(LeaseFixture, "a function that does not stream serves those who do") {
  Stream stream = load(example("echo")).stream();
  CHECK(stream.write("first"));
  CHECK(rest_of(stream) == "first");
  CHECK(stream.ended());
  CHECK_FALSE(stream.write("second"));
}

TEST_CASE_FIXTURE(LeaseFixture, "a function may return before its input has ended") {
  const LeasedFunction by_order = load("streams_by_order");
  for (int round = 0; round < 50; ++round) {
    Stream stream = by_order.stream();
    CHECK(stream.write("e1"));
    CHECK(stream.write("r"));
    int sent = 0;
    while (sent < 30 && stream.try_write("behind")) ++sent;
    CHECK(rest_of(stream) == "e1done");
    CHECK(stream.ended());
    CHECK_FALSE(stream.write("more"));
    stream.finish();
  }
  CHECK(by_order.invoke("e").text() == "eend");
}

TEST_CASE_FIXTURE(LeaseFixture, "who writes and never reads is told to, and loses nothing") {
  Stream stream = load("streams_echo").stream();
  unsigned written = 0;
  const Error error = error_of([&] {
    for (;; ++written) (void)stream.write(std::to_string(written));
  });
  CHECK(error.kind() == ErrorKind::no_capacity);
  CHECK(error.hint().find("read") != std::string::npos);
  CHECK(written == Stream::window);
  CHECK_FALSE(stream.try_write("no room"));
  for (unsigned i = 0; i < written; ++i) CHECK(text_of(stream.read()) == std::to_string(i));
  CHECK(stream.write("room again"));
  stream.finish();
  CHECK(rest_of(stream) == "room again");
}

TEST_CASE_FIXTURE(LeaseFixture, "chunks have a largest size, in and out") {
  const LeasedFunction by_order = load("streams_by_order");
  Stream stream = by_order.stream();
  Bytes chunk(Stream::largest_chunk + 1, static_cast<std::byte>('e'));
  CHECK(error_of([&] { (void)stream.write(chunk); }).kind() == ErrorKind::too_large);
  chunk.pop_back();
  CHECK(stream.write(chunk));
  const auto output = stream.read();
  REQUIRE(output.has_value());
  CHECK(std::ranges::equal(*output, chunk));
  CHECK(stream.write("o"));
  const Error error = error_of([&] { (void)stream.read(); });
  CHECK(error.kind() == ErrorKind::limit_exceeded);
  CHECK(error.message().find("32") != std::string::npos);
  CHECK(by_order.invoke("e").text() == "eend");
}

TEST_CASE_FIXTURE(LeaseFixture, "a chunk that is written in the lane is not copied") {
  Stream stream = load("streams_echo").stream();
  for (int i = 0; i < 100; ++i) {
    Buffer buffer = stream.buffer(100'000);
    std::memset(buffer.bytes().data(), i, buffer.bytes().size());
    buffer.shrink(90'000);
    CHECK(stream.write(std::move(buffer)));
    const auto output = stream.read();
    REQUIRE(output.has_value());
    CHECK(output->size() == 90'000);
    CHECK(output->back() == static_cast<std::byte>(i));
  }
}

TEST_CASE_FIXTURE(LeaseFixture, "a function's failure ends its stream with what it said before") {
  const LeasedFunction by_order = load("streams_by_order");
  {
    Stream stream = by_order.stream();
    CHECK(stream.write("e1"));
    CHECK(stream.write("f"));
    CHECK(text_of(stream.read()) == "e1");
    for (int again = 0; again < 2; ++again) {
      const Error error = error_of([&] { (void)stream.read(); });
      CHECK(error.kind() == ErrorKind::function_error);
      CHECK(error.message() == "as ordered");
    }
    CHECK(error_of([&] { (void)stream.write("x"); }).kind() == ErrorKind::function_error);
    CHECK_FALSE(stream.ended());
  }
  for (const auto& [order, kind] :
       {std::pair{"c", ErrorKind::function_crashed}, std::pair{"x", ErrorKind::function_exited}}) {
    Stream stream = by_order.stream();
    CHECK(stream.write("p"));
    CHECK(stream.write("e1"));
    CHECK(stream.write(order));
    CHECK(text_of(stream.read()) == "e1");
    const Error error = error_of([&] { (void)stream.read(); });
    CHECK(error.kind() == kind);
    CHECK(error.attempt() == 1);
    CHECK(error.node() == "here");
    CHECK(error.log() == "printed\n");
  }
  CHECK(by_order.invoke("e").text() == "eend");
}

TEST_CASE_FIXTURE(LeaseFixture, "a deadline ends a stream that waits and one that runs") {
  const LeasedFunction by_order = load("streams_by_order");
  for (const char* order : {"n", "l"}) {
    CHECK(by_order.invoke("e").text() == "eend");  // there is a worker
    Stream stream = by_order.stream({.deadline = milliseconds(500)});
    CHECK(stream.write(order));
    const auto wait = [&] {
      // It takes all and says nothing: whoever has more to write finds out.
      while (stream.write("n")) (void)stream.try_read();
    };
    CHECK(error_of(wait).kind() == ErrorKind::deadline_exceeded);
  }
  CHECK(by_order.invoke("e").text() == "eend");
}

TEST_CASE_FIXTURE(LeaseFixture, "a deadline ends a stream that nobody looks at") {
  const LeasedFunction by_order = load("streams_by_order");
  const auto first = sdk::LeaseAccess::core_of(lease).worker_pids();
  Stream stream = by_order.stream({.deadline = milliseconds(500)});
  CHECK(stream.write("n"));
  CHECK(eventually([&] {
    const auto now = sdk::LeaseAccess::core_of(lease).worker_pids();
    return !now.empty() && now != first;
  }));
  CHECK(error_of([&] { (void)stream.read(); }).kind() == ErrorKind::deadline_exceeded);
}

TEST_CASE_FIXTURE(LeaseFixture, "a cancelled stream stops where it waits, or is killed") {
  const LeasedFunction numbers = load("streams_numbers");
  const LeasedFunction by_order = load("streams_by_order");
  const auto workers = sdk::LeaseAccess::core_of(lease).worker_pids();
  {
    Stream stream = numbers.stream();  // it has no input yet, and waits for a reader later
    CHECK(stream.write("1000000 10"));
    stream.finish();
    for (int i = 0; i < 100; ++i) CHECK(stream.read().has_value());
    stream.cancel();
    CHECK(rest_of(stream).ends_with("stopped"));
    CHECK(stream.ended());
  }
  {
    Stream stream = by_order.stream();
    CHECK(stream.write("e"));
    CHECK(text_of(stream.read()) == "e");
    stream.cancel();
    CHECK(rest_of(stream) == "end");
  }
  CHECK(sdk::LeaseAccess::core_of(lease).worker_pids() == workers);
  {
    std::stop_source stop;
    Stream stream = by_order.stream({.stop = stop.get_token()});
    CHECK(stream.write("l"));
    std::jthread presses([&] { stop.request_stop(); });
    CHECK(error_of([&] { (void)rest_of(stream); }).kind() == ErrorKind::cancelled);
  }
  CHECK(by_order.invoke("e").text() == "eend");
}

TEST_CASE_FIXTURE(LeaseFixture, "a stream that is dropped leaves its worker to others") {
  const LeasedFunction by_order = load("streams_by_order");
  const LeasedFunction echo = load(example("echo"));
  for (int i = 0; i < 20; ++i) {
    Stream stream = by_order.stream();
    for (int chunk = 0; chunk < i % 8; ++chunk) CHECK(stream.write("e some output"));
    if (i % 3 == 0) stream.finish();
  }
  {
    Stream stubborn = by_order.stream();
    CHECK(stubborn.write("l"));
  }
  CHECK(echo.invoke("after").text() == "after");
}

TEST_CASE_FIXTURE(LeaseFixture, "streams on all workers at once, and calls beside them") {
  take({.workers = 3});
  const LeasedFunction streams = load("streams_echo");
  const LeasedFunction echo = load(example("echo"));
  std::vector<Stream> open;
  for (int i = 0; i < 2; ++i) open.push_back(streams.stream());
  for (int round = 0; round < 200; ++round) {
    const std::string text = std::to_string(round);
    for (Stream& stream : open) CHECK(stream.write(text));
    CHECK(echo.invoke("call " + text).text() == "call " + text);
    for (Stream& stream : open) CHECK(text_of(stream.read()) == text);
  }
  open.push_back(streams.stream());
  // No worker is left: calls and streams wait.
  const ReplyFuture waiting = echo.async("waits");
  CHECK_FALSE(waiting.wait_for(milliseconds(30)));
  CHECK(error_of([&] { (void)streams.stream({.deadline = milliseconds(30)}); }).kind() ==
        ErrorKind::deadline_exceeded);
  std::stop_source stop;
  std::jthread canceller([&] { stop.request_stop(); });
  CHECK(error_of([&] { (void)streams.stream({.stop = stop.get_token()}); }).kind() ==
        ErrorKind::cancelled);
  open.front().finish();
  CHECK(rest_of(open.front()).empty());
  CHECK(waiting.get().text() == "waits");
  std::jthread opener([&] {
    Stream next = streams.stream();
    CHECK(next.write("next"));
    CHECK(text_of(next.read()) == "next");
  });
  opener.join();
  for (Stream& stream : open) stream.finish();
  for (Stream& stream : open) CHECK(rest_of(stream).empty());
}

TEST_CASE_FIXTURE(LeaseFixture, "a stream ends with its worker, and is not started again") {
  const LeasedFunction pid = load("reports_pid");
  const LeasedFunction echo = load("streams_echo");
  const auto victim = static_cast<pid_t>(std::stol(std::string(pid.invoke("").text())));
  Stream stream = echo.stream();
  CHECK(stream.write("one"));
  CHECK(text_of(stream.read()) == "one");
  CHECK(stream.write("two"));
  CHECK(stream.write("three"));
  CHECK(text_of(stream.read()) == "two");
  REQUIRE(::kill(victim, SIGKILL) == 0);
  const Error error = error_of([&] {
    while (stream.write("four")) (void)stream.read();
  });
  CHECK(error.kind() == ErrorKind::worker_lost);
  CHECK(error.attempt() == 1);
  CHECK(error.retryable());
  CHECK(echo.invoke("again").text() == "again");
  Stream next = echo.stream();
  CHECK(next.write("next"));
  CHECK(text_of(next.read()) == "next");
}

TEST_CASE_FIXTURE(LeaseFixture, "streams end when their lease does") {
  Stream stream = load("streams_echo").stream();
  CHECK(stream.write("kept"));
  while (!stream.try_write(std::string(10, 'x'))) {
  }
  {
    const Lease ending = std::move(lease);
  }
  const Error error = error_of([&] { (void)rest_of(stream); });
  CHECK(error.kind() == ErrorKind::lease_ended);
  CHECK(error_of([&] { (void)stream.write("x"); }).kind() == ErrorKind::lease_ended);
}

}  // namespace orchid::tests
