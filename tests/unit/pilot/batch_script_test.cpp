#include "pilot/batch_script.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace orchid::pilot {
namespace {

PilotRequest request() {
  return {.job_name = pilot_job_name("1a2b"),
          .partition = "idle",
          .gateway = "login1:8080",
          .token_file = "/home/me/.local/state/orchid/token",
          .program = "/opt/orchid/bin/orchid-executor"};
}

bool has(const std::string& script, std::string_view part) {
  return script.find(part) != std::string::npos;
}

/// What bash says of it without running it.
bool is_bash(const std::string& script) {
  FILE* bash = ::popen("/bin/bash -n", "w");
  REQUIRE(bash != nullptr);
  REQUIRE(std::fwrite(script.data(), 1, script.size(), bash) == script.size());
  return ::pclose(bash) == 0;
}

}  // namespace

TEST_CASE("a pilot's script asks for what was asked for, and nothing else") {
  PilotRequest r = request();
  r.qos = "low";
  r.account = "physics";
  r.node_list = "n[1-2]";
  r.time = std::chrono::seconds(3661);
  r.nodes = 2;
  r.cores = 8;
  r.memory = 4_GiB;
  r.log_file = "/home/me/pilots/%j.log";
  r.longest_wait = std::chrono::seconds(120);
  r.options = {"--constraint=bigmem&fast"};
  r.gives_way = false;
  r.bandwidth_cap = 2_GiB;
  const auto script = batch_script(r);
  REQUIRE(script.has_value());
  for (const char* line :
       {"#SBATCH --job-name=orchid-pilot-1a2b\n", "#SBATCH --partition=idle\n",
        "#SBATCH --qos=low\n", "#SBATCH --account=physics\n", "#SBATCH --nodelist=n[1-2]\n",
        "#SBATCH --time=01:01:01\n", "#SBATCH --deadline=now+3840\n", "#SBATCH --nodes=2\n",
        "#SBATCH --cpus-per-task=8\n", "#SBATCH --mem=4194304K\n",
        "#SBATCH --output=/home/me/pilots/%j.log\n", "#SBATCH --export=NIL\n",
        "#SBATCH --constraint=bigmem&fast\n", "export gateway='login1:8080'\n",
        "export scheduling=normal bandwidth_cap=2147483648\n"})
    CHECK_MESSAGE(has(*script, line), line);
  CHECK(is_bash(*script));

  const auto plain = batch_script(request());
  REQUIRE(plain.has_value());
  for (const char* option : {"--qos", "--account", "--nodelist", "--mem=", "--deadline"})
    CHECK_MESSAGE(!has(*plain, std::string("#SBATCH ") + option), option);
  CHECK(has(*plain, "#SBATCH --output=/dev/null\n"));
  CHECK(has(*plain, "export host_identity=boot\n"));
  CHECK(has(*plain, "export scheduling=idle bandwidth_cap=0\n"));
}

TEST_CASE("a pilot keeps as much data as was said, and what its executor does if nothing was") {
  PilotRequest r = request();
  CHECK(has(*batch_script(r), "export data_memory=\n"));
  CHECK(has(*batch_script(r), R"(${data_memory:+--data-memory "$data_memory"})"));
  r.data_memory = 4_GiB;
  CHECK(has(*batch_script(r), "export data_memory=4294967296\n"));
  r.data_memory = 0_B;
  CHECK(has(*batch_script(r), "export data_memory=0\n"));
  r.memory = 4_GiB;
  CHECK(batch_script(r).has_value());
  r.data_memory = 4_GiB;
  CHECK(batch_script(r).error().message.contains("cannot keep 4 GiB of it for data"));
  r.site = true;
  r.program = "/opt/orchid/orchid-grant";
  CHECK(batch_script(r).error().message.contains("--executor-option=--data-memory"));
  r.data_memory.reset();
  CHECK_FALSE(has(*batch_script(r), "data_memory"));
}

TEST_CASE("a pilot stands behind everybody, unless its user says otherwise") {
  PilotRequest r = request();
  r.longest_wait = std::chrono::hours(1);
  const auto usual = batch_script(r);
  REQUIRE(usual.has_value());
  CHECK(has(*usual, "#SBATCH --nice=2147483645\n"));
  CHECK(has(*usual, "#SBATCH --deadline=now+4200\n"));

  r.options = {"--nice=50", "--deadline=2030-01-01", "--nicer=1"};
  const auto changed = batch_script(r);
  REQUIRE(changed.has_value());
  CHECK(has(*changed, "#SBATCH --nice=50\n"));
  CHECK(has(*changed, "#SBATCH --deadline=2030-01-01\n"));
  CHECK_FALSE(has(*changed, "2147483645"));
  CHECK_FALSE(has(*changed, "now+"));
  r.options = {"--nice"};
  CHECK_FALSE(has(*batch_script(r), "--nice="));
}

