// invocations/following_runner.h: calls that go where their data is brought.
#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "calls/call.h"
#include "calls/call_data.h"
#include "foundation/clock.h"
#include "invocations/forwarding_runner.h"

namespace orchid::gateway {

/// Stands before the runner of one HTTP thread, and is owned by that thread, as the runner is. A
/// call that comes back with `data_elsewhere` has not run, or may run again: it waits until its
/// data is where it can run, and goes there, up to its deadline. All others go straight on, and so
/// do asynchronous ones, whose queue does the same.
class FollowingRunner final : public ForwardingRunner {
 public:
  /// As CallDataFinder::find, from this thread; `done` is called on it, too.
  using Find = std::function<void(uid_t tenant, std::string names, placement::WorkerRequest worker,
                                  std::function<void(CallDataFinder::Found)> done)>;
  /// Both outlive it.
  FollowingRunner(CallRunner& runner, const Clock& clock)
      : ForwardingRunner(runner), clock_(clock) {}
  /// Before the first call.
  void set_find(Find find) { find_ = std::move(find); }

  void start(Call call, CallDone done) override;
  void cancel(const std::string& invocation) override;

  /// Asks again where data is, and ends calls whose deadline has passed. To be called several times
  /// a second.
  void sweep();
  /// Ends all that wait with `cancelled`; nothing waits from then on.
  void stop();
  [[nodiscard]] std::size_t waiting() const;

 private:
  /// One call, from its start to its end.
  struct Following {
    Call call;
    CallDone done;
    std::chrono::microseconds transfer{0};  // waited so far
    unsigned attempts = 0;                  // made so far
  };
  using Pointer = std::shared_ptr<Following>;
  /// What a question is about; the same answer holds for all of these.
  struct Key {
    uid_t tenant = 0;
    std::string names;
    std::shared_ptr<const FunctionVersion> version;
    CallPlace place;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Group {
    std::list<Pointer> calls;
    bool is_asked = false;  // and not answered
    std::string why;        // they wait, as far as is known
  };
  using Groups = std::map<Key, Group>;
  void go(const Pointer& one);
  void returned(const Pointer& one, CallResult result);
  void ask(Groups::iterator group, bool is_first);
  void answered(const Key& key, bool is_first, CallDataFinder::Found data);
  template <typename Do>
  void take_all(const Key& key, Do do_with);
  void go_all(const Key& key, const std::shared_ptr<const CallData>& data);
  void end_all(const Key& key, const Failure& why);
  void end_late(const Pointer& one, const std::string& why) const;
  [[nodiscard]] static std::chrono::microseconds waited(const Following& one, MonotonicTime now);
  /// Of one that waits.
  void end(const Pointer& one, Outcome outcome, std::optional<ErrorCode> code,
           std::string message) const;

  const Clock& clock_;
  Find find_;
  Groups waiting_;
  bool stopped_ = false;
};

}  // namespace orchid::gateway
