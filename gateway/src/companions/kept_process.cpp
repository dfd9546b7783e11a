#include "companions/kept_process.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "foundation/duplicate.h"
#include "foundation/log.h"
#include "foundation/pipe.h"

namespace orchid::gateway {
namespace {
/// Stopped at two looks in a row it is lost: whoever looks at it with a debugger has that long.
constexpr std::chrono::milliseconds look_every{500};
/// A few ends in a minute cost no pause; what ends whenever it has begun is begun once a second.
constexpr processes::RestartPolicy restart_policy{
    .at_once = 3, .first_pause = std::chrono::seconds(1), .longest_pause = std::chrono::seconds(1)};
}  // namespace

KeptProcess::KeptProcess(boost::asio::io_context& io, Options options)
    : options_(std::move(options)), restarts_(restart_policy), end_(io), timer_(io), look_(io) {}

void KeptProcess::start(UniqueFd socket) {
  socket_ = std::move(socket);
  wanted_ = true;
  launch();
}

void KeptProcess::stop() {
  wanted_ = false;
  boost::system::error_code ignored;
  timer_.cancel();
  look_.cancel();
  end_.close(ignored);
  if (process_ && options_.outlives) (void)process_->release();
  process_.reset();
  socket_.reset();
  input_.reset();
}

/// A process without a socket knows by the end of its standard input that we are gone, however that
/// came. A group of its own: Ctrl-C is for the gateway, which then ends its child in order.
Result<processes::ChildProcess> KeptProcess::start_process() {
  if (!socket_ && options_.listen) {
    auto socket = options_.listen();
    if (!socket) return fail(std::move(socket.error()));
    socket_ = std::move(*socket);
  }
  processes::ProgramStart program{.program = options_.program,
                                  .arguments = options_.arguments,
                                  .group = processes::ProcessGroup::own};
  if (options_.connect) {
    auto socket = options_.connect();
    if (!socket) return fail(std::move(socket.error()));
    program.descriptors = {{.from = socket->get(), .as = server_socket_number}};
    return processes::ChildProcess::start(program);
  }
  if (socket_) {
    program.descriptors = {{.from = socket_.get(), .as = server_socket_number}};
    return processes::ChildProcess::start(program);
  }
  auto input = make_pipe();
  if (!input) return fail(std::move(input.error()));
  input_ = std::move(input->writer);
  program.descriptors = {{.from = input->reader.get(), .as = STDIN_FILENO}};
  return processes::ChildProcess::start(program);
}

void KeptProcess::launch() {
  auto started = start_process();
  if (!started) {
    log::error("event={}_not_started reason=\"{}\"", options_.name, started.error().message);
    return launch_later();
  }
  process_ = std::move(*started);
  if (auto watched = watch(); !watched) {
    log::error("event={}_not_watched reason=\"{}\"", options_.name, watched.error().message);
    process_.reset();
    return launch_later();
  }
  log::info("event={}_started process={}", options_.name, process_->pid());
}

Result<void> KeptProcess::watch() {
  boost::system::error_code error;
  end_.close(error);
  auto end = duplicate(process_->descriptor());
  if (!end) return fail(std::move(end.error()));
  end_.assign(end->get(), error);
  if (error) return fail(ErrorCode::system, "epoll_ctl: " + error.message());
  (void)end->release();
  end_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                  [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                    if (!error && !alive.expired() && wanted_) lose("ended");
                  });
  was_stopped_ = false;
  look_later();
  return {};
}

void KeptProcess::look_later() {
  look_.expires_after(look_every);
  look_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (error || alive.expired() || !wanted_ || !process_) return;
    const bool stopped = process_->is_stopped();
    if (stopped && was_stopped_) return lose("stopped by a signal");
    was_stopped_ = stopped;
    look_later();
  });
}

/// A stopped process ends now; with it its whole group, as if it had ended by itself.
void KeptProcess::lose(const char* why) {
  log::warn("event={}_lost reason=\"{}\"", options_.name, why);
  boost::system::error_code ignored;
  end_.close(ignored);
  look_.cancel();
  process_.reset();
  launch_later();
}

void KeptProcess::launch_later() {
  timer_.expires_after(restarts_.ended(std::chrono::steady_clock::now()).value_or(look_every));
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired() && wanted_) launch();
  });
}

}  // namespace orchid::gateway
