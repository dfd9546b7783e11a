// orchid: the command-line program. Everything it can do is in src/commands, one file each.
#include <iostream>
#include <string>
#include <vector>

#include "terminal/command_line.h"

int main(int argc, char** argv) {
  orchid::cli::Shell shell(std::cout, std::cerr);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(orchid::cli::run_command_line(arguments, shell));
}
