// device/driver_environment.h: what a device process gets of the environment of who starts it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace orchid::executor {

/// Whether a variable ("NAME=value") goes on to device processes: drivers are found and set by
/// those. Others may be secrets.
[[nodiscard]] bool is_for_drivers(std::string_view variable);
/// Those of this process.
[[nodiscard]] std::vector<std::string> driver_environment();

}  // namespace orchid::executor
