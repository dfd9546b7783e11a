// worker/made_modules.h: modules that a call of a crew makes while it runs (orchid_deploy_module,
// orchid_specialise).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "hygiene.h"
#include "jit/linker.h"
#include "service_client.h"
#include "user_code/crash_report.h"
#include "user_code/module_table.h"

namespace orchid::executor {

/// Owned by the worker's thread. No bitcode is read here: the bytes go to the agent, which has them
/// compiled as it does with any module of this tenant, and what comes back is linked as any is. The
/// other members of the crew are told to load it before this call can send them anything.
class MadeModules {
 public:
  struct Parts {
    ServiceClient& depot;
    ModuleTable& modules;
    CodeMap& code;
    const Hygiene& hygiene;
    int control;  // packet socket to the agent
  };
  explicit MadeModules(const Parts& parts) : parts_(parts) {}

  /// The digest of the module with these bytes, which this worker has from now on. Errors: what the
  /// agent refuses with (`module_rejected`, `compile_limit`, `quota`, `no_capacity`, `too_large`),
  /// `module_rejected` (it cannot be linked here).
  [[nodiscard]] Result<std::string> make(std::span<const std::byte> module);
  /// The same for the module `base`, which the crew's client has loaded, with constants set
  /// (protocol/constants.h).
  [[nodiscard]] Result<std::string> make_with(std::string_view base, std::string_view constants);
  /// Of the module in that slot; empty: there is none.
  [[nodiscard]] std::string digest_at(std::uint32_t slot) const {
    return parts_.modules.digest_at(slot);
  }
  /// Why no other call may come to this worker, or nothing.
  [[nodiscard]] std::string_view spoiled() const { return spoiled_; }

 private:
  [[nodiscard]] Result<std::string> make(std::span<const std::byte> content, std::string name);
  [[nodiscard]] Result<void> fill_room(std::span<const std::byte> content);
  [[nodiscard]] Result<std::unique_ptr<LinkedModule>> link(const ServiceClient::Answer& made);
  [[nodiscard]] Result<void> link_and_share(const ServiceClient::Answer& made);
  [[nodiscard]] Result<void> keep(const ServiceClient::Answer& made);
  [[nodiscard]] Result<void> place(const ServiceClient::Answer& made, std::uint64_t place,
                                   std::unique_ptr<LinkedModule> linked);

  Parts parts_;
  std::string spoiled_;
  /// What has run, and could not be kept: something may point to it.
  std::vector<std::unique_ptr<LinkedModule>> left_;
};

}  // namespace orchid::executor
