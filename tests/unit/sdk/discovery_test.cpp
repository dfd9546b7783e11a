#include "api/discovery.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>

namespace orchid::sdk {
namespace {

namespace fs = std::filesystem;

/// A runtime directory, an environment, and sockets that can be reached or not.
class Desk {
 public:
  Desk() {
    std::string pattern = "/tmp/orchid-test-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    fs::create_directory(directory_ / "orchid");
    variables["XDG_RUNTIME_DIR"] = directory_;
  }
  ~Desk() { fs::remove_all(directory_); }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  [[nodiscard]] fs::path gateway_file() const { return directory_ / "orchid" / "gateway.json"; }
  [[nodiscard]] fs::path token_file() const { return directory_ / "token"; }
  void write_gateway_file() const {
    std::ofstream(gateway_file())
        << R"({"addresses":["http://127.0.0.1:4000","http://[::1]:4001"],)"
        << R"("door":"ucx://127.0.0.1:4002","socket":"/run/gateway.sock","token_file":")"
        << token_file().string() << "\"}";
    std::ofstream(token_file()) << "orc_secret\n";
  }
  /// In the state directory, as the gateway of `host` writes it.
  void write_state_file(const std::string& urls, const std::string& boot_id) const {
    const fs::path state = directory_ / "home" / ".local" / "state" / "orchid" / "gateway";
    fs::create_directories(state);
    std::ofstream(state / "gateway.json")
        << R"({"host":"login1","boot_id":")" << boot_id << R"(","urls":)" << urls
        << R"(,"door":"ucx://127.0.0.1:4002","socket":"/run/gateway.sock","token_file":")"
        << token_file().string() << "\"}";
    std::ofstream(token_file()) << "orc_secret\n";
  }
  [[nodiscard]] Surroundings surroundings() const {
    return {.variable = [this](const std::string& name) -> std::optional<std::string> {
              const auto found = variables.find(name);
              return found == variables.end() ? std::nullopt : std::optional(found->second);
            },
            .can_connect = [this](const fs::path&) { return socket_works; },
            .uid = ::geteuid(),
            .home = directory_ / "home",
            .boot_id = "this boot"};
  }
  [[nodiscard]] Endpoint find(const ClientOptions& options = {}) const {
    return find_gateway(options, surroundings());
  }
  [[nodiscard]] ErrorKind failure(const ClientOptions& options = {}) const {
    try {
      (void)find(options);
    } catch (const Error& error) {
      CHECK_FALSE(error.hint().empty());
      return error.kind();
    }
    FAIL("it was found");
    return ErrorKind::internal;
  }

  std::map<std::string, std::string> variables;
  bool socket_works = true;

 private:
  fs::path directory_;
};

}  // namespace

TEST_CASE("the Unix socket of the running Orchid comes first, and needs no token") {
  const Desk desk;
  desk.write_gateway_file();
  const Endpoint endpoint = desk.find();
  CHECK(endpoint.socket == "/run/gateway.sock");
  CHECK(endpoint.token.empty());
}

TEST_CASE("where the socket cannot be reached, the first TCP address is taken with the token") {
  Desk desk;
  desk.write_gateway_file();
  desk.socket_works = false;
  const Endpoint endpoint = desk.find();
  CHECK(endpoint.socket.empty());
  CHECK(endpoint.base_url == "http://127.0.0.1:4000");
  CHECK(endpoint.token == "orc_secret");
}

TEST_CASE("an option goes before ORCHID_GATEWAY, which goes before what runs here") {
  Desk desk;
  desk.write_gateway_file();
  desk.variables["ORCHID_GATEWAY"] = "http://login1:8080/";
  CHECK(desk.find().base_url == "http://login1:8080");
  CHECK(desk.find({.gateway = "unix:/other.sock"}).socket == "/other.sock");
  desk.variables["ORCHID_TOKEN"] = " stated\n";
  CHECK(desk.find().token == "stated");
  CHECK(desk.find({.token = "given"}).token == "given");
}

TEST_CASE("our own gateway's token is sent to our own gateway only") {
  Desk desk;
  desk.write_gateway_file();
  CHECK(desk.find({.gateway = "http://[::1]:4001"}).token == "orc_secret");
  CHECK(desk.find({.gateway = "http://127.0.0.1:4002"}).token.empty());
  CHECK(desk.find({.gateway = "http://evil.example:4000"}).token.empty());
}

TEST_CASE("a gateway.json that another user has written is refused") {
  const Desk desk;
  desk.write_gateway_file();
  Surroundings other = desk.surroundings();
  if (::geteuid() == 0) {
    REQUIRE(::chown(desk.gateway_file().c_str(), 12345, 12345) == 0);
  } else {
    other.uid += 1;
  }
  try {
    (void)find_gateway({}, other);
    FAIL("it was used");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::denied);
  }
}

TEST_CASE("what cannot be an address, and what is damaged, is told with what to do") {
  Desk desk;
  for (const char* address : {"localhost:80", "ftp://x", "unix:relative", "nonsense"}) {
    CAPTURE(address);
    CHECK(desk.failure({.gateway = address}) == ErrorKind::bad_configuration);
  }
  std::ofstream(desk.gateway_file()) << "{\"addresses\":";
  CHECK(desk.failure() == ErrorKind::bad_configuration);
}

