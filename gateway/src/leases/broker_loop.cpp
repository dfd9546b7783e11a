#include "leases/broker_loop.h"

#include <algorithm>

namespace orchid::gateway {

namespace {

constexpr std::chrono::milliseconds tick_interval{100};

}  // namespace

BrokerLoop::BrokerLoop(boost::asio::io_context& control, const Clock& clock, WorkerBroker& broker)
    : control_(control), clock_(clock), broker_(broker), timer_(control) {
  tick();
}

void BrokerLoop::stop() {
  stopped_ = true;
  timer_.cancel();
}

void BrokerLoop::perform() {
  // An action can lead to further ones, so until none is left.
  for (auto actions = broker_.take_actions(); !actions.empty(); actions = broker_.take_actions())
    for (const BrokerAction& action : actions)
      std::ranges::any_of(performers_,
                          [&](ActionPerformer* performer) { return performer->perform(action); });
}

void BrokerLoop::tick() {
  timer_.expires_after(tick_interval);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code error) {
    if (error || alive.expired() || stopped_) return;
    make([](WorkerBroker& broker, MonotonicTime now) { broker.tick(now); });
    for (ActionPerformer* performer : performers_)
      make([performer](WorkerBroker&, MonotonicTime now) { performer->tick(now); });
    tick();
  });
}

}  // namespace orchid::gateway
