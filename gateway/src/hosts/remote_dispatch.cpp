#include "hosts/remote_dispatch.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "foundation/sockets.h"

namespace orchid::gateway {
namespace {

KeptProcess::Options process_of(const RemoteDispatch::Options& options) {
  std::vector<std::string> words{"--listen", std::to_string(server_socket_number)};
  if (options.confined) words.emplace_back("--confined");
  return {.name = "dispatch",
          .program = options.program,
          .arguments = std::move(words),
          .listen = [socket = options.socket] { return listen_packets(socket); }};
}

}  // namespace

RemoteDispatch::RemoteDispatch(boost::asio::io_context& control, Options options)
    : options_(std::move(options)), process_(control, process_of(options_)) {}

void RemoteDispatch::start() {
  if (!process_.is_wanted()) process_.start();
}

void RemoteDispatch::stop() {
  if (process_.is_wanted()) ::unlink(options_.socket.c_str());
  process_.stop();
}

}  // namespace orchid::gateway