TEST_CASE("a pilot's GPUs are asked for, and told to its executor by index") {
  PilotRequest r = request();
  r.gpus = 2;
  CHECK(has(*batch_script(r), "#SBATCH --gres=gpu:2\n"));
  r.gpu_model = "a100";
  CHECK(has(*batch_script(r), "#SBATCH --gres=gpu:a100:2\n"));
  CHECK_FALSE(has(*batch_script(request()), "--gres"));
  r.gpus = 0;
  CHECK_FALSE(batch_script(r).has_value());
  r.gpus = 1;
  r.gpu_model = "a100 --uid=0";
  CHECK_FALSE(batch_script(r).has_value());
}

TEST_CASE("the step's own script is bash, too, and holds no value") {
  const auto script = batch_script(request());
  REQUIRE(script.has_value());
  const auto begin = script->find("/bin/bash -c '");
  REQUIRE(begin != std::string::npos);
  std::string step = script->substr(begin + 14);
  for (std::size_t quote = step.find("'\\''"); quote != std::string::npos;
       quote = step.find("'\\''", quote + 1))
    step.replace(quote, 4, "'");
  step.resize(step.rfind('\''));
  CHECK(is_bash(step));
  CHECK_FALSE(has(step, "login1"));
  CHECK_FALSE(has(step, "/opt/orchid"));
}

TEST_CASE("no value becomes a command, an option or a line of its own") {
  for (const char* bad : {"x;touch /tmp/y", "x\n#SBATCH --uid=0", "$(id)", "`id`", "a b", "-w", "'",
                          "\"", "a\\b", "a\tb"}) {
    CAPTURE(bad);
    PilotRequest r = request();
    for (std::string* value : {&r.job_name, &r.partition, &r.qos, &r.account, &r.node_list,
                               &r.gateway, &r.lane_listen}) {
      const std::string before = *value;
      *value = bad;
      const auto refused = batch_script(r);
      REQUIRE_FALSE(refused.has_value());
      CHECK(refused.error().code == ErrorCode::bad_request);
      *value = before;
    }
    r.options = {std::string("--constraint=") + bad};
    CHECK(batch_script(r).has_value() == (std::string_view(bad) == "-w"));
  }
}

TEST_CASE("paths may have any printable sign, and stay one word") {
  PilotRequest r = request();
  r.token_file = "/home/o'brien; rm -rf $HOME/to ken";
  const auto script = batch_script(r);
  REQUIRE(script.has_value());
  CHECK(has(*script, "export token_file='/home/o'\\''brien; rm -rf $HOME/to ken'\n"));
  CHECK(is_bash(*script));
  r.token_file = "/home/x\ny";
  CHECK_FALSE(batch_script(r).has_value());
  r.token_file = "token";
  const auto refused = batch_script(r);
  REQUIRE_FALSE(refused.has_value());
  CHECK(has(refused.error().message, "must be an absolute path"));
}

TEST_CASE("amounts that no pilot can have are refused") {
  const auto refused = [](auto change) {
    PilotRequest r = request();
    change(r);
    return !batch_script(r).has_value();
  };
  CHECK(refused([](PilotRequest& r) { r.time = std::chrono::seconds(59); }));
  CHECK(refused([](PilotRequest& r) { r.nodes = 0; }));
  CHECK(refused([](PilotRequest& r) { r.cores = 0; }));
  CHECK(refused([](PilotRequest& r) { r.memory = 1_MiB; }));
  CHECK(refused([](PilotRequest& r) { r.gateway_grace = std::chrono::seconds(0); }));
  CHECK(refused([](PilotRequest& r) { r.gateway = "login1"; }));
  CHECK(refused([](PilotRequest& r) { r.longest_wait = std::chrono::seconds(-1); }));
  CHECK(refused([](PilotRequest& r) { r.options = {"--output=/tmp/x"}; }));
  CHECK(refused([](PilotRequest& r) { r.options = {"constraint=x"}; }));
  CHECK_FALSE(refused([](PilotRequest& r) { r.time = std::chrono::hours(48); }));
}

TEST_CASE("in site mode the step is the placeholder, and knows neither gateway nor token") {
  PilotRequest r = request();
  r.site = true;
  r.gateway.clear();
  r.token_file.clear();
  r.program = "/opt/orchid/bin/orchid-grant";
  const auto script = batch_script(r);
  REQUIRE(script.has_value());
  CHECK(is_bash(*script));
  CHECK(has(*script, "exec \"$program\" --grant pilot --for everybody"));
  CHECK(has(*script, "export program='/opt/orchid/bin/orchid-grant'"));
  for (const char* part :
       {"gateway=\'", "token_file", "--token-file", "/tmp/orchid-pilot", "--core-list"})
    CHECK_MESSAGE(!has(*script, part), part);
  r.host_socket = "relative.sock";
  CHECK(batch_script(r).error().code == ErrorCode::bad_request);
  r.host_socket = "/run/else/host.sock";
  CHECK(has(*batch_script(r), "export host_socket='/run/else/host.sock'"));
}

}  // namespace orchid::pilot
