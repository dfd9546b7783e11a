#include "gateway_process.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "foundation/files.h"
#include "foundation/random.h"

extern char** environ;

namespace orchid::test {
namespace {

constexpr int ready_fd = 5;
constexpr std::chrono::seconds patience{30};

pid_t spawn(const std::vector<std::string>& command, int from, int to) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, from, to);
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(error == 0);
  return pid;
}

/// Reads until the other side closes.
std::string read_all(int fd) {
  std::string text;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    const auto left = deadline - std::chrono::steady_clock::now();
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    REQUIRE_MESSAGE(::poll(&ready, 1, static_cast<int>(left_ms)) == 1,
                    "a process was not ready in time");
    std::array<char, 4096> part{};
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

std::pair<UniqueFd, UniqueFd> make_pipe() {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

int wait_for_end(pid_t pid) {
  // Also called after the last test: it asserts nothing.
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

GatewayProcess::GatewayProcess(std::vector<std::string> flags)
    : flags_(std::move(flags)),
      state_(std::filesystem::temp_directory_path() / ("orchid-gateway-" + random_hex(6))) {
  start();
}

GatewayProcess::~GatewayProcess() {
  if (pid_ > 0) kill();
  std::error_code ignored;
  std::filesystem::remove_all(state_, ignored);
}

void GatewayProcess::start() {
  auto [read_end, write_end] = make_pipe();
  std::vector<std::string> command{
      ORCHID_GATEWAY,  "--state",    state_.string(),          "--compiler",
      ORCHID_COMPILER, "--ready-fd", std::to_string(ready_fd), "--log-level",
      "warn"};
  command.insert(command.end(), flags_.begin(), flags_.end());
  pid_ = spawn(command, write_end.get(), ready_fd);
  write_end.reset();
  try {
    const std::string line = read_all(read_end.get());
    REQUIRE_MESSAGE(!line.empty(), "orchid-gateway ended before it was ready");
    ready_ = nlohmann::json::parse(line);
  } catch (...) {
    kill();
    throw;
  }
}

int GatewayProcess::stop() {
  ::kill(pid_, SIGTERM);
  return wait_for_end(std::exchange(pid_, -1));
}

void GatewayProcess::kill() {
  ::kill(pid_, SIGKILL);
  wait_for_end(std::exchange(pid_, -1));
}

std::string GatewayProcess::token() const {
  const auto content = read_file(state_ / "token", 4_KiB);
  REQUIRE(content.has_value());
  std::string token(as_text(*content));
  token.pop_back();
  return token;
}

Answer GatewayProcess::ask(Ask ask) const {
  ask.token = token();
  HttpConnection connection = connect();
  connection.send(request_text(ask));
  return connection.receive(ask.method == "HEAD");
}

Ended run_to_end(const std::vector<std::string>& command) {
  auto [read_end, write_end] = make_pipe();
  const pid_t pid = spawn(command, write_end.get(), STDERR_FILENO);
  write_end.reset();
  std::string errors = read_all(read_end.get());
  return {wait_for_end(pid), std::move(errors)};
}

std::string compile_bitcode(const std::string& source) {
  const auto base = std::filesystem::temp_directory_path() / ("orchid-source-" + random_hex(6));
  const std::string c_file = base.string() + ".c";
  const std::string bitcode_file = base.string() + ".bc";
  REQUIRE(write_file_atomically(c_file, as_bytes(source)));
  const Ended ended = run_to_end({ORCHID_CLANG, "-O2", "-c", "-emit-llvm",
                                  "-I" ORCHID_FUNCTION_INCLUDE, c_file, "-o", bitcode_file});
  REQUIRE_MESSAGE(ended.status == 0, ended.errors);
  const auto bitcode = read_file(bitcode_file, 16_MiB);
  REQUIRE(bitcode.has_value());
  std::filesystem::remove(c_file);
  std::filesystem::remove(bitcode_file);
  return std::string(as_text(*bitcode));
}

std::string echo_module(int salt) {
  return compile_bitcode(
      "#include <orchid/function.h>\n#include <string.h>\n"
      "ORCHID_ENTRY(echo) { void* out = orchid_output(call, input_size);\n"
      "  if (out == NULL) return " +
      std::to_string(salt + 1) +
      ";\n"
      "  memcpy(out, input, input_size); return 0; }\n");
}

}  // namespace orchid::test
