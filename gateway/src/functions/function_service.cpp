#include "functions/function_service.h"

#include <set>

#include "foundation/files.h"
#include "foundation/log.h"
#include "placement/shape_text.h"
#include "protocol/digest.h"

namespace orchid::gateway {
namespace {

constexpr std::size_t most_needs_of_tenant = 64;

}  // namespace

/// One deploy on its way; shared by the callbacks of its steps.
struct FunctionService::Deploying {
  DeployRequest request;
  Deployed done;
  std::string digest;
  std::shared_ptr<UniqueFd> module;
  std::shared_ptr<FunctionVersion> version;
  UnixMillis created = 0;
};

FunctionService::FunctionService(Parts parts, FunctionRegistry::Limits limits)
    : parts_(std::move(parts)), registry_(limits) {}

UnixMillis FunctionService::now() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             parts_.clock.wall_now().time_since_epoch())
      .count();
}

FunctionService::KeptVersions FunctionService::restore(std::vector<VersionRecord> versions) {
  KeptVersions kept;
  for (VersionRecord& record : versions) {
    if (registry_.is_full()) {
      log::error(
          "event=version_lost function={} version={} reason=\"each needs a descriptor: raise "
          "the limit (ulimit -n) and start again\"",
          record.function, record.digest);
      continue;
    }
    auto manifest = module::parse_manifest(record.manifest);
    auto module = make_sealed_memory("orchid-module", record.module);
    record.module = {};
    using Shapes = std::vector<placement::WorkerShape>;
    auto needs =
        record.needs.empty() ? Result<Shapes>(Shapes{}) : placement::parse_shapes(record.needs);
    if (!manifest || !module || !needs) {
      log::error("event=version_lost function={} version={} reason=\"{}\"", record.function,
                 record.digest,
                 !manifest ? manifest.error().message
                 : !module ? module.error().message
                           : needs.error().message);
      continue;
    }
    auto version = std::make_shared<FunctionVersion>();
    version->function = record.function;
    version->digest = record.digest;
    version->manifest = std::move(*manifest);
    version->hosts = hosts_of(version->manifest);
    version->module = std::move(*module);
    // A function that was deleted is another one than that which has its name now.
    Shared shared =
        record.with_its_function ? Shared::create() : shared_of(record.tenant, record.function);
    version->gate = std::move(shared.gate);
    version->needs = std::move(shared.needs);
    apply({record.concurrency, needs_.of(std::move(*needs))}, *version);
    if (record.deleted) {
      kept[{record.tenant, record.function, record.digest}] = std::move(version);
    } else {
      registry_.put(record.tenant, std::move(version), record.created);
    }
  }
  parts_.table.publish(registry_.table());
  return kept;
}

void FunctionService::in_turn(const Name& name, Task change) {
  auto& waiting = changes_[name];
  waiting.push_back(std::move(change));
  if (waiting.size() == 1) begin_first(waiting);
}

/// The first keeps its place until it is over. It may be over before it returns, so it is run where
/// its end does not destroy it.
void FunctionService::begin_first(std::deque<Task>& waiting) {
  Task change = std::exchange(waiting.front(), nullptr);
  change();
}

void FunctionService::next_change(const Name& name) {
  const auto found = changes_.find(name);
  found->second.pop_front();
  if (found->second.empty()) {
    changes_.erase(found);
    return;
  }
  begin_first(found->second);
}

void FunctionService::deploy(DeployRequest request, Deployed done) {
  owner_.assert_current();
  if (auto checked = check_function_name(request.name); !checked)
    return done(fail(std::move(checked.error())));
  if (request.module.empty())
    return done(fail(ErrorCode::bad_request,
                     "the body is empty: send the module's bytes (a .bc or .orc file)"));
  auto deploy = std::make_shared<Deploying>();
  deploy->request = std::move(request);
  deploy->done = std::move(done);
  deploy->digest = digest_of(deploy->request.module);
  in_turn({deploy->request.tenant, deploy->request.name}, [this, deploy] { begin(deploy); });
}

