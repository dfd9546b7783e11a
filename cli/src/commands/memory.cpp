// commands/memory.cpp: orchid memory: memory of another host that a program reads and writes.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "foundation/amounts.h"
#include "foundation/duplicate.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "terminal/answers.h"
#include "terminal/documents.h"
#include "terminal/duration.h"
#include "terminal/output_file.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

constexpr std::size_t piece = 4UL << 20;  // of a file, that is in memory at once

/// SIGINT and SIGTERM are taken by `wait` as long as it lives.
class EndSignals {
 public:
  EndSignals() {
    ::sigemptyset(&wanted_);
    ::sigaddset(&wanted_, SIGINT);
    ::sigaddset(&wanted_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &wanted_, &before_);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  /// False: none has come in that time.
  [[nodiscard]] bool wait(std::chrono::seconds time) const {
    const timespec limit{.tv_sec = time.count(), .tv_nsec = 0};
    return ::sigtimedwait(&wanted_, nullptr, &limit) > 0;
  }

 private:
  sigset_t wanted_{};
  sigset_t before_{};
};

struct TakeArguments {
  std::string size;
  std::string host;
};

/// Until a signal comes. Throws when it could not be renewed for as long as it lasts: a gateway
/// that has just started does not know it until its executor has come back.
void keep_until_signalled(Client& client, const EndSignals& signals, const std::string& lease,
                          std::chrono::milliseconds duration) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds renew_after{20};
  constexpr std::chrono::seconds renew_again{1};
  auto good_until = Clock::now() + duration;
  auto pause = renew_after;
  while (!signals.wait(pause)) {
    const auto asked = Clock::now();
    try {
      client.keep_memory(lease, duration);
      good_until = asked + duration;
      pause = renew_after;
    } catch (const Error&) {
      if (Clock::now() > good_until) throw;
      pause = renew_again;
    }
  }
}

ExitStatus run_take_memory(Shell& shell, const TakeArguments& arguments) {
  const auto bytes = parse_byte_count(arguments.size);
  if (!bytes) return shell.report(bytes.error());
  Client client = shell.client();
  const EndSignals signals;
  const MemoryOptions options{.bytes = bytes->value, .host = arguments.host};
  const MemoryInfo lease = client.reserve_memory(options);
  if (shell.json)
    print_answer(shell, lease.json);
  else
    shell.print_line(lease.id);
  shell.note(
      to_string(*bytes) + " on host " + lease.host +
      " are kept until this command is interrupted (Ctrl-C); see 'orchid memory put --help'");
  keep_until_signalled(client, signals, lease.id, options.duration);
  client.release_lease(lease.id);
  return ExitStatus::ok;
}

ExitStatus run_list_memory(Shell& shell) {
  Client client = shell.client();
  const std::string text = client.get("/v1/leases");
  Table table({"lease", "state", "size", "host", "ends in"});
  const Answer answer(text);
  Document listed = Document::array();
  for (const JsonObject& lease : answer.root().objects("leases")) {
    if (lease.optional().text("kind") != "memory") continue;
    const ByteCount bytes{lease.number<std::uint64_t>("memory_bytes")};
    const std::chrono::milliseconds left(lease.number<std::int64_t>("expires_in_ms"));
    table.add({lease.text("id"), lease.text("state"), to_string(bytes), lease.text("node"),
               format_duration(left)});
    listed.push_back({{"id", lease.text("id")},
                      {"state", lease.text("state")},
                      {"memory_bytes", bytes.value},
                      {"host", lease.text("node")},
                      {"expires_in_ms", left.count()}});
  }
  answer.check();
  if (shell.json)
    print_document(shell, {{"memory", std::move(listed)}});
  else if (table.empty())
    shell.note("you hold no memory; 'orchid memory take 1GiB' takes some");
  else
    shell.print(table.text());
  return ExitStatus::ok;
}

struct MoveArguments {
  std::string lease;
  std::string file = "-";
  std::string offset = "0";
  std::string size;
};

Result<UniqueFd> open_memory_input(const std::string& path) {
  if (path == "-") return duplicate(STDIN_FILENO);
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) return file;
  return fail(system_failure(errno == ENOENT ? ErrorCode::not_found : ErrorCode::system,
                             "open " + path, errno));
}

