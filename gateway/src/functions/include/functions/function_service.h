// functions/function_service.h: deploys, from bytes to a durable version that the HTTP threads see.
//
// Same bytes? → inspect → tell who prepares for calls → store (synced) → publish. Changes of one
// name happen one after the other.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "foundation/owner_thread.h"
#include "foundation/task.h"
#include "functions/function_registry.h"
#include "functions/module_inspector.h"
#include "functions/published.h"
#include "store/store.h"

namespace orchid::gateway {

struct DeployRequest {
  uid_t tenant = 0;
  std::string name;
  std::vector<std::byte> module;
  Precondition precondition;
  std::optional<unsigned> concurrency = std::nullopt;  // 0: no limit; nothing: as it was
  /// What its workers have; nothing: as it was.
  std::optional<std::vector<placement::WorkerShape>> needs = std::nullopt;
  /// Called when the module has been found good, while it is being stored, so that a worker can get
  /// ready for the first call meanwhile. May be empty.
  std::function<void(std::shared_ptr<const FunctionVersion>)> accepted;
};

struct Deployment {
  bool created = false;  // false: the same bytes were there
  DeployedVersion version;
};

/// Owned by the control thread; store, inspector and `table` outlive it.
class FunctionService {
 public:
  struct Parts {
    Store& store;
    ModuleInspector& inspector;
    Published<FunctionTable>& table;
    const Clock& clock;
    Poster control;
  };
  FunctionService(Parts parts, FunctionRegistry::Limits limits);

  /// By tenant, function and digest.
  using KeptVersions =
      std::map<std::tuple<uid_t, std::string, std::string>, std::shared_ptr<const FunctionVersion>>;
  /// At start-up: what the store holds. Returns the versions that only unfinished invocations need.
  KeptVersions restore(std::vector<VersionRecord> versions);

  /// The control thread calls it before anything else but `restore`.
  void adopt_thread() { owner_.adopt(); }

  using Deployed = std::function<void(Result<Deployment>)>;
  /// Errors: `bad_request` (the name), `conflict` (the precondition), `module_rejected`, `quota`,
  /// `unreachable` (no compiler), `disk_full`, `system`.
  void deploy(DeployRequest request, Deployed done);
  using Removed = std::function<void(Result<void>)>;
  void remove(uid_t tenant, const std::string& name, Precondition precondition, Removed done);

 private:
  struct Deploying;
  using Name = std::pair<uid_t, std::string>;
  void in_turn(const Name& name, Task change);
  static void begin_first(std::deque<Task>& waiting);
  void next_change(const Name& name);
  void begin(const std::shared_ptr<Deploying>& deploy);
  void same_bytes(const std::shared_ptr<Deploying>& deploy, const DeployedVersion& version);
  /// What all versions of a function share.
  struct Shared {
    std::shared_ptr<ConcurrencyGate> gate;
    std::shared_ptr<FunctionNeeds> needs;
    [[nodiscard]] static Shared create() {
      return {.gate = ConcurrencyGate::create(0), .needs = std::make_shared<FunctionNeeds>()};
    }
  };
  [[nodiscard]] Shared shared_of(uid_t tenant, const std::string& name) const;
  [[nodiscard]] Result<void> check_needs(const DeployRequest& request);
  /// What it is to have from now on.
  struct Wanted {
    unsigned concurrency = 0;
    std::shared_ptr<const WorkerNeeds> needs;
  };
  [[nodiscard]] Wanted wanted_of(const DeployRequest& request, const FunctionVersion& version);
  static void apply(const Wanted& wanted, const FunctionVersion& version);
  void inspected(const std::shared_ptr<Deploying>& deploy, Result<module::Manifest> manifest);
  void stored(const std::shared_ptr<Deploying>& deploy, Result<void> result);
  void end(const std::shared_ptr<Deploying>& deploy, Result<Deployment> result);
  [[nodiscard]] UnixMillis now() const;

  Parts parts_;
  FunctionRegistry registry_;
  NeedsBook needs_;
  std::map<Name, std::shared_ptr<const WorkerNeeds>> coming_needs_;  // of deploys on their way
  OwnerThread owner_;
  std::map<Name, std::deque<Task>> changes_;  // the first of each is under way
};

}  // namespace orchid::gateway
