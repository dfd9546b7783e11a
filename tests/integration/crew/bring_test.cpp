// Code that travels by itself: calls that go on in modules which their crew has not loaded.
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "crew_fixture.h"
#include "makes_modules.h"
#include "protocol/crew.h"
#include "protocol/digest.h"

namespace orchid::tests {
namespace {

/// What brings_code.cpp is given.
std::vector<std::byte> wish(std::uint32_t member, const std::string& function,
                            std::string_view rest = "hello") {
  auto bytes = raw_bytes(member);
  append(bytes, std::as_bytes(std::span(function.c_str(), function.size() + 1)));
  append(bytes, std::as_bytes(std::span(rest)));
  return bytes;
}

std::vector<std::byte> echo_module(std::uint32_t variant) {
  return variant_of(bytes_of_file(std::filesystem::path(EXAMPLES) / "echo.bc"), variant);
}

/// A crew, and what is deployed for it.
struct Site {
  LocalExecutor executor{{.programs = PROGRAMS, .spare = 1}};
  ExecutorCrews* source = nullptr;
  Crew take(unsigned workers) {
    auto made = std::make_unique<ExecutorCrews>(executor);
    source = made.get();
    return take_crew(std::move(made), {.workers = workers});
  }
};

CrewFunction bringer(Crew& crew, std::string_view entry) {
  return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "brings_code.bc", entry);
}

constexpr std::array<const char*, 3> all_ways{"by_forward", "by_invoke", "by_spawn"};

}  // namespace

TEST_CASE("a call goes on in code that nobody has loaded, named by its digest or its function") {
  Site site;
  Crew crew = site.take(3);
  std::uint32_t variant = 0;
  for (const char* way : all_ways)
    for (const bool by_digest : {true, false}) {
      CAPTURE(way);
      CAPTURE(by_digest);
      const auto module = echo_module(++variant);
      const std::string name =
          by_digest ? digest_of(module) : "echo" + std::to_string(variant) + "@0123456789abcdef";
      site.source->deploy(name, module);
      const std::string function =
          by_digest ? name + ".echo" : "echo" + std::to_string(variant) + ".echo@0123456789abcdef";
      const CrewFunction call = bringer(crew, way);
      const unsigned before = site.source->look_ups;
      CHECK(text_of(call.invoke(1, wish(3, function))) == "hello");
      CHECK(site.source->look_ups == before + 1);
      // All members have it now.
      CHECK(text_of(call.invoke(1, wish(2, function))) == "hello");
      if (by_digest) CHECK(text_of(call.invoke(2, wish(1, function))) == "hello");
      CHECK(site.source->look_ups == before + 1);
    }
  CHECK(crew.formations() == 1);
}

TEST_CASE("code that the host has is fetched from nobody") {
  Site site;
  const auto module = echo_module(1);
  {
    Crew first = site.take(2);
    (void)first.function(module, "echo");
  }
  Crew crew = site.take(2);
  for (const char* way : all_ways)
    CHECK(text_of(bringer(crew, way).invoke(1, wish(2, digest_of(module) + ".echo"))) == "hello");
  CHECK(site.source->look_ups == 0);
}

TEST_CASE("what the program has loaded at some time is fetched from the program") {
  Site site;
  Crew crew = site.take(2);
  // Its bytes are the program's: no gateway is asked for the first 16 digits.
  const auto module = echo_module(1);
  (void)crew.function(module, "echo");
  CHECK(text_of(bringer(crew, "by_forward").invoke(1, wish(2, digest_of(module) + ".echo"))) ==
        "hello");
  CHECK(site.source->look_ups == 0);
}

TEST_CASE("a function may be named as a digest begins") {
  Site site;
  Crew crew = site.take(2);
  (void)crew.function(echo_module(1), "echo");
  for (const char* name : {"sha256", "s"}) {
    site.source->deploy(name, test_module("walks_crew"));
    const Reply reply = bringer(crew, "by_forward")
                            .invoke(1, wish(2, std::string(name) + ".walk", as_text(bytes_of({}))));
    CHECK(walk_of(reply).sum == 2);
  }
  CHECK(site.source->look_ups == 2);
}

