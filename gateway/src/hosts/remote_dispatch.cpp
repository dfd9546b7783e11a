#include "hosts/remote_dispatch.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "foundation/log.h"
#include "foundation/sockets.h"

namespace orchid::gateway {
namespace {
constexpr std::chrono::seconds try_again_after{1};

std::vector<std::string> words_of(const RemoteDispatch::Options& options) {
  std::vector<std::string> words{"--listen", std::to_string(server_socket_number)};
  if (options.confined) words.emplace_back("--confined");
  return words;
}
}  // namespace

RemoteDispatch::RemoteDispatch(boost::asio::io_context& control, Options options)
    : options_(std::move(options)),
      process_(control,
               {.name = "dispatch", .program = options_.program, .arguments = words_of(options_)}),
      timer_(control) {}

void RemoteDispatch::start() {
  wanted_ = true;
  if (process_.is_wanted()) return;
  auto listener = listen_packets(options_.socket);
  if (listener) return process_.start(std::move(*listener));
  log::error("event=dispatch_not_started reason=\"{}\"", listener.error().message);
  timer_.expires_after(try_again_after);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired() && wanted_) start();
  });
}

void RemoteDispatch::stop() {
  wanted_ = false;
  timer_.cancel();
  if (process_.is_wanted()) ::unlink(options_.socket.c_str());
  process_.stop();
}

}  // namespace orchid::gateway
