// How a crew stands, is lost, and stands again: its driver, which hears the executor.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "crew/crew_core.h"
#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "http/problem.h"
#include "lane_client/open_lane.h"
#include "lane_client/policy.h"
#include "protocol/lane_protocol.h"

namespace orchid::sdk {
namespace {

/// How often deadlines are looked at while calls are under way, and while none is.
constexpr int busy_look_ms = 10;
constexpr int idle_look_ms = 1000;
constexpr std::size_t crew_descriptor_count = 6;
/// Beyond the time in which a lost crew has to stand again.
constexpr std::chrono::seconds load_grace{5};

}  // namespace

void CrewCore::drive() {
  Lock lock(mutex_);
  while (!stopping_) {
    work(lock);
    if (!stopping_ && !sleep(lock)) take_answers();
  }
  connection_.reset();
  end_.reset();
  mesh_.reset();
  seats_.clear();
  wake_.clear();
}

void CrewCore::work(Lock& lock) {
  if (grant_) claim_members(lock, *std::exchange(grant_, std::nullopt));
  // Until nothing is left: who has heard of one member's next worker has then heard that the
  // others' last ones have ended.
  for (bool heard = true; heard;) {
    heard = false;
    for (std::size_t index = 0; index < seats_.size(); ++index) heard = hear_seat(index) || heard;
  }
  take_answers();
  advance();
  obey_stops();
  expire(std::chrono::steady_clock::now());
  launch();
}

/// False: an answer came before it fell asleep.
bool CrewCore::sleep(Lock& lock) {
  if (end_ && !end_->prepare_to_sleep()) return false;
  std::vector<pollfd> waits{{poke_.get(), POLLIN, 0}};
  if (end_) waits.push_back({end_->wake_descriptor(), POLLIN, 0});
  for (const Seat& seat : seats_)
    if (seat.socket) {
      const bool writes = seat.socket->wants_to_write();
      waits.push_back(
          {seat.socket->descriptor(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
    }
  idle_ = waiting_.empty() && free_places_.size() == crew::open_calls;
  const int look_ms = idle_ ? idle_look_ms : busy_look_ms;
  lock.unlock();
  ::poll(waits.data(), waits.size(), look_ms);
  lock.lock();
  idle_ = false;
  std::uint64_t pokes = 0;
  [[maybe_unused]] const ssize_t read = ::read(poke_.get(), &pokes, sizeof(pokes));
  if (end_) end_->finish_sleep();
  return true;
}

/// Connecting takes time, in which calls may be submitted.
void CrewCore::claim_members(Lock& lock, const LeaseGrant& grant) {
  lease_ = grant.id;
  node_ = grant.workers.empty() ? "" : grant.workers.front().node;
  seats_.clear();
  const auto granted = static_cast<unsigned>(grant.workers.size());
  const unsigned least = options_.at_least == 0 ? options_.workers : options_.at_least;
  if (granted < least || granted > options_.workers)
    return lose_lease("the gateway has granted fewer members, or more");
  members_ = granted;
  CrewPlaces places = places_of(grant, own_boot_id());
  spread_ = places.spread;
  std::vector<Seat> seats;
  std::optional<Failure> failed;
  lock.unlock();
  for (CrewPlaces::Seat& place : places.seats) {
    LaneClaim claim = LaneSocket::claim_of(
        place.worker, places.spread ? spread_crew_lane_protocol : crew_lane_protocol);
    claim.knows_compiling = false;
    if (places.spread || granted != options_.workers) claim.members = granted;
    if (places.spread) {
      claim.member = place.member;
      claim.near = place.near;
    }
    auto socket = place.is_far ? LaneSocket::claim_remote(
                                     place.worker, claim,
                                     std::chrono::steady_clock::now() + lane_client::connect_within)
                               : LaneSocket::claim_local(place.worker, claim);
    if (!socket) {
      failed = std::move(socket.error());
      break;
    }
    Seat& seat = seats.emplace_back();
    seat.place = std::move(place);
    seat.socket = std::move(*socket);
  }
  lock.lock();
  if (stopping_) return;
  if (failed) return lose_lease(failed->message);
  seats_ = std::move(seats);
}

/// Whether it has said something.
bool CrewCore::hear_seat(std::size_t index) {
  bool heard = false;
  while (index < seats_.size() && seats_[index].socket) {
    auto packet = seats_[index].socket->receive();
    if (!packet) {
      lose_connection(index);
      return heard;
    }
    if (!*packet) return heard;
    heard = true;
    hear(index, **packet);
  }
  return heard;
}

void CrewCore::hear(std::size_t index, Packet& packet) {
  if (spread_ && hear_spread(index, packet)) return;
  const auto message = lane_client::parse_executor_message(packet.text);
  if (!message)
    return drop_executor(index, "the executor talks nonsense: " + message.error().message);
  hear(index, *message, packet);
}

void CrewCore::hear(std::size_t index, const lane_client::ExecutorMessage& message,
                    Packet& packet) {
  if (const auto* claimed = std::get_if<LaneClaimed>(&message)) {
    Seat& seat = seats_[index];
    const std::size_t descriptors = seat.place.is_far ? 0 : crew_descriptor_count;
    if (claimed->members != members_ || packet.descriptors.size() != descriptors ||
        (spread_ && (claimed->member != seat.place.member || claimed->port == 0)))
      return drop_executor(index, "the executor sent a member without its rings");
    seat.claimed = *claimed;
    seat.descriptors = std::move(packet.descriptors);
    seat.wire_sent = seat.wired = false;
  } else if (const auto* refused = std::get_if<LaneRefused>(&message)) {
    lose_lease(refused->message);
  } else if (const auto* needed = std::get_if<LaneNeedCode>(&message)) {
    need_code(index, needed->digest);
  } else if (const auto* wanted = std::get_if<LaneFetch>(&message)) {
    want_module(index, wanted->name);
  } else if (const auto* slot = std::get_if<LaneSlot>(&message)) {
    hear_slot(index, *slot);
  } else if (const auto* rejected = std::get_if<LaneRejected>(&message)) {
    hear_rejected(*rejected);
  } else if (const auto* ended = std::get_if<LaneEnded>(&message)) {
    hear_ended(index, *ended);
  }
}

void CrewCore::hear_slot(std::size_t index, const LaneSlot& slot) {
  const auto found = modules_.find(slot.digest);
  if (found == modules_.end() || !stands()) return;
  CrewModule& module = *found->second;
  module.entries = slot.entries;
  module.loaded_at.insert(index);
  module.needed_at.erase(index);
  if (!is_loaded(module)) return;
  changed_.notify_all();
  launch();
}

/// A worker that is being replaced is told again when its next one is there.
void CrewCore::hear_rejected(const LaneRejected& rejected) {
  const auto found = modules_.find(rejected.digest);
  if (found == modules_.end() || rejected.code == ErrorCode::no_capacity) return;
  if (lane_client::is_transient(rejected.code) && losing_) return;
  const std::shared_ptr<CrewModule> module = found->second;
  module->failure = Error::Details{.kind = kind_of(rejected.code),
                                   .message = rejected.message,
                                   .hint = hint_for(kind_of(rejected.code)),
                                   .function = module->function,
                                   .node = node_};
  modules_.erase(found);
  fail_waiting(*module);
  changed_.notify_all();
}

void CrewCore::need_code(std::size_t index, const std::string& digest) {
  const auto found = modules_.find(digest);
  if (found == modules_.end()) return;
  found->second->needed_at.insert(index);
  if (found->second->file) return send_code(*found->second);
  if (std::exchange(found->second->fetching, true)) return;
  fetches_.push_back(found->second);
  wanted_.notify_all();
}

void CrewCore::send_code(CrewModule& module) {
  for (const std::size_t index : std::exchange(module.needed_at, {}))
    if (index < seats_.size() && seats_[index].socket)
      (void)seats_[index].socket->send(encode(LaneCode{module.digest}), {module.file.get()});
}

void CrewCore::announce(const CrewModule& module) { tell_all(LaneAnnounce{module.digest, {}}); }

/// One that does not listen is gone, which is heard of.
void CrewCore::tell_all(const LaneMessage& message) {
  const std::string text = encode(message);
  for (Seat& seat : seats_)
    if (seat.socket) (void)seat.socket->send(text, {});
}

/// A crew is lost when all its members have ended: until then one of them may answer, and a call
/// that was begun again would be in two places.
void CrewCore::advance() {
  take_connection();
  if (losing_ && !leaving_ && std::chrono::steady_clock::now() > gone_until_) give_up_members();
  if (leaving_) return leave_lease();
  if (losing_ && std::ranges::all_of(seats_, [&](const Seat& seat) { return seat.ended || !end_; }))
    end_loss();
  const bool complete =
      !end_ && !losing_ && !seats_.empty() &&
      std::ranges::all_of(seats_, [](const Seat& seat) { return seat.claimed.has_value(); });
  if (!complete) return;
  if (spread_ && !wiring_) return wire_members();
  const bool wired = !spread_ || (mesh_ != nullptr && std::ranges::all_of(seats_, &Seat::wired));
  if (wired) stand(static_cast<std::uint32_t>(seats_.size()));
}

void CrewCore::stand(std::uint32_t members) {
  std::vector<UniqueFd> wake(members + 1);
  std::optional<transport::CrewEnd> end;
  // Members are numbered by the executor.
  std::ranges::sort(seats_, {}, [](const Seat& seat) { return seat.claimed->member; });
  const transport::CrewEnd::Place place{.member = crew::client_member, .members = members};
  for (Seat& seat : seats_) {
    const std::uint32_t member = seat.claimed->member;
    if (!end) {
      const int memory = seat.place.is_far ? -1 : seat.descriptors[3].get();
      auto attached =
          spread_ ? transport::CrewEnd::attach_near(
                        place, memory < 0 ? std::vector<std::uint32_t>{} : seat.place.near, memory)
                  : transport::CrewEnd::attach(place, memory);
      if (!attached) return lose_lease(attached.error().message);
      end.emplace(std::move(*attached));
      if (!seat.place.is_far) wake[crew::client_member] = std::move(seat.descriptors[5]);
      end->set_wake(crew::client_member, wake[crew::client_member].get());
    }
    if (wake[member]) return lose_lease("the executor gave one number to two members");
    if (!seat.place.is_far) {
      wake[member] = std::move(seat.descriptors[4]);
      end->set_wake(member, wake[member].get());
    }
    seat.pid = seat.claimed->pid;
    seat.worker = seat.claimed->worker;
    seat.claimed.reset();
    seat.descriptors.clear();
    seat.ended = false;
  }
  wiring_ = false;
  if (mesh_ != nullptr)
    if (auto joined = end->join(std::move(mesh_)); !joined)
      return lose_lease(joined.error().message);
  end_ = std::move(end);
  wake_ = std::move(wake);
  for (std::uint32_t member = 1; member <= members; ++member)
    shelves_.emplace_back(end_->shelf_to(member));
  why_none_.reset();
  ++formations_;
  for (const auto& [digest, module] : modules_) announce(*module);
  changed_.notify_all();
}

std::shared_ptr<CrewModule> CrewCore::load(std::string digest, std::string function,
                                           UniqueFd file) {
  Lock lock(mutex_);
  if (stopping_) throw Error({.kind = ErrorKind::lease_ended, .message = "the crew was released"});
  auto& known = modules_[digest];
  if (known == nullptr && modules_.size() > most_modules) {
    modules_.erase(digest);
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .message = "a crew has at most 64 modules",
                 .hint = "take another crew, or put entries into one module"});
  }
  if (known == nullptr) {
    known = std::make_shared<CrewModule>();
    known->key = crew::module_key(digest);
    known->digest = std::move(digest);
    known->function = std::move(function);
    known->file = std::move(file);
    if (stands()) announce(*known);
  }
  const std::shared_ptr<CrewModule> module = known;
  const auto is_told = [&] { return stopping_ || is_loaded(*module) || module->failure; };
  while (!changed_.wait_for(lock, options_.within + load_grace, is_told))
    if (!stands()) throw Error(why_none_.value_or(no_crew_in_time()));
  if (module->failure) throw Error(*module->failure);
  if (stopping_) throw Error({.kind = ErrorKind::lease_ended, .message = "the crew was released"});
  return module;
}

void CrewCore::release() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    for (const auto& call : std::exchange(waiting_, {}))
      fail(*call, ErrorKind::lease_ended, "the crew was released");
    for (auto& call : flights_)
      if (call != nullptr)
        fail(*std::exchange(call, nullptr), ErrorKind::lease_ended, "the crew was released");
    changed_.notify_all();
    wanted_.notify_all();
    poke();
  }
  driver_.join();
  keeper_.join();
  if (Lock lock(mutex_); !traced_.empty()) tell_traced(lock);
  try {
    source_->release(lease_);
  } catch (const Error&) {  // it ends by itself when nobody renews it
  }
}

}  // namespace orchid::sdk
