// companions/kept_process.h: a program beside the gateway that is started again when it ends, or
// when somebody stops it.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "processes/child_process.h"
#include "processes/restart_policy.h"

namespace orchid::gateway {

/// The number under which such a program finds the socket that it is given.
constexpr int server_socket_number = 3;

/// Owned by the thread of the io_context that it is given.
class KeptProcess {
 public:
  struct Options {
    std::string name;  // for the log
    std::filesystem::path program;
    std::vector<std::string> arguments;
    /// Makes the socket that the program is given, if `start` is not told one. Tried as often as
    /// the program is.
    std::function<Result<UniqueFd>()> listen = {};
    /// Instead of both: makes the socket of one start, which is the process's alone. Who has its
    /// other end sees when the process has gone.
    std::function<Result<UniqueFd>()> connect = {};
    /// It goes on when we end, and knows by the end of its standard input that it is alone.
    bool outlives = false;
  };
  KeptProcess(boost::asio::io_context& io, Options options);
  KeptProcess(const KeptProcess&) = delete;
  KeptProcess& operator=(const KeptProcess&) = delete;

  /// The socket is kept over the process's end: who connects meanwhile waits for the next one. A
  /// process without one has a standard input that ends with us.
  void start(UniqueFd socket = {});
  void stop();
  [[nodiscard]] bool is_wanted() const { return wanted_; }

 private:
  [[nodiscard]] Result<processes::ChildProcess> start_process();
  void launch();
  [[nodiscard]] Result<void> watch();
  void look_later();
  void lose(const char* why);
  void launch_later();

  Options options_;
  UniqueFd socket_;
  UniqueFd input_;  // our end of the process's, if it has no socket
  std::optional<processes::ChildProcess> process_;
  processes::Restarts restarts_;
  boost::asio::posix::stream_descriptor end_;  // of the process
  boost::asio::steady_timer timer_;            // until it is started again
  boost::asio::steady_timer look_;             // until the next look whether it has been stopped
  bool was_stopped_ = false;                   // at the last look
  bool wanted_ = false;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell callbacks whether we are still here
};

}  // namespace orchid::gateway
