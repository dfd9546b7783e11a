#include "bandwidth/bandwidth_cap.h"

#include <algorithm>
#include <numeric>

namespace orchid::executor {
namespace {

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

std::vector<double> fair_shares(double all, std::span<const double> wanted) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return wanted[i]; });
  std::vector<double> shares(wanted.size());
  double left = all;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const double equal = left / static_cast<double>(order.size() - k);
    shares[order[k]] = std::min(wanted[order[k]], equal);
    left -= shares[order[k]];
  }
  return shares;
}

BandwidthCap::Decision BandwidthCap::look(MonotonicTime now, std::span<const Worker> workers) {
  const double passed = last_ == MonotonicTime{} ? 0 : seconds_of(now - last_);
  last_ = now;
  std::vector<double> wanted;
  wanted.reserve(workers.size());
  for (const Worker& worker : workers)
    wanted.push_back(worker.busy ? worker.rate * worker.cores : 0);
  const std::vector<double> shares = fair_shares(all_, wanted);
  Decision decision;
  std::unordered_map<std::uint64_t, Account> accounts;
  double next = seconds_of(latest);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Worker& worker = workers[i];
    const auto known = accounts_.find(worker.id);
    Account account = known == accounts_.end() ? Account{} : known->second;
    // What it pays for one turn: meanwhile more comes in.
    const double turn =
        wanted[i] * seconds_of(on_time) * (1 - shares[i] / std::max(wanted[i], 1.0));
    if (known == accounts_.end()) account.bytes = turn;
    account.bytes += shares[i] * passed - worker.rate * seconds_of(worker.used);
    // What came in while nobody looked counts, but nobody saves up by resting.
    account.bytes = std::min(account.bytes, 2 * turn);
    const bool capped = wanted[i] > shares[i];
    account.held = capped && (account.held ? account.bytes < turn : account.bytes <= 0);
    if (account.held) {
      decision.hold.push_back(worker.id);
      next = std::min(next, (turn - account.bytes) / std::max(shares[i], 1.0));
    } else if (capped) {
      next = std::min(next, account.bytes / (wanted[i] - shares[i]));
    }
    accounts.emplace(worker.id, account);
  }
  accounts_ = std::move(accounts);
  const std::chrono::milliseconds due(static_cast<long>(next * 1000));
  decision.next = std::clamp(due, soonest, latest);
  return decision;
}

}  // namespace orchid::executor
