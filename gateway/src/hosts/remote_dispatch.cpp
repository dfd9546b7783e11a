#include "hosts/remote_dispatch.h"

#include <unistd.h>

#include <string>

#include "foundation/log.h"
#include "foundation/sockets.h"

namespace orchid::gateway {
namespace {
constexpr std::chrono::seconds start_again_after{1};
}

RemoteDispatch::RemoteDispatch(boost::asio::io_context& control, Options options)
    : control_(control), options_(std::move(options)), end_(control), timer_(control) {}

void RemoteDispatch::start() {
  if (wanted_) return;
  wanted_ = true;
  launch();
}

void RemoteDispatch::stop() {
  wanted_ = false;
  boost::system::error_code ignored;
  timer_.cancel();
  end_.close(ignored);
  process_.reset();
  if (listener_) ::unlink(options_.socket.c_str());
  listener_.reset();
}

void RemoteDispatch::launch() {
  // Kept over the process's end: who connects meanwhile waits for the next one.
  if (!listener_) {
    auto listener = listen_packets(options_.socket);
    if (!listener) {
      log::error("event=dispatch_not_started reason=\"{}\"", listener.error().message);
      return launch_later();
    }
    listener_ = std::move(*listener);
  }
  auto started = ServerProcess::start(
      options_.program, {"--listen", std::to_string(server_socket_number)}, listener_.get());
  if (!started) {
    log::error("event=dispatch_not_started reason=\"{}\"", started.error().message);
    return launch_later();
  }
  process_ = std::move(*started);
  log::info("event=dispatch_started process={}", process_->pid());
  watch();
}

void RemoteDispatch::watch() {
  boost::system::error_code ignored;
  end_.close(ignored);
  end_.assign(::dup(process_->descriptor()));
  end_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                  [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                    if (error || alive.expired() || !wanted_) return;
                    log::warn("event=dispatch_lost");
                    process_.reset();
                    launch_later();
                  });
}

void RemoteDispatch::launch_later() {
  timer_.expires_after(start_again_after);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired() && wanted_) launch();
  });
}

}  // namespace orchid::gateway
