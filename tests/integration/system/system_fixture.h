// system/system_fixture.h: a whole Orchid, driven with the public commands only.
#pragma once
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "command.h"
#include "local_orchid.h"
#include "orchid/client.h"
#include "system_lane.h"

namespace orchid::tests {

using Json = nlohmann::json;

inline std::filesystem::path test_function(const std::string& name) {
  return std::filesystem::path(FUNCTIONS) / (name + ".bc");
}
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Http {
  int status = 0;
  std::string headers;
  std::string body;
};

inline std::string name_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

/// A zombie has ended; its new parent just has not asked yet.
inline bool is_running(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::ostringstream read;
  read << file.rdbuf();  // of a process that ends meanwhile nothing, and no exception
  const std::string text = std::move(read).str();
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.at(name_end + 2) != 'Z';
}

inline std::vector<pid_t> processes_named(const LocalOrchid& orchid, const std::string& name) {
  std::vector<pid_t> found;
  for (const pid_t process : orchid.processes())
    if (name_of(process) == name) found.push_back(process);
  return found;
}

/// The processes of that name, once there are some; none after 20 s.
inline std::vector<pid_t> wait_for(const LocalOrchid& orchid, const std::string& name) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::vector<pid_t> found;
  while (found.empty() && std::chrono::steady_clock::now() < give_up)
    found = processes_named(orchid, name);
  return found;
}

class SystemFixture {
 public:
  SystemFixture() : SystemFixture(LocalOrchid::Options{.programs = programs_under_test()}) {}
  explicit SystemFixture(const LocalOrchid::Options& options) : orchid_(must_start(options)) {}

  /// `orchid WORDS…` as a user types it.
  CommandResult orchid(std::vector<std::string> words, std::string input = {}) {
    words.insert(words.begin(), PROGRAMS "/orchid");
    return run(
        {.words = std::move(words), .environment = environment(), .input = std::move(input)});
  }
  /// Deploys NAME.bc under its own name.
  void deploy(const std::string& function) {
    const auto result = orchid({"deploy", test_function(function), "--name", function});
    REQUIRE_MESSAGE(result.status == 0, result.err);
  }
  Http http(const std::string& method, const std::string& path, const std::string& body = {},
            std::vector<std::string> more = {}) {
    std::vector<std::string> words{"curl",
                                   "-sS",
                                   "-i",
                                   "--max-time",
                                   "30",
                                   "-X",
                                   method,
                                   "-H",
                                   "Authorization: Bearer " + orchid_.token(),
                                   "-H",
                                   "Content-Type: application/octet-stream",
                                   "-H",
                                   "Expect:",
                                   "--data-binary",
                                   "@-"};
    if (method == "GET" || method == "DELETE") words.resize(words.size() - 2);
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(orchid_.address() + path);
    return parse(run({.words = words, .input = body}));
  }
  static Http parse(const CommandResult& result) {
    Http answer;
    const std::size_t end = result.out.find("\r\n\r\n");
    REQUIRE_MESSAGE(end != std::string::npos, result.err);
    answer.headers = result.out.substr(0, end);
    answer.body = result.out.substr(end + 4);
    answer.status = std::stoi(answer.headers.substr(9, 3));
    return answer;
  }
  /// Whatever happened before, a call works.
  void check_next_call() {
    const auto result = orchid({"invoke", "counts_calls"});
    CHECK_MESSAGE(result.status == 0, result.err);
  }
  [[nodiscard]] std::vector<std::string> environment() const {
    return {"ORCHID_GATEWAY=" + orchid_.address(), "ORCHID_TOKEN=" + orchid_.token()};
  }
  [[nodiscard]] const LocalOrchid& system() const { return orchid_; }
  Client client() { return Client({.gateway = orchid_.address(), .token = orchid_.token()}); }

 private:
  static LocalOrchid must_start(const LocalOrchid::Options& options) {
    auto started = LocalOrchid::start(options);
    if (!started) throw std::runtime_error(started.error().message);
    return std::move(*started);
  }
  LocalOrchid orchid_;
};

}  // namespace orchid::tests
