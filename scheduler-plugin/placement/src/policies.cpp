#include <fmt/format.h>

#include "placement/policy.h"

namespace orchid::placement {
namespace {

/// The first of its order.
class FirstInOrder final : public Policy {
 public:
  FirstInOrder(std::string_view name, Order order) : name_(name), order_(order) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Order order() const override { return order_; }
  [[nodiscard]] std::optional<double> score(
      const Request& /*request*/, const WorkerShape& /*shape*/,
      const Candidate& /*candidate*/) const noexcept override {
    return 0;
  }

 private:
  std::string_view name_;
  Order order_;
};

class Spread final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "spread"; }
  [[nodiscard]] Order order() const override { return Order::most_free; }
  [[nodiscard]] std::uint32_t candidates() const override { return 16; }
  [[nodiscard]] std::optional<double> score(const Request& /*request*/,
                                            const WorkerShape& /*shape*/,
                                            const Candidate& candidate) const noexcept override {
    return candidate.workers_here;  // among equals, the order decides: most free cores
  }
};

}  // namespace

std::unique_ptr<Policy> make_pack_policy() {
  return std::make_unique<FirstInOrder>("pack", Order::fewest_free);
}
std::unique_ptr<Policy> make_spread_policy() { return std::make_unique<Spread>(); }
std::unique_ptr<Policy> make_near_policy() {
  return std::make_unique<FirstInOrder>("near", Order::nearest_first);
}
std::unique_ptr<Policy> make_energy_policy() {
  return std::make_unique<FirstInOrder>("energy", Order::least_watts);
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name) {
  if (name == "pack") return make_pack_policy();
  if (name == "spread") return make_spread_policy();
  if (name == "near") return make_near_policy();
  if (name == "energy") return make_energy_policy();
  return fail(
      ErrorCode::not_found,
      fmt::format("there is no placement policy '{}'; choose pack, spread, near or energy", name));
}

}  // namespace orchid::placement
