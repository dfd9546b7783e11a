// crew/crew_access.h: makes what users hold out of what is behind it.
#pragma once
#include <memory>

#include "crew/crew_core.h"
#include "orchid/crew.h"

namespace orchid::sdk {

struct CrewAccess {
  static Crew crew(std::shared_ptr<CrewCore> core) { return Crew(std::move(core)); }
  static CrewFunction function(const Crew& crew, std::shared_ptr<CrewModule> module,
                               std::uint16_t entry, std::string name) {
    return {crew.core_, std::move(module), entry, std::move(name)};
  }
  static std::shared_ptr<CrewCall> call_of(const CrewFunction& function, unsigned member,
                                           std::span<const std::byte> input,
                                           const CrewCallOptions& options);
  /// Hands it over and waits for its result, which may be an exception.
  static Reply wait_for(CrewCore& core, const std::shared_ptr<CrewCall>& call,
                        const std::stop_token& stop);
  static const std::shared_ptr<CrewCore>& core_of(const CrewFunction& function) {
    return function.core_;
  }
};

}  // namespace orchid::sdk
