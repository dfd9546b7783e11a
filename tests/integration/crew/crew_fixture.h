// crew/crew_fixture.h: an executor and a crew of some of its workers for each test case.
#pragma once
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "clear_error.h"
#include "foundation/files.h"
#include "local_crew.h"
#include "local_executor.h"
#include "orchid/crew.h"
#include "protocol/limits.h"

namespace orchid::tests {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What a reply begins with.
template <typename T>
[[nodiscard]] T value_of(const Reply& reply) {
  T value{};
  REQUIRE(reply.output.size() >= sizeof(value));
  std::memcpy(&value, reply.output.data(), sizeof(value));
  return value;
}

/// As tests/data/functions/walks_crew.c has it.
struct Walk {
  std::uint32_t left = 0;
  std::uint32_t stride = 1;
  std::uint64_t sum = 0;
};
[[nodiscard]] inline std::vector<std::byte> bytes_of(const Walk& walk, std::size_t more = 0) {
  std::vector<std::byte> bytes(sizeof(Walk) + more, std::byte{7});
  std::memcpy(bytes.data(), &walk, sizeof(walk));
  return bytes;
}
[[nodiscard]] inline Walk walk_of(const Reply& reply) {
  Walk walk;
  REQUIRE(reply.output.size() >= sizeof(walk));
  std::memcpy(&walk, reply.output.data(), sizeof(walk));
  return walk;
}
/// Of a call that was traced.
[[nodiscard]] inline std::vector<unsigned> members_of(const std::vector<CallStep>& path) {
  std::vector<unsigned> members;
  for (const CallStep& step : path) members.push_back(step.member);
  return members;
}
/// Of a walk's members from `first` on.
[[nodiscard]] inline std::uint64_t sum_of(const Walk& walk, std::uint64_t first,
                                          std::uint64_t members) {
  std::uint64_t sum = 0;
  std::uint64_t member = first;
  for (std::uint32_t step = 0; step <= walk.left; ++step) {
    sum += member;
    member = (member - 1 + walk.stride) % members + 1;
  }
  return sum;
}

/// As tests/data/functions/spawns_children.cpp has it.
struct Fib {
  std::uint64_t value = 0;
  std::uint64_t members = 0;
};

struct CrewFixture {
  LocalExecutor executor{{.programs = PROGRAMS, .spare = 1}};
  ExecutorCrews* source = nullptr;  // of the crew that was taken last, which owns it

  [[nodiscard]] Crew take(const CrewOptions& options) {
    auto owned = std::make_unique<ExecutorCrews>(executor);
    source = owned.get();
    return take_crew(std::move(owned), options);
  }
  [[nodiscard]] static CrewFunction entry_of(Crew& crew, const std::filesystem::path& path,
                                             std::string_view name) {
    const auto module = read_file(path, limits::module_size);
    REQUIRE(module.has_value());
    return crew.function(*module, name);
  }
  [[nodiscard]] static CrewFunction entry(Crew& crew, std::string_view name) {
    return entry_of(crew, std::filesystem::path(FUNCTIONS) / "walks_crew.bc", name);
  }
};

inline CrewFunction spawner(Crew& crew, std::string_view name) {
  return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "spawns_children.bc", name);
}

/// Waits for `condition`, but for no longer than `patience`.
template <typename Condition>
bool eventually(Condition condition, seconds patience = seconds(20)) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace orchid::tests
