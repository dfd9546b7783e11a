#include "api/discovery.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "foundation/host_addresses.h"
#include "foundation/json_document.h"
#include "foundation/sockets.h"

namespace orchid::sdk {
namespace {

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();  // what cannot be read, such as a directory, is an empty text
  return std::move(text).str();
}

std::string trimmed(std::string text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// What `orchid up` or its gateway wrote, as seen from this host.
struct GatewayFile {
  std::filesystem::path path;
  std::string host;           // where the gateway runs
  bool is_elsewhere = false;  // on another host than this
  std::string socket_there;   // of a gateway that is elsewhere
  std::vector<std::string> addresses;
  std::string door;  // "ucx://…"; empty: none
  std::string socket;
  std::string token_file;
};

/// /tmp is shared: a file there that another user wrote would send our inputs and token to that
/// user.
void check_owner(const std::filesystem::path& path, uid_t uid) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (S_ISREG(status.st_mode) && (status.st_uid == uid || status.st_uid == 0)) return;
  throw Error({.kind = ErrorKind::denied,
               .message = path.string() + " belongs to another user and is not used",
               .hint = "set ORCHID_GATEWAY to the gateway that you trust"});
}

/// What only the gateway's own host can use goes.
void look_from_elsewhere(GatewayFile& file) {
  file.is_elsewhere = true;
  file.addresses = addresses_from_elsewhere(file.addresses, file.host);
  file.door = is_loopback(file.door) ? std::string() : with_host(file.door, file.host);
  file.socket_there = std::move(file.socket);
  file.socket.clear();
}

std::optional<GatewayFile> read_gateway_file(const std::filesystem::path& path,
                                             const Surroundings& surroundings) {
  const auto text = read_text(path);
  if (!text) return std::nullopt;
  check_owner(path, surroundings.uid);
  const JsonDocument document(*text);
  const JsonObject o = document.root();
  const JsonObject any = o.optional();
  GatewayFile file{.path = path,
                   .host = any.text("host"),
                   .addresses = o.texts(o.has("urls") ? "urls" : "addresses"),
                   .door = any.text("door"),
                   .socket = any.text("socket"),
                   .token_file = any.text("token_file")};
  const std::string boot_id = any.text("boot_id");
  if (const auto good = document.finish(); !good)
    throw Error({.kind = ErrorKind::bad_configuration,
                 .message = path.string() + " is damaged: " + good.error().message,
                 .hint = "remove it and start 'orchid up' again"});
  if (!boot_id.empty() && boot_id != surroundings.boot_id) look_from_elsewhere(file);
  return file;
}

/// The first of a gateway that may run, or else the first. Whoever is killed leaves its file
/// behind, and its socket, which nobody listens on: what has a socket here can be reached by it. Of
/// a gateway on another host nothing can be said.
std::optional<GatewayFile> find_gateway_file(const Surroundings& surroundings) {
  std::optional<GatewayFile> first;
  for (const auto& path : gateway_file_places(surroundings)) {
    auto file = read_gateway_file(path, surroundings);
    if (!file) continue;
    if (file->socket.empty() || surroundings.can_connect(file->socket)) return file;
    file->socket.clear();
    if (!first) first = std::move(file);
  }
  return first;
}

std::string stated_token(const ClientOptions& options, const Surroundings& surroundings) {
  if (!options.token.empty()) return options.token;
  return trimmed(surroundings.variable("ORCHID_TOKEN").value_or(""));
}

std::string token_of(const GatewayFile& file) {
  if (file.token_file.empty()) return {};
  return trimmed(read_text(file.token_file).value_or(""));
}

Endpoint parse_address(std::string address, const Endpoint& base) {
  Endpoint endpoint = base;
  while (address.size() > 1 && address.ends_with('/')) address.pop_back();
  if (address.starts_with("unix:")) {
    endpoint.socket = address.substr(5);
    if (endpoint.socket.starts_with("//")) endpoint.socket.erase(0, 2);
    if (endpoint.socket.starts_with('/')) return endpoint;
  } else if (address.starts_with("http://") || address.starts_with("https://")) {
    endpoint.base_url = address;
    return endpoint;
  } else if (address.starts_with("ucx://") && address.rfind(':') > 6) {
    endpoint.base_url = address;
    endpoint.door = address.substr(6);
    return endpoint;
  }
  throw Error({.kind = ErrorKind::bad_configuration,
               .message = "'" + address + "' is not an address of a gateway",
               .hint = "write http://host:port, https://host:port, ucx://host:port or "
                       "unix:/absolute/path"});
}

Error nothing_found(const Surroundings& surroundings) {
  std::string places;
  for (const auto& path : gateway_file_places(surroundings))
    places += (places.empty() ? "" : " and ") + path.string();
  return Error({.kind = ErrorKind::unreachable,
                .message = "no Orchid gateway found (looked for " + places + ")",
                .hint = "start one with 'orchid up', or set ORCHID_GATEWAY to where it runs"});
}

Error not_reachable_from_here(const GatewayFile& file) {
  return Error(
      {.kind = ErrorKind::unreachable,
       .message = "the gateway of " + file.path.string() + " runs on " + file.host +
                  " and takes clients of that host only",
       .hint =
           "start it with 'orchid up --listen IP:PORT', with an address that other hosts reach"});
}

std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return home;
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "";
}

