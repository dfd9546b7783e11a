#include "processes/program_start.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace orchid::processes {

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  const auto name_of = [](std::string_view variable) {
    return variable.substr(0, variable.find('='));
  };
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::ranges::none_of(changes, [&](const std::string& change) {
          return name_of(change) == name_of(*variable);
        }))
      variables.emplace_back(*variable);
  std::ranges::copy_if(changes, std::back_inserter(variables),
                       [](const std::string& change) { return change.contains('='); });
  return variables;
}

}  // namespace orchid::processes
