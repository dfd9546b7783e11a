// orchid: the command-line program. Everything it can do is in src/commands, one file each.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "commands/command_line.h"
#include "foundation/files.h"

int main(int argc, char** argv) {
  orchid::occupy_standard_descriptors();
  orchid::cli::Shell shell(std::cout, std::cerr);
  shell.out_is_terminal = ::isatty(STDOUT_FILENO) != 0;
  shell.err_is_terminal = ::isatty(STDERR_FILENO) != 0;
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  auto status = orchid::cli::run_command_line(arguments, shell);
  if (!std::cout.flush() && status == orchid::cli::ExitStatus::ok) {
    std::cerr
        << "orchid: standard output cannot be written: is the disk full, or the file closed?\n";
    status = orchid::cli::ExitStatus::orchid_failed;
  }
  return static_cast<int>(status);
}
