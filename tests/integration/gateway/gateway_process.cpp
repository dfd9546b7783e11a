#include "gateway_process.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "foundation/files.h"
#include "foundation/pipe.h"
#include "foundation/random.h"
#include "processes/run_to_end.h"

namespace orchid::test {
namespace {

constexpr int ready_fd = 5;
constexpr std::chrono::seconds patience{30};

processes::ProgramStart program_of(const std::vector<std::string>& command) {
  return {.program = command.at(0), .arguments = {command.begin() + 1, command.end()}};
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

}  // namespace

GatewayProcess::GatewayProcess(std::vector<std::string> flags)
    : flags_(std::move(flags)),
      state_(std::filesystem::temp_directory_path() / ("orchid-gateway-" + random_hex(6))) {
  start();
}

GatewayProcess::~GatewayProcess() {
  if (process_) kill();
  std::error_code ignored;
  std::filesystem::remove_all(state_, ignored);
}

void GatewayProcess::start() {
  auto ready = make_pipe();
  REQUIRE(ready.has_value());
  std::vector<std::string> command{
      ORCHID_GATEWAY,  "--state",    state_.string(),          "--compiler",
      ORCHID_COMPILER, "--ready-fd", std::to_string(ready_fd), "--log-level",
      "warn"};
  command.insert(command.end(), flags_.begin(), flags_.end());
  auto program = program_of(command);
  program.descriptors = {{.from = ready->writer.get(), .as = ready_fd}};
  auto started = processes::ChildProcess::start(program);
  REQUIRE(started.has_value());
  process_.emplace(std::move(*started));
  ready->writer.reset();
  try {
    const std::string line = read_all(ready->reader.get());
    REQUIRE_MESSAGE(!line.empty(), "orchid-gateway ended before it was ready");
    ready_ = nlohmann::json::parse(line);
  } catch (...) {
    kill();
    throw;
  }
}

int GatewayProcess::stop() {
  process_->send_signal(SIGTERM);
  const auto end = process_->wait(patience);
  process_.reset();
  return end ? end->shell_status() : -1;
}

void GatewayProcess::kill() { process_.reset(); }

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
  auto result = processes::run_to_end(program_of(command),
                                      {.longest = patience, .output = processes::Output::ours});
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  REQUIRE_MESSAGE(result->end.has_value(), "a process did not end in time");
  return {result->end->shell_status(), std::move(result->errors)};
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
