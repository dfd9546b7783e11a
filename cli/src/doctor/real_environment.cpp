// doctor/real_environment.cpp: the machine and the gateway as they are.
#include <netdb.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "doctor/examination.h"
#include "orchid/client.h"
#include "supervisor/directories.h"
#include "supervisor/gateway_file.h"

namespace orchid::cli {
namespace {

DirectoryFacts facts_of(const std::filesystem::path& path) {
  DirectoryFacts facts;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return facts;
  facts.exists = true;
  facts.owner = status.st_uid;
  facts.mode = status.st_mode & 07777;
  struct statvfs space{};
  if (::statvfs(path.c_str(), &space) == 0) facts.free = ByteCount{space.f_bavail * space.f_frsize};
  return facts;
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
      .directory = facts_of,
      .folders = [gateway, user] { return folders(gateway, user); },
      .gateway_address = [gateway] { return address(gateway); },
      .ask_gateway = [gateway](const std::string& path) { return ask(gateway, path); },
      .hostname_resolves = own_name_resolves,
      .open_files_limit = []() -> std::uint64_t {
        rlimit limit{};
        return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : 0;
      }};
}

}  // namespace orchid::cli
