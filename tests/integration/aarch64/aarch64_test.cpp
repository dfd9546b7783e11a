// One Orchid on an x86 machine and an Arm machine: a module with an image for each runs on both.
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "foundation/files.h"
#include "mixed_site.h"

namespace orchid::tests {

extern std::optional<MixedSite> site;  // of main.cpp

namespace {

using std::chrono::seconds;

struct Target {
  const char* kind;
  const char* architecture;
};
constexpr std::array targets{Target{"cpu", "x86_64"}, Target{"dpu", "aarch64"}};

/// As `orchid build --target` names them.
const std::vector<std::string> both{"x86-64", "aarch64"};

std::vector<std::byte> bytes_of(const std::filesystem::path& file) {
  auto bytes = read_file(file, 64_MiB);
  REQUIRE(bytes.has_value());
  return std::move(*bytes);
}

/// A worker on the machine of this kind, which is given the time that an emulated one needs.
Lease on(Client& client, const Target& target) {
  return client.lease({.within = seconds(60), .constraints = {.kind = target.kind}});
}

Error error_of(const LeasedFunction& function, seconds deadline) {
  try {
    (void)function.invoke("", {.deadline = deadline});
  } catch (const Error& error) {
    return error;
  }
  return Error({.message = "no error"});
}

}  // namespace

TEST_CASE("the target of the worker's host says which image runs, over HTTP and over a lease") {
  const auto module = site->module(SOURCES "/tests/data/functions/reports_architecture.c", both);
  (void)site->orchid({"deploy", module.string()});
  Client client = site->client();
  for (const Target& target : targets) {
    CAPTURE(target.kind);
    CHECK(site->orchid({"invoke", "reports_architecture", "--on", target.kind}) ==
          target.architecture);
    Lease lease = on(client, target);
    CHECK(lease.module(bytes_of(module)).function().invoke("").text() == target.architecture);
  }
}

TEST_CASE("a module with one image goes to the machine that can run it, or nowhere") {
  const std::filesystem::path source = SOURCES "/tests/data/functions/reports_architecture.c";
  (void)site->orchid({"deploy", site->module(source, {"aarch64"}).string(), "--name", "for_arm"});
  (void)site->orchid({"deploy", site->module(source, {"x86-64"}).string(), "--name", "for_x86"});
  CHECK(site->orchid({"invoke", "for_arm"}) == "aarch64");
  CHECK(site->orchid({"invoke", "for_x86"}) == "x86_64");
  CHECK_THROWS_WITH_AS((void)site->client().invoke("for_x86", "", {.host_kind = "dpu"}),
                       doctest::Contains("no image for aarch64; the module has x86-64"), Error);
}

TEST_CASE("the results are the same on both, over HTTP and over a lease") {
  const auto module = site->module(SOURCES "/functions/wordcount/wordcount.cpp", both);
  (void)site->orchid({"deploy", module.string()});
  const auto text = bytes_of(SOURCES "/LICENSE");
  constexpr std::string_view counts = "202 1581 11358\n";  // as `wc` has them
  Client client = site->client();
  for (const Target& target : targets) {
    CAPTURE(target.kind);
    CHECK(site->orchid({"invoke", "wordcount", "--on", target.kind}, std::string(as_text(text))) ==
          counts);
    Lease lease = on(client, target);
    CHECK(lease.module(bytes_of(module)).function().invoke(text).text() == counts);
  }
}

TEST_CASE("a function that fails on the Arm machine costs one call, and says why") {
  Client client = site->client();
  Lease lease = on(client, targets[1]);
  const auto crashes =
      lease.module(bytes_of(site->module(SOURCES "/tests/data/functions/segfaults.c", both)))
          .function();
  const auto loops =
      lease.module(bytes_of(site->module(SOURCES "/tests/data/functions/loops.c", both)))
          .function();
  const Error crash = error_of(crashes, seconds(60));
  CHECK(crash.kind() == ErrorKind::function_crashed);
  CHECK(crash.message().find("orchid_entry_segfaults") != std::string::npos);
  CHECK(crash.node() == MixedSite::machine);
  CHECK(error_of(loops, seconds(1)).kind() == ErrorKind::deadline_exceeded);
  const auto next =
      lease.module(bytes_of(site->module(SOURCES "/functions/echo/echo.c", both))).function();
  CHECK(next.invoke("again").text() == "again");
}

}  // namespace orchid::tests
