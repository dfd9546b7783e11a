#include "depot_server.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <variant>

#include "foundation/log.h"

namespace orchid::executor {

namespace {

MonotonicTime clock_now() { return std::chrono::steady_clock::now(); }

bool has_hung_up(int socket) {
  pollfd look{.fd = socket, .events = 0, .revents = 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & POLLHUP) != 0;
}

}  // namespace

int DepotServer::run() {
  while (agent_is_there_) {
    if (!wait()) return 1;
    // Answers first: who waits for one may not have another request.
    const auto said = watched_.front().revents;
    if ((said & POLLOUT) != 0) tell_rest();
    if ((said & ~POLLOUT) != 0 && !hear_agent()) return agent_is_there_ ? 1 : 0;
    hear_workers();
  }
  return 0;
}

/// Who has had its share is not looked at before it may ask again. When the first one of these may;
/// max: there are none.
MonotonicTime DepotServer::choose_watched(MonotonicTime now) {
  watched_.assign(1, {.fd = control_, .events = POLLIN, .revents = 0});
  watched_workers_.clear();
  if (!untold_.empty()) {
    watched_.front().events |= POLLOUT;
    return MonotonicTime::max();
  }
  if (tokens_.ready_at() > now) return tokens_.ready_at();
  MonotonicTime next = MonotonicTime::max();
  for (auto& [id, worker] : workers_) {
    if (const MonotonicTime ready = worker.door.tokens().ready_at(); ready > now) {
      next = std::min(next, ready);
      continue;
    }
    watched_.push_back({.fd = worker.socket.get(), .events = POLLIN, .revents = 0});
    watched_workers_.push_back(id);
  }
  return next;
}

bool DepotServer::wait() {
  const MonotonicTime now = clock_now();
  const MonotonicTime next = choose_watched(now);
  const int most =
      next == MonotonicTime::max()
          ? -1
          : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(next - now).count());
  return ::poll(watched_.data(), watched_.size(), most) >= 0 || errno == EINTR;
}

/// In turn, from another one each time: those at the front are not to use up what all may ask.
void DepotServer::hear_workers() {
  const MonotonicTime now = clock_now();
  const std::size_t count = watched_workers_.size();
  if (count == 0) return;
  first_ = (first_ + 1) % count;
  for (std::size_t i = 0; i < count && untold_.empty(); ++i) {
    const std::size_t turn = (first_ + i) % count;
    if (watched_[turn + 1].revents == 0) continue;
    const auto worker = workers_.find(watched_workers_[turn]);
    if (worker == workers_.end()) continue;
    if (!tokens_.take(now)) return;
    static_cast<void>(worker->second.door.tokens().take(now));
    if (!hear_worker(worker)) workers_.erase(worker);
  }
}

bool DepotServer::hear_agent() {
  while (agent_is_there_) {
    auto packet = receive_packet(control_, false);
    if (!packet) {
      agent_is_there_ = packet.error().code != ErrorCode::unreachable;
      return false;
    }
    if (!*packet) return true;
    if (!obey(std::move(**packet))) return false;
  }
  return true;
}

bool DepotServer::obey(Packet packet) {
  const auto message = parse_depot_message(packet.text);
  if (!message) {
    log::error("event=bad_message from=agent reason=\"{}\"", message.error().message);
    return false;
  }
  if (const auto* order = std::get_if<DepotServe>(&*message);
      order != nullptr && packet.descriptors.size() == 1) {
    serve(*order, std::move(packet.descriptors.front()));
    return true;
  }
  if (const auto* answer = std::get_if<DepotAnswer>(&*message)) {
    hand_over(*answer, packet.descriptors);
    return true;
  }
  log::error("event=bad_message from=agent reason=\"not for a depot that serves\"");
  return false;
}

void DepotServer::serve(const DepotServe& order, UniqueFd socket) {
  const auto [worker, is_new] = workers_.insert_or_assign(
      order.worker, Worker{.socket = std::move(socket), .door = WorkerDoor(order.again)});
  if (order.again)
    static_cast<void>(send_packet(worker->second.socket.get(),
                                  encode(ServiceAnswer{.verdict = ServiceVerdict::again})));
}

/// A worker that does not wait for it has ended, or its request was a former depot's.
void DepotServer::hand_over(const DepotAnswer& answer, const std::vector<UniqueFd>& descriptors) {
  const auto worker = workers_.find(answer.worker);
  if (worker == workers_.end() || descriptors.size() > 1 ||
      !worker->second.door.answered(answer.answer.sequence))
    return;
  std::vector<int> passed;
  for (const UniqueFd& descriptor : descriptors) passed.push_back(descriptor.get());
  if (!send_packet(worker->second.socket.get(), encode(answer.answer), passed)) lose(worker);
}

/// It waits for what it will not get. One that has ended does not.
void DepotServer::lose(Workers::iterator worker) {
  if (!has_hung_up(worker->second.socket.get())) tell(DepotUnserved{.worker = worker->first});
  workers_.erase(worker);
}

bool DepotServer::hear_worker(Workers::iterator worker) {
  auto packet = receive_packet(worker->second.socket.get(), false);
  if (packet && !*packet) return true;
  if (!packet && packet.error().code == ErrorCode::unreachable) {
    // At its end, or an empty packet, which none of ours sends.
    if (has_hung_up(worker->second.socket.get())) return false;
  } else if (packet && (*packet)->descriptors.empty()) {
    auto verdict = worker->second.door.take((*packet)->text);
    if (std::holds_alternative<WorkerDoor::Nothing>(verdict)) return true;
    if (const auto* passes = std::get_if<WorkerDoor::Passes>(&verdict)) {
      tell(DepotAsked{.worker = worker->first, .request = passes->request});
      return true;
    }
    if (const auto* refused = std::get_if<WorkerDoor::Refused>(&verdict))
      return send_packet(worker->second.socket.get(), encode(refused->answer)).has_value();
  }
  tell(DepotNonsense{.worker = worker->first});
  return false;
}

void DepotServer::tell(const DepotMessage& message) {
  untold_.push_back(encode(message));
  if (untold_.size() == 1) tell_rest();
}

/// In order. An agent that has no room is busy with something else.
void DepotServer::tell_rest() {
  while (!untold_.empty() && send_packet(control_, untold_.front())) untold_.pop_front();
  if (!untold_.empty() && has_hung_up(control_)) agent_is_there_ = false;
}

}  // namespace orchid::executor
