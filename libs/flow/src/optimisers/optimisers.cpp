#include "optimisers.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "foundation/numbers.h"

namespace orchid::flow {

const FunctionTimes* Situation::times_of(std::string_view function,
                                         std::string_view host_kind) const {
  const auto found = std::ranges::find_if(times, [&](const FunctionTimes& one) {
    return one.function == function && one.host_kind == host_kind;
  });
  return found == times.end() ? nullptr : &*found;
}

std::unique_ptr<Optimiser> make_optimiser(const PlannedOptimiser& planned) {
  if (planned.name == "speed") return make_speed();
  if (planned.name == "granularity") return make_granularity();
  if (planned.name == "device") return make_device();
  if (planned.name == "prefetch") return make_prefetch();
  if (planned.name == "grid") return make_grid();
  if (planned.name == "power") {
    const auto option = [&planned](const char* name) {
      const auto found = planned.options.find(name);
      return found == planned.options.end() ? std::nullopt
                                            : parse_number<std::uint32_t>(found->second);
    };
    constexpr std::uint32_t usual_watts_per_core = 4;  // as the gateway assumes
    if (const auto watts = option("watts"))
      return make_power(*watts, option("watts_per_core").value_or(usual_watts_per_core));
  }
  return nullptr;
}

}  // namespace orchid::flow
