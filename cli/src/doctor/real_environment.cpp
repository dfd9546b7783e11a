// doctor/real_environment.cpp: the machine and the gateway as they are.
#include <netdb.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "doctor/examination.h"
#include "foundation/numbers.h"
#include "orchid/client.h"
#include "supervisor/directories.h"
#include "supervisor/gateway_file.h"

namespace orchid::cli {
namespace {

/// What /proc/PID/stat begins with: "7 (name) T 6": its program's name may contain anything.
struct ProcessState {
  std::string program;
  char state = '?';  // T: a signal has stopped it
  pid_t parent = 0;
};

std::optional<ProcessState> state_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string stat;
  std::getline(file, stat);
  const auto name = stat.find('(');
  const auto name_end = stat.rfind(") ");
  if (name == std::string::npos || name_end == std::string::npos || name_end + 4 > stat.size())
    return std::nullopt;
  return ProcessState{.program = stat.substr(name + 1, name_end - name - 1),
                      .state = stat[name_end + 2],
                      .parent = leading_number<pid_t>(stat.substr(name_end + 4)).value_or(0)};
}

/// Of the Orchid that `gateway` means, if it runs on this host: the children of `orchid up`.
std::vector<StoppedProcess> stopped_processes(const std::string& gateway,
                                              const UserSurroundings& user) {
  std::vector<StoppedProcess> stopped;
  const auto running = find_clients_gateway_file(gateway, user);
  if (!running || running->socket.empty() || running->pid == 0) return stopped;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator("/proc", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto pid = parse_number<pid_t>(entry->path().filename().string());
    const auto state = pid ? state_of(entry->path()) : std::nullopt;
    if (state && state->state == 'T' && state->parent == running->pid)
      stopped.push_back({.program = state->program, .pid = *pid});
  }
  return stopped;
}

bool own_name_resolves() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return false;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.data(), nullptr, nullptr, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

Failure failure_of(const Error& error) {
  return {error.kind() == ErrorKind::unreachable ? ErrorCode::unreachable : ErrorCode::internal,
          error.message()};
}

ClientOptions patient(const std::string& gateway) {
  return {.gateway = gateway, .connect_timeout = std::chrono::milliseconds(2000)};
}

Result<GatewayAnswer> ask(const std::string& gateway, const std::string& path) {
  try {
    return GatewayAnswer{.status = 200, .body = Client(patient(gateway)).get(path)};
  } catch (const Error& error) {
    if (error.http_status() != 0)
      return GatewayAnswer{.status = error.http_status(), .body = error.message()};
    return fail(failure_of(error));
  }
}

Result<std::string> address(const std::string& gateway) {
  try {
    return Client(patient(gateway)).address();
  } catch (const Error& error) {
    return fail(failure_of(error));
  }
}

OrchidFolders folders(const std::string& gateway, const UserSurroundings& user) {
  const auto running = find_clients_gateway_file(gateway, user);
  if (running && running->socket.empty()) return {};  // on another host
  if (running)
    return {.is_running = true,
            .runtime = std::filesystem::path(running->socket).parent_path(),
            .state = running->state};
  if (!gateway.empty() || !user.variable("ORCHID_GATEWAY").value_or("").empty()) return {};
  return {.is_running = false,
          .runtime = runtime_directory(user),
          .state = state_directory(user).value_or("/nonexistent")};
}

}  // namespace

DoctorEnvironment real_doctor_environment(const std::string& gateway) {
  const UserSurroundings user = real_user_surroundings();
  const auto programs = own_program_directory().value_or("/usr/bin");
  return {
      .version = ORCHID_VERSION,
      .uid = user.uid,
      .programs = programs,
      .find_program = [programs](const std::string& name) { return find_program(name, programs); },
      .run =
          [](const std::vector<std::string>& command) {
            return run_program({.command = command,
                                .capture_output = true,
                                .discard_errors = true,
                                .longest = std::chrono::seconds(10)});
          },
      .variable = user.variable,
      .directory = facts_of_directory,
      .folders = [gateway, user] { return folders(gateway, user); },
      .gateway_address = [gateway] { return address(gateway); },
      .ask_gateway = [gateway](const std::string& path) { return ask(gateway, path); },
      .stopped_processes = [gateway, user] { return stopped_processes(gateway, user); },
      .hostname_resolves = own_name_resolves,
      .open_files_limit = []() -> std::uint64_t {
        rlimit limit{};
        return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : 0;
      }};
}

}  // namespace orchid::cli
