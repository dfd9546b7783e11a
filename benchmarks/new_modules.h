// new_modules.h: modules that no compiler has seen.
#pragma once
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace orchid::bench {

/// One module, new each time: LLVM passes over a few bytes behind the end of a module.
class NewModules {
 public:
  explicit NewModules(std::vector<std::byte> module)
      : module_(std::move(module)), number_(static_cast<std::uint32_t>(::getpid()) << 16) {
    module_.resize(module_.size() + sizeof(number_));
  }
  /// Valid until the next one.
  std::span<const std::byte> next() {
    ++number_;
    std::memcpy(module_.data() + module_.size() - sizeof(number_), &number_, sizeof(number_));
    return module_;
  }

 private:
  std::vector<std::byte> module_;
  std::uint32_t number_;
};

}  // namespace orchid::bench
