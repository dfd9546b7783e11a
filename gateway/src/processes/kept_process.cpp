#include "processes/kept_process.h"

#include <unistd.h>

#include <utility>

#include "foundation/log.h"

namespace orchid::gateway {
namespace {
constexpr std::chrono::seconds start_again_after{1};
}

KeptProcess::KeptProcess(boost::asio::io_context& io, Options options)
    : options_(std::move(options)), end_(io), timer_(io) {}

void KeptProcess::start(UniqueFd socket) {
  socket_ = std::move(socket);
  wanted_ = true;
  launch();
}

void KeptProcess::stop() {
  wanted_ = false;
  boost::system::error_code ignored;
  timer_.cancel();
  end_.close(ignored);
  process_.reset();
  socket_.reset();
}

void KeptProcess::launch() {
  auto started = ServerProcess::start(options_.program, options_.arguments, socket_.get());
  if (!started) {
    log::error("event={}_not_started reason=\"{}\"", options_.name, started.error().message);
    return launch_later();
  }
  process_ = std::move(*started);
  log::info("event={}_started process={}", options_.name, process_->pid());
  watch();
}

void KeptProcess::watch() {
  boost::system::error_code ignored;
  end_.close(ignored);
  end_.assign(::dup(process_->descriptor()));
  end_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                  [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                    if (error || alive.expired() || !wanted_) return;
                    log::warn("event={}_lost", options_.name);
                    process_.reset();
                    launch_later();
                  });
}

void KeptProcess::launch_later() {
  timer_.expires_after(start_again_after);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired() && wanted_) launch();
  });
}

}  // namespace orchid::gateway
