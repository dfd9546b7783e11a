// children/child_watch.h: what happened to our child processes: ended, or stopped by somebody's
// signal.
#pragma once
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace orchid::executor {

struct ChildEvent {
  enum class Kind { exited, killed, stopped };
  Kind kind = Kind::exited;
  int value = 0;  // exit status, or signal
};
[[nodiscard]] std::string describe(const ChildEvent& event);

/// Owned by the agent's thread. A stopped child neither works nor ends, so whoever watches it
/// should kill it.
class ChildWatch {
 public:
  using Handler = std::function<void(ChildEvent)>;
  explicit ChildWatch(boost::asio::io_context& io);
  /// `handler` is called for each event until the child has ended; an event that came before this
  /// call is not lost.
  void watch(pid_t pid, Handler handler);
  /// The child is no longer of interest; it is still reaped. Its end is not told to whoever watches
  /// another child with its number.
  void forget(pid_t pid);
  /// Children whose end is waited for.
  [[nodiscard]] std::size_t watched() const { return handlers_.size(); }
  [[nodiscard]] std::vector<pid_t> pids() const;

 private:
  void wait_for_signal();
  void collect();

  boost::asio::signal_set signals_;
  std::unordered_map<pid_t, Handler> handlers_;
  std::unordered_map<pid_t, ChildEvent> early_;  // ended before anybody asked
  std::unordered_set<pid_t> forgotten_;          // that have not ended
};

}  // namespace orchid::executor