void FunctionService::begin(const std::shared_ptr<Deploying>& deploy) {
  DeployRequest& request = deploy->request;
  auto same =
      registry_.find_same(request.tenant, request.name, deploy->digest, request.precondition);
  if (!same) return end(deploy, fail(std::move(same.error())));
  if (auto good = check_needs(request); !good) return end(deploy, fail(std::move(good.error())));
  if (*same != nullptr) return same_bytes(deploy, **same);
  auto module = make_sealed_memory("orchid-module", request.module);
  if (!module) return end(deploy, fail(std::move(module.error())));
  deploy->module = std::make_shared<UniqueFd>(std::move(*module));
  parts_.inspector.inspect(request.tenant, deploy->module,
                           [this, deploy](Result<module::Manifest> manifest) {
                             inspected(deploy, std::move(manifest));
                           });
}

FunctionService::Shared FunctionService::shared_of(uid_t tenant, const std::string& name) const {
  const Function* function = registry_.table()->find(tenant, name);
  if (function == nullptr) return Shared::create();
  return {.gate = function->newest().version->gate, .needs = function->newest().version->needs};
}

FunctionService::Wanted FunctionService::wanted_of(const DeployRequest& request,
                                                   const FunctionVersion& version) {
  return {.concurrency = request.concurrency.value_or(version.gate->limit()),
          .needs = request.needs ? needs_.of(*request.needs) : version.needs->get()};
}

void FunctionService::apply(const Wanted& wanted, const FunctionVersion& version) {
  version.gate->set_limit(wanted.concurrency);
  version.needs->set(wanted.needs);
}

/// Calls of each of them have workers of their own, so there are not as many as one likes. Those of
/// deploys on their way count.
Result<void> FunctionService::check_needs(const DeployRequest& request) {
  const auto wanted = request.needs ? needs_.of(*request.needs) : nullptr;
  if (wanted == nullptr) return {};
  const Name own{request.tenant, request.name};
  std::set<std::shared_ptr<const WorkerNeeds>> others;
  for (const Function* function : registry_.table()->of_tenant(request.tenant))
    if (function->name != request.name) others.insert(function->newest().version->needs->get());
  for (const auto& [name, needs] : coming_needs_)
    if (name.first == request.tenant && name != own) others.insert(needs);
  others.erase(nullptr);
  if (others.contains(wanted) || others.size() < most_needs_of_tenant) {
    coming_needs_[own] = wanted;
    return {};
  }
  return fail(ErrorCode::quota,
              "your functions have " + std::to_string(most_needs_of_tenant) +
                  " different needs already: deploy it with those of another one");
}

/// Nothing to deploy; at most other options to keep.
void FunctionService::same_bytes(const std::shared_ptr<Deploying>& deploy,
                                 const DeployedVersion& version) {
  const Wanted wanted = wanted_of(deploy->request, *version.version);
  if (wanted.concurrency == version.version->gate->limit() &&
      wanted.needs == version.version->needs->get())
    return end(deploy, Deployment{.created = false, .version = version});
  StoredOptions options{.concurrency = wanted.concurrency, .needs = to_string(wanted.needs)};
  AuditRecord audit{.at = now(),
                    .tenant = deploy->request.tenant,
                    .action = "limit",
                    .subject = deploy->request.name,
                    .detail = "concurrency " + std::to_string(options.concurrency) +
                              (options.needs.empty() ? "" : ", needs " + options.needs)};
  parts_.store.set_options(
      deploy->request.tenant, deploy->request.name, std::move(options), std::move(audit),
      on_thread<void>(parts_.control, [this, deploy, version, wanted](Result<void> result) {
        if (!result) return end(deploy, fail(std::move(result.error())));
        apply(wanted, *version.version);
        end(deploy, Deployment{.created = false, .version = version});
      }));
}

