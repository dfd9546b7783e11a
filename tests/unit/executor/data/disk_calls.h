// disk_calls.h: what a disk is asked in this program, and tests that answer for it.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace orchid::executor {

/// One at a time. While it lives, it hears of each `fsync`, `pread` and `unlinkat` of this program,
/// on any thread: the C library's are not called then.
class DiskCalls {
 public:
  struct Call {
    std::string name;  // of the function
    std::string file;  // its whole path
    [[nodiscard]] bool is(const std::string& function, const std::string& part) const {
      return name == function && file.find(part) != std::string::npos;
    }
  };
  /// What the call fails with; 0: the kernel does it.
  using Answer = std::function<int(const Call&)>;
  explicit DiskCalls(Answer answer = [](const Call& /*call*/) { return 0; });
  ~DiskCalls();
  DiskCalls(const DiskCalls&) = delete;
  DiskCalls& operator=(const DiskCalls&) = delete;

  /// Calls like that one wait, until `release`; no longer than 30 s.
  void hold(const std::string& function, const std::string& part);
  void release();
  /// One does.
  [[nodiscard]] bool is_held();
  /// Those so far which are of that directory, in their order.
  [[nodiscard]] std::vector<Call> calls(const std::string& directory);
  int hear(const Call& call);

 private:
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  Answer answer_;
  std::vector<Call> calls_;
  std::string held_function_;  // empty: none is held
  std::string held_part_;
  std::size_t waiting_ = 0;
};

}  // namespace orchid::executor
