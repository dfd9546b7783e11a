#include "compiler_process.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <variant>

#include "foundation/files.h"
#include "foundation/sockets.h"

namespace orchid::test {
namespace {

using namespace std::chrono_literals;
constexpr auto patience = 30s;

Bytes read_whole(const std::filesystem::path& path) {
  auto bytes = read_file(path, 64_MiB);
  REQUIRE_MESSAGE(bytes.has_value(), path.string());
  return *bytes;
}

/// Waits until `done`, looking often.
template <typename Condition>
bool wait_until(Condition done) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

Bytes read_data(const std::string& name) {
  return read_whole(std::filesystem::path(TEST_DATA) / name);
}
Bytes read_shared_data(const std::string& name) {
  return read_whole(std::filesystem::path(SHARED_TEST_DATA) / name);
}

CompilerProcess::CompilerProcess(const std::string& mode) {
  auto pair = make_packet_pair();
  REQUIRE(pair.has_value());
  auto started =
      processes::ChildProcess::start({.program = COMPILER,
                                      .arguments = {mode, "3"},
                                      .descriptors = {{.from = pair->second.get(), .as = 3}}});
  REQUIRE_MESSAGE(started.has_value(), started.error().message);
  process_.emplace(std::move(*started));
  socket_ = std::move(pair->first);
}

void CompilerProcess::send(const CompilerMessage& message, std::span<const std::byte> module) {
  const auto file = make_sealed_memory("module", module);
  REQUIRE(file.has_value());
  send_raw(encode(message), {file->get()});
}

void CompilerProcess::send_raw(const std::string& text, const std::vector<int>& descriptors) {
  const auto sent = send_packet(socket_.get(), text, descriptors);
  REQUIRE_MESSAGE(sent.has_value(), sent.error().message);
}

Reply CompilerProcess::receive() {
  Reply reply = receive_any();
  // It tells figures before it compiles.
  while (std::holds_alternative<CompileStarted>(reply.message)) reply = receive_any();
  return reply;
}

Reply CompilerProcess::receive_any() {
  pollfd watched{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&watched, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) == 1);
  const auto packet = receive_packet(socket_.get(), false);
  REQUIRE_MESSAGE(packet.has_value(), packet.error().message);
  REQUIRE(packet->has_value());
  auto message = parse_compiler_message((*packet)->text);
  REQUIRE_MESSAGE(message.has_value(), message.error().message);
  Reply reply{.message = std::move(*message), .code = {}};
  if (std::holds_alternative<CompiledCode>(reply.message)) {
    REQUIRE((*packet)->descriptors.size() == 1);
    const auto mapped = MappedFile::map((*packet)->descriptors[0].get(), {.limit = 64_MiB});
    REQUIRE(mapped.has_value());
    reply.code.assign(mapped->bytes().begin(), mapped->bytes().end());
  }
  return reply;
}

std::optional<int> CompilerProcess::wait_for_end() {
  const auto end = process_->wait(patience);
  REQUIRE(end.has_value());
  if (end->signal != 0) return std::nullopt;
  return end->status;
}

std::vector<pid_t> CompilerProcess::children(std::size_t count) const {
  const std::string id = std::to_string(pid());
  const std::string path = "/proc/" + id + "/task/" + id + "/children";
  std::vector<pid_t> pids;
  REQUIRE(wait_until([&] {
    pids.clear();
    std::ifstream file(path);
    for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
    return pids.size() == count;
  }));
  return pids;
}

CommandResult run_command(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  CommandResult result;
  std::array<char, 4096> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe))
    result.output.append(part.data(), got);
  const int status = ::pclose(pipe);
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace orchid::test
