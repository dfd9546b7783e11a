#include "lanes/lane_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "channels/packet_channel.h"
#include "channels/secure_lane_channel.h"

namespace orchid::executor {

LaneServer::LaneServer(LaneServices& services, UniqueFd listener, UniqueFd remote)
    : services_(services),
      crews_(services.workers, services.io),
      listener_(services.io, listener.release()),
      remote_(services.io),
      timer_(services.io) {
  services_.crews = &crews_;
  accept(Door::local);
  if (!remote) return;
  remote_.assign(remote.release());
  accept(Door::remote);
}

void LaneServer::accept(Door door) {
  auto& listener = door == Door::local ? listener_ : remote_;
  listener.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this, door, &listener](const boost::system::error_code& error) {
                        if (error) return;
                        while (true) {
                          UniqueFd socket(::accept4(listener.native_handle(), nullptr, nullptr,
                                                    SOCK_CLOEXEC | SOCK_NONBLOCK));
                          if (!socket) break;
                          if (closed_) continue;
                          if (door == Door::local)
                            admit(std::move(socket));
                          else
                            admit_remote(std::move(socket));
                        }
                        if (!watching_ && !sessions_.empty()) watch();
                        accept(door);
                      });
}

std::shared_ptr<LaneSession> LaneServer::make_session(std::optional<uid_t> uid) {
  return std::make_shared<LaneSession>(
      services_, uid, [this](LaneSession& over) { sessions_.erase(over.shared_from_this()); });
}

void LaneServer::admit(UniqueFd socket) {
  const auto peer = peer_credentials(socket.get());
  if (!peer) return;
  auto session = make_session(peer->uid);
  session->start(
      std::make_unique<PacketChannel>(services_.io, std::move(socket), session->handlers()));
  sessions_.insert(std::move(session));
}

void LaneServer::admit_remote(UniqueFd socket) {
  const auto unclaimed = std::ranges::count_if(
      sessions_, [](const auto& session) { return session->is_remote() && !session->lease(); });
  if (static_cast<std::size_t>(unclaimed) >= strangers) return;
  auto channel = transport::SecureChannel::accept(
      std::move(socket), [this](std::string_view identity) -> std::optional<std::string> {
        const auto lease = parse_lease_id(identity);
        return lease ? services_.leases.secret_of(*lease) : std::nullopt;
      });
  if (!channel) return;
  auto session = make_session(std::nullopt);
  session->start(
      std::make_unique<SecureLaneChannel>(services_.io, std::move(*channel), session->handlers()));
  sessions_.insert(std::move(session));
}

void LaneServer::watch() {
  watching_ = !sessions_.empty();
  if (!watching_) {
    sleepers_ = {};
    return;
  }
  timer_.expires_after(watch_interval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const auto now = std::chrono::steady_clock::now();
    // A session that ends leaves the set.
    const std::vector<std::shared_ptr<LaneSession>> sessions(sessions_.begin(), sessions_.end());
    for (const auto& session : sessions) session->watch(now);
    if (now - slept_at_ >= sleep_interval) look_at_sleepers(now);
    watch();
  });
}

void LaneServer::look_at_sleepers(MonotonicTime now) {
  slept_at_ = now;
  std::vector<LaneSession*> warm;
  for (const auto& session : sessions_)
    if (session->is_apart() && session->lease()) warm.push_back(session.get());
  std::ranges::sort(warm, {}, [](const LaneSession* session) { return *session->lease(); });
  sleepers_ = {};
  for (auto place = warm.begin(); place != warm.end();) {
    const auto next = std::find_if(place, warm.end(), [&](const LaneSession* session) {
      return session->lease() != (*place)->lease();
    });
    const Sleepers found = look_at_place({place, next}, now);
    sleepers_.count += found.count;
    sleepers_.memory.value += found.memory.value;
    place = next;
  }
}

/// Nobody ends here and now: a kill is heard of later.
LaneServer::Sleepers LaneServer::look_at_place(std::span<LaneSession* const> place,
                                               MonotonicTime now) {
  std::vector<LaneSession*> seen;
  std::vector<WarmWorker> workers;
  Sleepers sleepers;
  for (LaneSession* session : place) {
    const auto worker = session->look_at_sleep(now);
    if (!worker) continue;
    seen.push_back(session);
    workers.push_back(*worker);
    if (!worker->sleeps) continue;
    ++sleepers.count;
    sleepers.memory.value += worker->memory.value;
  }
  for (const std::size_t intruder : intruders(workers, now)) seen[intruder]->end_intruder();
  for (const std::size_t leaving : give_way(workers, place.front()->memory()))
    seen[leaving]->give_way();
  return sleepers;
}

void LaneServer::revoke(const LeaseId& lease, const Failure& why) {
  const std::vector<std::shared_ptr<LaneSession>> sessions(sessions_.begin(), sessions_.end());
  for (const auto& session : sessions)
    if (session->lease() == lease) session->revoke(why);
}

void LaneServer::evict(const LeaseId& lease) {
  const auto now = std::chrono::steady_clock::now();
  const std::vector<std::shared_ptr<LaneSession>> sessions(sessions_.begin(), sessions_.end());
  for (const auto& session : sessions)
    if (session->lease() == lease) session->evict(now);
}

std::shared_ptr<LaneSession> LaneServer::session_of(std::uint64_t worker) const {
  const auto found = std::ranges::find_if(
      sessions_, [worker](const auto& session) { return session->worker() == worker; });
  return found == sessions_.end() ? nullptr : *found;
}

void LaneServer::locate_data(std::uint64_t worker, const std::string& data,
                             ClientQuestions<std::uint32_t>::Told told) const {
  if (const auto session = session_of(worker)) return session->locate_data(data, std::move(told));
  told(fail(ErrorCode::unreachable, "the crew's program has gone"));
}

std::vector<std::shared_ptr<LaneSession>> LaneServer::sessions_of(const LeaseId& crew) const {
  std::vector<std::shared_ptr<LaneSession>> members;
  for (const auto& session : sessions_)
    if (session->crew() == crew) members.push_back(session);
  return members;
}

void LaneServer::drop_data(const DataId& data) {
  for (const auto& session : sessions_) session->drop_data(data);
}

void LaneServer::evict_all() {
  closed_ = true;
  const auto now = std::chrono::steady_clock::now();
  const std::vector<std::shared_ptr<LaneSession>> sessions(sessions_.begin(), sessions_.end());
  for (const auto& session : sessions) session->evict(now);
}

void LaneServer::revoke_all(const Failure& why) {
  const std::vector<std::shared_ptr<LaneSession>> sessions(sessions_.begin(), sessions_.end());
  for (const auto& session : sessions) session->revoke(why);
}

}  // namespace orchid::executor
