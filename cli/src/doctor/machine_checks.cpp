// doctor/machine_checks.cpp: the checks that need no gateway.
#include <fmt/format.h>

#include "doctor/examination.h"
#include "foundation/json_document.h"

namespace orchid::cli {
namespace {

constexpr ByteCount least_free_space = 512_MiB;
constexpr std::uint64_t least_open_files = 4096;
constexpr int least_landlock = 1;
constexpr auto not_told = "not checked: no gateway.json says where this gateway has it";

Finding as_it_should_be(std::string check, std::string detail) {
  return {
      .check = std::move(check), .health = Health::good, .detail = std::move(detail), .remedy = ""};
}

std::string last_lines(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  return line.empty() ? "nothing" : line;
}

/// Of the Orchid that runs.
Finding check_running_runtime(const DoctorEnvironment& environment,
                              const std::filesystem::path& runtime) {
  constexpr auto check = "runtime folder";
  if (!environment.directory(runtime).exists)
    return {check, Health::broken, runtime.string() + " does not exist any more",
            "start 'orchid up' again"};
  if (const auto fault = runtime_folder_fault(environment.directory, runtime, environment.uid))
    return {check, Health::broken, *fault,
            "start Orchid again with --runtime DIR, below a folder of yours with mode 700"};
  return as_it_should_be(check, runtime.string());
}

}  // namespace

Finding check_compiler(const DoctorEnvironment& environment) {
  constexpr auto check = "clang 19";
  constexpr auto remedy =
      "apt install clang-19 llvm-19 ('orchid build' needs it; calling functions does not)";
  const auto clang = environment.find_program("clang++-19");
  if (!clang) return {check, Health::broken, "clang++-19 was not found", remedy};
  const auto version = environment.run({clang->string(), "--version"});
  if (!version || version->status != 0)
    return {check, Health::broken, clang->string() + " does not run", remedy};
  if (version->output.find("version 19.") == std::string::npos)
    return {check, Health::broken,
            clang->string() + " is another version: " + last_lines(version->output), remedy};
  return as_it_should_be(check, clang->string());
}

/// Each of them looks for the others beside itself, and `orchid up` starts only those.
Finding check_programs(const DoctorEnvironment& environment) {
  const std::string folder = environment.programs.string();
  std::string missing;
  std::string elsewhere;
  for (const char* name : {"orchid-gateway", "orchid-executor", "orchid-worker", "orchid-compiler",
                           "orchid-dispatch", "orchid-door", "orchid-copy", "orchid-depot",
                           "orchid-device", "orchid-flows", "orchid-memory"}) {
    const auto found = environment.find_program(name);
    if (!found)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
    else if (found->parent_path() != environment.programs)
      elsewhere += (elsewhere.empty() ? "" : ", ") + found->string();
  }
  constexpr auto remedy = "install or build all of Orchid; its programs must be in one folder";
  if (!missing.empty())
    return {"programs", Health::broken, missing + " not found in " + folder, remedy};
  if (!elsewhere.empty())
    return {"programs", Health::broken, elsewhere + " is there, but not in " + folder, remedy};
  return as_it_should_be("programs", "all in " + folder);
}

Finding check_stopped(const DoctorEnvironment& environment) {
  std::string names;
  std::string numbers;
  for (const StoppedProcess& process : environment.stopped_processes()) {
    names += fmt::format("{}{} (pid {})", names.empty() ? "" : ", ", process.program, process.pid);
    numbers += fmt::format(" {}", process.pid);
  }
  if (names.empty()) return as_it_should_be("processes", "none is stopped by a signal");
  return {"processes", Health::broken, names + " stopped by a signal: nothing it does goes on",
          "let it run: kill -CONT" + numbers};
}

Finding check_runtime_directory(const DoctorEnvironment& environment) {
  constexpr auto check = "runtime folder";
  const OrchidFolders folders = environment.folders();
  if (folders.runtime.empty()) return as_it_should_be(check, not_told);
  if (folders.is_running) return check_running_runtime(environment, folders.runtime);
  if (const auto fault =
          runtime_folder_fault(environment.directory, folders.runtime, environment.uid))
    return {check, Health::broken, *fault,
            "set XDG_RUNTIME_DIR to a folder of yours with mode 700, or remove what is there"};
  const auto variable = environment.variable("XDG_RUNTIME_DIR");
  if (variable && folders.runtime != std::filesystem::path(*variable) / "orchid")
    return {check, Health::doubtful,
            "XDG_RUNTIME_DIR is " + *variable + ", which is no folder of yours; using " +
                folders.runtime.string(),
            "unset XDG_RUNTIME_DIR, or set it to a folder of yours with mode 700"};
  return as_it_should_be(
      check, folders.runtime.string() + (variable ? "" : " (XDG_RUNTIME_DIR is not set)"));
}

Finding check_state_directory(const DoctorEnvironment& environment) {
  constexpr auto check = "state folder";
  const std::filesystem::path state = environment.folders().state;
  if (state.empty()) return as_it_should_be(check, not_told);
  if (const auto fault = state_folder_fault(environment.directory, state, environment.uid))
    return {check, Health::broken, *fault, "choose another one: orchid up --state DIR"};
  const auto place = existing_part(environment.directory, state);
  const ByteCount free = environment.directory(place).free;
  if (free < least_free_space)
    return {check, Health::broken,
            fmt::format("{} has {} free, {} are needed", place.string(), to_string(free),
                        to_string(least_free_space)),
            "make room there, or choose another place: orchid up --state DIR"};
  return as_it_should_be(check, fmt::format("{}, {} free", state.string(), to_string(free)));
}

Result<std::vector<KeptCall>> calls_of_functions(const DoctorEnvironment& environment) {
  const auto executor = environment.find_program("orchid-executor");
  if (!executor)
    return fail(ErrorCode::not_found,
                "orchid-executor was not found, so it cannot be asked; install all of Orchid");
  const auto probe = environment.run({executor->string(), "--probe-sandbox"});
  const JsonDocument document(probe ? probe->output : "");
  std::vector<KeptCall> calls;
  for (const JsonObject& call : document.root().optional().objects("calls"))
    calls.push_back({call.text("name"), call.text("only")});
  if (!calls.empty()) return calls;
  return fail(ErrorCode::internal, executor->string() +
                                       " --probe-sandbox names no system calls: is all of Orchid "
                                       "of one version?");
}

Finding check_sandbox(const DoctorEnvironment& environment) {
  constexpr auto check = "sandbox";
  const auto executor = environment.find_program("orchid-executor");
  if (!executor)
    return {check, Health::broken, "orchid-executor was not found, so it cannot be asked",
            "install or build all of Orchid"};
  const auto probe = environment.run({executor->string(), "--probe-sandbox"});
  const JsonDocument document(probe ? probe->output : "");
  const JsonObject o = document.root();
  const int abi = o.number<int>("landlock_abi");
  const bool has_filters = o.flag("seccomp");
  std::string missing;
  for (const std::string& item : o.optional().texts("missing"))
    missing += (missing.empty() ? "" : ", ") + item;
  if (!document.finish())
    return {check, Health::broken, executor->string() + " --probe-sandbox gives no answer",
            "run it to see why; is all of Orchid of one version?"};
  if (!has_filters)
    return {check, Health::broken,
            "the kernel has no seccomp filters: functions cannot be confined",
            "use a kernel with CONFIG_SECCOMP_FILTER"};
  if (abi < least_landlock)
    return {check, Health::doubtful, "the kernel has no Landlock: functions could read your files",
            "use a kernel from 5.13 with landlock in its lsm= list; run only code of your own "
            "until then"};
  if (!missing.empty())
    return {check, Health::doubtful,
            fmt::format("Landlock ABI {}, seccomp; not enforced: {}", abi, missing),
            "a newer kernel enforces more"};
  return as_it_should_be(check, fmt::format("Landlock ABI {}, seccomp", abi));
}

Finding check_lanes(const DoctorEnvironment& environment) {
  constexpr auto check = "lanes";
  const auto executor = environment.find_program("orchid-executor");
  if (!executor)
    return {check, Health::broken, "orchid-executor was not found, so it cannot be asked",
            "install or build all of Orchid"};
  const auto probe = environment.run({executor->string(), "--probe-fabric"});
  const JsonDocument document(probe ? probe->output : "");
  const JsonObject o = document.root();
  const bool is_usable = o.flag("usable");
  const bool has_verbs = o.flag("verbs");
  const std::string description = o.optional().text("description");
  if (!document.finish())
    return {check, Health::broken, executor->string() + " --probe-fabric gives no answer",
            "run it to see why; is all of Orchid of one version?"};
  if (!is_usable)
    return {check, Health::doubtful,
            "within this machine shared memory; to other machines none: " + description,
            "apt install libucx0 (only programs on several machines need it)"};
  if (has_verbs)
    return as_it_should_be(check,
                           "within this machine shared memory; to others UCX over TCP, or with "
                           "--lane-fabric auto or verbs " +
                               description);
  return as_it_should_be(
      check, "within this machine shared memory; to others UCX over TCP, " + description);
}

Finding check_gpus(const DoctorEnvironment& environment) {
  constexpr auto check = "GPUs";
  const auto device = environment.find_program("orchid-device");
  if (!device)
    return {check, Health::broken, "orchid-device was not found, so it cannot be asked",
            "install or build all of Orchid"};
  const auto probe = environment.run({device->string(), "--probe-driver"});
  const JsonDocument document(probe ? probe->output : "");
  const JsonObject o = document.root();
  const bool is_usable = o.flag("usable");
  const JsonObject more = o.optional();
  const std::string message = more.text("message");
  const std::string remedy = more.text("remedy");
  const auto cards = more.number<std::uint64_t>("cards");
  const bool has_driver = more.text("fault") != "no_driver";
  const std::string driver = more.text("driver");
  const std::vector<std::string> gpus = more.texts("gpus");
  if (!document.finish() || (!is_usable && (message.empty() || remedy.empty())))
    return {check, Health::broken, device->string() + " --probe-driver gives no answer",
            "run it to see why; is all of Orchid of one version?"};
  if (is_usable)
    return as_it_should_be(check, fmt::format("{}: {}", driver, fmt::join(gpus, ", ")));
  if (!has_driver && cards == 0)
    return as_it_should_be(check, "none in this machine; kernels run on its cores");
  if (cards == 0) return {check, Health::doubtful, message, remedy};
  return {check, Health::doubtful,
          fmt::format("{}; NVIDIA's cards in this machine: {}", message, cards), remedy};
}

Finding check_open_files(const DoctorEnvironment& environment) {
  const std::uint64_t limit = environment.open_files_limit();
  if (limit < least_open_files)
    return {"open files", Health::doubtful,
            fmt::format("the hard limit is {}; many connections and functions need more", limit),
            fmt::format("ulimit -Hn {} as root, or LimitNOFILE= in the service", least_open_files)};
  return as_it_should_be("open files", fmt::format("limit {}", limit));
}

Finding check_hostname(const DoctorEnvironment& environment) {
  if (environment.hostname_resolves()) return as_it_should_be("hostname", "resolves");
  return {"hostname", Health::doubtful,
          "this machine's name does not resolve; Orchid does not need it, other programs may",
          "add it to /etc/hosts: 127.0.1.1 $(hostname)"};
}

}  // namespace orchid::cli
