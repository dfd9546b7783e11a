// One Orchid on an x86 machine and an Arm machine: a module with an image for each runs on both.
#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>

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
constexpr Target targets[]{{"cpu", "x86_64"}, {"dpu", "aarch64"}};

std::vector<std::byte> bytes_of(const std::filesystem::path& file) {
  auto bytes = read_file(file, 64_MiB);
  REQUIRE(bytes.has_value());
  return std::move(*bytes);
}

}  // namespace

TEST_CASE("over a lease the target of the worker's host says which image runs") {
  const auto architecture =
      bytes_of(site->fat_module(SOURCES "/tests/data/functions/reports_architecture.c"));
  Client client = site->client();
  for (const Target& target : targets) {
    CAPTURE(target.architecture);
    Lease lease =
        client.lease({.within = seconds(60), .constraints = {.architecture = target.architecture}});
    CHECK(lease.module(architecture).function().invoke("").text() == target.architecture);
  }
}

}  // namespace orchid::tests
