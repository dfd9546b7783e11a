#include <doctest/doctest.h>
#include <fcntl.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "pilots/pilot_logs.h"
#include "pilots/pilot_place.h"
#include "pilots/submission_gate.h"
#include "run_orchid.h"
#include "scratch.h"

namespace orchid::cli {
namespace {

/// A gateway that seems to run, with its state in `scratch`.
std::string fake_gateway(const Scratch& scratch, std::vector<std::string> addresses) {
  REQUIRE(write_gateway_file(scratch.path(), {.addresses = std::move(addresses),
                                              .socket = scratch / "gateway.sock",
                                              .token_file = scratch / "token",
                                              .state = scratch.path(),
                                              .version = "0",
                                              .pid = 1})
              .has_value());
  return "unix:" + (scratch / "gateway.sock").string();
}

std::string address(std::vector<std::string> addresses) {
  const PilotPlace place{.gateway = GatewayFile{.addresses = std::move(addresses)}};
  return place.address_for_nodes("").value_or("");
}

}  // namespace

TEST_CASE("the logs of the last pilots stay, and of those in the queue") {
  const Scratch scratch;
  for (const char* name : {"9.log", "10.log", "11.log", "12.log", "notes.txt", "x.log"})
    std::ofstream(scratch / name) << "said";
  remove_old_logs(scratch.path(), {{.job = 9}}, 2);
  for (const char* name : {"9.log", "11.log", "12.log", "notes.txt", "x.log"})
    CHECK_MESSAGE(std::filesystem::exists(scratch / name), name);
  CHECK_FALSE(std::filesystem::exists(scratch / "10.log"));
  CHECK(log_of(scratch.path(), 12) == scratch / "12.log");
  remove_old_logs(scratch / "nothing", {}, 0);
  CHECK(noted_trouble(scratch.path()).empty());
  note_trouble(scratch.path(), "refused\ntoo wide\n");
  CHECK(noted_trouble(scratch.path()) == std::vector<std::string>{"refused", "too wide"});
  note_trouble(scratch.path(), "");
  CHECK(noted_trouble(scratch.path()).empty());
}

TEST_CASE("a pause begins when no submission is under way, and keeps others from beginning") {
  using namespace std::chrono_literals;
  const Scratch scratch;
  const SubmissionGate gate(scratch.path());
  const SubmissionGate::SystemTime now{std::chrono::seconds(1'000)};
  {
    const auto submission = gate.enter_unless_paused(now);
    REQUIRE((submission && *submission));
    CHECK(gate.pause(now, now + 10s, 0ms).error().code == ErrorCode::timed_out);
  }
  REQUIRE(gate.pause(now, now + 10s, 0ms).has_value());
  CHECK_FALSE(gate.enter_unless_paused(now + 9s).value().has_value());
  CHECK(gate.enter_unless_paused(now + 10s).value().has_value());
  // Who started before the pause keeps it, who starts after it does not.
  CHECK_FALSE(
      SubmissionGate(scratch.path(), now - 1s).enter_unless_paused(now).value().has_value());
  CHECK(SubmissionGate(scratch.path(), now + 1s).enter_unless_paused(now).value().has_value());
  CHECK_FALSE(SubmissionGate(scratch / "nothing").enter_unless_paused(now).has_value());
}

TEST_CASE("nodes are told an address that is not the gateway's own host's alone") {
  CHECK(address({"http://127.0.0.1:1", "http://10.0.0.5:2"}) == "10.0.0.5:2");
  CHECK(address({"http://[::1]:1", "http://[fd00::5]:2/"}) == "[fd00::5]:2");
  CHECK(address({"http://0.0.0.0:80"}).ends_with(":80"));
  CHECK_FALSE(address({"http://0.0.0.0:80"}).starts_with("0"));
  CHECK(address({"http://127.0.0.1:1", "http://[::1]:1"}).empty());
  const PilotPlace place{.gateway = GatewayFile{}};
  CHECK(place.address_for_nodes("login1:1").value() == "login1:1");
}

TEST_CASE("a gateway's mark is made once, and found again without the gateway's help") {
  const Scratch scratch;
  const std::string gateway = fake_gateway(scratch, {});
  auto place = find_pilot_place(gateway);
  REQUIRE(place.has_value());
  CHECK(place->mark.empty());
  REQUIRE(mark(*place).has_value());
  const std::string made = place->mark;
  CHECK(made.size() == 12);
  REQUIRE(mark(*place).has_value());
  CHECK(find_pilot_place(gateway)->mark == made);
  std::ofstream(scratch / "pilot-mark") << "$(id)\n";
  CHECK(find_pilot_place(gateway).error().code == ErrorCode::bad_configuration);
}

TEST_CASE("pilots of a gateway with another state directory are found by its name") {
  const Scratch scratch;
  CHECK(find_pilot_place("", scratch.path()).error().code == ErrorCode::not_found);
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
    auto place = find_pilot_place("unix:/nowhere/gateway.sock", scratch.path());
    REQUIRE(place.has_value());
    CHECK(place->state == own);
    CHECK(place->mark == "0123456789ab");
    CHECK_FALSE(place->gateway.has_value());
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    REQUIRE(::fcntl(file.get(), F_OFD_SETLK, &lock) == 0);
    CHECK(find_pilot_place("", scratch.path())->gateway.has_value());
  }
}

TEST_CASE("what orchid pilot is told wrong is a usage error") {
  const Scratch scratch;
  const std::string gateway = fake_gateway(scratch, {"http://10.0.0.5:2"});
  const auto status = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--gateway", gateway});
    return orchid(words).status;
  };
  CHECK(orchid({"pilot"}).status == 2);
  CHECK(status({"pilot", "start", "--dry-run", "--memory", "1GiB"}) == 0);
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
  const Scratch scratch;
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
  const Scratch scratch;
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
