#include "share/step_command.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace orchid::share {
namespace {

ShareRequest request_of(ShareOption option) {
  return {.job = {.id = 17, .cluster = {}, .cpus = {4, 4}, .per_cpu = ByteCount{1ULL << 30}},
          .option = option,
          .gateway = "192.0.2.7:8080",
          .token_file = "/home/u/token",
          .programs = "/opt/orchid",
          .srun = "/usr/bin/srun",
          .ends_in = std::chrono::seconds(100)};
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

/// What follows it.
std::string after(const std::vector<std::string>& words, const std::string& word) {
  const auto found = std::ranges::find(words, word);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

}  // namespace

TEST_CASE("a share is a step on each node that takes nothing from other steps") {
  const auto words = step_command(request_of({}));
  CHECK(words.front() == "/usr/bin/srun");
  for (const char* word : {"--jobid=17", "--overlap", "--nodes=2", "--ntasks=2", "--gres=none",
                           "--job-name=orchid-share", "/opt/orchid/orchid"})
    CHECK_MESSAGE(has(words, word), word);
  CHECK(after(words, "--address") == "192.0.2.7:8080");
  CHECK(after(words, "--ends-in") == "95s");  // with a margin
  CHECK(after(words, "--memory-per-cpu") == "1024MiB");
  CHECK_FALSE(has(words, "--memory"));
  CHECK_FALSE(has(words, "--cores"));
}

TEST_CASE("what its functions may move is capped if that is said") {
  CHECK_FALSE(has(step_command(request_of({})), "--bandwidth-cap"));
  const auto capped = step_command(request_of({.bandwidth_bytes = 2ULL << 30}));
  CHECK(after(capped, "--bandwidth-cap") == "2048MiB");
}

TEST_CASE("memory for data is what was said, of an executor of one's own") {
  ShareRequest request = request_of({});
  CHECK_FALSE(has(step_command(request), "--data-memory"));
  request.data_memory = 2_GiB;
  CHECK(after(step_command(request), "--data-memory") == "2147483648");
  request.site = true;
  CHECK_FALSE(has(step_command(request), "--data-memory"));
}

TEST_CASE("memory is shared as cores are, if nothing else is said") {
  CHECK(after(step_command(request_of({.cores = 2})), "--cores") == "2");
  CHECK(after(step_command(request_of({.memory_bytes = 1ULL << 30})), "--memory") == "1024MiB");
  BatchJob job{.id = 1, .cluster = {}, .cpus = {4}, .per_node = 8_GiB};
  CHECK(memory_of({.cores = 1}, job, 4) == 2_GiB);
  CHECK(memory_of({.cores = 5}, job, 4) == 8_GiB);
  job.per_node.reset();
  CHECK_FALSE(memory_of({}, job, 4).has_value());
  CHECK(memory_of({.memory_bytes = 1ULL << 30}, job, 4) == 1_GiB);
}

TEST_CASE(
    "a node on which a job has fewer CPUs has no more memory for functions than the job has") {
  const BatchJob job{.id = 1, .cluster = {}, .cpus = {64, 1}, .per_cpu = 2_GiB};
  CHECK(memory_of({}, job, 64) == 128_GiB);
  CHECK(memory_of({}, job, 1) == 2_GiB);
  CHECK(memory_of({.cores = 2}, job, 1) == 2_GiB);
  CHECK(memory_of({.memory_bytes = 4ULL << 30}, job, 64) == 4_GiB);
  CHECK(memory_of({.memory_bytes = 4ULL << 30}, job, 1) == 2_GiB);
}

TEST_CASE("what a job script tells its own steps is not told to the share") {
  const auto kept = step_environment({"PATH=/bin", "SLURM_EXACT=1", "SLURM_CONF=/etc/slurm.conf",
                                      "HOME=/home/u", "SRUN_CPUS_PER_TASK=3", "SECRET=x"});
  CHECK(kept ==
        std::vector<std::string>{"PATH=/bin", "SLURM_CONF=/etc/slurm.conf", "HOME=/home/u"});
}

TEST_CASE("in site mode the step needs neither the gateway nor a token") {
  ShareRequest request = request_of({.cores = 2});
  request.site = true;
  const auto words = step_command(request);
  CHECK(has(words, "--site"));
  CHECK(after(words, "--cores") == "2");
  CHECK(after(words, "--gateway-grace") == "600s");
  for (const char* word : {"--address", "--token-file", "--lane-listen", "--for", "--host-socket"})
    CHECK_MESSAGE(!has(words, word), word);
  request.for_everybody = true;
  request.host_socket = "/run/else/host.sock";
  CHECK(after(step_command(request), "--for") == "everybody");
  CHECK(after(step_command(request), "--host-socket") == "/run/else/host.sock");
}

}  // namespace orchid::share
