#include "terminal/shell.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "foundation/files.h"
#include "foundation/visible_text.h"
#include "protocol/limits.h"
#include "terminal/output_file.h"

namespace orchid::cli {
namespace {

using nlohmann::json;

std::string dump(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The most that can be an input or a module; what is larger would be refused later, after much
/// memory.
constexpr ByteCount largest_input{std::max(limits::input_size.value, limits::module_size.value)};

}  // namespace

void Shell::print(std::string_view text) {
  show_passing_line("");
  if (out_is_terminal)
    out_ << visible_text(text) << std::flush;
  else
    out_ << text << std::flush;
}

void Shell::print_line(std::string_view text) {
  print(text);
  out_ << '\n' << std::flush;
}

void Shell::note(std::string_view line) {
  show_passing_line("");
  if (err_is_terminal)
    err_ << visible_text(line) << '\n' << std::flush;
  else
    err_ << line << '\n' << std::flush;
}

void Shell::show_passing_line(std::string_view line) {
  if (!err_is_terminal || (line.empty() && !passing_line_)) return;
  err_ << "\r\033[K" << visible_text(line) << std::flush;
  passing_line_ = !line.empty();
}

ExitStatus Shell::report(const Error& error) {
  status = exit_status_of(error.kind());
  if (json) {
    note(dump({{"error", to_string(error.kind())},
               {"message", error.message()},
               {"hint", error.hint()},
               {"outcome", error.outcome()},
               {"status", error.http_status()},
               {"function", error.function()},
               {"invocation", error.invocation()},
               {"node", error.node()},
               {"attempt", error.attempt()},
               {"retryable", error.retryable()},
               {"exit_status", static_cast<int>(status)}}));
  } else {
    note(std::string("orchid: ") + error.what());
  }
  return status;
}

ExitStatus Shell::report(const Failure& failure) {
  status = exit_status_of(failure.code);
  if (json) {
    note(dump({{"error", to_string(failure.code)},
               {"message", failure.message},
               {"exit_status", static_cast<int>(status)}}));
  } else {
    note("orchid: " + failure.message);
  }
  return status;
}

ExitStatus Shell::report_usage(std::string_view message) {
  return report(Failure{ErrorCode::bad_request, std::string(message)});
}

void add_common_options(CLI::App& app, Shell& shell) {
  app.add_flag("--json", shell.json, "print one JSON document instead of a table");
  app.add_option("--gateway", shell.gateway,
                 "http://host:port, ucx://host:port or unix:/path (default: $ORCHID_GATEWAY, "
                 "or the Orchid that runs here)");
}

CLI::App* add_command(CLI::App& app, Shell& shell, const std::string& name,
                      const std::string& summary, const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->footer("Examples:\n" + examples);
  add_common_options(*command, shell);
  return command;
}

Result<std::vector<std::byte>> read_standard_input() {
  if (::isatty(STDIN_FILENO) != 0) return std::vector<std::byte>{};
  std::vector<std::byte> content;
  constexpr std::size_t step = 64 * 1024;
  while (content.size() <= largest_input.value) {
    const std::size_t used = content.size();
    content.resize(used + step);
    const ssize_t got = ::read(STDIN_FILENO, content.data() + used, step);
    content.resize(used + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno == EBADF) return content;  // closed: no input
    if (got < 0 && errno != EINTR) return fail_errno("reading standard input");
    if (got == 0) return content;
  }
  return fail(ErrorCode::too_large, "the input is larger than " + to_string(largest_input) +
                                        "; split it into several calls");
}

Result<void> write_standard_output(std::span<const std::byte> bytes) {
  return write_output_file("-", bytes);
}

Result<void> write_output_file(const std::string& path, std::span<const std::byte> bytes) {
  auto file = OutputFile::open(path);
  if (!file) return fail(std::move(file.error()));
  if (auto written = file->write(bytes); !written) return written;
  return file->finish();
}

Result<std::vector<std::byte>> read_input_file(const std::string& path) {
  if (path == "-") return read_standard_input();
  return read_file(path, largest_input);
}

}  // namespace orchid::cli
