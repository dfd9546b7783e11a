// doctor/examination.h: what `orchid doctor` looks at. Each check is a function of an environment
// that tests can break.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "supervisor/folder_facts.h"
#include "terminal/programs.h"

namespace orchid::cli {

/// What the gateway answered to GET `path`.
struct GatewayAnswer {
  int status = 0;
  std::string body;
};

/// One of Orchid's programs that does not run on, since a signal has stopped it.
struct StoppedProcess {
  std::string program;
  pid_t pid = 0;
};

/// The folders of the Orchid that is examined. Empty: not known, because it runs elsewhere.
struct OrchidFolders {
  bool is_running = false;        // otherwise they are those that the next one would have
  std::filesystem::path runtime;  // sockets and gateway.json
  std::filesystem::path state;    // functions, results and the token
};

/// The world as the checks see it. Every function may be called at any time and must not throw.
struct DoctorEnvironment {
  std::string version;
  uid_t uid = 0;
  std::filesystem::path programs;  // where this program and its siblings are
  std::function<std::optional<std::filesystem::path>(const std::string& name)> find_program;
  std::function<Result<ProgramResult>(const std::vector<std::string>& command)> run;
  std::function<std::optional<std::string>(const std::string& name)> variable;
  LookAtDirectory directory;
  std::function<OrchidFolders()> folders;
  std::function<Result<std::string>()> gateway_address;  // how clients find the gateway
  std::function<Result<GatewayAnswer>(const std::string& path)> ask_gateway;
  /// Children of the `orchid up` that is examined.
  std::function<std::vector<StoppedProcess>()> stopped_processes;
  std::function<bool()> hostname_resolves;
  std::function<std::uint64_t()> open_files_limit;  // the hard one
};
/// `gateway`: what --gateway said; may be empty.
[[nodiscard]] DoctorEnvironment real_doctor_environment(const std::string& gateway);

enum class Health { good, doubtful, broken };

struct Finding {
  std::string check;
  Health health = Health::good;
  std::string detail;
  std::string remedy;  // what to do; empty when good
};

[[nodiscard]] Finding check_compiler(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_programs(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_stopped(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_runtime_directory(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_state_directory(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_sandbox(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_lanes(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_gpus(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_open_files(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_hostname(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_gateway_found(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_gateway_answers(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_version(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_token(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_batch_system(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_executor(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_workers(const DoctorEnvironment& environment);
[[nodiscard]] Finding check_data(const DoctorEnvironment& environment);

/// A system call that functions keep, and what of it; empty: all.
struct KeptCall {
  std::string name;
  std::string only;
};
/// As the executor's own filter has them. Errors: `not_found`, `internal`.
[[nodiscard]] Result<std::vector<KeptCall>> calls_of_functions(
    const DoctorEnvironment& environment);

/// All of them; those that need a gateway stop at the first that it fails.
[[nodiscard]] std::vector<Finding> examine(const DoctorEnvironment& environment);

[[nodiscard]] bool is_any_broken(const std::vector<Finding>& findings);

struct Patience {
  std::chrono::nanoseconds longest;
  const Clock& clock;
  std::function<void(std::chrono::milliseconds)> pause;
};
/// Again and again until nothing is broken or `longest` has passed; how things stand then.
[[nodiscard]] std::vector<Finding> examine_until_well(const DoctorEnvironment& environment,
                                                      const Patience& patience);

}  // namespace orchid::cli
