#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "doctor/examination.h"
#include "processes/child_process.h"
#include "run_orchid.h"
#include "scratch_folder.h"
#include "supervisor/gateway_file.h"

namespace orchid::cli {
namespace {

/// A machine on which everything works; a test breaks one thing.
DoctorEnvironment healthy() {
  return {
      .version = "0.1.0",
      .uid = 1000,
      .programs = "/opt/orchid/bin",
      .find_program = [](const std::string& name) -> std::optional<std::filesystem::path> {
        if (name == "sbatch") return std::nullopt;  // no Slurm here
        return "/opt/orchid/bin/" + name;
      },
      .run = [](const std::vector<std::string>& command) -> Result<ProgramResult> {
        if (command.back() == "--probe-sandbox")
          return ProgramResult{.status = 0,
                               .output = R"({"landlock_abi":7,"seccomp":true,"missing":[]})",
                               .errors = ""};
        if (command.back() == "--probe-fabric")
          return ProgramResult{
              .status = 0,
              .output = R"({"usable":true,"verbs":false,"description":"UCX_TLS=tcp,self"})",
              .errors = ""};
        if (command.back() == "--probe-driver")
          return ProgramResult{
              .status = 1,
              .output =
                  R"({"usable":false,"fault":"no_driver","message":"m","remedy":"r","cards":0})",
              .errors = ""};
        return ProgramResult{.status = 0, .output = "Debian clang version 19.1.7", .errors = ""};
      },
      .variable = [](const std::string&) { return std::optional<std::string>("/run/user/1000"); },
      .directory =
          [](const std::filesystem::path&) {
            return DirectoryFacts{.exists = true, .owner = 1000, .mode = 0700, .free = 10_GiB};
          },
      .folders =
          [] {
            return OrchidFolders{.is_running = false,
                                 .runtime = "/run/user/1000/orchid",
                                 .state = "/home/me/.local/state/orchid"};
          },
      .gateway_address =
          [] { return Result<std::string>("unix:/run/user/1000/orchid/gateway.sock"); },
      .ask_gateway = [](const std::string& path) -> Result<GatewayAnswer> {
        if (path == "/version") return GatewayAnswer{200, R"({"version":"0.1.0"})"};
        if (path == "/v1/hosts")
          return GatewayAnswer{
              200, R"({"hosts":[{"executors":[{"state":"connected","workers_ready":2}]}]})"};
        return GatewayAnswer{200, "{}"};
      },
      .stopped_processes = [] { return std::vector<StoppedProcess>(); },
      .hostname_resolves = [] { return true; },
      .open_files_limit = [] { return std::uint64_t{20'000}; }};
}

/// Answers `path` with this, and the rest as the healthy one does.
DoctorEnvironment answering(const std::string& path, GatewayAnswer answer) {
  DoctorEnvironment environment = healthy();
  environment.ask_gateway = [path, answer, rest = environment.ask_gateway](
                                const std::string& asked) -> Result<GatewayAnswer> {
    return asked == path ? Result<GatewayAnswer>(answer) : rest(asked);
  };
  return environment;
}

DoctorEnvironment with_sandbox(const std::string& answer) {
  DoctorEnvironment environment = healthy();
  environment.run = [answer](const std::vector<std::string>&) {
    return Result<ProgramResult>(ProgramResult{0, answer, ""});
  };
  return environment;
}

DoctorEnvironment with_directories(DirectoryFacts facts) {
  DoctorEnvironment environment = healthy();
  environment.directory = [facts](const std::filesystem::path&) { return facts; };
  return environment;
}

/// Time passes only while somebody pauses; then a test may change the world.
class Pauses final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  [[nodiscard]] Patience patience(std::chrono::nanoseconds longest) {
    return {.longest = longest, .clock = *this, .pause = [this](std::chrono::milliseconds time) {
              CHECK(time <= std::chrono::milliseconds(50));
              CHECK(time.count() > 0);
              now_ += time;
              if (++count == change_after && change) change();
            }};
  }
  int count = 0;
  int change_after = 0;
  std::function<void()> change;

 private:
  MonotonicTime now_;
};

void check_is(const Finding& finding, Health health) {
  CAPTURE(finding.check);
  CAPTURE(finding.detail);
  CHECK(finding.health == health);
  CHECK_FALSE(finding.detail.empty());
  CHECK(finding.remedy.empty() == (health == Health::good));
}

/// What an Orchid that runs as process `pid`, with all its files in `scratch`, tells its clients.
GatewayFile write_file_of(int pid, const tests::Scratch& scratch) {
  GatewayFile file{.addresses = {"http://127.0.0.1:1"},
                   .socket = scratch / "gateway.sock",
                   .token_file = scratch / "token",
                   .state = scratch / "state",
                   .version = "1.2.3",
                   .pid = pid};
  REQUIRE(write_gateway_file(scratch.path(), file).has_value());
  return file;
}

}  // namespace

TEST_CASE("on a healthy machine all checks are good") {
  const auto findings = examine(healthy());
  CHECK(findings.size() == 18);
  for (const Finding& finding : findings) check_is(finding, Health::good);
}

TEST_CASE("a missing, broken or other compiler is found") {
  DoctorEnvironment environment = healthy();
  environment.find_program = [](const std::string&) {
    return std::optional<std::filesystem::path>();
  };
  check_is(check_compiler(environment), Health::broken);
  check_is(check_programs(environment), Health::broken);
  check_is(check_sandbox(environment), Health::broken);
  environment = healthy();
  environment.run = [](const std::vector<std::string>&) -> Result<ProgramResult> {
    return ProgramResult{1, "", ""};
  };
  check_is(check_compiler(environment), Health::broken);
  check_is(check_compiler(with_sandbox("Debian clang version 14.0.6")), Health::broken);
}

TEST_CASE("which lanes there would be is told, and that UCX is missing") {
  const auto says = [](const Finding& finding, const char* part) {
    return finding.detail.find(part) != std::string::npos;
  };
  const auto tcp = check_lanes(healthy());
  check_is(tcp, Health::good);
  CHECK(says(tcp, "UCX over TCP"));
  CHECK_FALSE(says(tcp, "--lane-fabric"));
  const auto verbs = check_lanes(with_sandbox(
      R"({"usable":true,"verbs":true,"description":"UCX_TLS=rc,tcp,self, verbs on mlx5_0:1"})"));
  check_is(verbs, Health::good);
  CHECK(says(verbs, "--lane-fabric"));
  CHECK(says(verbs, "mlx5_0:1"));
  const auto none =
      check_lanes(with_sandbox(R"({"usable":false,"verbs":false,"description":"no libucp.so.0"})"));
  check_is(none, Health::doubtful);
  CHECK(says(none, "libucp"));
  CHECK(none.remedy.find("libucx0") != std::string::npos);
  check_is(check_lanes(with_sandbox("no JSON")), Health::broken);
}

TEST_CASE("a GPU's driver that is missing, too old or without a card is told apart") {
  const auto gpus = [](const std::string& answer) { return check_gpus(with_sandbox(answer)); };
  check_is(check_gpus(healthy()), Health::good);
  const auto usable =
      gpus(R"({"usable":true,"driver":"CUDA 12.4","gpus":["NVIDIA A100","NVIDIA T4"]})");
  check_is(usable, Health::good);
  CHECK(usable.detail == "CUDA 12.4: NVIDIA A100, NVIDIA T4");
  const auto missing = gpus(
      R"({"usable":false,"fault":"no_driver","message":"no driver","remedy":"install","cards":2})");
  check_is(missing, Health::doubtful);
  CHECK(missing.detail == "no driver; NVIDIA's cards in this machine: 2");
  CHECK(missing.remedy == "install");
  check_is(gpus(R"({"usable":false,"fault":"old_driver","message":"old","remedy":"x","cards":1})"),
           Health::doubtful);
  check_is(gpus(R"({"usable":false,"fault":"no_device","message":"none","remedy":"x","cards":0})"),
           Health::doubtful);
  check_is(gpus("no JSON"), Health::broken);
  check_is(gpus(R"({"usable":false})"), Health::broken);
  DoctorEnvironment environment = healthy();
  environment.find_program = [](const std::string&) { return std::nullopt; };
  check_is(check_gpus(environment), Health::broken);
}

TEST_CASE("a runtime directory of somebody else, open to others, or in an open folder is found") {
  for (const DirectoryFacts& facts :
       {DirectoryFacts{.exists = true, .owner = 1000, .mode = 0777, .free = 1_GiB},
        DirectoryFacts{.exists = true, .owner = 1, .mode = 0700, .free = 1_GiB},
        DirectoryFacts{.exists = true, .owner = 1000, .mode = 0700, .unwritable = true},
        DirectoryFacts{.is_other = true}})
    check_is(check_runtime_directory(with_directories(facts)), Health::broken);
  DoctorEnvironment open_above = healthy();
  open_above.directory = [](const std::filesystem::path& path) {
    const bool is_above = path == "/run/user/1000";
    return DirectoryFacts{.exists = is_above, .owner = 1000, .mode = 0777, .free = 1_GiB};
  };
  check_is(check_runtime_directory(open_above), Health::broken);
  check_is(check_runtime_directory(with_directories({})), Health::good);  // it will be made
}

TEST_CASE("a runtime directory in another place than XDG_RUNTIME_DIR names is told") {
  DoctorEnvironment environment = healthy();
  environment.folders = [] { return OrchidFolders{.runtime = "/tmp/orchid-1000", .state = "/s"}; };
  check_is(check_runtime_directory(environment), Health::doubtful);
  environment.variable = [](const std::string&) { return std::optional<std::string>(); };
  check_is(check_runtime_directory(environment), Health::good);
  environment = healthy();
  environment.variable = [](const std::string&) -> std::optional<std::string> {
    return "/run/user/1000/";
  };
  check_is(check_runtime_directory(environment), Health::good);
}

TEST_CASE("a state directory that cannot be written, or not be made, is found") {
  check_is(check_state_directory(with_directories(
               {.exists = true, .owner = 1000, .mode = 0500, .free = 1_GiB, .unwritable = true})),
           Health::broken);
  check_is(check_state_directory(
               with_directories({.exists = true, .owner = 1000, .mode = 0720, .free = 1_GiB})),
           Health::broken);
  check_is(check_state_directory(with_directories({.free = 1_GiB, .is_other = true})),
           Health::broken);
  DoctorEnvironment environment = healthy();
  environment.directory = [](const std::filesystem::path& path) {
    const bool is_home = path == "/home/me";
    return DirectoryFacts{
        .exists = is_home, .owner = 1000, .mode = 0755, .free = 1_GiB, .unwritable = is_home};
  };
  const Finding refused = check_state_directory(environment);
  check_is(refused, Health::broken);
  CHECK(refused.detail.contains("/home/me cannot be written"));
}

TEST_CASE("what the doctor calls broken, 'orchid up' refuses") {
  namespace fs = std::filesystem;
  const tests::Scratch scratch;
  const fs::path open = scratch.path() / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  const fs::path link = scratch.path() / "link";
  fs::create_symlink(open, link);
  const std::string good = scratch / "good";
  struct Case {
    fs::path state;
    fs::path runtime;
    const char* why;
  };
  for (const Case& wrong :
       {Case{open, good, "can be written by others"}, Case{link, good, "a file or a link"},
        Case{good, open, "can be written by others"},
        Case{good, open / "run", "who could exchange run in it"}}) {
    CAPTURE(wrong.why);
    const Ran refused =
        orchid({"up", "--state", wrong.state.string(), "--runtime", wrong.runtime.string()});
    CHECK(refused.status == 6);
    CHECK(refused.err.contains(wrong.why));
    CHECK_FALSE(fs::exists(open / "run"));
  }
}

TEST_CASE("programs that are found, but not beside this one, are told") {
  DoctorEnvironment environment = healthy();
  environment.find_program = [](const std::string& name) -> std::optional<std::filesystem::path> {
    return (name == "orchid-worker" ? "/usr/bin/" : "/opt/orchid/bin/") + name;
  };
  const Finding found = check_programs(environment);
  check_is(found, Health::broken);
  CHECK(found.detail == "/usr/bin/orchid-worker is there, but not in /opt/orchid/bin");
}

TEST_CASE("a program that a signal has stopped is told, with how to let it run") {
  DoctorEnvironment environment = healthy();
  environment.stopped_processes = [] {
    return std::vector<StoppedProcess>{{.program = "orchid-executor", .pid = 7},
                                       {.program = "orchid-gateway", .pid = 8}};
  };
  const Finding stopped = check_stopped(environment);
  check_is(stopped, Health::broken);
  CHECK(stopped.detail.starts_with("orchid-executor (pid 7), orchid-gateway (pid 8) stopped"));
  CHECK(stopped.remedy.ends_with("kill -CONT 7 8"));
}

TEST_CASE("a child of the examined 'orchid up' that is stopped is found") {
  const tests::Scratch scratch;
  const GatewayFile file = write_file_of(::getpid(), scratch);
  const std::string program = scratch / "orchid-executor";
  std::filesystem::copy_file("/bin/sleep", program);
  auto child = processes::ChildProcess::start({.program = program, .arguments = {"60"}});
  REQUIRE(child.has_value());
  const auto is_found = [&] {
    return std::ranges::any_of(real_doctor_environment("unix:" + file.socket).stopped_processes(),
                               [&](const StoppedProcess& process) {
                                 return process.pid == child->pid() &&
                                        process.program == "orchid-executor";
                               });
  };
  CHECK_FALSE(is_found());
  REQUIRE(::kill(child->pid(), SIGSTOP) == 0);
  int status = 0;
  REQUIRE(::waitpid(child->pid(), &status, WUNTRACED) == child->pid());
  CHECK(is_found());
  child->kill();
}

TEST_CASE("of an Orchid that runs its own folders are examined, wherever they are") {
  DoctorEnvironment environment = healthy();
  environment.folders = [] {
    return OrchidFolders{.is_running = true, .runtime = "/scratch/run", .state = "/scratch/state"};
  };
  DirectoryFacts runtime{.exists = true, .owner = 1000, .mode = 0700, .free = 10_GiB};
  DirectoryFacts above{.exists = true, .owner = 0, .mode = 01777, .free = 10_GiB};
  environment.directory = [&](const std::filesystem::path& path) {
    if (path == "/scratch") return above;
    return path.string().starts_with("/scratch/") ? runtime : DirectoryFacts{};
  };
  CHECK(check_runtime_directory(environment).detail == "/scratch/run");
  CHECK(check_state_directory(environment).detail.starts_with("/scratch/state, 10 GiB"));
  above.mode = 0777;
  check_is(check_runtime_directory(environment), Health::broken);
  above.mode = 0755;
  check_is(check_runtime_directory(environment), Health::good);
  runtime.mode = 0770;
  check_is(check_runtime_directory(environment), Health::broken);
  runtime.exists = false;
  check_is(check_runtime_directory(environment), Health::broken);
  environment.folders = [] { return OrchidFolders{}; };
  CHECK(check_runtime_directory(environment).detail.starts_with("not checked"));
  check_is(check_state_directory(environment), Health::good);
}

TEST_CASE("the folders of the gateway that clients reach are those that its gateway.json names") {
  const tests::Scratch scratch;
  const GatewayFile file = write_file_of(42, scratch);
  const auto found = real_doctor_environment("unix:" + file.socket).folders();
  CHECK(found.is_running);
  CHECK(found.runtime == scratch.path());
  CHECK(found.state == file.state);
  const auto elsewhere = real_doctor_environment("http://login1:8080").folders();
  CHECK_FALSE(elsewhere.is_running);
  CHECK(elsewhere.state.empty());
}

TEST_CASE("whoever waits sees the machine as it is once nothing is broken any more") {
  bool is_up = false;
  int programs_started = 0;
  DoctorEnvironment environment = healthy();
  environment.gateway_address = [&] {
    return is_up ? Result<std::string>("unix:/s") : fail(ErrorCode::unreachable, "nothing there");
  };
  environment.run = [&, run = environment.run](const std::vector<std::string>& command) {
    ++programs_started;
    return run(command);
  };
  Pauses pauses;
  pauses.change_after = 3;
  pauses.change = [&] { is_up = true; };
  const auto findings = examine_until_well(environment, pauses.patience(std::chrono::seconds(30)));
  CHECK(findings.size() == 18);
  CHECK_FALSE(is_any_broken(findings));
  CHECK(pauses.count == 3);
  CHECK(programs_started == 4);  // a compiler and three probes: only the last examination
}

TEST_CASE("waiting for what stays broken ends with what is broken, and no wait is one look") {
  for (const auto longest : {std::chrono::milliseconds(0), std::chrono::milliseconds(120)}) {
    Pauses pauses;
    DoctorEnvironment environment = with_sandbox("garbage");
    const auto findings = examine_until_well(environment, pauses.patience(longest));
    CHECK(is_any_broken(findings));
    CHECK(findings.size() == 18);
    CHECK(pauses.count == (longest.count() == 0 ? 0 : 3));
  }
}

TEST_CASE("a full disk and another user's state directory are found") {
  check_is(check_state_directory(
               with_directories({.exists = true, .owner = 1000, .mode = 0700, .free = 1_MiB})),
           Health::broken);
  check_is(check_state_directory(
               with_directories({.exists = true, .owner = 7, .mode = 0700, .free = 10_GiB})),
           Health::broken);
}

TEST_CASE("a kernel that cannot confine functions is found") {
  check_is(check_sandbox(with_sandbox("garbage")), Health::broken);
  check_is(check_sandbox(with_sandbox(R"({"landlock_abi":7,"seccomp":false,"missing":[]})")),
           Health::broken);
  check_is(check_sandbox(with_sandbox(R"({"landlock_abi":0,"seccomp":true,"missing":[]})")),
           Health::doubtful);
  check_is(
      check_sandbox(with_sandbox(R"({"landlock_abi":3,"seccomp":true,"missing":["network"]})")),
      Health::doubtful);
}

TEST_CASE(
    "few open files and a name that does not resolve are doubtful, and do not fail the doctor") {
  DoctorEnvironment environment = healthy();
  environment.open_files_limit = [] { return std::uint64_t{1024}; };
  environment.hostname_resolves = [] { return false; };
  check_is(check_open_files(environment), Health::doubtful);
  check_is(check_hostname(environment), Health::doubtful);
  CHECK(std::ranges::none_of(examine(environment),
                             [](const Finding& f) { return f.health == Health::broken; }));
}

TEST_CASE(
    "a gateway that is not there, does not answer or is no gateway is found, and what needs it is "
    "not asked") {
  DoctorEnvironment environment = healthy();
  environment.gateway_address = [] {
    return Result<std::string>(fail(ErrorCode::unreachable, "no Orchid gateway found"));
  };
  check_is(check_gateway_found(environment), Health::broken);
  CHECK(examine(environment).size() == 11);
  environment = healthy();
  environment.ask_gateway = [](const std::string&) {
    return Result<GatewayAnswer>(fail(ErrorCode::unreachable, "refused"));
  };
  check_is(check_gateway_answers(environment), Health::broken);
  check_is(check_token(environment), Health::broken);
  check_is(check_executor(environment), Health::broken);
  check_is(check_gateway_answers(answering("/healthz", {404, ""})), Health::broken);
}

TEST_CASE("a batch system that is not asked, or does not answer, is found") {
  check_is(check_batch_system(answering("/v1/hosts", {200, R"({"clusters":[]})"})), Health::good);
  auto with_slurm = answering("/v1/hosts", {200, R"({"clusters":[]})"});
  with_slurm.find_program = [](const std::string& name) {
    return std::optional<std::filesystem::path>("/usr/bin/" + name);
  };
  check_is(check_batch_system(with_slurm), Health::doubtful);
  check_is(
      check_batch_system(answering(
          "/v1/hosts", {200, R"({"clusters":[{"source":"slurm","cluster":"fern","state":"current",)"
                             R"("nodes":[{},{}]}]})"})),
      Health::good);
  const Finding stale = check_batch_system(answering(
      "/v1/hosts", {200, R"({"clusters":[{"source":"slurm","cluster":"fern","state":"stale",)"
                         R"("message":"slurmctld does not answer"}]})"}));
  check_is(stale, Health::doubtful);
  CHECK(stale.detail == "slurm fern is stale: slurmctld does not answer");
}

TEST_CASE("another version, a wrong token, no executor and no worker are found") {
  check_is(check_version(answering("/version", {200, R"({"version":"0.0.9"})"})), Health::doubtful);
  check_is(check_version(answering("/version", {200, "<html>"})), Health::doubtful);
  check_is(check_token(answering("/v1/functions", {401, ""})), Health::broken);
  check_is(check_token(answering("/v1/functions", {500, ""})), Health::broken);
  check_is(check_executor(answering("/v1/hosts", {200, R"({"hosts":[]})"})), Health::broken);
  check_is(check_executor(
               answering("/v1/hosts", {200, R"({"hosts":[{"executors":[{"state":"lost"}]}]})"})),
           Health::broken);
  check_is(check_executor(answering(
               "/v1/hosts",
               {200, R"({"hosts":[{"executors":[{"state":"lost"},{"state":"connected"}]}]})"})),
           Health::doubtful);
  const Finding odd = check_executor(answering("/v1/hosts", {200, R"({"hosts":[3]})"}));
  check_is(odd, Health::broken);
  CHECK(odd.detail == "'hosts' must be a list of objects");
  check_is(check_workers(answering(
               "/v1/hosts",
               {200, R"({"hosts":[{"executors":[{"state":"connected","workers_ready":0}]}]})"})),
           Health::broken);
}

TEST_CASE("the memory for data is told, and that it is almost used up") {
  const auto used = [](const std::string& executors) {
    return check_data(
        answering("/v1/hosts", {200, R"({"hosts":[{"executors":[)" + executors + "]}]}"}));
  };
  const Finding some = used(R"({"data_memory_bytes":1073741824,"data_used_bytes":536870912},)"
                            R"({"data_memory_bytes":1073741824,"data_used_bytes":0},{})");
  check_is(some, Health::good);
  CHECK(some.detail == "512 MiB of 2 GiB used, on 2 executors");
  const Finding none = used(R"({"workers_ready":1})");
  check_is(none, Health::good);
  CHECK(none.detail.contains("--data-memory"));
  const Finding full = used(R"({"data_memory_bytes":1000,"data_used_bytes":960})");
  check_is(full, Health::doubtful);
  CHECK(full.detail.contains("960 B of 1000 B used, on 1 executor"));
  CHECK(full.remedy.contains("orchid data list"));
  CHECK_FALSE(full.remedy.contains("orchid leases"));
  const Finding leased = used(R"({"data_memory_bytes":1000,"data_used_bytes":960,)"
                              R"("data_leased_bytes":900,"data_on_disk_bytes":2048})");
  check_is(leased, Health::doubtful);
  CHECK(leased.detail.contains(
      "960 B of 1000 B used (900 B of it leased), and 2 KiB on disk, on 1 executor"));
  CHECK(leased.remedy.contains("orchid leases"));
  check_is(check_data(answering("/v1/hosts", {500, ""})), Health::broken);
}

TEST_CASE("the system calls of functions are what the executor says, or it is said why not") {
  DoctorEnvironment environment = healthy();
  CHECK_FALSE(calls_of_functions(environment).has_value());  // an older executor names none
  environment.run = [](const std::vector<std::string>&) -> Result<ProgramResult> {
    return ProgramResult{
        .status = 0,
        .output = R"({"calls":[{"name":"kill","only":"to itself"},{"name":"read","only":""}]})",
        .errors = ""};
  };
  const auto calls = calls_of_functions(environment);
  REQUIRE(calls.has_value());
  REQUIRE(calls->size() == 2);
  CHECK(calls->front().name == "kill");
  CHECK(calls->front().only == "to itself");
  CHECK(calls->back().only.empty());
  environment.find_program = [](const std::string&) { return std::nullopt; };
  CHECK(calls_of_functions(environment).error().code == ErrorCode::not_found);
}

}  // namespace orchid::cli