TEST_CASE("the door of our own gateway gets its token, another one does not") {
  Desk desk;
  desk.write_gateway_file();
  const Endpoint own = find_gateway({.gateway = "ucx://127.0.0.1:4002"}, desk.surroundings());
  CHECK(own.door == "127.0.0.1:4002");
  CHECK(own.describe() == "ucx://127.0.0.1:4002");
  CHECK(own.token == "orc_secret");
  const Endpoint other =
      find_gateway({.gateway = "ucx://[2001:db8::7]:4002/"}, desk.surroundings());
  CHECK(other.door == "[2001:db8::7]:4002");
  CHECK(other.token.empty());
}

TEST_CASE("without a variable for it, the file is looked for in /tmp under the user's number") {
  Desk desk;
  const auto both = gateway_file_places(desk.surroundings());
  REQUIRE(both.size() == 3);
  CHECK(both[0] == desk.gateway_file());
  desk.variables["XDG_RUNTIME_DIR"] = "not/absolute";
  const auto one = gateway_file_places(desk.surroundings());
  REQUIRE(one.size() == 2);
  CHECK(one[0] == "/tmp/orchid-" + std::to_string(::geteuid()) + "/gateway.json");
}

TEST_CASE("the state directory is looked into last, where XDG_STATE_HOME or the home has it") {
  Desk desk;
  CHECK(gateway_file_places(desk.surroundings())
            .back()
            .string()
            .ends_with("/home/.local/state/orchid/gateway/gateway.json"));
  desk.variables["XDG_STATE_HOME"] = "/scratch/me";
  CHECK(gateway_file_places(desk.surroundings()).back() ==
        "/scratch/me/orchid/gateway/gateway.json");
  desk.variables["XDG_STATE_HOME"] = "relative";
  CHECK(gateway_file_places(desk.surroundings())
            .back()
            .string()
            .ends_with("/home/.local/state/orchid/gateway/gateway.json"));
  Surroundings homeless = desk.surroundings();
  homeless.home.clear();
  CHECK(gateway_file_places(homeless).size() == 2);
}

TEST_CASE("on another host the gateway is found by an address that other hosts reach") {
  const Desk desk;  // its sockets work, and this one is a socket of another host
  desk.write_state_file(R"(["http://127.0.0.1:4000","http://0.0.0.0:4001","http://10.0.0.5:4002"])",
                        "another boot");
  const Endpoint endpoint = desk.find();
  CHECK(endpoint.socket.empty());
  CHECK(endpoint.base_url == "http://login1:4001");
  CHECK(endpoint.token == "orc_secret");
  CHECK(desk.find({.gateway = "http://10.0.0.5:4002"}).token == "orc_secret");
  CHECK(desk.find({.gateway = "http://127.0.0.1:4000"}).token.empty());
  CHECK(desk.find({.gateway = "ucx://127.0.0.1:4002"}).token.empty());
}

TEST_CASE("on the gateway's own host its state directory leads to its socket") {
  const Desk desk;
  desk.write_state_file(R"(["http://127.0.0.1:4000"])", "this boot");
  CHECK(desk.find().socket == "/run/gateway.sock");
}

TEST_CASE("what runs on this host goes before what the state directory tells of another one") {
  const Desk desk;
  desk.write_gateway_file();
  desk.write_state_file(R"(["http://10.0.0.5:4002"])", "another boot");
  CHECK(desk.find().socket == "/run/gateway.sock");
}

TEST_CASE("a directory in the place of the file is refused") {
  const Desk desk;
  fs::create_directory(desk.gateway_file());
  CHECK(desk.failure() == ErrorKind::denied);
}

TEST_CASE("what a killed gateway has left does not hide one that runs") {
  Desk desk;
  desk.write_gateway_file();
  desk.write_state_file(R"(["http://10.0.0.7:4000"])", "another boot");
  desk.socket_works = false;
  CHECK(desk.find().base_url == "http://10.0.0.7:4000");
  desk.socket_works = true;
  CHECK(desk.find().socket == "/run/gateway.sock");
}

TEST_CASE("a gateway that listens on its own host only is told apart from none") {
  const Desk desk;
  desk.write_state_file(R"(["http://127.0.0.1:4000","http://[::1]:4000"])", "another boot");
  try {
    (void)desk.find();
    FAIL("it was found");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unreachable);
    CHECK(error.message().find("login1") != std::string::npos);
    CHECK(error.hint().find("--listen") != std::string::npos);
  }
}

TEST_CASE("a socket in an environment that came along from the gateway's host is no obstacle") {
  Desk desk;
  desk.socket_works = false;
  desk.write_state_file(R"(["http://10.0.0.5:4002"])", "another boot");
  desk.variables["ORCHID_GATEWAY"] = "unix:/run/gateway.sock";
  CHECK(desk.find().base_url == "http://10.0.0.5:4002");
  CHECK(desk.find().token == "orc_secret");
  desk.variables["ORCHID_GATEWAY"] = "unix:/run/other.sock";
  CHECK(desk.find().socket == "/run/other.sock");
}

}  // namespace orchid::sdk
