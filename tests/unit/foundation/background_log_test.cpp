#include "foundation/background_log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

#include "foundation/log.h"
#include "foundation/unique_fd.h"

namespace orchid {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

struct LogPipe {
  UniqueFd reader;
  UniqueFd writer;

  LogPipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
  /// Until that has come, or the other end is closed.
  std::string read_until(const std::string& last) {
    std::string all;
    const auto give_up = steady_clock::now() + seconds(20);
    while (all.find(last) == std::string::npos) {
      REQUIRE(steady_clock::now() < give_up);
      pollfd look{.fd = reader.get(), .events = POLLIN, .revents = 0};
      if (::poll(&look, 1, 100) <= 0) continue;
      std::array<char, 65536> piece{};
      const ssize_t count = ::read(reader.get(), piece.data(), piece.size());
      REQUIRE(count >= 0);
      if (count == 0) break;
      all.append(piece.data(), static_cast<std::size_t>(count));
    }
    return all;
  }
};

std::size_t count_of(const std::string& text, const std::string& wanted) {
  std::size_t count = 0;
  for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1))
    ++count;
  return count;
}

TEST_CASE("lines that another thread writes come in their order, and all of them by the end") {
  LogPipe pipe;
  {
    const log::BackgroundLog background(pipe.writer.get());
    log::warn("event=first");
    log::warn("event=second reason=\"{}\"", std::string(10'000, 'x'));
    log::warn("event=third");
  }
  pipe.writer.reset();
  const std::string all = pipe.read_until("never");
  CHECK(count_of(all, "\n") == 3);
  const auto first = all.find("event=first\n");
  const auto second = all.find("event=second reason=\"" + std::string(10'000, 'x') + "\"\n");
  const auto third = all.find("event=third\n");
  REQUIRE(third != std::string::npos);
  CHECK((first < second && second < third));
}

TEST_CASE("who logs does not wait for somebody who does not read, and what is lost is counted") {
  LogPipe pipe;
  constexpr std::size_t lines = 20'000;  // more than the pipe and the queue have room for
  const std::string filler(100, 'x');
  const log::BackgroundLog background(pipe.writer.get());
  for (std::size_t i = 0; i < lines; ++i) log::warn("event=line {}", filler);
  const std::string all = pipe.read_until(" reason=\"nobody took them in time\"");
  const std::string lost = "event=log_lines_lost lines=";
  const auto at = all.find(lost);
  REQUIRE(at != std::string::npos);
  CHECK(count_of(all, "event=line " + filler + "\n") + std::stoul(all.substr(at + lost.size())) ==
        lines);
  // And on it goes.
  log::warn("event=last");
  CHECK(count_of(pipe.read_until("event=last\n"), "event=") == 1);
}

TEST_CASE("a program whose log nobody reads ends all the same") {
  const LogPipe pipe;
  const auto start = steady_clock::now();
  {
    const log::BackgroundLog background(pipe.writer.get());
    for (int i = 0; i < 2'000; ++i) log::warn("event=line {}", std::string(100, 'x'));
  }
  CHECK(steady_clock::now() - start < seconds(20));
}

TEST_CASE("a child logs by itself: it has none of its parent's threads") {
  LogPipe theirs;
  LogPipe pipe;
  const log::BackgroundLog background(pipe.writer.get());
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(theirs.writer.get(), STDERR_FILENO);
    log::warn("event=child");
    ::_exit(0);
  }
  REQUIRE(child > 0);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  theirs.writer.reset();
  CHECK(count_of(theirs.read_until("event=child\n"), "event=child\n") == 1);
}

}  // namespace
}  // namespace orchid
