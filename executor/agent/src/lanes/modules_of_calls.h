// lanes/modules_of_calls.h: modules that functions of a crew make while they run.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "code/code_service.h"
#include "code/compile_quota.h"
#include "data/memory_file.h"
#include "depots/module_service.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "lanes/lane_server.h"
#include "lanes/module_fetches.h"
#include "protocol/lane_messages.h"
#include "protocol/lease_tenant.h"
#include "protocol/service_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. What a function has made is a module as any other: it is compiled
/// by its tenant's compilers, which verify it, and runs in this tenant's workers. One at a time is
/// being made by a worker.
class ModulesOfCalls final : public ModuleService {
 public:
  /// All that functions of one tenant may have compiled at this executor in an hour.
  static constexpr std::chrono::milliseconds compile_time{60'000};
  static constexpr ByteCount largest = largest_made_module;
  /// All outlive it.
  ModulesOfCalls(CodeService& code, LaneServer& lanes,
                 std::chrono::milliseconds quota = compile_time)
      : code_(code), lanes_(lanes), quota_(quota) {}

  void ask(const LeaseTenant& tenant, std::uint64_t worker, const ServiceRequest& request,
           const Answer& answer) override;
  void worker_ended(std::uint64_t worker) override { makings_.erase(worker); }

 private:
  struct Making {
    std::optional<MemoryFile> room;
    ByteCount room_size;
    std::uint32_t sequence = 0;  // of the request that was taken last
    bool waits = false;          // it has no answer yet
    std::string digest;          // of what was made last
    std::optional<CodeService::Code> code;
    /// What that was made of, as in LaneMade, for members at other executors. Empty: its crew has
    /// none, or it was not made here.
    UniqueFd content;
    std::string base;
    ServiceAnswer answered;  // the last request, for a depot that asks again
  };
  using Asked = std::pair<std::uint64_t, std::uint32_t>;  // the worker, and its request's sequence
  void create(std::uint64_t worker, const ServiceRequest& request, const Answer& answer);
  void make(const LeaseTenant& tenant, std::uint64_t worker, const ServiceRequest& request,
            const Answer& answer);
  [[nodiscard]] std::optional<Failure> fault_of(const LeaseTenant& tenant,
                                                const ServiceRequest& request);
  static void drop_room(Making& making);
  static void forget_made(Making& making);
  [[nodiscard]] Result<UniqueFd> take_room(Making& making, ByteCount used);
  void look_at(const LeaseTenant& tenant, std::uint64_t worker, const ServiceRequest& request,
               const Answer& answer);
  /// That the module may be compiled; what it takes is charged then. Errors: `quota`.
  using Reserved = std::shared_ptr<const CompileQuota::Reservation>;
  [[nodiscard]] Result<Reserved> reserve(std::uint32_t tenant);
  void compile(const TenantModule& module, CodeService::Made made, const Reserved& reserved,
               const CodeService::Done& done);
  struct Parts {
    std::string base;       // digest
    std::string constants;  // as in protocol/constants.h; empty: it is that module itself
  };
  void specialise(const TenantModule& module, std::uint64_t worker, const Parts& parts,
                  const CodeService::Done& done);
  template <typename Work>
  void charge(std::uint32_t tenant, const Work& work);
  void fetched(const TenantModule& module, const Parts& parts, UniqueFd bytes,
               const Reserved& reserved, const CodeService::Done& done);
  void fetch(const LeaseTenant& tenant, std::uint64_t worker, const ServiceRequest& request,
             const Answer& answer);
  void make_again(std::uint64_t worker, const TenantModule& module, FetchedModule from,
                  const CodeService::Done& done);
  [[nodiscard]] CodeService::Done when_made(const Asked& asked, const TenantModule& module,
                                            const Answer& answer);
  void made(const Asked& asked, const TenantModule& module, const Result<CodeService::Code>& code,
            const Answer& answer);
  void share(std::uint64_t worker, const ServiceRequest& request, const Answer& answer);
  void share_here(std::uint64_t worker, const ServiceRequest& request, const Answer& answer);
  [[nodiscard]] bool is_asked(const Asked& asked) const;
  void refuse(std::uint64_t worker, std::uint32_t sequence, const Failure& why,
              const Answer& answer);
  void say(std::uint64_t worker, ServiceAnswer answered, int descriptor, const Answer& answer);

  CodeService& code_;
  LaneServer& lanes_;
  CompileQuota quota_;
  std::map<std::uint64_t, Making> makings_;  // by worker
};

}  // namespace orchid::executor
