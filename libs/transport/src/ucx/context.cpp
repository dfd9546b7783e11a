#include "ucx/context.h"

#include <utility>
#include <vector>

#include "ucx/fabric.h"
#include "ucx/interfaces.h"
#include "ucx/resources.h"

namespace orchid::transport {
namespace {

struct Setting {
  const char* name;
  const char* value;
};
// No adaptive progress: with it UCX's own thread, and the making of a worker, read what comes in on
// an interface without endpoints, which may be a stranger's (ucx/doors.h).
// Buffers from the heap: the other ways open files when they grow, which a worker may not. One path
// to the peer, and a dead peer noticed within seconds. In 1.13 the settings of a transport
// go without its prefix: TCP_KEEPIDLE is not known here.
constexpr Setting settings[] = {
    {"KEEPALIVE_INTERVAL", "1s"}, {"PROTO_INDIRECT_ID", "on"}, {"MAX_EAGER_RAILS", "1"},
    {"MAX_RNDV_RAILS", "1"},      {"PUT_ENABLE", "n"},         {"KEEPIDLE", "1s"},
    {"KEEPINTVL", "1s"},          {"ALLOC", "heap"},           {"ALLOC_PRIO", "heap"},
    {"ADAPTIVE_PROGRESS", "n"},
};

/// Only for a device of verbs: without it UCX starts a thread as soon as it opens one, in processes
/// that have yet to confine themselves and may have one thread until then. A dead peer is noticed
/// by the keepalive.
constexpr Setting verbs_settings[] = {{"ASYNC_EVENTS", "n"}};

/// What is stated goes before what is chosen.
TransportChoice choice_of(const UcxContext::Options& options) {
  if (!options.transports.empty())
    return {
        .transports = options.transports, .devices = options.devices, .reason = "as it was told"};
  std::vector<UcxResource> resources;
  if (options.fabric != Fabric::tcp)
    if (auto found = find_resources()) resources = std::move(*found);
  const std::string interface = interface_of(options.address);
  if (!interface.empty())
    std::erase_if(resources, [&](const UcxResource& resource) {
      return resource.transport == "tcp" && resource.device != interface;
    });
  TransportChoice choice = choose_transports(resources, options.fabric);
  if (!choice.verbs) choice.devices = interface;
  if (!options.devices.empty()) choice.devices = options.devices;
  return choice;
}

/// Lanes of several threads may share it.
Result<void> check_shared(const UcxLibrary& ucx, ucp_context_h context) {
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_THREAD_MODE;
  if (auto s = ucx.context_query(context, &attributes); s != UCS_OK)
    return fail(ucx.failure(ErrorCode::system, "UCX's thread mode", s));
  return check_thread_mode(UCS_THREAD_MODE_MULTI, attributes.thread_mode);
}

}  // namespace

Result<UcxContext> UcxContext::create(const Options& options) {
  auto loaded = UcxLibrary::load();
  if (!loaded) return fail(std::move(loaded.error()));
  const UcxLibrary& ucx = **loaded;
  const TransportChoice choice = choice_of(options);
  ucp_config_t* config = nullptr;
  if (const auto status = ucx.config_read(nullptr, nullptr, &config); status != UCS_OK)
    return fail(ucx.failure(ErrorCode::bad_configuration, "UCX's settings", status));
  ucs_status_t status = ucx.config_modify(config, "TLS", choice.transports.c_str());
  if (status == UCS_OK && !choice.devices.empty())
    status = ucx.config_modify(config, "NET_DEVICES", choice.devices.c_str());
  for (const Setting& setting : settings)
    if (status == UCS_OK) status = ucx.config_modify(config, setting.name, setting.value);
  if (choice.verbs)
    for (const Setting& setting : verbs_settings)
      if (status == UCS_OK) status = ucx.config_modify(config, setting.name, setting.value);
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  // No RMA and no atomics, on any fabric: then UCX hands out no key to memory of ours, and takes no
  // put or get in software.
  parameters.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  parameters.mt_workers_shared = 1;
  ucp_context_h context = nullptr;
  if (status == UCS_OK)
    status = ucx.init_version(UCP_API_MAJOR, UCP_API_MINOR, &parameters, config, &context);
  ucx.config_release(config);
  if (status != UCS_OK)
    return fail(ucx.failure(ErrorCode::bad_configuration,
                            "UCX with the transports '" + choice.transports + "'", status));
  if (auto shared = check_shared(ucx, context); !shared) {
    ucx.cleanup(context);
    return fail(std::move(shared.error()));
  }
  std::string description = "UCX_TLS=" + choice.transports;
  if (!choice.devices.empty()) description += " UCX_NET_DEVICES=" + choice.devices;
  return UcxContext(std::make_unique<State>(ucx, context, description + " (" + choice.reason + ")",
                                            choice.verbs));
}

UcxContext::UcxContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxContext::UcxContext(UcxContext&& other) noexcept = default;
UcxContext& UcxContext::operator=(UcxContext&& other) noexcept = default;
UcxContext::~UcxContext() = default;

const std::string& UcxContext::description() const { return state_->description(); }
bool UcxContext::uses_verbs() const { return state_->uses_verbs(); }

}  // namespace orchid::transport
