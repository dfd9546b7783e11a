// fakes/fake_executor.h: an executor's lane socket and a worker that echoes, all on one thread,
// which do as a test says.
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "foundation/error_code.h"
#include "foundation/unique_fd.h"
#include "protocol/call_header.h"
#include "protocol/lane_messages.h"

namespace orchid::tests {

/// Serves from a thread of its own until it is destroyed. All functions may be called by any
/// thread.
class FakeExecutor {
 public:
  FakeExecutor();
  ~FakeExecutor();
  FakeExecutor(const FakeExecutor&) = delete;
  FakeExecutor& operator=(const FakeExecutor&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void answer_calls(bool answers) { answers_ = answers; }
  /// The worker answers the next call with "need code".
  void forget_code() { forgets_ = true; }
  /// Modules that are announced from now on wait for a compiler, for ever.
  void compile_for_ever() { compiles_ = true; }
  /// The worker's answers are of this kind from now on, whatever it was asked.
  void answer_with(ResponseKind kind) { kind_ = kind; }
  /// Objects that workers are to be given from now on are refused so; nothing: they are mapped.
  void refuse_data(std::optional<ErrorCode> code) {
    data_refusal_ = code ? static_cast<int>(*code) : -1;
  }
  /// Says nothing to who wants a worker to be given something.
  void attach_data(bool attaches) { attaches_ = attaches; }
  /// The worker answers so many next calls with "need data".
  void unmap_data(unsigned times) { unmaps_ = times; }
  [[nodiscard]] unsigned attachments() const { return attachments_; }
  /// Closes all connections. Returns when that is done.
  void hang_up();
  /// Refuses all leases that were claimed.
  void revoke(const std::string& why);
  [[nodiscard]] unsigned announcements() const { return announcements_; }
  /// What the last one said of the time that its calls have left; -1: nothing.
  [[nodiscard]] std::int64_t announced_time_left_ms() const { return time_left_ms_; }
  [[nodiscard]] unsigned replacements() const { return replacements_; }
  /// Of calls, by workers.
  [[nodiscard]] unsigned answers() const { return calls_answered_; }

 private:
  struct Connection;
  void serve();
  void obey(Connection& connection);
  void attach(const Connection& connection, const LaneAttach& wanted);
  void give_worker(Connection& connection);
  void work(Connection& connection);

  std::filesystem::path directory_;
  std::filesystem::path path_;
  UniqueFd listener_;
  std::vector<std::unique_ptr<Connection>> connections_;  // the thread's
  std::string revocation_;                                // before `revokes_` is set
  std::atomic<bool> answers_{true};
  std::atomic<bool> forgets_{false};
  std::atomic<bool> compiles_{false};
  std::atomic<ResponseKind> kind_{ResponseKind::reply};
  std::atomic<int> data_refusal_{-1};  // a code; -1: none
  std::atomic<bool> attaches_{true};
  std::atomic<unsigned> unmaps_{0};
  std::atomic<unsigned> attachments_{0};
  std::atomic<bool> hangs_up_{false};
  std::atomic<bool> revokes_{false};
  std::atomic<bool> ends_{false};
  std::atomic<unsigned> announcements_{0};
  std::atomic<std::int64_t> time_left_ms_{-1};
  std::atomic<unsigned> replacements_{0};
  std::atomic<unsigned> calls_answered_{0};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace orchid::tests
