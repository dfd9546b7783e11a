#include "orders.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace fake_cuda {

void Orders::open(const char* path) {
  if (path != nullptr && file_ < 0) file_ = ::open(path, O_RDONLY | O_CLOEXEC);
}

std::optional<std::string> Orders::find(std::string_view word) const {
  std::array<char, 4096> text{};
  const auto length = file_ < 0 ? 0 : ::pread(file_, text.data(), text.size(), 0);
  std::string_view rest(text.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line == word) return std::string();
    if (line.starts_with(word) && line.substr(word.size()).starts_with(' '))
      return std::string(line.substr(word.size() + 1));
  }
  return std::nullopt;
}

std::optional<long> Orders::number(std::string_view word) const {
  const auto found = find(word);
  if (!found) return std::nullopt;
  return std::strtol(found->c_str(), nullptr, 10);
}

std::optional<long> Orders::of_kernel(std::string_view word, std::string_view name) const {
  return number(std::string(word) + " " + std::string(name));
}

}  // namespace fake_cuda
