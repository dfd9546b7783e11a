#include "device/driver_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace orchid::executor {

bool is_for_drivers(std::string_view variable) {
  constexpr std::array<std::string_view, 5> beginnings{
      "LD_LIBRARY_PATH=", "PATH=", "HOME=", "CUDA_", "NVIDIA_"};
  return std::ranges::any_of(
      beginnings, [variable](std::string_view start) { return variable.starts_with(start); });
}

std::vector<std::string> driver_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (is_for_drivers(*variable)) variables.emplace_back(*variable);
  return variables;
}

}  // namespace orchid::executor
