// How a crew at several executors is wired: its client makes the keys, tells each member whom to
// connect with, and connects itself.
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "crew/crew_core.h"
#include "foundation/random.h"

namespace orchid::sdk {
namespace {

constexpr std::size_t secret_bytes = 32;

std::string digits_of(const transport::ConnectionKey& key) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : key) {
    text += digits[std::to_integer<unsigned>(byte) >> 4];
    text += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

/// Of a member that listens on its executor's host.
std::string address_of(const GrantedWorker& worker, std::uint16_t port) {
  return worker.lane_address.substr(0, worker.lane_address.rfind(':') + 1) + std::to_string(port);
}

ErrorCode code_of_lost_data(ErrorKind kind) {
  if (kind == ErrorKind::not_found) return ErrorCode::not_found;
  return kind == ErrorKind::data_lost ? ErrorCode::data_lost : ErrorCode::unreachable;
}

Result<transport::ConnectionKey> key_of(const std::string& secret, std::uint32_t one,
                                        std::uint32_t other) {
  return transport::crew_pair_key(std::as_bytes(std::span(secret)), one, other);
}

}  // namespace

/// Each crew has a secret of its own, and each member gets the keys of its own pairs: nobody of an
/// earlier crew is let in.
void CrewCore::wire_members() {
  if (connection_ != nullptr) return;  // that of an earlier crew ends soon
  wiring_ = true;
  const std::string secret = random_hex(secret_bytes);
  std::vector<transport::CrewMesh::Peer> own;
  for (Seat& seat : seats_) {
    LaneWire wire{.worker = seat.claimed->worker, .peers = {}};
    const auto add = [&](std::uint32_t member, std::string address) {
      const auto key = key_of(secret, seat.place.member, member);
      if (key) wire.peers.push_back({member, std::move(address), digits_of(*key)});
    };
    if (seat.place.is_far) {
      add(crew::client_member, "");
      if (const auto key = key_of(secret, crew::client_member, seat.place.member))
        own.push_back({.member = seat.place.member,
                       .key = *key,
                       .address = address_of(seat.place.worker, seat.claimed->port)});
    }
    for (const Seat& other : seats_)
      if (other.place.near != seat.place.near)
        add(other.place.member, address_of(other.place.worker, other.claimed->port));
    seat.wire_sent = true;
    (void)seat.socket->send(encode(wire), {});
  }
  connection_ = std::make_unique<CrewConnection>(std::move(own), [this] { poke(); });
}

/// Whoever asks does not have it, and its neighbours do not.
void CrewCore::locate(Lock& lock, const std::string& wanted) {
  LaneLocated answer{.data = wanted};
  DataHolders holders;
  lock.unlock();
  try {
    holders = source_->holders_of(wanted);
  } catch (const Error& error) {
    answer.code = code_of_lost_data(error.kind());
    answer.message = error.message();
  }
  lock.lock();
  const std::set<std::size_t> askers = std::exchange(locates_[wanted], {});
  locates_.erase(wanted);
  std::vector<const CrewPlaces::Seat*> places;
  for (const Seat& seat : seats_) places.push_back(&seat.place);
  for (const std::size_t index : askers) {
    if (index >= seats_.size() || !seats_[index].socket) continue;
    LaneLocated told = answer;
    if (told.message.empty())
      told.member =
          member_with_data(places, seats_[index].place, {.data = wanted, .holders = holders});
    if (told.message.empty() && told.member == 0) {
      told.code = ErrorCode::data_elsewhere;
      told.message =
          "no member of the crew is on a host that has it: copy it to one of the crew's hosts "
          "before (orchid data copy)";
    }
    (void)seats_[index].socket->send(encode(LaneMessage(told)), {});
  }
}

/// No other executor says any of that. False: it is about something else.
bool CrewCore::hear_spread(std::size_t index, Packet& packet) {
  const auto message = parse_lane_message(packet.text);
  if (!message) return false;
  if (const auto* made = std::get_if<LaneMade>(&*message)) {
    keep_made(index, *made, packet);
    return true;
  }
  if (const auto* wanted = std::get_if<LaneLocate>(&*message)) {
    if (locates_.size() >= most_questions) {
      drop_executor(index, "the executor asks for too much data");
      return true;
    }
    locates_[wanted->data].insert(index);
    wanted_.notify_all();
    return true;
  }
  const auto* wired = std::get_if<LaneWired>(&*message);
  if (wired == nullptr) return false;
  Seat& seat = seats_[index];
  if (seat.claimed && seat.claimed->worker == wired->worker) seat.wired = true;
  return true;
}

/// What the program has loaded, all members have.
void CrewCore::keep_made(std::size_t index, const LaneMade& made, Packet& packet) {
  if (packet.descriptors.size() != 1)
    return drop_executor(index,
                         "the executor sent a module that a call has made without its bytes");
  LaneKept answer{.digest = made.digest};
  if (!modules_.contains(made.digest))
    if (auto kept = made_.keep(made, std::move(packet.descriptors.front()), formations_); !kept)
      answer.refusal = std::move(kept.error());
  (void)seats_[index].socket->send(encode(LaneMessage(answer)), {});
}

/// The driver goes on meanwhile. What nobody wants any more is thrown away.
void CrewCore::take_connection() {
  if (connection_ == nullptr) return;
  auto made = connection_->take();
  if (!made) return;
  connection_.reset();
  if (!wiring_) return;
  if (!*made) return end_wiring(made->error().message);
  mesh_ = std::move(**made);
}

void CrewCore::stop_wiring() {
  wiring_ = false;
  mesh_.reset();
  if (connection_ != nullptr) connection_->stop();
}

/// Members that were told of each other cannot be told of others: all are made anew.
void CrewCore::end_wiring(const std::string& why) {
  stop_wiring();
  for (Seat& seat : seats_)
    if (seat.claimed && seat.wire_sent) {
      (void)seat.socket->send(
          encode(LaneReplace{.reason = why, .worker = seat.claimed->worker, .crew_lost = true}),
          {});
      seat.claimed.reset();
      seat.descriptors.clear();
    }
}

}  // namespace orchid::sdk
