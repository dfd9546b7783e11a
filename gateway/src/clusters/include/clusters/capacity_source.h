// clusters/capacity_source.h: keeps one capacity source running, and what it tells.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clusters/source_conversation.h"
#include "processes/restart_policy.h"

namespace orchid::gateway {

/// Owned by the control thread, whose io_context it is given. A source that ends, says nonsense or
/// falls silent is started again: after a second, and later each time, up to a minute.
class CapacitySource {
 public:
  struct Options {
    std::string name;  // for people: "slurm"
    std::filesystem::path program;
    std::vector<std::string> arguments;
  };
  static constexpr std::chrono::seconds silent_after{30};  // it reports every 10 s
  static constexpr std::chrono::seconds longest_pause{60};

  /// `changed` is called after each update that is complete, with what that was about.
  CapacitySource(boost::asio::io_context& control, const Clock& clock, Options options,
                 std::function<void(const TouchedNodes&)> changed);
  ~CapacitySource();
  CapacitySource(const CapacitySource&) = delete;
  CapacitySource& operator=(const CapacitySource&) = delete;

  void start();
  void stop();
  [[nodiscard]] const ClusterState& state() const { return state_; }

 private:
  struct Run;  // of one process
  void launch();
  void read_line(const std::shared_ptr<Run>& run);
  void take_line(const std::shared_ptr<Run>& run, std::string_view line);
  void answer(const std::shared_ptr<Run>& run, const SourceCommand& command);
  void watch(const std::shared_ptr<Run>& run);
  void ended(const std::shared_ptr<Run>& run, const std::string& why);
  void launch_after(std::chrono::milliseconds pause);

  boost::asio::io_context& control_;
  const Clock& clock_;
  Options options_;
  std::function<void(const TouchedNodes&)> changed_;
  ClusterState state_;
  std::shared_ptr<Run>
      run_;  // shared with its asynchronous operations, which check that it is this
  boost::asio::steady_timer timer_;
  processes::Restarts restarts_{{.first_pause = std::chrono::seconds(1),
                                 .longest_pause = longest_pause,
                                 .window = 10 * longest_pause}};
  bool wanted_ = false;
};

}  // namespace orchid::gateway