void FunctionService::inspected(const std::shared_ptr<Deploying>& deploy,
                                Result<module::Manifest> manifest) {
  if (!manifest) return end(deploy, fail(std::move(manifest.error())));
  DeployRequest& request = deploy->request;
  auto checked =
      check_manifest(std::move(*manifest), deploy->digest, ByteCount{request.module.size()});
  if (!checked) return end(deploy, fail(std::move(checked.error())));
  deploy->version = std::make_shared<FunctionVersion>();
  deploy->version->function = request.name;
  deploy->version->digest = deploy->digest;
  deploy->version->manifest = std::move(*checked);
  deploy->version->hosts = hosts_of(deploy->version->manifest);
  deploy->version->module = std::move(*deploy->module);
  Shared shared = shared_of(request.tenant, request.name);
  deploy->version->gate = std::move(shared.gate);
  deploy->version->needs = std::move(shared.needs);
  const Wanted wanted = wanted_of(request, *deploy->version);
  // Who prepares for its calls looks at its needs: those that it will have.
  const bool has_its_needs = wanted.needs == deploy->version->needs->get();
  if (has_its_needs && request.accepted) request.accepted(deploy->version);
  deploy->created = now();
  VersionRecord record{.tenant = request.tenant,
                       .function = request.name,
                       .digest = deploy->digest,
                       .manifest = module::to_json(deploy->version->manifest),
                       .created = deploy->created,
                       .deleted = false,
                       .concurrency = wanted.concurrency,
                       .needs = to_string(wanted.needs),
                       .module = {}};
  AuditRecord audit{.at = deploy->created,
                    .tenant = request.tenant,
                    .action = "deploy",
                    .subject = request.name,
                    .detail = deploy->digest};
  parts_.store.put_version(
      std::move(record), Payload::of(std::move(request.module)),
      registry_.replaced_by(request.tenant, request.name, deploy->digest), std::move(audit),
      on_thread<void>(parts_.control, [this, deploy, wanted, has_its_needs](Result<void> result) {
        if (result) apply(wanted, *deploy->version);
        if (result && !has_its_needs && deploy->request.accepted)
          deploy->request.accepted(deploy->version);
        stored(deploy, std::move(result));
      }));
}

void FunctionService::stored(const std::shared_ptr<Deploying>& deploy, Result<void> result) {
  if (!result) return end(deploy, fail(std::move(result.error())));
  registry_.put(deploy->request.tenant, deploy->version, deploy->created);
  parts_.table.publish(registry_.table());
  log::info("event=deployed function={} version={} entries={}", deploy->request.name,
            short_digest(deploy->digest), deploy->version->manifest.entries.size());
  end(deploy, Deployment{.created = true, .version = {deploy->version, deploy->created}});
}

void FunctionService::end(const std::shared_ptr<Deploying>& deploy, Result<Deployment> result) {
  coming_needs_.erase({deploy->request.tenant, deploy->request.name});
  deploy->done(std::move(result));
  next_change({deploy->request.tenant, deploy->request.name});
}

void FunctionService::remove(uid_t tenant, const std::string& name, Precondition precondition,
                             Removed done) {
  owner_.assert_current();
  const Name key{tenant, name};
  in_turn(key, [this, key, precondition = std::move(precondition), done = std::move(done)] {
    if (auto checked = registry_.check_removal(key.first, key.second, precondition); !checked) {
      done(std::move(checked));
      return next_change(key);
    }
    AuditRecord audit{
        .at = now(), .tenant = key.first, .action = "delete", .subject = key.second, .detail = ""};
    parts_.store.delete_function(
        key.first, key.second, std::move(audit),
        on_thread<void>(parts_.control, [this, key, done](Result<void> result) {
          if (result) {
            registry_.remove(key.first, key.second);
            parts_.table.publish(registry_.table());
            log::info("event=deleted function={}", key.second);
          }
          done(std::move(result));
          next_change(key);
        }));
  });
}

}  // namespace orchid::gateway
