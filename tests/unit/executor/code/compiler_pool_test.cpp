#include "code/compiler_pool.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "fake_compilers.h"

namespace orchid::executor {

TEST_CASE("a tenant's modules are compiled by his process, another tenant's by another") {
  FakeCompilers compilers;
  const auto first = compilers.compile(1, "ok").value();
  const auto other = compilers.compile(2, "ok").value();
  const auto second = compilers.compile(1, "ok").value();
  CHECK(first.substr(first.find(' ')) == " 1");
  CHECK(second == first.substr(0, first.find(' ')) + " 2");
  CHECK(other.substr(0, other.find(' ')) != first.substr(0, first.find(' ')));
  CHECK(compilers.pool.restarts() == 0);
}

TEST_CASE("a module that ends its compiler twice is refused, and the next one is compiled") {
  FakeCompilers compilers;
  const auto result = compilers.compile(1, "dies");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::module_rejected);
  CHECK(result.error().message.find("makes the compiler crash") != std::string::npos);
  CHECK(compilers.pool.restarts() == 2);
  CHECK(compilers.compile(1, "ok").has_value());
}

TEST_CASE("what a compiler says of a module is told, with the module's size if it is too much") {
  FakeCompilers compilers;
  const auto bad = compilers.compile(1, "fails module_rejected");
  CHECK(bad.error().code == ErrorCode::module_rejected);
  CHECK(bad.error().message == "it is too much");
  const auto much = compilers.compile(1, "fails compile_limit");
  CHECK(much.error().code == ErrorCode::compile_limit);
  CHECK(much.error().message == "it is too much; the module has 19 B of bitcode");
  std::map<std::string, std::uint64_t> counters;
  compilers.pool.count(counters);
  CHECK(counters.at("compile_limit") == 1);
  CHECK(counters.at("compiler_restarts") == 0);
}

TEST_CASE("an answer counts though its compiler has ended before it is read") {
  FakeCompilers compilers;
  (void)compilers.compile(1, "ok").value();  // so that the next request goes out at once
  const pid_t pid = compilers.pool.pid_of(CompileRank::calls);
  std::optional<Result<CompilerPool::Compiled>> result;
  compilers.pool.compile(
      {.tenant = 1, .module = module_that("chatters"), .size = ByteCount{8}},
      [&](Result<CompilerPool::Compiled> compiled) { result = std::move(compiled); });
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) != 0)
    REQUIRE(errno == EINTR);  // its end is a signal, too
  compilers.run_until([&] { return result.has_value(); });
  REQUIRE(result->has_value());
  CHECK(text_of((*result)->code) == std::to_string(pid) + " 2");
  CHECK(compilers.compile(1, "ok").has_value());  // by a new one
}

TEST_CASE("what compilers spend on a module is told, whatever comes of it") {
  FakeCompilers compilers;
  struct Case {
    std::string_view module;
    std::size_t compilers;
  };
  for (const Case& one : {Case{"ok", 1}, Case{"fails module_rejected", 1}, Case{"dies", 2}}) {
    CAPTURE(one.module);
    std::vector<std::chrono::microseconds> spent;
    const auto listen = [&](std::chrono::microseconds time) { spent.push_back(time); };
    std::optional<std::size_t> at_end;
    compilers.pool.compile(
        {.tenant = 1, .module = module_that(one.module), .size = ByteCount{8}, .spent = listen},
        [&](const Result<CompilerPool::Compiled>&) { at_end = spent.size(); });
    compilers.run_until([&] { return at_end.has_value(); });
    CHECK(at_end == one.compilers);
    for (const auto time : spent) CHECK(time.count() >= 0);
  }
}

TEST_CASE("what a compiler has spent is told when it is ended in the middle of a module") {
  FakeCompilers compilers;
  (void)compilers.compile(1, "ok").value();  // so that the next request goes out at once
  std::size_t told = 0;
  bool done = false;
  compilers.pool.compile({.tenant = 1,
                          .module = module_that("waits"),
                          .size = ByteCount{8},
                          .spent = [&](std::chrono::microseconds) { ++told; }},
                         [&](const Result<CompilerPool::Compiled>&) { done = true; });
  compilers.pool.pause(true);
  compilers.run_until([&] { return told > 0; });
  CHECK(told == 1);
  CHECK_FALSE(done);  // it waits for the next one
}

TEST_CASE("that a module waits for a compiler is no time that is spent on it") {
  constexpr std::chrono::milliseconds long_wait{400};
  FakeCompilers compilers;
  compilers.pool.pause(true);
  std::chrono::microseconds spent{0};
  bool done = false;
  compilers.pool.compile({.tenant = 1,
                          .module = module_that("fails module_rejected"),
                          .size = ByteCount{8},
                          .spent = [&](std::chrono::microseconds time) { spent += time; }},
                         [&](const Result<CompilerPool::Compiled>&) { done = true; });
  const auto later = std::chrono::steady_clock::now() + long_wait;
  compilers.run_until([&] { return std::chrono::steady_clock::now() >= later; });
  REQUIRE_FALSE(done);
  compilers.pool.pause(false);
  compilers.run_until([&] { return done; });
  CHECK(spent < long_wait);  // processor time
}

}  // namespace orchid::executor
