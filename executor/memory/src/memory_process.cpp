// The order: UCX's library and the memory are mapped. Then, with one thread, files, sockets and
// limits are restricted to what a connection to another host needs, and the client comes. Then
// nothing can be opened, connected or accepted any more, and only then its first request is read.
#include "memory_process.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "foundation/sockets.h"
#include "foundation/unique_fd.h"
#include "memory/messages.h"
#include "object_memory.h"
#include "sandbox/confinement.h"
#include "transport/ucx_memory.h"

namespace orchid::executor {
namespace {

/// Buffers of UCX, what is gathered for gets with rows, and our own small things.
constexpr ByteCount heap = 256_MiB;

struct Order {
  MemoryServe serve;
  UniqueFd file;
};

std::optional<Order> await_order(int control) {
  auto packet = receive_packet(control, /*wait=*/true);
  if (!packet || !*packet || (*packet)->descriptors.size() != 1) return std::nullopt;
  auto message = parse_memory_message((*packet)->text);
  if (!message || !std::holds_alternative<MemoryServe>(*message)) return std::nullopt;
  return Order{std::get<MemoryServe>(std::move(*message)),
               std::move((*packet)->descriptors.front())};
}

void say(int control, const MemoryMessage& message) {
  static_cast<void>(send_packet(control, encode(message)));
}

int give_up(int control, const Failure& why) {
  say(control, MemoryFailed{.code = why.code, .message = why.message});
  return 1;
}

int serve(int control, int parent_pid, Order order) {
  const auto memory = RoomMemory::map(order.file.get(), order.serve.bytes);
  if (!memory) return give_up(control, memory.error());
  order.file.reset();
  const auto key = transport::parse_connection_key(order.serve.key);
  if (!key) return give_up(control, key.error());
  ConfinementOptions confinement{.role = SandboxRole::remote_worker,
                                 .data_limit = heap,
                                 .parent_pid = parent_pid,
                                 .keep_descriptors = {0, 1, 2, control}};
  if (auto confined = confine(confinement); !confined) return give_up(control, confined.error());
  auto context = transport::UcxContext::create({.address = order.serve.address});
  if (!context) return give_up(control, context.error());
  auto listener = transport::UcxMemoryListener::listen(
      *context, {.address = order.serve.address, .key = *key, .bytes = order.serve.bytes});
  if (!listener) return give_up(control, listener.error());
  say(control, MemoryListening{listener->address()});
  // The agent knows how long a client may take: it ends this process.
  auto server = listener->accept(transport::LaneDeadline::max(), control);
  if (!server) {
    // Who had the key and did not finish may come again, to another process.
    const ErrorCode code = server.error().code;
    if (code != ErrorCode::unreachable && code != ErrorCode::timed_out)
      return give_up(control, server.error());
    say(control, MemoryLeft{});
    return 0;
  }
  confinement.protected_descriptors = end_of_descriptors();
  if (auto closed = confine_further(confinement); !closed)
    ::_exit(give_up(control, closed.error()));
  const auto served = server->serve(memory->bytes(), {.wait = order.serve.wait, .stop = control});
  // What a client asks for that there is not harms nobody but itself: it has lost its connection.
  if (!served && served.error().code != ErrorCode::bad_request)
    ::_exit(give_up(control, served.error()));
  say(control, MemoryLeft{});
  ::_exit(0);  // UCX may not close what it has opened
}

}  // namespace

int run_memory_process(int control, int parent_pid) {
  auto order = await_order(control);
  if (!order) return 1;
  if (auto loaded = transport::load_ucx(); !loaded) return give_up(control, loaded.error());
  return serve(control, parent_pid, std::move(*order));
}

}  // namespace orchid::executor
