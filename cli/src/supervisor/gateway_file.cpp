#include "supervisor/gateway_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/json_document.h"
#include "foundation/sockets.h"

namespace orchid::cli {
namespace {

using nlohmann::json;

std::filesystem::path file_in(const std::filesystem::path& runtime) {
  return runtime / "gateway.json";
}

/// /tmp is shared: a file there that another user wrote could name any of our files as the token.
bool is_trusted(const std::filesystem::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) != 0 ||
         (S_ISREG(status.st_mode) && (status.st_uid == ::geteuid() || status.st_uid == 0));
}

/// What only its own host can use goes.
void look_from_elsewhere(GatewayFile& file) {
  file.addresses = addresses_from_elsewhere(file.addresses, file.host);
  file.door = is_loopback(file.door) ? std::string() : with_host(file.door, file.host);
  file.socket.clear();
}

/// The gateway itself says "urls", and where it runs.
Result<GatewayFile> file_of(std::string_view text) {
  const JsonDocument document(text);
  const JsonObject o = document.root();
  const JsonObject any = o.optional();
  GatewayFile file{.host = any.text("host"),
                   .addresses = o.texts(o.has("urls") ? "urls" : "addresses"),
                   .door = any.text("door"),
                   .socket = any.text("socket"),
                   .token_file = any.text("token_file"),
                   .state = any.text("state"),
                   .version = any.text("version"),
                   .pid = any.number<int>("pid")};
  const std::string boot_id = any.text("boot_id");
  if (!boot_id.empty() && boot_id != own_boot_id()) look_from_elsewhere(file);
  return document.finish(std::move(file));
}

}  // namespace

Result<void> write_gateway_file(const std::filesystem::path& runtime, const GatewayFile& file) {
  const json document = {{"addresses", file.addresses},
                         {"door", file.door},
                         {"socket", file.socket},
                         {"token_file", file.token_file},
                         {"state", file.state},
                         {"version", file.version},
                         {"pid", file.pid}};
  const std::string text = document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  return write_file_atomically(file_in(runtime), as_bytes(text));
}

Result<GatewayFile> read_gateway_file(const std::filesystem::path& runtime) {
  const auto content = read_file(file_in(runtime), 64_KiB);
  if (!content) return fail(content.error());
  if (!is_trusted(file_in(runtime)))
    return fail(ErrorCode::denied,
                file_in(runtime).string() + " belongs to another user and is not used");
  auto file = file_of(as_text(*content));
  if (file) return file;
  return fail(ErrorCode::bad_configuration, file_in(runtime).string() + " is damaged (" +
                                                file.error().message +
                                                "); remove it and start 'orchid up' again");
}

Result<GatewayFile> find_gateway_file(const std::vector<std::filesystem::path>& places) {
  std::string looked;
  std::optional<GatewayFile> first;
  for (const auto& place : places) {
    auto file = read_gateway_file(place);
    if (!file && file.error().code != ErrorCode::not_found) return file;
    if (file && (file->socket.empty() || connect_stream_at_once(file->socket))) return file;
    if (file && !first) first = std::move(*file);
    looked += (looked.empty() ? "" : " and ") + file_in(place).string();
  }
  if (first) return std::move(*first);
  return fail(ErrorCode::not_found,
              "no running Orchid found (looked for " + looked + "); start one with 'orchid up'");
}

Result<GatewayFile> find_clients_gateway_file(const std::string& gateway,
                                              const UserSurroundings& surroundings) {
  std::string address =
      gateway.empty() ? surroundings.variable("ORCHID_GATEWAY").value_or("") : gateway;
  const auto places = gateway_file_places(surroundings);
  if (address.empty()) return find_gateway_file(places);
  if (address.starts_with("unix:")) {
    const std::size_t prefix = address.starts_with("unix://") ? 7 : 5;
    return find_gateway_file({std::filesystem::path(address.substr(prefix)).parent_path()});
  }
  while (address.ends_with('/')) address.pop_back();
  for (const auto& place : places) {
    auto file = read_gateway_file(place);
    if (file && (file->door == address ||
                 std::ranges::find(file->addresses, address) != file->addresses.end()))
      return file;
  }
  return fail(ErrorCode::not_found,
              "the gateway at " + address +
                  " was not started on this host, or was started with another --runtime; its token "
                  "and its folders are known only there");
}

void remove_gateway_file(const std::filesystem::path& runtime) {
  std::error_code ignored;  // gone already is as good
  std::filesystem::remove(file_in(runtime), ignored);
}

}  // namespace orchid::cli
