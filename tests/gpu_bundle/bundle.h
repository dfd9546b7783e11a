// bundle.h: the folder that is checked with, and the card that is checked.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "device_files.h"
#include "foundation/result.h"
#include "processes/program_start.h"

namespace orchid::gpu_check {

/// What gpu-bare prints: names and values.
class BareFigures {
 public:
  explicit BareFigures(const std::string& printed);
  [[nodiscard]] Result<double> number(const std::string& name) const;
  [[nodiscard]] Result<std::string> text(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

struct Bundle {
  std::filesystem::path folder;
  std::string gpu;              // its index, or its UUID
  executor::DeviceFiles files;  // that a device process of it may open

  [[nodiscard]] static Bundle at(const std::filesystem::path& folder, const std::string& gpu);
  [[nodiscard]] std::filesystem::path device_program() const {
    return folder / "bin/orchid-device";
  }
  /// gpu-bare on the same card as the device process, with nothing kept on disk.
  [[nodiscard]] processes::ProgramStart bare_program(const std::vector<std::string>& task) const;
};

/// Runs gpu-bare to its end. Errors: what it said, or that it has not ended in time.
[[nodiscard]] Result<BareFigures> run_bare(const Bundle& bundle,
                                           const std::vector<std::string>& task);

}  // namespace orchid::gpu_check
