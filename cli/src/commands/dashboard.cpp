// commands/dashboard.cpp: orchid dashboard: a link that logs a browser in at the gateway's page.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "commands/commands.h"
#include "foundation/files.h"
#include "supervisor/directories.h"
#include "terminal/documents.h"
#include "terminal/programs.h"

namespace orchid::cli {
namespace {

struct DashboardOptions {
  std::string url;
  bool no_open = false;
};

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool has_display() { return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"); }

/// In the value of an attribute.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

/// By a file that leads to the link: everybody on this machine sees the arguments of programs.
/// False: there is no browser, or it does not want to.
bool open_in_browser(const std::string& link) {
  const auto program = find_program("xdg-open");
  if (!program) return false;
  const std::filesystem::path folder = runtime_directory(real_user_surroundings());
  const std::filesystem::path file = folder / "dashboard.html";
  const std::string page =
      "<!doctype html><meta charset=\"utf-8\"><title>Orchid</title>"
      "<meta http-equiv=\"refresh\" content=\"0; url=" +
      escaped(link) + "\">\n";
  if (!make_private_directory(folder) || !write_file_atomically(file, as_bytes(page), 0600))
    return false;
  const auto ran = run_program({.command = {program->string(), file.string()},
                                .capture_output = true,
                                .discard_errors = true,
                                .longest = std::chrono::seconds(20)});
  return ran && ran->status == 0;
}

ExitStatus run_dashboard(Shell& shell, const DashboardOptions& options) {
  const std::string link = shell.client().make_page_link(options.url);
  const bool is_opened = !options.no_open && has_display() && open_in_browser(link);
  if (shell.json) {
    print_document(shell, {{"link", link}, {"opened", is_opened}});
    return ExitStatus::ok;
  }
  shell.print_line(link);
  shell.note(is_opened ? "a browser was asked to open it; it works once, within a minute"
                       : "open it in a browser; it works once, within a minute");
  return ExitStatus::ok;
}

}  // namespace

void add_dashboard(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "dashboard", "Print and open a link that logs you in at the gateway's page",
      "  orchid dashboard\n"
      "  ssh -L 8080:127.0.0.1:41523 login1   (on your own machine; 41523 is the port that\n"
      "                                        'orchid token --url' prints there)\n"
      "  orchid dashboard --url http://localhost:8080   (there; open what it prints here)");
  auto options = std::make_shared<DashboardOptions>();
  command->add_option("--url", options->url,
                      "where your browser finds the gateway, if not where this program does");
  command->add_flag("--no-open", options->no_open, "print the link only");
  command->callback([&shell, options] { shell.status = run_dashboard(shell, *options); });
}

}  // namespace orchid::cli
