// processes/kept_process.h: a program beside the gateway that is started again when it ends, or
// when somebody stops it.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/unique_fd.h"
#include "processes/server_process.h"

namespace orchid::gateway {

/// Owned by the thread of the io_context that it is given.
class KeptProcess {
 public:
  struct Options {
    std::string name;  // for the log
    std::filesystem::path program;
    std::vector<std::string> arguments;
    /// It goes on when we end, and knows by the end of its standard input that it is alone.
    bool outlives = false;
  };
  KeptProcess(boost::asio::io_context& io, Options options);
  KeptProcess(const KeptProcess&) = delete;
  KeptProcess& operator=(const KeptProcess&) = delete;

  /// `socket` is kept over the process's end: who connects meanwhile waits for the next one. It may
  /// be empty: the process gets none, but a standard input that ends with us.
  void start(UniqueFd socket = {});
  void stop();
  [[nodiscard]] bool is_wanted() const { return wanted_; }

 private:
  [[nodiscard]] Result<ServerProcess> start_process();
  void launch();
  void watch();
  void look_later();
  void lose(const char* why);
  void launch_later();

  Options options_;
  UniqueFd socket_;
  UniqueFd input_;  // our end of the process's, if it has no socket
  std::optional<ServerProcess> process_;
  boost::asio::posix::stream_descriptor end_;  // of the process
  boost::asio::steady_timer timer_;            // until it is started again
  boost::asio::steady_timer look_;             // until the next look whether it has been stopped
  bool was_stopped_ = false;                   // at the last look
  bool wanted_ = false;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell callbacks whether we are still here
};

}  // namespace orchid::gateway
