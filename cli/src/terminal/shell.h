// terminal/shell.h: what the commands share: the common options, where they read and write, and how
// they report failure.
#pragma once
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "orchid/client.h"
#include "terminal/exit_status.h"

namespace CLI {
class App;
}

namespace orchid::cli {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};
/// Of standard error's; as usual ones have it where that says nothing.
[[nodiscard]] TerminalSize terminal_size();

/// Owned by main's thread; `print`, `note` and `report` may be called by others one at a time.
class Shell {
 public:
  Shell(std::ostream& out, std::ostream& err) : out_(out), err_(err) {}

  /// Whether people read them at once: then nothing that a function wrote steers their terminal.
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  /// Asked whenever passing lines are shown: people change it.
  std::function<TerminalSize()> err_size = terminal_size;

  // Common options, filled by the command line.
  bool json = false;
  std::string gateway;
  std::vector<std::string> behind_dashes;  // the arguments after "--"; only `build` takes some

  /// The outcome of the command that ran.
  ExitStatus status = ExitStatus::ok;

  void print(std::string_view text);  // standard output; on a terminal, as `visible_text`
  void print_line(std::string_view text);
  void note(std::string_view line);  // standard error; the same
  /// On a terminal's standard error: replaces the line or lines that were shown last. Empty: takes
  /// them away.
  void show_passing_line(std::string_view line);
  /// Several, redrawn in place; what is wider or higher than the terminal is cut.
  void show_passing_lines(std::span<const std::string> lines);
  /// One line that says what and what to do, or one JSON object. Returns the exit status that goes
  /// with it.
  ExitStatus report(const Error& error);
  ExitStatus report(const Failure& failure);
  ExitStatus report_usage(std::string_view message);

  /// Throws `orchid::Error`.
  [[nodiscard]] Client client() const { return Client({.gateway = gateway}); }

 private:
  std::ostream& out_;
  std::ostream& err_;
  std::size_t passing_lines_ = 0;  // that are shown; the cursor is behind the last of them
};

/// The options that all commands have; they may stand before the command, too.
void add_common_options(CLI::App& app, Shell& shell);
/// A command with these options.
CLI::App* add_command(CLI::App& app, Shell& shell, const std::string& name,
                      const std::string& summary, const std::string& examples);

/// All of standard input; nothing when it is a terminal. Errors: `too_large`, `system`.
[[nodiscard]] Result<std::vector<std::byte>> read_standard_input();
/// To standard output. Errors: `system`.
[[nodiscard]] Result<void> write_standard_output(std::span<const std::byte> bytes);
/// Replaces a regular file as a whole; writes into what is not one, such as /dev/null. Errors:
/// `system`, `disk_full`.
[[nodiscard]] Result<void> write_output_file(const std::string& path,
                                             std::span<const std::byte> bytes);
/// Errors: `not_found`, `too_large`, `system`.
[[nodiscard]] Result<std::vector<std::byte>> read_input_file(const std::string& path);

}  // namespace orchid::cli
