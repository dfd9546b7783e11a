// door/door_fixture.h: an Orchid with a door, and clients that use nothing else.
#pragma once
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "clear_error.h"
#include "command.h"
#include "foundation/files.h"
#include "local_orchid.h"
#include "orchid/client.h"

namespace orchid::tests {

template <typename Condition>
bool eventually(Condition condition, std::chrono::seconds patience = std::chrono::seconds(20)) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

class DoorFixture {
 public:
  DoorFixture() : orchid_(must_start()) {}

  [[nodiscard]] Client client() const { return client(orchid_.token()); }
  [[nodiscard]] Client client(const std::string& token) const {
    return Client({.gateway = orchid_.door(), .token = token});
  }
  [[nodiscard]] const LocalOrchid& system() const { return orchid_; }
  /// What `orchid` needs to come through the door.
  [[nodiscard]] std::vector<std::string> environment() const {
    return {"ORCHID_GATEWAY=" + orchid_.door(), "ORCHID_TOKEN=" + orchid_.token()};
  }
  [[nodiscard]] std::vector<pid_t> named(const std::string& name) const {
    std::vector<pid_t> found;
    for (const pid_t process : orchid_.processes()) {
      std::ifstream file("/proc/" + std::to_string(process) + "/comm");
      std::string comm;
      std::getline(file, comm);
      if (comm == name) found.push_back(process);
    }
    return found;
  }
  /// One for each connection of a client.
  [[nodiscard]] std::vector<pid_t> guests() const { return named("orchid-door-one"); }

  [[nodiscard]] static std::vector<std::byte> module(const std::string& name) {
    auto bytes = read_file(std::filesystem::path(FUNCTIONS) / (name + ".bc"), 1_MiB);
    REQUIRE(bytes.has_value());
    return std::move(*bytes);
  }
  [[nodiscard]] static std::vector<std::byte> echo_module() {
    auto bytes = read_file(EXAMPLES "/echo.bc", 1_MiB);
    REQUIRE(bytes.has_value());
    return std::move(*bytes);
  }

 private:
  static LocalOrchid must_start() {
    auto started = LocalOrchid::start({.programs = PROGRAMS, .door = "127.0.0.1:0"});
    if (!started) throw std::runtime_error(started.error().message);
    return std::move(*started);
  }
  LocalOrchid orchid_;
};

}  // namespace orchid::tests
