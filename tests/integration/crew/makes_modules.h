// crew/makes_modules.h: what the functions of tests/data/functions/makes_modules.cpp are given.
#pragma once
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crew_fixture.h"
#include "foundation/files.h"
#include "orchid/crew.h"
#include "protocol/limits.h"

namespace orchid::tests {

enum How : std::uint32_t { only_deploy, by_forward, by_invoke, by_spawn, tolerate };
inline constexpr std::array<const char*, 5> ways{"deploy", "forward", "invoke", "spawn",
                                                 "tolerate"};

inline std::vector<std::byte> bytes_of_file(const std::filesystem::path& path) {
  auto bytes = read_file(path, limits::module_size);
  REQUIRE(bytes.has_value());
  return std::move(*bytes);
}
inline std::vector<std::byte> test_module(std::string_view name) {
  return bytes_of_file(std::filesystem::path(FUNCTIONS) / (std::string(name) + ".bc"));
}

inline void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}
template <typename T>
std::vector<std::byte> raw_bytes(const T& value) {
  std::vector<std::byte> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

/// The same module with another digest: behind a wrapper's header, whose last field is free.
inline std::vector<std::byte> variant_of(std::span<const std::byte> module, std::uint32_t number) {
  auto wrapped = raw_bytes(std::array<std::uint32_t, 5>{
      0x0b17c0deU, 0, 20, static_cast<std::uint32_t>(module.size()), number});
  append(wrapped, module);
  return wrapped;
}

struct Plan {
  std::uint32_t how = only_deploy;
  std::uint32_t member = 1;
  std::string_view entry = "walk";
  std::span<const std::byte> input = {};
};
inline std::vector<std::byte> plan_of(const Plan& plan, std::span<const std::byte> module) {
  auto bytes = raw_bytes(std::array<std::uint32_t, 4>{
      plan.how, plan.member, static_cast<std::uint32_t>(plan.entry.size()),
      static_cast<std::uint32_t>(plan.input.size())});
  append(bytes, std::as_bytes(std::span(plan.entry)));
  append(bytes, plan.input);
  append(bytes, module);
  return bytes;
}
inline std::string text_of(const Reply& reply) {
  return {reinterpret_cast<const char*>(reply.output.data()), reply.output.size()};
}

inline CrewFunction maker(Crew& crew, std::string_view name = "deploy_and_go") {
  return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "makes_modules.bc", name);
}

struct Constants {
  std::uint64_t answer = 0;
  std::array<double, 3> shape{};
  std::uint64_t member = 0;
};
inline std::vector<std::byte> constant(std::uint32_t member, std::string_view name,
                                       std::span<const std::byte> value) {
  auto bytes = raw_bytes(member);
  append(bytes, std::as_bytes(std::span(name)));
  bytes.push_back(std::byte{0});
  append(bytes, value);
  return bytes;
}

}  // namespace orchid::tests
