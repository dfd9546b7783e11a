#include "site/executor_arguments.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace orchid::site {
namespace {

/// What follows a word; "none" where it is not there.
std::string after(const std::vector<std::string>& words, const std::string& word) {
  const auto found = std::ranges::find(words, word);
  return found == words.end() || found + 1 == words.end() ? "none" : *(found + 1);
}

}  // namespace

TEST_CASE("an executor is told the site's gateway, the grant's owner and the job's terms") {
  const HostConfiguration site{.gateway = "gate:8080",
                               .token_file = "/etc/orchid/token",
                               .node = "n17",
                               .cluster = "fern",
                               .executor_options = {"--lane-fabric=auto"}};
  const GrantOffer offer{.source = GrantSource::share,
                         .job = 17,
                         .memory = ByteCount{64ULL << 20},
                         .ends_in = std::chrono::seconds(100)};
  const auto words = executor_arguments(site, {.offer = offer,
                                               .owner = 1000,
                                               .users = GrantUsers::owner,
                                               .cores = {0, 1, 5},
                                               .state = "/s/3",
                                               .runtime = "/r/3",
                                               .lane_listen = "10.0.0.7:0",
                                               .boot_id = "boot",
                                               .has_feed = true});
  CHECK(after(words, "--gateway") == "gate:8080");
  // The token itself is on no command line, and its file need not be readable to the executor.
  CHECK(after(words, "--token-file") == "/proc/self/fd/4");
  CHECK(after(words, "--grant") == "share");
  CHECK(after(words, "--owner-uid") == "1000");
  CHECK(after(words, "--users") == "owner");
  CHECK(after(words, "--core-list") == "0-1,5");
  CHECK(after(words, "--core-feed") == "3");
  CHECK(after(words, "--memory") == "67108864");
  CHECK(after(words, "--ends-in-s") == "100");
  CHECK(after(words, "--node") == "n17");
  CHECK(after(words, "--cluster") == "fern");
  CHECK(after(words, "--lane-listen") == "10.0.0.7:0");
  CHECK(after(words, "--host-id") == "none");
  CHECK(words.back() == "--lane-fabric=auto");
}

TEST_CASE("nodes that are one machine are hosts of their own") {
  const HostConfiguration site{.gateway = "unix:/run/g.sock", .host_is_node = true, .node = "n2"};
  const GrantOffer offer{.job = 17};
  const auto words = executor_arguments(
      site, {.offer = offer, .state = {}, .runtime = {}, .lane_listen = {}, .boot_id = "boot"});
  CHECK(after(words, "--host-id") == "boot/n2");
  // Another cluster's nodes may have the same names, and be the same machine.
  HostConfiguration of_cluster = site;
  of_cluster.cluster = "fern";
  CHECK(
      after(executor_arguments(
                of_cluster,
                {.offer = offer, .state = {}, .runtime = {}, .lane_listen = {}, .boot_id = "boot"}),
            "--host-id") == "boot/fern/n2");
  CHECK(after(words, "--token-file") == "none");
  CHECK(after(words, "--lane-listen") == "none");
  CHECK(after(words, "--core-feed") == "none");
}

}  // namespace orchid::site
