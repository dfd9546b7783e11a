#include "data/far_end.h"

#include <poll.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "foundation/duplicate.h"
#include "foundation/sockets.h"
#include "processes/child_process.h"

namespace orchid::gateway {
namespace {

constexpr int control_number = 3;  // in the process

/// A process that was killed. It gives back what it had mapped first, for which nobody waits here.
struct KilledProcess {
  processes::ChildProcess process;
  boost::asio::posix::stream_descriptor end;
};
void reap_later(const std::shared_ptr<KilledProcess>& killed) {
  if (killed->process.reap()) return;
  killed->end.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [killed](const boost::system::error_code& error) {
                           if (!error) reap_later(killed);
                         });
}

class FarProcess final : public FarEnd {
 public:
  FarProcess(boost::asio::io_context& io, processes::ChildProcess process, Handlers handlers)
      : process_(std::move(process)), socket_(io), end_(io), handlers_(std::move(handlers)) {}

  ~FarProcess() override {
    process_.kill();
    const bool was_reaped = process_.pid() < 0;
    if (was_reaped || !end_.is_open() || process_.reap()) return;
    boost::system::error_code ignored;
    end_.cancel(ignored);
    reap_later(std::make_shared<KilledProcess>(std::move(process_), std::move(end_)));
  }

  [[nodiscard]] Result<void> watch(UniqueFd socket) {
    auto end = duplicate(process_.descriptor());
    if (!end) return fail(std::move(end.error()));
    for (auto [watched, descriptor] : {std::pair{&socket_, &socket}, std::pair{&end_, &*end}}) {
      boost::system::error_code error;
      watched->assign(descriptor->get(), error);
      if (error) return fail(ErrorCode::system, "epoll_ctl: " + error.message());
      (void)descriptor->release();
    }
    await_word();
    await_end();
    return {};
  }

 private:
  /// Asio may say that a descriptor is ready which another one was with its number a moment ago.
  void await_end() {
    end_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                      if (error || alive.expired()) return;
                      pollfd process{.fd = process_.descriptor(), .events = POLLIN, .revents = 0};
                      if (::poll(&process, 1, 0) <= 0) return await_end();
                      ended();
                    });
  }
  void await_word() {
    socket_.async_wait(
        boost::asio::posix::stream_descriptor::wait_read,
        [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
          if (error || alive.expired()) return;
          if (hear_all() && !alive.expired()) await_word();
        });
  }
  /// False: nothing more will come.
  bool hear_all() {
    const std::weak_ptr<char> alive = alive_;
    while (!alive.expired()) {
      auto packet = receive_packet(socket_.native_handle(), /*wait=*/false);
      if (!packet) return false;
      if (!*packet) return true;
      hear(**packet);
    }
    return false;
  }
  void hear(const Packet& packet) {
    auto message = parse_copy_message(packet.text);
    if (!message || !packet.descriptors.empty()) {
      failed_ = Failure{ErrorCode::internal, "the process that moves the bytes speaks nonsense"};
      return process_.kill();
    }
    if (auto* failed = std::get_if<CopyFailed>(&*message))
      failed_ = Failure{failed->code, std::move(failed->message)};
    else if (std::holds_alternative<CopyDone>(*message))
      done_ = true;
    else if (std::holds_alternative<CopyMet>(*message))
      std::function(handlers_.met)();  // which may be the end of us
  }
  void ended() {
    const std::weak_ptr<char> alive = alive_;
    (void)hear_all();
    if (alive.expired()) return;
    if (!done_ && !failed_) {
      const auto end = process_.reap();
      failed_ = Failure{ErrorCode::unreachable, "the process that moved the bytes has ended" +
                                                    (end ? ": " + describe(*end) : std::string())};
    }
    if (done_) failed_.reset();
    const auto ended = handlers_.ended;
    const std::optional<Failure> why = std::move(failed_);
    ended(why);
  }

  processes::ChildProcess process_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor end_;  // of the process
  Handlers handlers_;
  bool done_ = false;
  std::optional<Failure> failed_;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell callbacks whether we are still here
};

}  // namespace

StartFarEnd far_ends(boost::asio::io_context& control, std::filesystem::path program) {
  return [&control, program = std::move(program)](
             const CopyMessage& order, const UniqueFd& pipe,
             FarEnd::Handlers handlers) -> Result<std::unique_ptr<FarEnd>> {
    auto ends = make_packet_pair();
    if (!ends) return fail(std::move(ends.error()));
    auto process = processes::ChildProcess::start(
        {.program = program,
         .arguments = {"--serve", std::to_string(control_number)},
         .descriptors = {{.from = ends->second.get(), .as = control_number}},
         .group = processes::ProcessGroup::own});
    if (!process) return fail(std::move(process.error()));
    if (auto sent = send_packet(ends->first.get(), encode(order), {pipe.get()}); !sent)
      return fail(std::move(sent.error()));
    auto end = std::make_unique<FarProcess>(control, std::move(*process), std::move(handlers));
    if (auto watched = end->watch(std::move(ends->first)); !watched)
      return fail(std::move(watched.error()));
    return end;
  };
}

}  // namespace orchid::gateway
