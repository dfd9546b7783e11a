#include "configuration.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

namespace orchid::executor {
namespace {

Result<ParsedConfiguration> parse(std::vector<std::string> more) {
  std::vector<std::string> words{"orchid-executor", "--gateway", "unix:/g", "--runtime", "/r",
                                 "--state",         "/s"};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return parse_configuration(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace

TEST_CASE("a host id has at most 128 bytes") {
  const std::string longest(128, 'h');
  const auto parsed = parse({"--host-id", longest});
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message);
  CHECK(parsed->configuration.host_id == longest);
  const auto refused = parse({"--host-id", longest + "h"});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_configuration);
  CHECK(refused.error().message.find("--host-id") != std::string::npos);
  CHECK(refused.error().message.find("128") != std::string::npos);
}

TEST_CASE("sockets and code are in the scratch directory unless they have places of their own") {
  const char* words[] = {"orchid-executor", "--gateway", "unix:/g", "--scratch", "/s"};
  std::vector<char*> pointers;
  for (const char* word : words) pointers.push_back(const_cast<char*>(word));
  const auto in_it = parse_configuration(static_cast<int>(pointers.size()), pointers.data());
  REQUIRE_MESSAGE(in_it.has_value(), in_it.error().message);
  CHECK(in_it->configuration.runtime_directory == "/s/run");
  CHECK(in_it->configuration.state_directory == "/s/state");
  const auto outside = parse({"--scratch", "/scratch"});
  CHECK(outside->configuration.runtime_directory == "/r");
  CHECK(outside->configuration.state_directory == "/s");
}

TEST_CASE("what a batch system calls the host has at most 128 bytes") {
  const std::string longest(128, 'n');
  const auto parsed = parse({"--node", longest});
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message);
  CHECK(parsed->configuration.grant.node == longest);
  const auto refused = parse({"--node", longest + "n"});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("--node") != std::string::npos);
  CHECK(refused.error().message.find("128") != std::string::npos);
}

TEST_CASE("a host is told to be a DPU, and nothing that there is not") {
  CHECK(parse({})->configuration.kind.empty());
  CHECK(parse({"--kind", "dpu"})->configuration.kind == "dpu");
  const auto refused = parse({"--kind", "moon"});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("--kind") != std::string::npos);
}

TEST_CASE("lanes use TCP unless the fabric is called trusted") {
  CHECK(parse({})->configuration.lane_fabric == LaneFabric::tcp);
  const auto with = [](const char* fabric) {
    return parse({"--lane-listen", "127.0.0.1:0", "--lane-fabric", fabric});
  };
  CHECK(with("tcp")->configuration.lane_fabric == LaneFabric::tcp);
  CHECK(with("auto")->configuration.lane_fabric == LaneFabric::automatic);
  CHECK(with("verbs")->configuration.lane_fabric == LaneFabric::verbs);
  CHECK(with("fast").error().code == ErrorCode::bad_configuration);
  CHECK(parse({"--lane-fabric", "verbs"}).error().code == ErrorCode::bad_configuration);
}

TEST_CASE("what runs in a batch job's grant stands behind others, unless it is told otherwise") {
  const auto scheduling = [](std::vector<std::string> words) {
    return parse(std::move(words))->configuration.scheduling;
  };
  CHECK(scheduling({}) == SchedulingClass::normal);
  CHECK(scheduling({"--grant", "pilot"}) == SchedulingClass::idle);
  CHECK(scheduling({"--grant", "share"}) == SchedulingClass::idle);
  CHECK(scheduling({"--grant", "pilot", "--scheduling", "normal"}) == SchedulingClass::normal);
  CHECK(scheduling({"--scheduling", "idle"}) == SchedulingClass::idle);
  CHECK(parse({"--scheduling", "fast"}).error().code == ErrorCode::bad_configuration);
}

TEST_CASE("no memory bandwidth is capped unless a cap is given, of 64 MiB in a second and more") {
  CHECK(parse({})->configuration.bandwidth_cap.value == 0);
  CHECK(parse({"--bandwidth-cap", "0"})->configuration.bandwidth_cap.value == 0);
  CHECK(parse({"--bandwidth-cap", "2GiB"})->configuration.bandwidth_cap == 2_GiB);
  for (const char* wrong : {"63MiB", "much", "-1"}) {
    const auto refused = parse({"--bandwidth-cap", wrong});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::bad_configuration);
    CHECK(refused.error().message.find("--bandwidth-cap") != std::string::npos);
  }
}

