// processes/program_start.h: all that is said about a program that is to be started.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace orchid::processes {

/// Number `from` of ours is number `as` there. They may be the same.
struct PassedDescriptor {
  int from = -1;
  int as = -1;
};

/// What gets the terminal's signals with us, and what is killed as one.
enum class ProcessGroup : std::uint8_t { ours, own, own_session };

/// What the child does last before it becomes the program, as who it was started by: system calls
/// only, no allocation, no lock.
struct ChildStep {
  /// Null: done. Otherwise what has failed, as a text that lasts as long as the program (a
  /// literal), with the reason in errno.
  const char* (*run)(const void* context) noexcept = nullptr;
  const void* context = nullptr;
};

/// Whatever is not said has the value that suits a program of ours: it gets no descriptor but its
/// outputs, nothing to read, no blocked signal.
struct ProgramStart {
  std::filesystem::path program;       // where it is; PATH is not searched
  std::vector<std::string> arguments;  // without the program's name
  std::string name = {};               // as what it is run (argv[0]); empty: `program`
  /// All of it, "NAME=value"; nothing: ours.
  std::optional<std::vector<std::string>> environment = {};
  /// Besides standard output and error, which are ours unless they are in here.
  std::vector<PassedDescriptor> descriptors = {};
  bool inherits_input = false;  // otherwise it reads /dev/null, unless a descriptor is passed as 0
  ProcessGroup group = ProcessGroup::ours;
  /// The kernel kills it when the thread that has started it ends.
  bool dies_with_us = false;
  /// Signals that we ignore do there what they usually do. SIGPIPE always does: it is we who ignore
  /// it; the others were perhaps ignored by whoever started us (nohup).
  bool default_signals = false;
  /// When memory runs out, the kernel takes it before others' programs and before us.
  bool first_to_lose_memory = false;
  ChildStep last_step = {};
};

/// Our environment with `changes` made to it: "NAME=value" sets, "NAME" takes away.
[[nodiscard]] std::vector<std::string> environment_with(const std::vector<std::string>& changes);

}  // namespace orchid::processes