/// A Unix socket in an environment that has come along from another host, as sbatch takes it: the
/// same gateway over TCP, where its file says how.
std::optional<Endpoint> same_gateway_over_tcp(const Endpoint& wanted,
                                              const Surroundings& surroundings) {
  if (wanted.socket.empty() || surroundings.can_connect(wanted.socket)) return std::nullopt;
  const auto file = find_gateway_file(surroundings);
  if (!file || !file->is_elsewhere || file->socket_there != wanted.socket) return std::nullopt;
  if (file->addresses.empty()) throw not_reachable_from_here(*file);
  Endpoint endpoint = wanted;
  endpoint.socket.clear();
  if (endpoint.token.empty()) endpoint.token = token_of(*file);
  return parse_address(file->addresses.front(), endpoint);
}

}  // namespace

Surroundings real_surroundings() {
  return {.variable = [](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          .can_connect =
              [](const std::filesystem::path& path) {
                return connect_stream_at_once(path).has_value();
              },
          .uid = ::geteuid(),
          .home = home_directory(),
          .boot_id = own_boot_id()};
}

std::vector<std::filesystem::path> gateway_file_places(const Surroundings& surroundings) {
  std::vector<std::filesystem::path> places;
  if (const auto runtime = surroundings.variable("XDG_RUNTIME_DIR");
      runtime && runtime->starts_with('/'))
    places.push_back(std::filesystem::path(*runtime) / "orchid" / "gateway.json");
  places.push_back(std::filesystem::path("/tmp/orchid-" + std::to_string(surroundings.uid)) /
                   "gateway.json");
  if (const auto state = surroundings.variable("XDG_STATE_HOME"); state && state->starts_with('/'))
    places.push_back(std::filesystem::path(*state) / "orchid" / "gateway" / "gateway.json");
  else if (!surroundings.home.empty())
    places.push_back(std::filesystem::path(surroundings.home) / ".local" / "state" / "orchid" /
                     "gateway" / "gateway.json");
  return places;
}

Endpoint find_gateway(const ClientOptions& options, const Surroundings& surroundings) {
  if (options.connect)
    return {.connect_timeout = options.connect_timeout, .connect = options.connect};
  Endpoint base{.token = stated_token(options, surroundings),
                .connect_timeout = options.connect_timeout};
  std::string address = options.gateway;
  if (address.empty()) address = surroundings.variable("ORCHID_GATEWAY").value_or("");
  if (!address.empty()) {
    Endpoint endpoint = parse_address(address, base);
    if (options.gateway.empty())
      if (auto over_tcp = same_gateway_over_tcp(endpoint, surroundings)) return *over_tcp;
    if (!endpoint.token.empty() || !endpoint.socket.empty()) return endpoint;
    // The token of our own gateway goes to no other one.
    const auto file = find_gateway_file(surroundings);
    if (file && (file->door == endpoint.base_url ||
                 std::ranges::find(file->addresses, endpoint.base_url) != file->addresses.end()))
      endpoint.token = token_of(*file);
    return endpoint;
  }
  const auto file = find_gateway_file(surroundings);
  if (!file) throw nothing_found(surroundings);
  if (!file->socket.empty()) {
    base.socket =
        file->socket;  // the kernel says who we are; a token is sent only if it was stated
    return base;
  }
  if (file->addresses.empty() && file->is_elsewhere) throw not_reachable_from_here(*file);
  if (file->addresses.empty()) throw nothing_found(surroundings);
  if (base.token.empty()) base.token = token_of(*file);
  return parse_address(file->addresses.front(), base);
}

}  // namespace orchid::sdk
