#include "terminal/shell.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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

/// As many characters as fit. A line that reaches the last column may already wrap.
std::string_view cut_to(std::string_view text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U;  // of UTF-8
    if (begins && ++seen >= columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace

TerminalSize terminal_size() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

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
  if (line.empty()) return show_passing_lines({});
  const std::string text(line);
  show_passing_lines(std::span(&text, 1));
}

void Shell::show_passing_lines(std::span<const std::string> lines) {
  if (!err_is_terminal || (lines.empty() && passing_lines_ == 0)) return;
  const TerminalSize size = err_size();
  // From the first of the lines that are there; each is written over, so that nothing flickers.
  std::string text = "\r";
  if (passing_lines_ > 1) text += "\033[" + std::to_string(passing_lines_ - 1) + "A";
  passing_lines_ = 0;
  for (const std::string& line : lines.first(std::min(lines.size(), size.rows))) {
    if (passing_lines_++ > 0) text += "\r\n";
    text.append(cut_to(visible_text(line, LineEnds::shown), size.columns)).append("\033[K");
  }
  err_ << text << "\033[J" << std::flush;
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