ExitStatus run_put_memory(Shell& shell, const MoveArguments& arguments) {
  const auto offset = parse_byte_count(arguments.offset);
  if (!offset) return shell.report(offset.error());
  auto input = open_memory_input(arguments.file);
  if (!input) return shell.report(input.error());
  RemoteMemory memory = shell.client().attach_memory(arguments.lease);
  std::vector<std::byte> bytes(piece);
  std::uint64_t at = offset->value;
  for (;;) {
    const ssize_t count = ::read(input->get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return shell.report(system_failure(ErrorCode::system, "read " + arguments.file, errno));
    if (count == 0) break;
    memory.put(at, std::span(bytes).first(static_cast<std::size_t>(count)));
    at += static_cast<std::uint64_t>(count);
  }
  const std::uint64_t put = at - offset->value;
  if (shell.json)
    print_document(shell, {{"id", arguments.lease}, {"offset", offset->value}, {"bytes", put}});
  else
    shell.print_line("put " + to_string(ByteCount{put}) + " into " + arguments.lease);
  return ExitStatus::ok;
}

ExitStatus run_get_memory(Shell& shell, const MoveArguments& arguments) {
  if (shell.json && arguments.file == "-")
    return shell.report_usage("with --json the bytes need a file of their own: give --out FILE");
  const auto offset = parse_byte_count(arguments.offset);
  if (!offset) return shell.report(offset.error());
  RemoteMemory memory = shell.client().attach_memory(arguments.lease);
  std::uint64_t size = memory.size() - std::min(memory.size(), offset->value);
  if (!arguments.size.empty()) {
    const auto wanted = parse_byte_count(arguments.size);
    if (!wanted) return shell.report(wanted.error());
    size = wanted->value;
  }
  auto file = OutputFile::open(arguments.file);
  if (!file) return shell.report(file.error());
  std::vector<std::byte> bytes(piece);
  for (std::uint64_t done = 0; done != size;) {
    const auto part = std::span(bytes).first(std::min<std::uint64_t>(piece, size - done));
    memory.get(offset->value + done, part);
    if (auto written = file->write(part); !written) return shell.report(written.error());
    done += part.size();
  }
  if (auto finished = file->finish(); !finished) return shell.report(finished.error());
  if (shell.json)
    print_document(shell, {{"id", arguments.lease}, {"offset", offset->value}, {"bytes", size}});
  return ExitStatus::ok;
}

ExitStatus run_release_memory(Shell& shell, const std::vector<std::string>& ids) {
  Client client = shell.client();
  for_each_name(shell, ids, "memory", [&](const std::string& id) {
    client.release_lease(id);
    if (!shell.json) shell.print_line("released " + id);
    return Document{{"id", id}, {"released", true}};
  });
  return ExitStatus::ok;
}

void add_take(CLI::App& memory, Shell& shell) {
  auto* command = add_command(memory, shell, "take",
                              "Take memory, print its lease, and keep it until interrupted",
                              "  orchid memory take 8GiB\n  orchid memory take 8GiB --host n17");
  auto arguments = std::make_shared<TakeArguments>();
  command->add_option("SIZE", arguments->size, "how much, such as 8GiB")->required();
  command->add_option("--host", arguments->host, "a host, as 'orchid hosts' names it");
  command->callback([&shell, arguments] { shell.status = run_take_memory(shell, *arguments); });
}

void add_moves(CLI::App& memory, Shell& shell) {
  auto* put = add_command(memory, shell, "put", "Write a file into leased memory",
                          "  orchid memory put l-3-17 matrix.bin\n"
                          "  orchid memory put l-3-17 --offset 1GiB < matrix.bin");
  auto source = std::make_shared<MoveArguments>();
  put->add_option("LEASE", source->lease, "as 'orchid memory list' shows it")->required();
  put->add_option("FILE", source->file, "default and '-': standard input");
  put->add_option("--offset", source->offset, "of its first byte in the memory (default: 0)");
  put->callback([&shell, source] { shell.status = run_put_memory(shell, *source); });

  auto* get = add_command(memory, shell, "get", "Read leased memory into a file",
                          "  orchid memory get l-3-17 --size 1MiB --out part.bin\n"
                          "  orchid memory get l-3-17 --offset 8 --size 8 | od -An -t u8");
  auto target = std::make_shared<MoveArguments>();
  get->add_option("LEASE", target->lease, "as 'orchid memory list' shows it")->required();
  get->add_option("--offset", target->offset, "where to begin (default: 0)");
  get->add_option("--size", target->size, "how much (default: all that is behind the offset)");
  get->add_option("--out,-o", target->file,
                  "file, which is there as a whole or not at all (default: standard output)");
  get->callback([&shell, target] { shell.status = run_get_memory(shell, *target); });
}

}  // namespace

void add_memory(CLI::App& app, Shell& shell) {
  auto* memory =
      app.add_subcommand("memory", "Use idle memory of other hosts: take, list, put, get, release");
  memory->footer(
      "examples:\n  orchid memory take 8GiB &\n  orchid memory list\n"
      "  orchid memory put l-3-17 matrix.bin");
  memory->require_subcommand(1);
  add_take(*memory, shell);
  auto* list =
      add_command(*memory, shell, "list", "List the memory that you hold", "  orchid memory list");
  list->alias("ls");
  list->callback([&shell] { shell.status = run_list_memory(shell); });
  add_moves(*memory, shell);
  auto* release = add_command(*memory, shell, "release", "Give memory back; what was in it is gone",
                              "  orchid memory release l-3-17");
  auto ids = std::make_shared<std::vector<std::string>>();
  release->add_option("LEASE", *ids, "as 'orchid memory list' shows them")->required();
  release->callback([&shell, ids] { shell.status = run_release_memory(shell, *ids); });
}

}  // namespace orchid::cli
