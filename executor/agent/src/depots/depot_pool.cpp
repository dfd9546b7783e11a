#include "depots/depot_pool.h"

#include <poll.h>

#include <utility>

namespace orchid::executor {

void DepotPool::take(std::uint64_t worker, UniqueFd socket, const LeaseTenant& tenant) {
  if (stopped_) return;
  const auto [quiet, is_new] = quiet_.try_emplace(
      worker, Quiet{boost::asio::posix::stream_descriptor(io_, socket.release()), tenant});
  quiet->second.socket.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                  [this, worker](const boost::system::error_code& error) {
                                    if (!error) spoke(worker);
                                  });
}

/// Or it has ended.
void DepotPool::spoke(std::uint64_t worker) {
  auto quiet = quiet_.extract(worker);
  if (quiet.empty()) return;
  UniqueFd socket(quiet.mapped().socket.release());
  pollfd look{.fd = socket.get(), .events = POLLIN, .revents = 0};
  if (::poll(&look, 1, 0) > 0 && (look.revents & POLLHUP) != 0) return;
  served_[worker] = quiet.mapped().tenant.uid;
  of(quiet.mapped().tenant).serve(worker, std::move(socket));
}

void DepotPool::leave(std::uint64_t worker) {
  quiet_.erase(worker);
  const auto served = served_.extract(worker);
  if (served.empty()) return;
  if (Depot* depot = find(served.mapped())) depot->leave(worker);
}

Depot& DepotPool::of(const LeaseTenant& tenant) {
  std::unique_ptr<Depot>& depot = depots_[tenant.uid];
  if (depot == nullptr)
    depot = std::make_unique<Depot>(
        io_, children_, options_, tenant,
        Depot::Handlers{
            .asked = [this, uid = tenant.uid](
                         const DepotAsked& asked) { handlers_.asked(*find(uid), asked); },
            .nonsense = [this](std::uint64_t worker) { handlers_.nonsense(worker); },
            .unserved = [this](std::uint64_t worker) { handlers_.unserved(worker); },
            .over = [this, uid = tenant.uid] { depots_.erase(uid); }});
  return *depot;
}

Depot* DepotPool::find(std::uint32_t uid) const {
  const auto found = depots_.find(uid);
  return found == depots_.end() ? nullptr : found->second.get();
}

void DepotPool::stop() {
  stopped_ = true;
  quiet_.clear();
  for (const auto& [uid, depot] : depots_) depot->stop();
}

}  // namespace orchid::executor
