#include "depot_server.h"

#include <cerrno>
#include <utility>
#include <variant>

#include "foundation/log.h"

namespace orchid::executor {

int DepotServer::run() {
  while (agent_is_there_) {
    watched_.assign(1, {.fd = control_, .events = POLLIN, .revents = 0});
    watched_workers_.clear();
    for (const auto& [id, worker] : workers_) {
      watched_.push_back({.fd = worker.socket.get(), .events = POLLIN, .revents = 0});
      watched_workers_.push_back(id);
    }
    if (::poll(watched_.data(), watched_.size(), -1) < 0 && errno != EINTR) return 1;
    // Answers first: who waits for one may not have another request.
    if (watched_.front().revents != 0 && !hear_agent()) return agent_is_there_ ? 1 : 0;
    for (std::size_t i = 0; i < watched_workers_.size(); ++i) {
      if (watched_[i + 1].revents == 0) continue;
      const auto worker = workers_.find(watched_workers_[i]);
      if (worker != workers_.end() && !hear_worker(worker)) workers_.erase(worker);
    }
  }
  return 0;
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
  if (!send_packet(worker->second.socket.get(), encode(answer.answer), passed))
    workers_.erase(worker);
}

bool DepotServer::hear_worker(Workers::iterator worker) {
  auto packet = receive_packet(worker->second.socket.get(), false);
  if (packet && !*packet) return true;
  if (!packet && packet.error().code == ErrorCode::unreachable) {
    // At its end, or an empty packet, which none of ours sends.
    pollfd socket{.fd = worker->second.socket.get(), .events = 0, .revents = 0};
    if (::poll(&socket, 1, 0) > 0 && (socket.revents & POLLHUP) != 0) return false;
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

/// An agent that lets too much pile up is as good as gone: it starts another depot.
void DepotServer::tell(const DepotMessage& message) {
  if (!send_packet(control_, encode(message))) agent_is_there_ = false;
}

}  // namespace orchid::executor
