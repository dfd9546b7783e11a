// commands/token.cpp: orchid token: the secret of the Orchid that runs here, and where it is, for
// curl and other machines.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"
#include "foundation/files.h"
#include "supervisor/gateway_file.h"
#include "terminal/documents.h"

namespace orchid::cli {
namespace {

ExitStatus run_token(Shell& shell, bool url_only) {
  const auto file = find_clients_gateway_file(shell.gateway, real_user_surroundings());
  if (!file) return shell.report(Failure{ErrorCode::unreachable, file.error().message});
  const std::string url = file->addresses.empty() ? "" : file->addresses.front();
  if (url_only && !shell.json) {
    shell.print_line(url);
    return ExitStatus::ok;
  }
  const auto content = read_file(file->token_file, 64_KiB);
  if (!content) {
    Failure failure = content.error();
    return shell.report(
        std::move(failure).while_doing("reading the token; 'orchid doctor' looks for the cause"));
  }
  std::string token(as_text(*content));
  token.erase(token.find_last_not_of(" \r\n") + 1);
  if (shell.json) {
    print_document(shell, {{"token", token}, {"url", url}, {"socket", file->socket}});
  } else {
    shell.print_line(token);
  }
  return ExitStatus::ok;
}

}  // namespace

void add_token(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "token", "Print the token of the Orchid that runs here",
      "  curl -H \"Authorization: Bearer $(orchid token)\" $(orchid token --url)/v1/functions\n"
      "  ORCHID_TOKEN=… ORCHID_GATEWAY=http://login1:8080 orchid list   (on another machine)");
  auto url_only = std::make_shared<bool>(false);
  command->add_flag("--url", *url_only, "print the gateway's http address instead");
  command->callback([&shell, url_only] { shell.status = run_token(shell, *url_only); });
}

}  // namespace orchid::cli
