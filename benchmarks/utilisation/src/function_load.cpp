#include "utilisation/function_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace orchid::utilisation {
namespace {

using namespace orchid::placement;

constexpr std::uint64_t bytes_per_core = 1ULL << 30;

MonotonicTime at(SimTime time) { return MonotonicTime(std::chrono::hours(1) + time); }

/// What the simulation tells placement is never wrong: a refusal is a bug of ours.
template <typename T>
T certain(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "utilisation: {}\n", result.error().message);
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

Host made_host(std::uint32_t node, std::uint32_t cores) {
  Host host{.id = host_of(node),
            .name = fmt::format("n{}", node),
            .architecture = "x86_64",
            .features = {},
            .cores = {},
            .memory = {cores * bytes_per_core},
            .gpus = {}};
  for (std::uint32_t core = 0; core < cores; ++core) host.cores.push_back({.number = core});
  return host;
}

}  // namespace

HostId host_of(std::uint32_t node) { return HostId(fmt::format("boot-{}", node)); }

/// With the policy that the gateway has if nobody chooses another one.
FunctionLoad::FunctionLoad(const Options& options)
    : options_(options), placement_(make_spread_policy()) {
  for (std::uint32_t node = 0; node < options.shape.nodes; ++node)
    (void)certain(
        placement_.put_host(made_host(node, options.shape.cores_per_node), at(SimTime(0))));
}

void FunctionLoad::join(const Pilot& pilot, SimTime now) {
  const SimTime left = pilot.ends - now;
  Grantor grantor{.grant = {.id = GrantId(fmt::format("pilot-{}", pilot.id)),
                            .host = host_of(pilot.node),
                            .source = SourceId("slurm"),
                            .owner = TenantId(1000),
                            .cores = pilot.cores,
                            .memory = {pilot.cores.size() * bytes_per_core},
                            .gpus = {},
                            .until = at(pilot.ends),
                            .job = JobId(pilot.id)},
                  .last_begin = pilot.ends - drain_time(left)};
  by_grant_.emplace(grantor.grant.id, pilot.id);
  end(certain(placement_.put_grant(grantor.grant, at(now))), now);
  pilots_.emplace(pilot.id, std::move(grantor));
  fill(now);
}

void FunctionLoad::drain(PilotId pilot, SimTime now) {
  const auto found = pilots_.find(pilot);
  if (found == pilots_.end()) return;
  found->second.grant.state = GrantState::draining;
  end(certain(placement_.put_grant(found->second.grant, at(now))), now);
}

void FunctionLoad::leave(PilotId pilot, SimTime now) {
  const auto found = pilots_.find(pilot);
  if (found == pilots_.end()) return;
  const GrantId grant = found->second.grant.id;
  end(certain(placement_.remove_grant(grant, at(now))), now);
  by_grant_.erase(grant);
  pilots_.erase(found);
}

void FunctionLoad::learn(std::span<const HostAllocation> allocations, SimTime now) {
  end(placement_.apply(allocations, at(now)), now);
  fill(now);
}

std::uint32_t FunctionLoad::cores_used(PilotId pilot) const {
  const auto found = pilots_.find(pilot);
  return found == pilots_.end() ? 0 : found->second.cores_used;
}

/// Whoever waits asks again when there may be room.
void FunctionLoad::fill(SimTime now) {
  const Request request{.tenant = TenantId(1000),
                        .worker = {.alternatives = {{.cores = 1, .memory = {bytes_per_core}}},
                                   .lifetime = function_length}};
  for (;;) {
    const Decision decision = placement_.open(request, at(now));
    if (!decision.placed()) {
      ++totals_.refused;
      return;
    }
    ++totals_.placed;
    const PilotId pilot = by_grant_.at(decision.places.front().grant);
    ++pilots_.at(pilot).cores_used;
    leases_.emplace(decision.id, Lease{.pilot = pilot, .first = now + lease_start});
  }
}

void FunctionLoad::end(const Placement::Losses& losses, SimTime now) {
  for (const Displaced& loss : losses) {
    const auto lease = leases_.find(loss.lease);
    if (!loss.closed || lease == leases_.end()) continue;
    count(lease->second, now);
    --pilots_.at(lease->second.pilot).cores_used;
    leases_.erase(lease);
  }
}

/// Functions of a lease that ends now: they began at `first` and every `function_length` after it.
void FunctionLoad::count(const Lease& lease, SimTime now) {
  const SimTime last_begin = pilots_.at(lease.pilot).last_begin;
  if (now <= lease.first || last_begin <= lease.first) return;
  const auto whole = (now - lease.first) / function_length;
  const auto begun = (last_begin - lease.first + function_length - SimTime(1)) / function_length;
  const auto completed = std::min(whole, begun);
  if (begun > whole)
    totals_.evicted += options_.counted.within(lease.first + whole * function_length, now);
  const Span& counted = options_.counted;
  const auto before = std::clamp<SimTime::rep>(
      (counted.from - lease.first + function_length - SimTime(1)) / function_length, 0, completed);
  const auto until =
      std::clamp<SimTime::rep>((counted.until - lease.first) / function_length, before, completed);
  totals_.completed += static_cast<std::uint64_t>(until - before);
  totals_.recovered += (until - before) * function_length;
}

}  // namespace orchid::utilisation
