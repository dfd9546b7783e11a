// --lane-fabric: what an executor says of its network, and what it does when the device is missing.
#include "fabric_probe.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "executor_fixture.h"

namespace orchid::tests {
namespace {

using executor::check_fabric;
using executor::FabricFound;
using executor::LaneFabric;

CommandResult executor_with(std::vector<std::string> more) {
  const TemporaryDirectory directory;
  std::vector<std::string> words{
      PROGRAMS "/orchid-executor", "--gateway", "unix:/nonexistent",       "--runtime",
      directory.path() / "run",    "--state",   directory.path() / "state"};
  words.insert(words.end(), more.begin(), more.end());
  return run({.words = words, .deadline = std::chrono::seconds(20)});
}

}  // namespace

TEST_CASE(
    "an executor that is told to use verbs ends where there is no device, and says what to do") {
  const auto found = executor::probe_fabric(std::filesystem::path(PROGRAMS) / "orchid-worker");
  REQUIRE_MESSAGE(found.has_value(), found.error().message);
  REQUIRE(found->usable);
  CHECK(contains(found->description, "UCX_TLS="));
  if (found->verbs) {
    MESSAGE("skipped: this host has an RDMA device: " << found->description);
    return;
  }
  const auto ended = executor_with({"--lane-listen", "127.0.0.1:0", "--lane-fabric", "verbs"});
  CHECK(ended.status == 3);
  for (const char* part : {"--lane-fabric", "ucx_info -d", "/dev/infiniband", "auto"})
    CHECK_MESSAGE(contains(ended.out + ended.err, part), ended.out << ended.err);
}

TEST_CASE("a fabric that there is not, or one for nobody, is refused") {
  const auto unknown = executor_with({"--lane-listen", "127.0.0.1:0", "--lane-fabric", "fast"});
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.out + unknown.err, "verbs"));
  const auto useless = executor_with({"--lane-fabric", "auto"});
  CHECK(useless.status == 2);
  CHECK(contains(useless.out + useless.err, "--lane-listen"));
}

TEST_CASE("what the executor prints of its fabric is what doctor reads") {
  const auto printed = run({.words = {PROGRAMS "/orchid-executor", "--probe-fabric"}});
  REQUIRE(printed.status == 0);
  const auto document = nlohmann::json::parse(printed.out);
  CHECK(document.at("usable") == true);
  CHECK(document.at("verbs").is_boolean());
  CHECK(contains(document.at("description").get<std::string>(), "UCX_TLS="));
}

TEST_CASE("verbs need a device, auto does not, and tcp needs nothing") {
  const FabricFound none{.description = "UCX_TLS=tcp,self (TCP: UCX finds no verbs device)"};
  const FabricFound card{.verbs = true, .description = "UCX_TLS=rc,tcp,self (verbs on mlx5_0:1)"};
  const FabricFound no_ucx{.description = "install the Debian package libucx0", .usable = false};
  CHECK(check_fabric(LaneFabric::tcp, no_ucx).has_value());
  CHECK(check_fabric(LaneFabric::automatic, none).has_value());
  CHECK(check_fabric(LaneFabric::automatic, card).has_value());
  CHECK(check_fabric(LaneFabric::verbs, card).has_value());
  CHECK(check_fabric(LaneFabric::automatic, no_ucx).error().message == no_ucx.description);
  const auto refused = check_fabric(LaneFabric::verbs, none);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(contains(refused.error().message, "finds no verbs device"));
}

}  // namespace orchid::tests
