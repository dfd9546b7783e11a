#include "door_process.h"

#include <utility>

#include "listening.h"

namespace orchid::gateway {

DoorProcess::DoorProcess(boost::asio::io_context& control, const Config& config,
                         std::optional<TcpListener> listener)
    : process_(control, {.name = "door",
                         .program = config.door_program,
                         .arguments = {"--listen", std::to_string(server_socket_number),
                                       "--gateway", door_socket(config).string(), "--clients",
                                       std::to_string(config.door_clients)}}),
      listener_(std::move(listener)),
      url_(listener_ ? "ucx://" + listener_->address : "") {}

void DoorProcess::start() {
  if (listener_) process_.start(std::move(std::exchange(listener_, std::nullopt)->socket));
}

}  // namespace orchid::gateway
