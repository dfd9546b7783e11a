// One more descriptor of what is open already.
#include "foundation/duplicate.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "foundation/pipe.h"

namespace orchid {

TEST_CASE("a duplicate is the same file, is closed on exec, and has a number of its own") {
  auto pipe = make_pipe();
  REQUIRE(pipe.has_value());
  constexpr int least = 100;
  auto copy = duplicate(pipe->writer.get(), least);
  REQUIRE(copy.has_value());
  CHECK(copy->get() >= least);
  CHECK((::fcntl(copy->get(), F_GETFD) & FD_CLOEXEC) != 0);
  pipe->writer.reset();
  REQUIRE(::write(copy->get(), "x", 1) == 1);
  char read = 0;
  CHECK(::read(pipe->reader.get(), &read, 1) == 1);
  CHECK(read == 'x');
}

TEST_CASE("what is not open has no duplicate") {
  const auto copy = duplicate(-1);
  REQUIRE_FALSE(copy.has_value());
  CHECK(copy.error().code == ErrorCode::system);
  CHECK(copy.error().message.contains("Bad file descriptor"));
}

TEST_CASE("a full descriptor table is an error that says so") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  constexpr rlim_t few = 64;
  const rlimit less{.rlim_cur = few, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &less) == 0);
  std::vector<UniqueFd> all;
  auto copy = duplicate(STDIN_FILENO);
  while (copy && all.size() < few) {
    all.push_back(std::move(*copy));
    copy = duplicate(STDIN_FILENO);
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(copy.has_value());
  CHECK(copy.error().message.contains("Too many open files"));
}

}  // namespace orchid
