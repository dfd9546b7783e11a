#include <doctest/doctest.h>

#include <algorithm>

#include "doctor/examination.h"

namespace orchid::cli {
namespace {

/// A machine on which everything works; a test breaks one thing.
DoctorEnvironment healthy() {
  return {
      .version = "0.1.0",
      .uid = 1000,
      .programs = "/opt/orchid/bin",
      .state = "/home/me/.local/state/orchid",
      .find_program = [](const std::string& name) -> std::optional<std::filesystem::path> {
        return "/opt/orchid/bin/" + name;
      },
      .run = [](const std::vector<std::string>& command) -> Result<ProgramResult> {
        if (command.back() == "--probe-sandbox")
          return ProgramResult{.status = 0,
                               .output = R"({"landlock_abi":7,"seccomp":true,"missing":[]})",
                               .errors = ""};
        return ProgramResult{.status = 0, .output = "Debian clang version 19.1.7", .errors = ""};
      },
      .variable = [](const std::string&) { return std::optional<std::string>("/run/user/1000"); },
      .directory =
          [](const std::filesystem::path&) {
            return DirectoryFacts{.exists = true, .owner = 1000, .mode = 0700, .free = 10_GiB};
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

void check_is(const Finding& finding, Health health) {
  CAPTURE(finding.check);
  CAPTURE(finding.detail);
  CHECK(finding.health == health);
  CHECK_FALSE(finding.detail.empty());
  CHECK(finding.remedy.empty() == (health == Health::good));
}

}  // namespace

TEST_CASE("on a healthy machine all checks are good") {
  const auto findings = examine(healthy());
  CHECK(findings.size() == 13);
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

TEST_CASE("a runtime directory of somebody else, open to others, or missing is found") {
  check_is(check_runtime_directory(
               with_directories({.exists = true, .owner = 1000, .mode = 0777, .free = 1_GiB})),
           Health::broken);
  check_is(check_runtime_directory(
               with_directories({.exists = true, .owner = 1, .mode = 0700, .free = 1_GiB})),
           Health::doubtful);
  check_is(check_runtime_directory(with_directories({})), Health::doubtful);
  DoctorEnvironment unset =
      with_directories({.exists = true, .owner = 1, .mode = 0700, .free = 1_GiB});
  unset.variable = [](const std::string&) { return std::optional<std::string>(); };
  check_is(check_runtime_directory(unset), Health::broken);
  unset.directory = [](const std::filesystem::path&) { return DirectoryFacts{}; };
  check_is(check_runtime_directory(unset), Health::good);
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
  CHECK(examine(environment).size() == 8);
  environment = healthy();
  environment.ask_gateway = [](const std::string&) {
    return Result<GatewayAnswer>(fail(ErrorCode::unreachable, "refused"));
  };
  check_is(check_gateway_answers(environment), Health::broken);
  check_is(check_token(environment), Health::broken);
  check_is(check_executor(environment), Health::broken);
  check_is(check_gateway_answers(answering("/healthz", {404, ""})), Health::broken);
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
  check_is(check_workers(answering(
               "/v1/hosts",
               {200, R"({"hosts":[{"executors":[{"state":"connected","workers_ready":0}]}]})"})),
           Health::broken);
}

}  // namespace orchid::cli
