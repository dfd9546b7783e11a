// The order: UCX's library and the object, if this end has one, are mapped. Then, with one thread,
// files, sockets and limits are restricted to what a connection to another host needs, and the
// connection is made. Then nothing can be opened, connected or accepted any more, and only then a
// byte of the object moves.
#include "copy_process.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "foundation/files.h"
#include "foundation/sockets.h"
#include "foundation/tcp.h"
#include "object_memory.h"
#include "protocol/copy_messages.h"
#include "sandbox/confinement.h"
#include "transport/ucx_transfer.h"

namespace orchid::executor {
namespace {

using transport::LaneDeadline;

/// For the two ends to meet; the rest of the time is for the bytes.
constexpr std::chrono::seconds meet_within{15};

/// Buffers of UCX, and our own small things.
constexpr ByteCount heap = 256_MiB;

struct Order {
  CopyMessage message;
  UniqueFd file;
};

std::optional<Order> await_order(int control) {
  auto packet = receive_packet(control, /*wait=*/true);
  if (!packet || !*packet || (*packet)->descriptors.size() != 1) return std::nullopt;
  auto message = parse_copy_message((*packet)->text);
  if (!message) return std::nullopt;
  return Order{std::move(*message), std::move((*packet)->descriptors.front())};
}

void say(int control, const CopyMessage& message) {
  static_cast<void>(send_packet(control, encode(message)));
}

int give_up(int control, const Failure& why, std::uint64_t have = 0) {
  say(control, CopyFailed{.code = why.code, .message = why.message, .have = {have}});
  return 1;
}

/// From the second stage on, when UCX may not close what it has opened.
[[noreturn]] void end(int status) { ::_exit(status); }

/// What both ends do before they know each other.
struct Preparation {
  ConfinementOptions confinement;
  transport::UcxContext context;
  transport::ConnectionKey key{};
  LaneDeadline deadline;
};

Result<Preparation> prepare(int control, int parent_pid, const std::string& own_address,
                            const std::string& key_text, std::chrono::milliseconds within,
                            std::optional<int> pipe = std::nullopt) {
  auto key = transport::parse_connection_key(key_text);
  if (!key) return fail(std::move(key.error()));
  ConfinementOptions confinement{.role = SandboxRole::remote_worker,
                                 .data_limit = heap,
                                 .parent_pid = parent_pid,
                                 .keep_descriptors = {0, 1, 2, control}};
  if (pipe) confinement.keep_descriptors.push_back(*pipe);
  std::ranges::sort(confinement.keep_descriptors);
  if (auto confined = confine(confinement); !confined) return fail(std::move(confined.error()));
  auto context = transport::UcxContext::create({.address = own_address});
  if (!context) return fail(std::move(context.error()));
  return Preparation{.confinement = std::move(confinement),
                     .context = std::move(*context),
                     .key = *key,
                     .deadline = std::chrono::steady_clock::now() + within};
}

LaneDeadline meeting_ends(const Preparation& prepared) {
  return std::min(prepared.deadline, std::chrono::steady_clock::now() + meet_within);
}

/// Who is connected to.
template <typename Order>
transport::TransferPeer peer_of(const Order& order, const Preparation& prepared) {
  return {.address = order.address,
          .key = prepared.key,
          .bytes = order.bytes,
          .deadline = meeting_ends(prepared)};
}

Result<void> close_the_door(Preparation& prepared) {
  prepared.confinement.protected_descriptors = end_of_descriptors();
  return confine_further(prepared.confinement);
}

int send(int control, int parent_pid, const CopySend& order, UniqueFd file) {
  const auto object = MappedFile::map(file.get(), {.limit = order.bytes});
  if (!object) return give_up(control, object.error());
  if (object->bytes().size() != order.bytes.value)
    return give_up(control, {ErrorCode::internal, "the object has another size than it should"});
  file.reset();
  auto prepared = prepare(control, parent_pid, order.address, order.key, order.within);
  if (!prepared) return give_up(control, prepared.error());
  auto listener = transport::UcxTransferListener::listen(
      prepared->context, {.address = order.address, .key = prepared->key, .bytes = order.bytes});
  if (!listener) return give_up(control, listener.error());
  say(control, CopyListening{listener->address()});
  auto sender = listener->accept(meeting_ends(*prepared), control);
  if (!sender) return give_up(control, sender.error());
  if (auto closed = close_the_door(*prepared); !closed) end(give_up(control, closed.error()));
  const auto served =
      sender->serve(object->bytes(),
                    {.deadline = prepared->deadline, .patience = order.patience, .stop = control});
  if (!served) end(give_up(control, served.error()));
  say(control, CopyDone{});
  end(0);
}

int take(int control, int parent_pid, const CopyTake& order, UniqueFd file) {
  const auto room = RoomMemory::map(file.get(), order.bytes);
  if (!room) return give_up(control, room.error());
  file.reset();
  auto prepared = prepare(control, parent_pid, order.address, order.key, order.within);
  if (!prepared) return give_up(control, prepared.error());
  auto listener = transport::UcxTransferListener::listen(
      prepared->context, {.address = order.address, .key = prepared->key, .bytes = order.bytes});
  if (!listener) return give_up(control, listener.error());
  say(control, CopyListening{listener->address()});
  auto receiver = listener->accept_sender(meeting_ends(*prepared), control);
  if (!receiver) return give_up(control, receiver.error());
  if (auto closed = close_the_door(*prepared); !closed) end(give_up(control, closed.error()));
  std::uint64_t have = 0;
  const auto received = receiver->receive(
      room->bytes(), have,
      {.deadline = prepared->deadline, .patience = order.patience, .stop = control});
  if (!received) end(give_up(control, received.error(), have));
  say(control, CopyDone{});
  end(0);
}

int fetch(int control, int parent_pid, const CopyFetch& order, UniqueFd file) {
  const auto room = RoomMemory::map(file.get(), order.bytes);
  if (!room) return give_up(control, room.error(), order.have.value);
  file.reset();
  auto prepared =
      prepare(control, parent_pid, local_host_towards(order.address), order.key, order.within);
  if (!prepared) return give_up(control, prepared.error(), order.have.value);
  auto receiver =
      transport::UcxTransferReceiver::connect(prepared->context, peer_of(order, *prepared));
  if (!receiver) return give_up(control, receiver.error(), order.have.value);
  if (auto closed = close_the_door(*prepared); !closed)
    end(give_up(control, closed.error(), order.have.value));
  std::uint64_t have = order.have.value;
  const auto received =
      receiver->receive(room->bytes(), have, {.deadline = prepared->deadline, .stop = control});
  if (!received) end(give_up(control, received.error(), have));
  say(control, CopyDone{});
  end(0);
}

int push(int control, int parent_pid, const CopyPush& order, UniqueFd pipe) {
  auto prepared = prepare(control, parent_pid, local_host_towards(order.address), order.key,
                          order.within, pipe.get());
  if (!prepared) return give_up(control, prepared.error());
  auto sender = transport::UcxTransferSender::connect(prepared->context, peer_of(order, *prepared));
  if (!sender) return give_up(control, sender.error());
  if (auto closed = close_the_door(*prepared); !closed) end(give_up(control, closed.error()));
  say(control, CopyMet{});
  const auto served =
      sender->serve_from(pipe.get(), {.deadline = prepared->deadline, .stop = control});
  if (!served) end(give_up(control, served.error()));
  say(control, CopyDone{});
  end(0);
}

int pull(int control, int parent_pid, const CopyPull& order, UniqueFd pipe) {
  auto prepared = prepare(control, parent_pid, local_host_towards(order.address), order.key,
                          order.within, pipe.get());
  if (!prepared) return give_up(control, prepared.error());
  auto receiver =
      transport::UcxTransferReceiver::connect(prepared->context, peer_of(order, *prepared));
  if (!receiver) return give_up(control, receiver.error());
  if (auto closed = close_the_door(*prepared); !closed) end(give_up(control, closed.error()));
  say(control, CopyMet{});
  const auto received = receiver->receive_into(pipe.get(), {order.begin, order.length},
                                               {.deadline = prepared->deadline, .stop = control});
  if (!received) end(give_up(control, received.error()));
  say(control, CopyDone{});
  end(0);
}

}  // namespace

int run_copy_process(int control, int parent_pid) {
  auto order = await_order(control);
  if (!order) return 1;
  if (auto loaded = transport::load_ucx(); !loaded) return give_up(control, loaded.error());
  if (const auto* sending = std::get_if<CopySend>(&order->message))
    return send(control, parent_pid, *sending, std::move(order->file));
  if (const auto* fetching = std::get_if<CopyFetch>(&order->message))
    return fetch(control, parent_pid, *fetching, std::move(order->file));
  if (const auto* taking = std::get_if<CopyTake>(&order->message))
    return take(control, parent_pid, *taking, std::move(order->file));
  if (const auto* pushing = std::get_if<CopyPush>(&order->message))
    return push(control, parent_pid, *pushing, std::move(order->file));
  if (const auto* pulling = std::get_if<CopyPull>(&order->message))
    return pull(control, parent_pid, *pulling, std::move(order->file));
  return give_up(control, {ErrorCode::bad_request, "an order that is none"});
}

}  // namespace orchid::executor
