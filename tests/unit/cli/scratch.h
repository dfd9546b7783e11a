// unit/cli/scratch.h: a fresh directory below /tmp for one test.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace orchid::cli {

/// Removed with all that is in it at the end.
class Scratch {
 public:
  Scratch() {
    std::string pattern = "/tmp/orchid-test-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace orchid::cli