TEST_CASE("GPUs are given by index, with or without their model") {
  const auto gpus = parse({"--gpus", "2-3", "--gpus", "a100:0"})->configuration.gpus;
  CHECK(gpus == std::vector<OfferedGpu>{{0, "a100"}, {2, ""}, {3, ""}});
  CHECK(parse({})->configuration.gpus.empty());
  for (const char* wrong : {"a100", "a100:", "x y:1", ":", "1-", "99999", "0=", "0=0", "0=GPU-",
                            "0-1=GPU-1", "0=MIG-1 2", "0=GPU-1,GPU-2"})
    CHECK_FALSE_MESSAGE(parse({"--gpus", wrong}).has_value(), wrong);
  CHECK(parse({"--gpus", "0-1", "--gpus", "b:1"}).error().message.find("GPU 1 twice") !=
        std::string::npos);
}

TEST_CASE("a GPU may be given by what its driver calls it") {
  const auto c =
      parse({"--gpus", "a100:4=MIG-c6d4f1ef-42e4", "--gpus", "2", "--gpus", "0=GPU-8d1f"})
          ->configuration;
  CHECK(c.gpus == std::vector<OfferedGpu>{{0, ""}, {2, ""}, {4, "a100"}});
  CHECK(c.gpu_uuids ==
        std::map<std::uint32_t, std::string>{{0, "GPU-8d1f"}, {4, "MIG-c6d4f1ef-42e4"}});
}

TEST_CASE("the numbers of offered cores may be a batch system's") {
  CHECK(parse({"--core-list", "1"})->configuration.core_list_counts == 0);
  CHECK(parse({"--core-list", "1", "--core-list-counts", "8"})->configuration.core_list_counts ==
        8);
  CHECK(parse({"--core-list-counts", "some"}).error().code == ErrorCode::bad_configuration);
}

TEST_CASE("only a batch job's cores can be fed") {
  CHECK(parse({"--grant", "share", "--core-feed", "7"})->configuration.core_feed == 7);
  CHECK(parse({})->configuration.core_feed == -1);
  CHECK(parse({"--core-feed", "7"}).error().code == ErrorCode::bad_configuration);
  CHECK(parse({"--grant", "share", "--core-feed", "1"}).error().code ==
        ErrorCode::bad_configuration);
}

TEST_CASE("whose the cores are, a site's service says") {
  CHECK_FALSE(parse({"--grant", "pilot"})->configuration.grant.owner.has_value());
  const auto site = parse({"--grant", "share", "--owner-uid", "1000", "--users", "everybody"});
  REQUIRE(site.has_value());
  CHECK(site->configuration.grant.owner == 1000);
  CHECK(site->configuration.grant.users == GrantUsers::everybody);
  CHECK_FALSE(parse({"--grant", "share", "--users", "owner"}).has_value());
  CHECK_FALSE(parse({"--grant", "share", "--owner-uid", "1", "--users", "all"}).has_value());
}

TEST_CASE("data objects have what is said, or a part of what workers would leave") {
  const auto of = [](const std::vector<std::string>& words, ByteCount memory, std::size_t cores) {
    const auto parsed = parse(words);
    REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message);
    return data_memory_of(parsed->configuration, {.memory = memory, .cores = cores});
  };
  CHECK(of({}, 64_GiB, 16) == 16_GiB);
  CHECK(of({}, 64_GiB, 60) == 4_GiB);
  CHECK(of({}, 64_GiB, 64) == 0_B);
  CHECK(of({}, 512_MiB, 1) == 0_B);
  CHECK(of({"--grant", "pilot"}, 64_GiB, 16) == 1_GiB);
  CHECK(of({"--grant", "share"}, 2_GiB, 1) == 512_MiB);
  CHECK(of({"--grant", "pilot", "--data-memory", "3GiB"}, 64_GiB, 64) == 3_GiB);
  CHECK(of({"--data-memory", "0"}, 64_GiB, 1) == 0_B);
  CHECK(parse({"--data-memory-per-tenant", "1GiB"})->configuration.data_memory_per_tenant == 1_GiB);
  const auto spills = parse({"--data-spill", "/scratch", "--data-spill-size", "16GiB"});
  REQUIRE(spills.has_value());
  CHECK(spills->configuration.data_spill == "/scratch");
  CHECK(spills->configuration.data_spill_size == 16_GiB);
  const auto nowhere = parse({"--data-spill-size", "16GiB"});
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().message.find("--data-spill-size needs --data-spill") != std::string::npos);
  const auto refused = parse({"--data-memory", "much"});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_configuration);
  CHECK(refused.error().message.find("--data-memory") != std::string::npos);
}

}  // namespace orchid::executor
