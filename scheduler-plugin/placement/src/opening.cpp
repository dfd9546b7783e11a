#include "opening.h"

#include <fmt/format.h>

#include <algorithm>

#include "core_choice.h"
#include "tally.h"

namespace orchid::placement {
namespace {

constexpr std::size_t most_chosen = 16;  // places that are explained one by one
constexpr std::size_t examples = 6;
constexpr std::size_t examples_before_another = 1;  // alternative, which may well be placed

}  // namespace

Opening::Opening(const Options& options)
    : options_(options), exhausted_(options.request.worker.alternatives.size()) {
  explanation_.id = options.id;
  explanation_.decided = options.now;
  explanation_.request = options.request;
  explanation_.policy = options.policy.name();
  for (const auto& [host, workers] : options.request.has)
    if (const auto number = options.book.find_host(host)) by_host_[*number] = workers;
}

std::optional<Refusal> Opening::fault() const {
  const Request& request = options_.request;
  const auto wrong = [](std::string message) {
    return Refusal{.code = ErrorCode::bad_request, .message = std::move(message)};
  };
  if (request.workers == 0) return wrong("a lease has at least one worker");
  if (request.at_least > request.workers)
    return wrong(
        fmt::format("at_least is {}, more than the {} workers", request.at_least, request.workers));
  if (request.worker.alternatives.empty()) return wrong("say what a worker needs");
  for (const WorkerShape& shape : request.worker.alternatives)
    if (shape.cores == 0) return wrong("a worker has at least one core");
  return std::nullopt;
}

Decision Opening::decide() {
  const Request& request = options_.request;
  if (auto wrong = fault()) return refuse(std::move(*wrong));
  if (auto over = options_.tenants.over_quota(request.tenant, {.leases = 1}))
    return refuse({.code = ErrorCode::quota, .message = "the tenant's quota: " + *over});
  for (const WorkerShape& shape : request.worker.alternatives)
    needs_.push_back(needs_of(options_.book, request, shape, options_.now));
  std::uint32_t placed = 0;
  while (placed < request.workers && place_worker()) ++placed;
  if (placed < (request.at_least == 0 ? request.workers : request.at_least)) {
    if (placed > 0) options_.book.close(options_.id);
    return refuse(refusal());
  }
  options_.tenants.take(request.tenant, use_, options_.now);
  Decision decision{.id = options_.id, .places = {}, .refusal = {}};
  for (const WorkerEntry& worker : options_.book.find_lease(options_.id)->workers)
    decision.places.push_back(options_.book.place_of(worker));
  explanation_.places = decision.places;
  return decision;
}

bool Opening::place_worker() {
  for (std::uint32_t number = 0; number < needs_.size(); ++number)
    if (!exhausted_[number] && try_alternative(number)) return true;
  return false;
}

bool Opening::try_alternative(std::uint32_t number) {
  const Needs& needs = needs_[number];
  const Request& request = options_.request;
  const TenantUse then{
      .cores = use_.cores + needs.cores, .gpus = use_.gpus + needs.gpus, .leases = 1};
  if (auto over = options_.tenants.over_quota(request.tenant, then)) {
    over_quota_ = std::move(*over);
    exhausted_[number] = true;
    return false;
  }
  Search search({.book = options_.book,
                 .policy = options_.policy,
                 .request = request,
                 .shape = request.worker.alternatives[number],
                 .needs = needs,
                 .placed = by_host_});
  const auto slot = search.run();
  if (!slot) {
    explanation_.tallies.push_back(tally_of(
        options_.book, needs,
        {.alternative = number,
         .most_examples = number + 1 < needs_.size() ? examples_before_another : examples}));
    exhausted_[number] = true;
    return false;
  }
  WorkerEntry worker = choose_cores(options_.book, *slot, needs);
  worker.alternative = number;
  use_.cores = then.cores;
  use_.gpus = then.gpus;
  enter(std::move(worker), needs);
  return true;
}

void Opening::enter(WorkerEntry worker, const Needs& needs) {
  Book& book = options_.book;
  const Slot& slot = book.slot(worker.slot);
  if (explanation_.chosen.size() < most_chosen)
    explanation_.chosen.push_back(finding_of(book, slot, needs, Reason::fits));
  if (options_.request.workers > 1) ++by_host_[slot.host];
  book.take(options_.id, options_.request.tenant, std::move(worker));
}

/// A quota speaks where it is all that there is to say: once an alternative has been looked for,
/// and has found no room, more room helps.
Refusal Opening::refusal() const {
  if (!over_quota_.empty() && explanation_.tallies.empty())
    return {.code = ErrorCode::quota, .message = "the tenant's quota: " + over_quota_};
  if (explanation_.tallies.empty()) return {.code = ErrorCode::no_capacity, .message = "no room"};
  return {.code = ErrorCode::no_capacity, .message = summary_of(explanation_.tallies.back())};
}

Decision Opening::refuse(Refusal refusal) {
  explanation_.places.clear();
  explanation_.chosen.clear();
  explanation_.refusal = refusal;
  return {.id = options_.id, .places = {}, .refusal = std::move(refusal)};
}

}  // namespace orchid::placement
