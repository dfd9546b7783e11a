// Code that travels to members at another executor.
#include <sys/utsname.h>

#include <array>
#include <future>
#include <string>
#include <vector>

#include "makes_modules.h"
#include "module/container.h"
#include "protocol/crew.h"
#include "protocol/digest.h"
#include "spread_fixture.h"

namespace orchid::tests {
namespace {

/// As brings_code.cpp is given it.
std::vector<std::byte> far_wish(std::uint32_t member, const std::string& function) {
  auto bytes = raw_bytes(member);
  append(bytes, std::as_bytes(std::span(function.c_str(), function.size() + 1)));
  append(bytes, std::as_bytes(std::span("hello", 5)));
  return bytes;
}

constexpr std::array<const char*, 3> ways_to_code{"by_forward", "by_invoke", "by_spawn"};

struct CodeFixture : SpreadFixture {
  Crew crew = take({.workers = 4, .within = seconds(20)});
  std::uint32_t variant = 100;

  [[nodiscard]] CrewFunction bringer(std::string_view way) {
    return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "brings_code.bc", way);
  }
  [[nodiscard]] std::vector<std::byte> next_module() {
    return variant_of(bytes_of_file(std::filesystem::path(EXAMPLES) / "echo.bc"), ++variant);
  }
  /// As a gateway has it: by its whole digest, and by the 16 digits that a call carries.
  void deploy(const std::string& name, const std::vector<std::byte>& module) const {
    source->deploy(name, module);
    source->deploy(crew::name_of_key(crew::module_key(digest_of(module))), module);
  }
};

/// With an image for this machine's processor, and one for another one.
std::vector<std::byte> fat_module(std::span<const std::byte> own) {
  utsname host{};
  REQUIRE(::uname(&host) == 0);
  const std::string machine = host.machine;
  const auto other = test_module("other_target");
  const std::array images{
      module::Image{
          .triple = (machine == "aarch64" ? "x86_64" : "aarch64") + std::string("-linux-gnu"),
          .arch = {},
          .bytes = other},
      module::Image{.triple = machine + "-linux-gnu", .arch = {}, .bytes = own}};
  auto written = module::write_container(images);
  REQUIRE(written.has_value());
  return std::move(*written);
}

}  // namespace

TEST_CASE_FIXTURE(CodeFixture, "code that nobody has loaded comes to members of both executors") {
  for (const char* way : ways_to_code)
    for (const bool by_digest : {true, false})
      for (const auto& [from, to] : {std::pair(1U, 4U), std::pair(3U, 2U)}) {
        CAPTURE(way);
        CAPTURE(by_digest);
        CAPTURE(from);
        const auto module = next_module();
        const std::string number = std::to_string(variant);
        deploy(by_digest ? digest_of(module) : "echo" + number + "@0123456789abcdef", module);
        const std::string function =
            by_digest ? digest_of(module) + ".echo" : "echo" + number + ".echo@0123456789abcdef";
        const CrewFunction call = bringer(way);
        CHECK(text_of(call.invoke(from, far_wish(to, function))) == "hello");
        // The other executor has it as well from then on, by whatever name.
        CHECK(text_of(call.invoke(to, far_wish(from, function))) == "hello");
        const unsigned known = source->look_ups;
        CHECK(known > 0);
        for (unsigned member = 1; member <= 4; ++member)
          CHECK(text_of(call.invoke(member, far_wish(5 - member, function))) == "hello");
        if (by_digest) CHECK(source->look_ups == known);
      }
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CodeFixture,
                  "members of both executors may want the same code at the same time") {
  const auto module = next_module();
  deploy(digest_of(module), module);
  std::vector<CrewFunction> calls;
  for (const char* way : ways_to_code) calls.push_back(bringer(way));
  std::vector<std::future<Reply>> replies;
  for (unsigned i = 0; i < 48; ++i)
    replies.push_back(
        calls[i % 3].async(i % 4 + 1, far_wish((i + 1) % 4 + 1, digest_of(module) + ".echo")));
  for (auto& reply : replies) CHECK(text_of(reply.get()) == "hello");
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CodeFixture, "what the program has loaded comes to members elsewhere from it") {
  const auto module = next_module();
  (void)crew.function(module, "echo");
  for (const char* way : ways_to_code)
    for (unsigned member = 1; member <= 4; ++member)
      CHECK(text_of(bringer(way).invoke(
                member, far_wish(5 - member, digest_of(module) + ".echo"))) == "hello");
  CHECK(source->look_ups == 0);
}

TEST_CASE_FIXTURE(CodeFixture, "what nobody knows is a clear error at members elsewhere, too") {
  const std::string unknown = "sha256:" + std::string(64, 'a');
  for (const char* way : ways_to_code)
    for (const unsigned member : {1U, 4U}) {
      CAPTURE(way);
      CAPTURE(member);
      const Error error = error_of(
          [&] { (void)bringer(way).invoke(member, far_wish(5 - member, unknown + ".echo")); });
      check_clear(error, ErrorKind::function_error);
      CHECK(error.message().find("no deployed function has " + unknown) != std::string::npos);
    }
  // Known where the call comes from, and no more where it goes to.
  const auto module = next_module();
  source->deploy(digest_of(module), module);
  const Error error = error_of(
      [&] { (void)bringer("by_forward").invoke(1, far_wish(4, digest_of(module) + ".echo")); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().find("which member 4 does not have") != std::string::npos);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CodeFixture, "a call that waits for code elsewhere ends at its deadline") {
  const auto module = next_module();
  deploy(digest_of(module), module);
  const CrewFunction call = bringer("by_forward");
  source->silent = true;
  check_clear(error_of([&] {
                (void)call.invoke(4, far_wish(1, digest_of(module) + ".echo"),
                                  {.deadline = milliseconds(300)});
              }),
              ErrorKind::deadline_exceeded);
  source->silent = false;
  source->silent.notify_all();
  CHECK(text_of(call.invoke(4, far_wish(1, digest_of(module) + ".echo"))) == "hello");
}

TEST_CASE_FIXTURE(CodeFixture,
                  "each member loads its own image of a module for several processors") {
  const CrewFunction walk = crew.function(fat_module(test_module("walks_crew")), "walk");
  for (unsigned first = 1; first <= 4; ++first)
    CHECK(walk_of(walk.invoke(first, bytes_of({.left = 9, .stride = 1}))).sum ==
          sum_of({.left = 9, .stride = 1}, first, 4));
  // Also of one that it has fetched by itself.
  const auto fetched = fat_module(next_module());
  deploy(digest_of(fetched), fetched);
  for (const char* way : ways_to_code)
    for (unsigned member = 1; member <= 4; ++member)
      CHECK(text_of(bringer(way).invoke(
                member, far_wish(5 - member, digest_of(fetched) + ".echo"))) == "hello");
  CHECK(crew.formations() == 1);
}

}  // namespace orchid::tests
