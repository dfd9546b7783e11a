#include "placement/policy_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "placement/policy_abi.h"

namespace orchid::placement {
namespace {

constexpr Order orders[] = {Order::fewest_free, Order::most_free, Order::least_watts,
                            Order::nearest_first};

class LibraryPolicy final : public Policy {
 public:
  explicit LibraryPolicy(const orchid_placement_policy_table& policy)
      : policy_(policy), name_(policy.name) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Order order() const override { return orders[policy_.order]; }
  [[nodiscard]] std::uint32_t candidates() const override { return policy_.candidates; }
  [[nodiscard]] std::optional<double> score(const Request& request, const WorkerShape& shape,
                                            const Candidate& candidate) const noexcept override {
    const orchid_placement_request asked{
        .tenant = request.tenant.value(),
        .workers = request.workers,
        .cores = shape.cores,
        .gpus = shape.gpus,
        .memory = shape.memory.value,
        .lifetime_ms = static_cast<std::uint64_t>(request.worker.lifetime.count())};
    const orchid_placement_candidate offered{
        .host = candidate.host.name.c_str(),
        .architecture = candidate.host.architecture.c_str(),
        .source = candidate.grant.source.value().c_str(),
        .cores_total = static_cast<std::uint32_t>(candidate.host.cores.size()),
        .cores_free = candidate.cores_free,
        .gpus_free = candidate.gpus_free,
        .owner = candidate.grant.owner.value(),
        .memory_free = candidate.memory_free.value,
        .remaining_ms = candidate.remaining ? candidate.remaining->count() : -1,
        .watts = candidate.watts.value_or(-1),
        .workers_here = candidate.workers_here,
        .near_rank = candidate.near_rank ? static_cast<std::int32_t>(*candidate.near_rank) : -1};
    return policy_.score(policy_.state, &asked, &offered);  // NaN is understood
  }

 private:
  const orchid_placement_policy_table& policy_;
  std::string name_;
};

/// What is wrong with it, or nothing.
std::string fault_of(const orchid_placement_policy_table* policy) {
  if (policy == nullptr)
    return fmt::format("it has no policy for version {} of the ABI", ORCHID_PLACEMENT_ABI);
  if (policy->abi != ORCHID_PLACEMENT_ABI)
    return fmt::format("it is made for version {} of the ABI, this is version {}", policy->abi,
                       ORCHID_PLACEMENT_ABI);
  if (policy->name == nullptr || *policy->name == '\0') return "its policy has no name";
  if (policy->score == nullptr) return "its policy has no score function";
  if (policy->order < 0 || policy->order >= static_cast<int>(std::size(orders)))
    return fmt::format("order {} is not known", policy->order);
  if (policy->candidates < 1 || policy->candidates > Policy::most_candidates)
    return fmt::format("it asks for {} candidates; 1 to {} are allowed", policy->candidates,
                       Policy::most_candidates);
  return {};
}

}  // namespace

Result<std::unique_ptr<Policy>> load_policy(const std::filesystem::path& library) {
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::bad_configuration,
                fmt::format("placement policy {}: {}", library.string(), what));
  };
  if (!library.is_absolute()) return wrong("give the absolute path of the library");
  // Never closed: code of it may be on a stack, and its policy is borrowed.
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return wrong(::dlerror());
  const auto entry = reinterpret_cast<decltype(&orchid_placement_policy)>(
      ::dlsym(handle, "orchid_placement_policy"));
  if (entry == nullptr) return wrong("it does not export orchid_placement_policy");
  const orchid_placement_policy_table* const policy = entry(ORCHID_PLACEMENT_ABI);
  if (const std::string fault = fault_of(policy); !fault.empty()) return wrong(fault);
  return std::make_unique<LibraryPolicy>(*policy);
}

}  // namespace orchid::placement
