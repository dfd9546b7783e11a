// agent/scratch.h: a directory that goes when its executor does.
#pragma once
#include <filesystem>

#include "foundation/result.h"

namespace orchid::executor {

class Scratch {
 public:
  /// Makes it, with mode 0700, unless it is there. Errors: `bad_configuration` when something other
  /// than a file "lock" is in it, since everything is removed in the end; `system`. Without a name
  /// there is nothing to remove.
  [[nodiscard]] static Result<Scratch> take(std::filesystem::path directory);
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&&) = delete;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { remove(); }
  /// Now, as far as it goes; the destructor removes what is written after that.
  void remove() const;

 private:
  explicit Scratch(std::filesystem::path directory) : directory_(std::move(directory)) {}
  std::filesystem::path directory_;
};

}  // namespace orchid::executor
