#include "supervisor/directories.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "foundation/host_addresses.h"
#include "foundation/unique_fd.h"
#include "scratch_folder.h"
#include "supervisor/gateway_file.h"
#include "supervisor/up_lock.h"

namespace orchid::cli {
namespace {

UserSurroundings surroundings(std::map<std::string, std::string> variables, bool own = true) {
  return {.variable = [variables](const std::string& name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
          },
          .is_own_directory = [own](const std::filesystem::path&) { return own; },
          .home = "/home/me",
          .uid = 4711};
}

}  // namespace

TEST_CASE(
    "what clients look for lies in XDG_RUNTIME_DIR, or in /tmp where that is missing or not ours") {
  CHECK(runtime_directory(surroundings({{"XDG_RUNTIME_DIR", "/run/user/4711"}})) ==
        "/run/user/4711/orchid");
  CHECK(runtime_directory(surroundings({{"XDG_RUNTIME_DIR", "/run/user/1"}}, false)) ==
        "/tmp/orchid-4711");
  CHECK(runtime_directory(surroundings({{"XDG_RUNTIME_DIR", "relative"}})) == "/tmp/orchid-4711");
  CHECK(runtime_directory(surroundings({})) == "/tmp/orchid-4711");
  CHECK(runtime_places(surroundings({{"XDG_RUNTIME_DIR", "/run/user/4711"}})).size() == 2);
}

TEST_CASE(
    "state lies in XDG_STATE_HOME or in the home directory, and without either one must be named") {
  CHECK(state_directory(surroundings({{"XDG_STATE_HOME", "/scratch"}})).value() ==
        "/scratch/orchid");
  CHECK(state_directory(surroundings({})).value() == "/home/me/.local/state/orchid");
  UserSurroundings homeless = surroundings({});
  homeless.home.clear();
  const auto state = state_directory(homeless);
  REQUIRE_FALSE(state.has_value());
  CHECK(state.error().message.find("--state") != std::string::npos);
}

TEST_CASE("gateway.json comes back as it was written, readable by its owner only") {
  const tests::Scratch scratch;
  const GatewayFile file{.addresses = {"http://127.0.0.1:1", "http://[::1]:2"},
                         .door = "ucx://127.0.0.1:3",
                         .socket = "/run/s",
                         .token_file = "/state/token",
                         .state = "/state",
                         .version = "1.2.3",
                         .pid = 42};
  REQUIRE(write_gateway_file(scratch.path(), file).has_value());
  struct stat status{};
  REQUIRE(::stat((scratch / "gateway.json").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  const auto back = find_gateway_file({"/nonexistent", scratch.path()});
  REQUIRE(back.has_value());
  CHECK(back->addresses == file.addresses);
  CHECK(back->door == file.door);
  CHECK(back->token_file == "/state/token");
  CHECK(back->pid == 42);
  remove_gateway_file(scratch.path());
  remove_gateway_file(scratch.path());
  const auto gone = find_gateway_file({scratch.path()});
  REQUIRE_FALSE(gone.has_value());
  CHECK(gone.error().message.find("orchid up") != std::string::npos);
}

TEST_CASE("what a killed gateway has left does not hide one that runs") {
  const tests::Scratch killed;
  const tests::Scratch running;
  const auto write = [](const tests::Scratch& scratch) {
    REQUIRE(write_gateway_file(scratch.path(), {.addresses = {},
                                                .socket = scratch / "gateway.sock",
                                                .token_file = scratch / "token",
                                                .state = scratch.path()})
                .has_value());
  };
  write(killed);
  write(running);
  const std::vector<std::filesystem::path> places{killed.path(), running.path()};
  CHECK(find_gateway_file(places)->state == killed.path());  // both are gone
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (running / "gateway.sock").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(::listen(socket.get(), 1) == 0);
  CHECK(find_gateway_file(places)->state == running.path());
}

TEST_CASE("the gateway.json of a gateway lies beside its socket, or names its address") {
  const tests::Scratch scratch;
  std::filesystem::create_directory(scratch / "orchid");
  const auto write = [](const std::filesystem::path& runtime, const std::string& address) {
    const GatewayFile file{.addresses = {address},
                           .socket = runtime / "gateway.sock",
                           .token_file = "/state/token",
                           .state = "/state",
                           .version = "1.2.3",
                           .pid = 42};
    REQUIRE(write_gateway_file(runtime, file).has_value());
  };
  write(scratch.path(), "http://127.0.0.1:1");
  write(scratch / "orchid", "http://127.0.0.1:2");
  const auto found = [&](const std::string& gateway, const std::string& variable) -> std::string {
    std::map<std::string, std::string> variables{{"XDG_RUNTIME_DIR", scratch.path()}};
    if (!variable.empty()) variables["ORCHID_GATEWAY"] = variable;
    const auto file = find_clients_gateway_file(gateway, surroundings(variables));
    return file ? file->addresses.front() : "none";
  };
  const std::string elsewhere = "unix:" + (scratch / "gateway.sock").string();
  CHECK(found("", "") == "http://127.0.0.1:2");
  CHECK(found(elsewhere, "") == "http://127.0.0.1:1");
  CHECK(found("", elsewhere) == "http://127.0.0.1:1");
  CHECK(found("unix://" + elsewhere.substr(5), "") == "http://127.0.0.1:1");
  CHECK(found("http://127.0.0.1:2/", elsewhere) == "http://127.0.0.1:2");
  CHECK(found("http://login1:8080", "") == "none");
  CHECK(found("unix:/nonexistent/gateway.sock", "") == "none");
}

TEST_CASE(
    "what a gateway on another host has left in the state directory is found, without what "
    "only that host can use") {
  const tests::Scratch scratch;
  std::filesystem::create_directories(scratch / "orchid" / "gateway");
  const auto write = [&](const std::string& boot_id) {
    std::ofstream(scratch / "orchid" / "gateway" / "gateway.json")
        << R"({"host":"login1","boot_id":")" << boot_id
        << R"(","urls":["http://127.0.0.1:1","http://0.0.0.0:2"],"door":"ucx://0.0.0.0:3",)"
        << R"("socket":"/run/s","token_file":"/state/token","state":"/state"})";
  };
  const auto found = [&](const std::string& gateway) {
    return find_clients_gateway_file(gateway, surroundings({{"XDG_STATE_HOME", scratch.path()}}));
  };
  write("another boot");
  const auto elsewhere = found("");
  REQUIRE(elsewhere.has_value());
  CHECK(elsewhere->addresses == std::vector<std::string>{"http://login1:2"});
  CHECK(elsewhere->door == "ucx://login1:3");
  CHECK(elsewhere->socket.empty());
  CHECK(elsewhere->token_file == "/state/token");
  CHECK(found("http://login1:2").has_value());
  CHECK_FALSE(found("http://127.0.0.1:1").has_value());
  write(own_boot_id());
  const auto here = found("");
  REQUIRE(here.has_value());
  CHECK(here->socket == "/run/s");
  CHECK(here->addresses.size() == 2);
}

TEST_CASE("a gateway.json that another user has written is refused") {
  if (::geteuid() != 0) return;  // only root can be another user
  const tests::Scratch scratch;
  REQUIRE(write_gateway_file(scratch.path(), {.addresses = {"http://127.0.0.1:1"}}).has_value());
  REQUIRE(::chown((scratch / "gateway.json").c_str(), 12345, 12345) == 0);
  const auto file = find_gateway_file({scratch.path()});
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().code == ErrorCode::denied);
}

TEST_CASE("a damaged gateway.json is told, not passed over") {
  const tests::Scratch scratch;
  for (const char* text : {"", "{", "[]", R"({"addresses":7})"}) {
    CAPTURE(text);
    std::ofstream(scratch / "gateway.json") << text;
    const auto file = find_gateway_file({scratch.path()});
    REQUIRE_FALSE(file.has_value());
    CHECK(file.error().code == ErrorCode::bad_configuration);
  }
}

TEST_CASE("one runtime directory has one owner at a time") {
  const tests::Scratch scratch;
  auto first = try_lock_runtime(scratch.path());
  REQUIRE(first.has_value());
  REQUIRE(first->has_value());
  CHECK_FALSE(try_lock_runtime(scratch.path()).value().has_value());
  first->reset();
  CHECK(try_lock_runtime(scratch.path()).value().has_value());
  CHECK_FALSE(try_lock_runtime("/nonexistent").has_value());
}

}  // namespace orchid::cli
