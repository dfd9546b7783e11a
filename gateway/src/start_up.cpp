#include "start_up.h"

#include <unistd.h>

#include <utility>

#include "clusters/configured_sources.h"
#include "foundation/files.h"
#include "placement_settings.h"
#include "token_files.h"

namespace orchid::gateway {
namespace {

Result<std::string> read_boot_id() {
  auto content = read_file("/proc/sys/kernel/random/boot_id", 4_KiB);
  if (!content) return fail(std::move(content.error()));
  std::string id(as_text(*content));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace

std::shared_ptr<const FunctionVersion> version_of(const InvocationRecord& record,
                                                  const FunctionTable& table,
                                                  const FunctionService::KeptVersions& kept) {
  if (const Function* function = table.find(record.tenant, record.function))
    for (const DeployedVersion& version : function->versions)
      if (version.version->digest == record.digest) return version.version;
  const auto old = kept.find({record.tenant, record.function, record.digest});
  return old == kept.end() ? nullptr : old->second;
}

FlowService::Options flow_options(const Config& config) {
  return {.settings = {.program = config.flows_program,
                       .per_user = config.flows_per_user,
                       .store = config.flows_store,
                       .keep = config.flows_keep,
                       .templates = config.flows_templates},
          .folder = config.state / "flows"};
}

Tenant own_user() { return {::geteuid(), user_name(::geteuid())}; }

Result<StartUp> start_up(const Config& config) {
  StartUp opened;
  auto store = Store::open(config.state);
  if (!store) return fail(std::move(store.error()).while_doing("opening the state directory"));
  opened.store = std::move(*store);
  auto state = opened.store->load();
  if (!state) return fail(std::move(state.error()).while_doing("loading the state"));
  opened.state = std::move(*state);
  if (auto ensured = ensure_tokens(*opened.store, config, own_user(), opened.state.tokens);
      !ensured)
    return fail(std::move(ensured.error()).while_doing("making tokens"));
  auto sockets = listen_all(config);
  if (!sockets) return fail(std::move(sockets.error()));
  opened.sockets = std::move(*sockets);
  auto boot_id = read_boot_id();
  if (!boot_id) return fail(std::move(boot_id.error()));
  opened.boot_id = std::move(*boot_id);
  auto policy = placement_policy(config);
  if (!policy) return fail(std::move(policy.error()));
  opened.policy = std::move(*policy);
  auto sources = configured_sources({.sources = config.sources,
                                     .slurm_program = config.slurm_program,
                                     .slurm_requests_per_minute = config.slurm_requests_per_minute,
                                     .slurm_interval = config.slurm_interval,
                                     .slurm_dpu_features = config.slurm_dpu_features},
                                    slurm_is_configured());
  if (!sources) return fail(std::move(sources.error()));
  opened.sources = std::move(*sources);
  return opened;
}

}  // namespace orchid::gateway
