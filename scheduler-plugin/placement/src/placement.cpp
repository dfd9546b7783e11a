#include "placement/placement.h"

#include <fmt/format.h>

#include <cassert>

#include "decision_log.h"
#include "opening.h"
#include "tally.h"

namespace orchid::placement {

struct Placement::State {
  explicit State(const Options& options)
      : tenants(options.fair_share_half_life),
        log({.open = options.remembered_leases, .past = options.remembered_decisions}) {}
  Book book;
  Tenants tenants;
  DecisionLog log;
  std::unique_ptr<Policy> policy;
  std::uint64_t next_decision = 1;

  /// Takes them off the tenants' use.
  Placement::Losses account(LossList& losses, MonotonicTime now) {
    Placement::Losses list = losses.take();
    for (const Displaced& loss : list) {
      TenantUse less{.leases = loss.closed ? 1U : 0U};
      for (const Place& place : loss.places) {
        less.cores += place.cores.size();
        less.gpus += place.gpus.size();
      }
      tenants.release(loss.tenant, less, now);
      if (loss.closed) log.close(loss.lease);
    }
    return list;
  }
};

namespace {

std::unexpected<Failure> no_host(const HostId& id) {
  return fail(ErrorCode::not_found, fmt::format("no host {} is known", id.value()));
}

std::unexpected<Failure> no_grant(const GrantId& id) {
  return fail(ErrorCode::not_found, fmt::format("no grant {} is known", id.value()));
}

}  // namespace

Placement::Placement(std::unique_ptr<Policy> policy, const Options& options)
    : state_(std::make_unique<State>(options)) {
  set_policy(std::move(policy));
}
Placement::Placement(std::unique_ptr<Policy> policy) : Placement(std::move(policy), Options{}) {}
Placement::~Placement() = default;

// Hosts.

Result<Placement::Losses> Placement::put_host(Host host, MonotonicTime now) {
  LossList losses;
  if (auto put = state_->book.put_host(std::move(host), losses); !put)
    return fail(std::move(put.error()));
  return state_->account(losses, now);
}

Result<Placement::Losses> Placement::remove_host(const HostId& id, MonotonicTime now) {
  const auto number = state_->book.find_host(id);
  if (!number) return no_host(id);
  LossList losses;
  state_->book.remove_host(*number, losses);
  return state_->account(losses, now);
}

Result<void> Placement::lose_host(const HostId& id) {
  const auto number = state_->book.find_host(id);
  if (!number) return no_host(id);
  state_->book.set_lost(*number, true);
  return {};
}

Result<void> Placement::return_host(const HostId& id) {
  const auto number = state_->book.find_host(id);
  if (!number) return no_host(id);
  state_->book.set_lost(*number, false);
  return {};
}

Result<void> Placement::report_watts(const HostId& id, std::optional<double> watts) {
  const auto number = state_->book.find_host(id);
  if (!number) return no_host(id);
  state_->book.set_watts(*number, watts);
  return {};
}

// Grants.

Result<Placement::Losses> Placement::put_grant(Grant grant, MonotonicTime now) {
  const auto host = state_->book.find_host(grant.host);
  if (!host) return no_host(grant.host);
  LossList losses;
  state_->book.put_grant(std::move(grant), *host, losses);
  return state_->account(losses, now);
}

Result<Placement::Losses> Placement::remove_grant(const GrantId& id, MonotonicTime now) {
  const auto slot = state_->book.find_grant(id);
  if (!slot) return no_grant(id);
  LossList losses;
  state_->book.remove_grant(*slot, losses);
  return state_->account(losses, now);
}

Placement::Losses Placement::expire(MonotonicTime now) {
  LossList losses;
  while (const auto slot = state_->book.ended(now)) state_->book.remove_grant(*slot, losses);
  return state_->account(losses, now);
}

Placement::Losses Placement::apply(std::span<const HostAllocation> allocations, MonotonicTime now) {
  LossList losses;
  for (const HostAllocation& allocation : allocations)
    if (const auto number = state_->book.find_host(allocation.host))
      (void)state_->book.set_allocation(*number, allocation, losses);
  return state_->account(losses, now);
}

// Leases.

Decision Placement::open(const Request& request, MonotonicTime now) {
  Opening opening({.book = state_->book,
                   .tenants = state_->tenants,
                   .policy = *state_->policy,
                   .request = request,
                   .id = DecisionId(state_->next_decision++),
                   .now = now});
  Decision decision = opening.decide();
  if (!decision.placed())
    state_->log.add_past(opening.take_explanation());
  else
    state_->log.add_open(opening.take_explanation());
  return decision;
}

Result<DecisionId> Placement::adopt(TenantId tenant, const std::vector<Place>& places,
                                    MonotonicTime now) {
  if (places.empty()) return fail(ErrorCode::bad_request, "a lease has at least one worker");
  const DecisionId id(state_->next_decision++);
  TenantUse use{.leases = 1};
  std::optional<Failure> failure;
  for (const Place& place : places) {
    const auto number = state_->book.find_grant(place.grant);
    if (!number || state_->book.slot(*number).grant.host != place.host) {
      failure = no_grant(place.grant).error();
      break;
    }
    const Slot& slot = state_->book.slot(*number);
    if (!slot.free.includes(place.cores) || !slot.free_gpus.includes(place.gpus) ||
        slot.memory_free < place.memory) {
      failure = {ErrorCode::no_capacity, fmt::format("cores {} of grant {} are not free",
                                                     to_string(place.cores), place.grant.value())};
      break;
    }
    state_->book.take(id, tenant,
                      {.slot = *number,
                       .cores = place.cores,
                       .gpus = place.gpus,
                       .memory = place.memory,
                       .alternative = place.alternative});
    use.cores += place.cores.size();
    use.gpus += place.gpus.size();
  }
  if (failure) {
    if (state_->book.find_lease(id) != nullptr) state_->book.close(id);
    return fail(std::move(*failure));
  }
  state_->tenants.take(tenant, use, now);
  Explanation explanation;
  explanation.id = id;
  explanation.decided = now;
  explanation.request = {.tenant = tenant, .workers = static_cast<std::uint32_t>(places.size())};
  explanation.policy = "none: the lease was there already";
  explanation.places = places;
  state_->log.add_open(std::move(explanation));
  return id;
}

Result<void> Placement::close(DecisionId lease, MonotonicTime now) {
  const LeaseEntry* const found = state_->book.find_lease(lease);
  if (found == nullptr)
    return fail(ErrorCode::not_found, fmt::format("no lease {} is open", lease.value()));
  TenantUse less{.leases = 1};
  for (const WorkerEntry& worker : found->workers) {
    less.cores += worker.cores.size();
    less.gpus += worker.gpus.size();
  }
  state_->tenants.release(found->tenant, less, now);
  state_->book.close(lease);
  state_->log.close(lease);
  return {};
}

void Placement::vacating(const Place& place) {
  if (const auto host = state_->book.find_host(place.host))
    state_->book.keep_back(*host, place.cores, place.gpus);
}

void Placement::vacated(const Place& place) {
  if (const auto host = state_->book.find_host(place.host))
    state_->book.let_go(*host, place.cores, place.gpus);
}

std::optional<std::vector<Place>> Placement::find(DecisionId lease) const {
  const LeaseEntry* const found = state_->book.find_lease(lease);
  if (found == nullptr) return std::nullopt;
  std::vector<Place> places;
  for (const WorkerEntry& worker : found->workers) places.push_back(state_->book.place_of(worker));
  return places;
}

void Placement::set_terms(TenantId tenant, const TenantTerms& terms) {
  state_->tenants.set_terms(tenant, terms);
}

const Tenants& Placement::tenants() const { return state_->tenants; }

void Placement::set_policy(std::unique_ptr<Policy> policy) {
  assert(policy != nullptr);
  state_->policy = std::move(policy);
}

// What people ask.

Result<Explanation> Placement::explain(DecisionId id) const {
  const Explanation* const found = state_->log.find(id);
  if (found == nullptr)
    return fail(
        ErrorCode::not_found,
        fmt::format("decision {} is not remembered; of those that are over, only the newest "
                    "are",
                    id.value()));
  return *found;
}

bool Placement::remembers(DecisionId id) const { return state_->log.find(id) != nullptr; }

std::vector<HostReason> Placement::consider(const Request& request, std::uint32_t alternative,
                                            MonotonicTime now) const {
  if (alternative >= request.worker.alternatives.size()) return {};
  const Book& book = state_->book;
  return all_findings(book, needs_of(book, request, request.worker.alternatives[alternative], now));
}

std::optional<Placement::HostView> Placement::host(const HostId& id) const {
  const auto number = state_->book.find_host(id);
  if (!number) return std::nullopt;
  const HostEntry& entry = state_->book.host(*number);
  HostView view{.host = entry.description,
                .lost = entry.lost,
                .drained = entry.drained,
                .watts = entry.expected_watts(),
                .granted = {},
                .leased = entry.leased,
                .gpus_granted = {},
                .gpus_leased = entry.leased_gpus,
                .gpus_of_jobs = state_->book.gpus_of_jobs(entry),
                .grants = {}};
  for (const SlotNumber at : entry.slots) {
    const Slot& slot = state_->book.slot(at);
    view.granted |= slot.usable;
    view.gpus_granted |= slot.usable_gpus;
    view.grants.push_back(slot.grant.id);
  }
  return view;
}

bool Placement::would_fit(const GrantId& grant, const Request& request,
                          std::span<const DecisionId> ended, MonotonicTime now) const {
  const auto number = state_->book.find_grant(grant);
  if (!number) return false;
  Needs needs = needs_of(state_->book, request, request.worker.alternatives.front(), now);
  needs.cores *= request.workers;
  needs.gpus *= request.workers;
  needs.memory.value *= request.workers;
  return misfit(state_->book, state_->book.without(*number, ended), needs) == Reason::fits;
}

const Host* Placement::description(const HostId& id) const {
  const auto number = state_->book.find_host(id);
  return number ? &state_->book.host(*number).description : nullptr;
}

std::optional<HostId> Placement::host_named(std::string_view name) const {
  const auto number = state_->book.host_named(std::string(name));
  if (!number) return std::nullopt;
  return state_->book.host(*number).description.id;
}

std::size_t Placement::lease_count() const { return state_->book.leases().size(); }

std::optional<std::string> Placement::audit() const {
  if (auto wrong = state_->book.audit()) return wrong;
  std::unordered_map<TenantId, TenantUse> uses;
  for (const auto& [id, lease] : state_->book.leases()) {
    TenantUse& use = uses[lease.tenant];
    ++use.leases;
    for (const WorkerEntry& worker : lease.workers) {
      use.cores += worker.cores.size();
      use.gpus += worker.gpus.size();
    }
  }
  for (const auto& [tenant, use] : uses)
    if (state_->tenants.use(tenant) != use)
      return fmt::format("tenant {} is said to use other cores than its leases have",
                         tenant.value());
  return std::nullopt;
}

}  // namespace orchid::placement
