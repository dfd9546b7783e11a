#include <memory>
#include <string>
#include <utility>

#include "foundation/tcp.h"
#include "ucx/ends.h"
#include "ucx/hello.h"

namespace orchid::transport {
namespace {

/// The worker's answer to our hello, checked.
Result<Welcome> read_welcome(Door& door, const LaneGeometry& largest) {
  Welcome welcome;
  if (auto got = door.read(writable_bytes_of(welcome)); !got) return fail(std::move(got.error()));
  if (welcome.magic != hello_magic)
    return fail(ErrorCode::bad_request, "the other end is not an Orchid worker");
  if (welcome.version != lane_version)
    return fail(ErrorCode::unsupported,
                "the worker speaks version " + std::to_string(welcome.version) +
                    " of the lane, this client version " + std::to_string(lane_version));
  if (welcome.request_bytes < 4096 || welcome.response_bytes < 4096)
    return fail(ErrorCode::bad_request, "a welcome out of range");
  if (welcome.request_bytes > largest.request_bytes.value ||
      welcome.response_bytes > largest.response_bytes.value)
    return fail(ErrorCode::too_large, "the worker's lane is larger than this client allows");
  return welcome;
}

}  // namespace

Result<UcxLaneClient> UcxLaneClient::connect(UcxContext& context, const Options& options) {
  // Names are the caller's business, and looking them up would open files.
  auto socket = connect_tcp(options.address, options.deadline, HostNames::refused);
  if (!socket) return fail(std::move(socket.error()));
  Door door(std::move(*socket), options.deadline);
  const Hello hello{.version = lane_version, .key = options.key};
  if (auto sent = door.write(bytes_of(hello)); !sent) return fail(std::move(sent.error()));
  auto open = open_link(context, options.key);
  if (!open) return fail(std::move(open.error()));
  // The worker never connects to us, so nobody who does is welcome.
  if (auto shut = open->doors.shut({}, options.deadline); !shut)
    return fail(std::move(shut.error()));
  if (auto sent = door.write_notice({{}, open->link->address()}); !sent)
    return fail(std::move(sent.error()));
  auto welcome = read_welcome(door, options.largest);
  if (!welcome) return fail(std::move(welcome.error()));
  auto worker = door.read_notice();
  if (!worker) return fail(std::move(worker.error()));

  auto requests = Slab::map(welcome->request_bytes);
  if (!requests) return fail(std::move(requests.error()));
  auto responses = Slab::map(welcome->response_bytes);
  if (!responses) return fail(std::move(responses.error()));
  if (auto done = wire_up_client(door, *open, *worker, !context.uses_verbs()); !done)
    return fail(std::move(done.error()));
  return UcxLaneClient(
      std::make_unique<State>(std::move(*requests), std::move(*responses), std::move(open->link)));
}

}  // namespace orchid::transport
