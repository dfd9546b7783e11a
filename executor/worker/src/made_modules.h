// worker/made_modules.h: modules that a call of a crew makes while it runs (orchid_deploy_module,
// orchid_specialise), and those that it names and are not here, which are fetched.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
  /// `function` is "DIGEST.E", and that module is here: nothing has to be fetched.
  [[nodiscard]] bool is_here(std::string_view function) const {
    return parts_.modules.find_digest(function.substr(0, function.find('.'))) != nullptr;
  }
  /// What `function` means in ModuleTable::find_entry, once its module is here, which is fetched if
  /// it has to be: "sha256:DIGEST.E", or "N.E" of a deployed function. Names without a module come
  /// back as they are, and so do those that no module can have. Errors: as above, and what the
  /// crew's client says (`not_found`: nobody has deployed it).
  [[nodiscard]] Result<std::string> bring(std::string_view function);
  /// The module `name` (ServiceAsk::fetch_module); its digest. Errors: as above.
  [[nodiscard]] Result<std::string> fetch(std::string name);
  /// Of the module in that slot; empty: there is none.
  [[nodiscard]] std::string digest_at(std::uint32_t slot) const {
    return parts_.modules.digest_at(slot);
  }
  /// Why no other call may come to this worker, or nothing.
  [[nodiscard]] std::string_view spoiled() const { return spoiled_; }

 private:
  [[nodiscard]] Result<std::string> make(std::span<const std::byte> content, std::string name);
  [[nodiscard]] Result<std::string> have(ServiceRequest request);
  [[nodiscard]] Result<void> fill_room(std::span<const std::byte> content);
  [[nodiscard]] Result<std::unique_ptr<LinkedModule>> link(const ServiceClient::Answer& made);
  [[nodiscard]] Result<void> link_and_share(const ServiceClient::Answer& made);
  [[nodiscard]] Result<void> keep(const ServiceClient::Answer& made);
  [[nodiscard]] Result<void> place(const ServiceClient::Answer& made, std::uint64_t place,
                                   std::unique_ptr<LinkedModule> linked);

  Parts parts_;
  std::map<std::string, std::string, std::less<>> digests_;  // of deployed functions, as fetched
  std::string spoiled_;
  /// What has run, and could not be kept: something may point to it.
  std::vector<std::unique_ptr<LinkedModule>> left_;
};

}  // namespace orchid::executor
