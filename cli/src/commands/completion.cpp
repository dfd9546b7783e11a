// commands/completion.cpp: orchid completion: scripts for the shells, made from the commands as
// they are declared.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"

namespace orchid::cli {
namespace {

struct CommandWords {
  std::string name;
  std::string summary;
  std::vector<std::string> options;
  bool takes_functions = false;
};

std::vector<CommandWords> words_of(const CLI::App& app) {
  std::vector<CommandWords> words;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandWords entry{
        .name = command->get_name(), .summary = command->get_description(), .options = {}};
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) entry.options.push_back("--" + name);
    entry.takes_functions =
        entry.name == "invoke" || entry.name == "describe" || entry.name == "delete";
    words.push_back(std::move(entry));
  }
  return words;
}

std::string joined_by_spaces(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

std::string names_of(const std::vector<CommandWords>& words) {
  std::vector<std::string> names;
  for (const CommandWords& command : words) names.push_back(command.name);
  return joined_by_spaces(names);
}

std::string bash_script(const std::vector<CommandWords>& words) {
  std::string script =
      "# orchid completion bash > ~/.local/share/bash-completion/completions/orchid\n"
      "_orchid() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} words=\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W \"" +
      names_of(words) +
      "\" -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const CommandWords& command : words) {
    script += "    " + command.name + ") words=\"" + joined_by_spaces(command.options) + "\"";
    if (command.takes_functions)
      script += "; [[ $current == -* ]] || words=$(orchid list --names 2>/dev/null)";
    script += " ;;\n";
  }
  script +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}\n"
      "complete -o default -F _orchid orchid\n";
  return script;
}

/// For text between single quotes; summaries have none of the characters that would need more.
std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4)
    text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

std::string zsh_script(const std::vector<CommandWords>& words) {
  std::string script =
      "#compdef orchid\n"
      "# orchid completion zsh > a folder of $fpath, as _orchid\n"
      "_orchid() {\n"
      "  if ((CURRENT == 2)); then\n"
      "    local -a commands=(";
  for (const CommandWords& command : words)
    script += "\n      " + quoted(command.name + ":" + command.summary);
  script +=
      ")\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n";
  for (const CommandWords& command : words) {
    script += "    " + command.name + ") compadd -- " + joined_by_spaces(command.options);
    if (command.takes_functions) script += " $(orchid list --names 2>/dev/null)";
    script += " ;;\n";
  }
  script +=
      "  esac\n"
      "  _files\n"
      "}\n"
      "compdef _orchid orchid\n";
  return script;
}

std::string fish_script(const std::vector<CommandWords>& words) {
  std::string script = "# orchid completion fish > ~/.config/fish/completions/orchid.fish\n";
  for (const CommandWords& command : words) {
    script += "complete -c orchid -n __fish_use_subcommand -f -a " + command.name + " -d " +
              quoted(command.summary) + "\n";
    const std::string when = "'__fish_seen_subcommand_from " + command.name + "'";
    for (const std::string& option : command.options)
      script += "complete -c orchid -n " + when + " -l " + option.substr(2) + "\n";
    if (command.takes_functions)
      script += "complete -c orchid -n " + when + " -a '(orchid list --names 2>/dev/null)'\n";
  }
  return script;
}

ExitStatus run_completion(Shell& shell, const CLI::App& app, const std::string& kind) {
  if (shell.json) return shell.report_usage("a script is no document: leave --json out");
  const auto words = words_of(app);
  if (kind == "bash") shell.print(bash_script(words));
  if (kind == "zsh") shell.print(zsh_script(words));
  if (kind == "fish") shell.print(fish_script(words));
  return ExitStatus::ok;
}

}  // namespace

void add_completion(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "completion", "Print a script that completes orchid's commands in your shell",
      "  source <(orchid completion bash)\n  orchid completion fish | source");
  command->remove_option(command->get_option("--json"));  // a script is no document
  auto kind = std::make_shared<std::string>();
  command->add_option("SHELL", *kind, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&shell, &app, kind] { shell.status = run_completion(shell, app, *kind); });
}

}  // namespace orchid::cli
