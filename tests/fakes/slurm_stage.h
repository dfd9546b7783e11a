// fakes/slurm_stage.h: Slurm's commands played by shell scripts.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include "foundation/files.h"
#include "foundation/random.h"
#include "pilot/slurm_commands.h"

namespace orchid::pilot {

/// A folder of scripts, removed at the end. They may leave files there.
class SlurmStage {
 public:
  SlurmStage() { std::filesystem::create_directory(folder); }
  ~SlurmStage() { std::filesystem::remove_all(folder); }
  SlurmStage(const SlurmStage&) = delete;
  SlurmStage& operator=(const SlurmStage&) = delete;

  /// `script` runs in the folder.
  void play(const std::string& command, const std::string& script) const {
    const auto path = folder / command;
    std::ofstream(path) << "#!/bin/sh\ncd " << folder.string() << "\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
  [[nodiscard]] SlurmCommands commands(
      std::chrono::milliseconds deadline = std::chrono::seconds(20)) const {
    return SlurmCommands({.folder = folder, .deadline = deadline});
  }
  [[nodiscard]] std::string text_of(const std::string& name) const {
    const auto content = read_file(folder / name, 1_MiB);
    return content ? std::string(as_text(*content)) : "";
  }

  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("orchid-slurm-" + random_hex(6));
};

}  // namespace orchid::pilot
