#include "remote_client.h"

#include <chrono>

#include "foundation/sockets.h"

namespace orchid::executor {

Result<transport::UcxContext*> make_ucx(const RemoteLane& remote) {
  auto made = transport::UcxContext::create(
      {.address = remote.address,
       .fabric = remote.trusted_fabric ? transport::Fabric::trusted : transport::Fabric::tcp});
  if (!made) return fail(std::move(made.error()));
  return new transport::UcxContext(std::move(*made));
}

Result<transport::UcxLaneWorker> await_remote_client(transport::UcxContext& context,
                                                     const RemoteLane& remote,
                                                     const transport::LaneGeometry& geometry,
                                                     int control) {
  auto key = transport::parse_connection_key(remote.key);
  if (!key) return fail(std::move(key.error()));
  auto listener = transport::UcxLaneListener::listen(
      context, {.address = remote.address, .key = *key, .geometry = geometry});
  if (!listener) return fail(std::move(listener.error()));
  const WorkerListening listening{.port = static_cast<std::uint16_t>(listener->port())};
  if (auto told = send_packet(control, encode(listening)); !told)
    return fail(std::move(told.error()));
  return listener->accept(std::chrono::steady_clock::time_point::max());
}

}  // namespace orchid::executor
