// src/inspect_child.h: a fresh, confined process that reads one module and answers once.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "jit/inspector.h"
#include "protocol/compiler_messages.h"

namespace orchid::executor {

/// The parent's end. Owned by its one thread; neither copied nor moved. The process is killed and
/// reaped at the end of its life.
class InspectChild {
 public:
  /// Forks; the child confines itself and waits. The process must have one thread. Errors:
  /// `system`.
  [[nodiscard]] static Result<std::unique_ptr<InspectChild>> start(
      const ModuleInspector& inspector);
  InspectChild(const InspectChild&) = delete;
  InspectChild& operator=(const InspectChild&) = delete;
  ~InspectChild();

  /// Gives it `module`, a sealed memory file. Errors: `unreachable`, when it has ended already.
  [[nodiscard]] Result<void> hand_over(int module);
  /// Asks for the PTX of `module` instead. Errors: `unreachable`.
  [[nodiscard]] Result<void> ask_for_ptx(int module, std::string_view gpu);
  /// Readable when it has answered or ended.
  [[nodiscard]] int socket() const { return socket_.get(); }
  /// The memory file that came with a `CompiledCode`.
  [[nodiscard]] int ptx() const { return ptx_.get(); }
  /// Its answer, `InspectedManifest` (`CompiledCode` for PTX) or `InspectRejected` under `id`, also
  /// when it crashed. Reads without waiting.
  [[nodiscard]] CompilerMessage take_answer(std::uint64_t id);
  /// Only what it has said itself, `InspectedManifest` or `InspectRejected`; nothing when it said
  /// nothing (yet).
  [[nodiscard]] std::optional<CompilerMessage> read_answer(std::uint64_t id);
  /// The answer when it was too slow.
  [[nodiscard]] static CompilerMessage timed_out(std::uint64_t id);

 private:
  InspectChild(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  /// Kills it unless it has ended; the signal that ended it, or 0.
  int reap();

  pid_t pid_;  // 0: reaped
  UniqueFd socket_;
  bool asked_for_ptx_ = false;
  UniqueFd ptx_;
};

/// How long reading a module may take.
constexpr std::chrono::seconds inspect_time{10};
/// How long making PTX may take.
constexpr std::chrono::seconds ptx_time{60};

}  // namespace orchid::executor
