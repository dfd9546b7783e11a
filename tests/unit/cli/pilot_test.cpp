#include <doctest/doctest.h>
#include <fcntl.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "run_orchid.h"
#include "scratch_folder.h"
#include "supervisor/gateway_file.h"
#include "supervisor/pilot_owner.h"

namespace orchid::cli {
namespace {

/// A gateway that seems to run, with its state in `scratch`.
std::string fake_gateway(const tests::Scratch& scratch, std::vector<std::string> addresses) {
  REQUIRE(write_gateway_file(scratch.path(), {.addresses = std::move(addresses),
                                              .socket = scratch / "gateway.sock",
                                              .token_file = scratch / "token",
                                              .state = scratch.path(),
                                              .version = "0",
                                              .pid = 1})
              .has_value());
  return "unix:" + (scratch / "gateway.sock").string();
}

}  // namespace

TEST_CASE("a gateway's mark is made once, and found again without the gateway's help") {
  const tests::Scratch scratch;
  const std::string gateway = fake_gateway(scratch, {});
  auto owner = find_pilot_owner(gateway);
  REQUIRE(owner.has_value());
  CHECK(owner->mark.empty());
  REQUIRE(pilot::mark(*owner).has_value());
  const std::string made = owner->mark;
  CHECK(made.size() == 12);
  REQUIRE(pilot::mark(*owner).has_value());
  CHECK(find_pilot_owner(gateway)->mark == made);
  std::ofstream(scratch / "pilot-mark") << "$(id)\n";
  CHECK(find_pilot_owner(gateway).error().code == ErrorCode::bad_configuration);
}

TEST_CASE("pilots of a gateway with another state directory are found by its name") {
  const tests::Scratch scratch;
  CHECK(find_pilot_owner("", scratch.path()).error().code == ErrorCode::not_found);
  for (const auto& own : {scratch.path(), scratch / "gateway"}) {
    CAPTURE(own);
    std::filesystem::create_directories(own);
    const UniqueFd file(::open((own / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    std::ofstream(own / "pilot-mark") << "0123456789ab\n";
    REQUIRE(write_gateway_file(own, {.addresses = {"http://10.0.0.5:2"},
                                     .socket = own / "gateway.sock",
                                     .token_file = own / "token",
                                     .state = own})
                .has_value());
    // One that was killed has left its file.
    auto owner = find_pilot_owner("unix:/nowhere/gateway.sock", scratch.path());
    REQUIRE(owner.has_value());
    CHECK(owner->state == own);
    CHECK(owner->mark == "0123456789ab");
    CHECK_FALSE(owner->gateway.has_value());
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    REQUIRE(::fcntl(file.get(), F_OFD_SETLK, &lock) == 0);
    CHECK(find_pilot_owner("", scratch.path())->gateway.has_value());
  }
}

TEST_CASE("what orchid pilot is told wrong is a usage error") {
  const tests::Scratch scratch;
  const std::string gateway = fake_gateway(scratch, {"http://10.0.0.5:2"});
  const auto status = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--gateway", gateway});
    return orchid(words).status;
  };
  CHECK(orchid({"pilot"}).status == 2);
  CHECK(status({"pilot", "start", "--dry-run", "--memory", "1GiB"}) == 0);
  CHECK(status({"pilot", "start", "--dry-run", "--memory", "2GiB", "--data-memory", "1GiB"}) == 0);
  CHECK(status({"pilot", "start", "--dry-run", "--memory", "1GiB", "--data-memory", "1GiB"}) == 2);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--time", "soon"},
                                                {"--time", "10s"},
                                                {"--cores", "0"},
                                                {"--gpus", "0"},
                                                {"--gpus", "a100"},
                                                {"--gpus", "a100:"},
                                                {"--memory", "some"},
                                                {"--partition", "a b"},
                                                {"--host-identity", "ip"},
                                                {"--option", "wrap"},
                                                {"--bandwidth-cap", "much"},
                                                {"--bandwidth-cap", "63MiB"},
                                                {"--data-memory", "some"},
                                                {"--scheduling", "fast"},
                                                {"--count", "0"},
                                                {"--wait-at-most", "for ever"},
                                                {"--gateway-grace", "0"}}) {
    CAPTURE(wrong[0]);
    std::vector<std::string> words{"pilot", "start", "--dry-run"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    CHECK(status(words) == 2);
  }
  CHECK(status({"pilot", "stop"}) == 2);
  CHECK(status({"pilot", "stop", "--all", "7"}) == 2);
  CHECK(status({"pilot", "stop", "seven"}) == 2);
}

TEST_CASE("a pilot in whatever partition there is comes with a word of warning") {
  const tests::Scratch scratch;
  const std::string gateway = fake_gateway(scratch, {"http://10.0.0.5:2"});
  const auto run = [&](std::vector<std::string> words) {
    std::vector<std::string> all{"pilot", "start",     "--dry-run", "--memory",
                                 "1GiB",  "--gateway", gateway};
    all.insert(all.end(), words.begin(), words.end());
    return orchid(all);
  };
  CHECK(run({}).err.find("without --partition and --qos") != std::string::npos);
  CHECK(run({"--partition", "idle"}).err.empty());
  CHECK(run({"--qos", "low"}).err.empty());
  CHECK(run({"--wait-at-most", "30m"}).out.find("--deadline=now+2400\n") != std::string::npos);
  CHECK(run({"--wait-at-most", "0"}).out.find("--deadline") == std::string::npos);
  const Ran kept = orchid({"pilot", "keep", "--gateway", gateway});
  CHECK(kept.status == 2);
  CHECK(kept.err.find("need --partition or --qos") != std::string::npos);
}

TEST_CASE("a dry run prints the script, also as JSON") {
  const tests::Scratch scratch;
  const std::string gateway = fake_gateway(scratch, {"http://10.0.0.5:2"});
  const Ran plain =
      orchid({"pilot", "start", "--dry-run", "--memory", "1GiB", "--gateway", gateway});
  CHECK(plain.out.starts_with("#!/bin/bash\n"));
  CHECK(plain.out.find("gateway='10.0.0.5:2'") != std::string::npos);
  CHECK(plain.out.find((scratch / "token").string()) != std::string::npos);
  const Ran as_json =
      orchid({"pilot", "start", "--dry-run", "--memory", "1GiB", "--json", "--gateway", gateway});
  CHECK(nlohmann::json::parse(as_json.out).at("script") == plain.out);
}

}  // namespace orchid::cli
