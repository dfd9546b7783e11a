// The order: UCX's library and the memory are mapped. Then, with one thread, files, sockets and
// limits are restricted to what a connection to another host needs, and the client comes. Then
// nothing can be opened, connected or accepted any more, and only then its first request is read.
#include "memory_process.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "foundation/sockets.h"
#include "foundation/tcp.h"
#include "foundation/unique_fd.h"
#include "lane_client/memory_client.h"
#include "memory/messages.h"
#include "object_memory.h"
#include "sandbox/confinement.h"
#include "transport/ucx_memory.h"
#include "worker_access.h"

namespace orchid::executor {
namespace {

/// Buffers of UCX, what is gathered for gets with rows, and our own small things.
constexpr ByteCount heap = 256_MiB;
/// The agent tries again for longer: whoever used the memory before may just be leaving.
constexpr std::chrono::seconds connect_within{10};
/// Longer than the agent looks for what has become of a lease.
constexpr std::chrono::milliseconds fate_within{8'000};

struct Order {
  MemoryMessage message;
  UniqueFd descriptor;  // of the memory file, or of a worker
};

std::optional<Order> await_order(int control) {
  auto packet = receive_packet(control, /*wait=*/true);
  if (!packet || !*packet || (*packet)->descriptors.size() != 1) return std::nullopt;
  auto message = parse_memory_message((*packet)->text);
  if (!message) return std::nullopt;
  return Order{std::move(*message), std::move((*packet)->descriptors.front())};
}

void say(int control, const MemoryMessage& message) {
  static_cast<void>(send_packet(control, encode(message)));
}

int give_up(int control, const Failure& why) {
  say(control, MemoryFailed{.code = why.code, .message = why.message});
  return 1;
}

/// Who gives memory knows whether a lease has ended; whoever gets no answer may try again.
bool ask_fate(int control) {
  say(control, MemoryLost{});
  pollfd answer{.fd = control, .events = POLLIN, .revents = 0};
  if (::poll(&answer, 1, static_cast<int>(fate_within.count())) <= 0) return false;
  const auto packet = receive_packet(control, /*wait=*/false);
  if (!packet || !*packet) return false;
  const auto message = parse_memory_message((*packet)->text);
  const auto* fate = message ? std::get_if<MemoryFate>(&*message) : nullptr;
  return fate != nullptr && fate->ended;
}

int serve(int control, int parent_pid, const MemoryServe& order, UniqueFd file) {
  const auto memory = RoomMemory::map(file.get(), order.bytes);
  if (!memory) return give_up(control, memory.error());
  file.reset();
  const auto key = transport::parse_connection_key(order.key);
  if (!key) return give_up(control, key.error());
  ConfinementOptions confinement{.role = SandboxRole::remote_worker,
                                 .data_limit = heap,
                                 .parent_pid = parent_pid,
                                 .keep_descriptors = {0, 1, 2, control}};
  if (auto confined = confine(confinement); !confined) return give_up(control, confined.error());
  auto context = transport::UcxContext::create({.address = order.address});
  if (!context) return give_up(control, context.error());
  auto listener = transport::UcxMemoryListener::listen(
      *context, {.address = order.address, .key = *key, .bytes = order.bytes});
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
  const auto served = server->serve(memory->bytes(), {.wait = order.wait, .stop = control});
  // What a client asks for that there is not harms nobody but itself: it has lost its connection.
  if (!served && served.error().code != ErrorCode::bad_request)
    ::_exit(give_up(control, served.error()));
  say(control, MemoryLeft{});
  ::_exit(0);  // UCX may not close what it has opened
}

/// The other end, for a worker: what that sends is read only when nothing can be opened any more.
int reach(int control, int parent_pid, const MemoryReach& order, UniqueFd worker) {
  const auto key = transport::parse_connection_key(order.key);
  if (!key) return give_up(control, key.error());
  ConfinementOptions confinement{.role = SandboxRole::remote_worker,
                                 .data_limit = heap,
                                 .parent_pid = parent_pid,
                                 .keep_descriptors = {0, 1, 2, control, worker.get()}};
  const std::string own_address = local_host_towards(order.address);
  if (auto confined = confine(confinement); !confined) return give_up(control, confined.error());
  auto context = transport::UcxContext::create({.address = own_address});
  if (!context) return give_up(control, context.error());
  auto connection = transport::UcxMemoryClient::connect(
      *context, {.address = order.address,
                 .key = *key,
                 .bytes = order.bytes,
                 .deadline = std::chrono::steady_clock::now() + connect_within});
  if (!connection) return give_up(control, connection.error());
  auto memory = lane_client::MemoryClient::create(std::move(*connection),
                                                  {.host = order.host, .wait = order.wait});
  if (!memory) return give_up(control, memory.error());
  confinement.protected_descriptors = end_of_descriptors();
  if (auto closed = confine_further(confinement); !closed)
    ::_exit(give_up(control, closed.error()));
  say(control, MemoryConnected{});
  const auto served =
      serve_worker(**memory, {.worker = worker.get(), .control = control, .lease_has_ended = [&] {
                                return ask_fate(control);
                              }});
  if (!served) ::_exit(give_up(control, served.error()));
  say(control, MemoryLeft{});
  ::_exit(0);  // UCX may not close what it has opened
}

}  // namespace

int run_memory_process(int control, int parent_pid) {
  auto order = await_order(control);
  if (!order) return 1;
  if (auto loaded = transport::load_ucx(); !loaded) return give_up(control, loaded.error());
  if (const auto* serving = std::get_if<MemoryServe>(&order->message))
    return serve(control, parent_pid, *serving, std::move(order->descriptor));
  if (const auto* reaching = std::get_if<MemoryReach>(&order->message))
    return reach(control, parent_pid, *reaching, std::move(order->descriptor));
  return give_up(control, {ErrorCode::bad_request, "an order that is none"});
}

}  // namespace orchid::executor