TEST_CASE("a module that nobody knows is a clear error, and one that is bad as well") {
  Site site;
  Crew crew = site.take(2);
  const std::string unknown = "sha256:" + std::string(64, 'a');
  const auto bad = raw_bytes(std::uint64_t{0});
  site.source->deploy(digest_of(bad), bad);
  site.source->deploy("liar", bad);
  for (const char* way : all_ways) {
    CAPTURE(way);
    const CrewFunction call = bringer(crew, way);
    const Error nobody = error_of([&] { (void)call.invoke(1, wish(2, unknown + ".echo")); });
    check_clear(nobody, ErrorKind::function_error);
    CHECK(nobody.message().find("no deployed function has " + unknown) != std::string::npos);
    const Error name = error_of([&] { (void)call.invoke(1, wish(2, "nonesuch.echo")); });
    CHECK(name.message().find("no deployed function has nonesuch") != std::string::npos);
    check_clear(error_of([&] { (void)call.invoke(1, wish(2, digest_of(bad) + ".echo")); }),
                ErrorKind::function_error);
    // The module is there, and has no such entry.
    const auto module = echo_module(9);
    site.source->deploy(digest_of(module), module);
    const Error entry =
        error_of([&] { (void)call.invoke(1, wish(2, digest_of(module) + ".nonesuch")); });
    check_clear(entry, ErrorKind::function_error);
    CHECK(entry.message().find("nonesuch") != std::string::npos);
  }
  CHECK(crew.formations() == 1);
}

TEST_CASE("a program that sends another module than was asked for gets nothing to run") {
  Site site;
  Crew crew = site.take(2);
  const std::string asked = digest_of(echo_module(1));
  site.source->deploy(asked, echo_module(2));
  const Error error =
      error_of([&] { (void)bringer(crew, "by_forward").invoke(1, wish(2, asked + ".echo")); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().find("another module than was asked for") != std::string::npos);
}

TEST_CASE("a call that waits for code ends at its deadline, and others go on") {
  Site site;
  Crew crew = site.take(2);
  const CrewFunction call = bringer(crew, "by_forward");
  const auto module = echo_module(1);
  site.source->deploy(digest_of(module), module);
  site.source->silent = true;
  check_clear(error_of([&] {
                (void)call.invoke(1, wish(2, digest_of(module) + ".echo"),
                                  {.deadline = milliseconds(300)});
              }),
              ErrorKind::deadline_exceeded);
  site.source->silent = false;
  site.source->silent.notify_all();
  CHECK(text_of(call.invoke(1, wish(2, digest_of(module) + ".echo"))) == "hello");
}

TEST_CASE("all members may want the same code at the same time") {
  Site site;
  Crew crew = site.take(4);
  const auto module = echo_module(1);
  site.source->deploy(digest_of(module), module);
  std::vector<std::future<Reply>> replies;
  for (unsigned i = 0; i < 48; ++i)
    replies.push_back(bringer(crew, all_ways.at(i % 3))
                          .async(i % 4 + 1, wish((i + 1) % 4 + 1, digest_of(module) + ".echo")));
  for (auto& reply : replies) CHECK(text_of(reply.get()) == "hello");
  CHECK(crew.formations() == 1);
}

TEST_CASE("a member that is sent a call of a module that it lacks asks for it") {
  Site site;
  Crew crew = site.take(2);
  const CrewFunction known = bringer(crew, "by_forward");
  const auto module = echo_module(1);
  const auto call_of = [&](const std::string& digest) {
    auto unloaded = std::make_shared<sdk::CrewModule>();
    unloaded->digest = digest;
    unloaded->key = crew::module_key(digest);
    unloaded->entries = {"echo"};
    unloaded->loaded_at = {0, 1};  // so it says
    return sdk::CrewAccess::function(crew, std::move(unloaded), 0, "echo");
  };
  const std::string name = crew::name_of_key(crew::module_key(digest_of(module)));
  const Error error = error_of([&] { (void)call_of(digest_of(module)).invoke(2, "hello"); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().find(name + ", which member 2 does not have") != std::string::npos);
  site.source->deploy(name, module);
  CHECK(text_of(call_of(digest_of(module)).invoke(2, "hello")) == "hello");
  CHECK(text_of(call_of(digest_of(module)).invoke(1, "hello")) == "hello");
  CHECK(site.source->look_ups == 2);
  CHECK(text_of(known.invoke(1, wish(2, digest_of(module) + ".echo"))) == "hello");
  CHECK(crew.formations() == 1);
}

}  // namespace orchid::tests
