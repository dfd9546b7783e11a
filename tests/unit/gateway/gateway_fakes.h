// gateway_fakes.h: what the tests of functions, invocations and store share: a thread's inbox, a
// clock, a runner, a directory.
#pragma once
#include <doctest/doctest.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "calls/call.h"
#include "foundation/clock.h"
#include "foundation/files.h"
#include "foundation/random.h"
#include "foundation/task.h"
#include "functions/module_inspector.h"
#include "store/store.h"

namespace orchid::gateway {

/// Stands for a thread: its tasks run where the test says.
class TaskInbox {
 public:
  [[nodiscard]] Poster poster() {
    return [this](Task task) {
      {
        const std::lock_guard guard(mutex_);
        tasks_.push_back(std::move(task));
      }
      came_.notify_one();
    };
  }
  void run_all() {
    while (Task task = take({})) task();
  }
  [[nodiscard]] bool empty() {
    const std::lock_guard guard(mutex_);
    return tasks_.empty();
  }
  /// As when a process ends: what was posted is never run.
  void clear() {
    const std::lock_guard guard(mutex_);
    tasks_.clear();
  }
  /// Runs what comes until `condition` holds; fails the test after 10 s.
  template <typename Condition>
  void run_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      if (Task task = take(deadline)) task();
    }
  }

 private:
  Task take(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock guard(mutex_);
    came_.wait_until(guard, deadline, [this] { return !tasks_.empty(); });
    if (tasks_.empty()) return {};
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Task> tasks_;
};

class ManualClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return MonotonicTime(elapsed_); }
  [[nodiscard]] WallTime wall_now() const override {
    return WallTime(std::chrono::duration_cast<WallTime::duration>(
        std::chrono::hours(24 * 365 * 50) + elapsed_));
  }
  void advance(std::chrono::milliseconds by) { elapsed_ += by; }
  [[nodiscard]] UnixMillis wall_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(wall_now().time_since_epoch())
        .count();
  }

 private:
  std::chrono::steady_clock::duration elapsed_{std::chrono::hours(1)};
};

/// Keeps the calls until the test ends them.
class FakeRunner final : public CallRunner {
 public:
  struct Running {
    Call call;
    CallDone done;
  };
  void start(Call call, CallDone done) override {
    order.push_back(call.invocation);
    std::string id = call.invocation;
    running[id] = {std::move(call), std::move(done)};
  }
  void expect(uid_t /*tenant*/, const std::shared_ptr<const FunctionVersion>& version) override {
    expected.push_back(version->digest);
  }
  void warm(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version,
            const CallPlace& place) override {
    expect(tenant, version);
    warm_at.push_back(place);
  }
  void cancel(const std::string& invocation) override { cancelled.push_back(invocation); }
  [[nodiscard]] RunningLog running_log(const std::string& invocation) const override {
    return {.text = running.contains(invocation) ? "so far" : "", .dropped = 0};
  }
  [[nodiscard]] std::optional<double> running_progress(
      const std::string& invocation) const override {
    return running.contains(invocation) ? progress : std::nullopt;
  }
  bool poll() override { return false; }
  [[nodiscard]] bool expects_answer_soon() const override { return false; }
  [[nodiscard]] bool prepare_to_sleep() override { return true; }
  void finish_sleep() override {}

  void end(const std::string& id, CallResult result) {
    auto node = running.extract(id);
    REQUIRE(!node.empty());
    node.mapped().done(std::move(result));
  }
  std::map<std::string, Running> running;
  std::optional<double> progress;  // of all that run
  std::vector<std::string> order;
  std::vector<std::string> cancelled;
  std::vector<std::string> expected;  // digests
  std::vector<CallPlace> warm_at;
};

[[nodiscard]] inline CallResult ok_result(std::string_view output) {
  CallResult result;
  result.node = "node";
  result.attempt = 1;
  const auto bytes = as_bytes(output);
  result.output = Payload::of({bytes.begin(), bytes.end()});
  return result;
}

[[nodiscard]] inline CallResult failed_result(Outcome outcome, std::string node = "node") {
  CallResult result;
  result.outcome = outcome;
  result.message = "why";
  result.node = std::move(node);
  return result;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(std::filesystem::temp_directory_path() / ("orchid-test-" + random_hex(8))) {
    REQUIRE(make_private_directory(path_));
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] inline std::shared_ptr<FunctionVersion> make_version(
    const std::string& function, char digit, std::vector<std::string> entries = {"main"}) {
  auto version = std::make_shared<FunctionVersion>();
  version->function = function;
  version->digest = "sha256:" + std::string(64, digit);
  for (std::string& name : entries)
    version->manifest.entries.push_back({.name = std::move(name), .signature = std::nullopt});
  return version;
}

}  // namespace orchid::gateway
