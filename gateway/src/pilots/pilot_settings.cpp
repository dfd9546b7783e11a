#include "pilots/pilot_settings.h"

#include <algorithm>

#include "foundation/host_addresses.h"

namespace orchid::gateway {
namespace {

std::string seconds(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + "s";
}

}  // namespace

Result<void> check(const PilotSettings& settings, const std::vector<std::string>& listen) {
  if (!settings.automatic) return {};
  if (settings.partition.empty() && settings.qos.empty())
    return fail(ErrorCode::bad_configuration,
                "[pilots] automatic needs partition or qos: name one whose jobs are preempted by "
                "others, even if it is the cluster's default");
  if (settings.shortest < std::chrono::minutes(1) || settings.longest < settings.shortest)
    return fail(ErrorCode::bad_configuration,
                "[pilots] shortest must be at least 1m, and not more than longest: Slurm counts a "
                "job's time in minutes");
  if (settings.site && settings.data_memory)
    return fail(ErrorCode::bad_configuration,
                "[pilots] data_memory and site do not go together: how much data is kept on a node "
                "is for the site's service to say (--executor-option=--data-memory=SIZE)");
  // In site mode it is the site's service on each node that reaches the gateway.
  if (!settings.site && settings.address.empty() && std::ranges::all_of(listen, is_loopback))
    return fail(ErrorCode::bad_configuration,
                "[pilots] automatic needs a gateway that nodes reach, and this one listens on "
                "loopback addresses only: start it with 'orchid up --listen IP:PORT', or set "
                "address = \"HOST:PORT\" in [pilots]");
  return {};
}

KeptProcess::Options pilot_keeper(const PilotSettings& settings,
                                  const std::filesystem::path& orchid,
                                  const std::filesystem::path& socket,
                                  const std::filesystem::path& state) {
  KeptProcess::Options options{.name = "pilot_keeper",
                               .program = orchid,
                               .arguments = {"pilot", "keep", "--while-input-is-open", "--gateway",
                                             "unix:" + socket.native(), "--state", state.native()}};
  const auto add = [&options](const char* flag, const std::string& value) {
    if (value.empty()) return;
    options.arguments.emplace_back(flag);
    options.arguments.push_back(value);
  };
  add("--partition", settings.partition);
  add("--qos", settings.qos);
  add("--account", settings.account);
  if (settings.site) options.arguments.emplace_back("--site");
  add("--host-socket", settings.host_socket);
  add("--address", settings.address);
  add("--host-identity", settings.host_identity);
  add("--scheduling", settings.scheduling);
  add("--bandwidth-cap", std::to_string(settings.bandwidth_cap.value));
  if (settings.data_memory) add("--data-memory", std::to_string(settings.data_memory->value));
  add("--max-queued", std::to_string(settings.most_queued));
  add("--max", std::to_string(settings.most_running));
  add("--max-cores", std::to_string(settings.most_cores));
  add("--shortest", seconds(settings.shortest));
  add("--longest", seconds(settings.longest));
  add("--idle-time", seconds(settings.idle_time));
  add("--start-within", seconds(settings.start_within));
  add("--join-within", seconds(settings.join_within));
  add("--gateway-grace", seconds(settings.gateway_grace));
  const auto started = std::chrono::floor<std::chrono::milliseconds>(settings.started);
  add("--wanted-since", std::to_string(started.time_since_epoch().count()));
  add("--memory-per-core", std::to_string(settings.worker_memory.value));
  return options;
}

bool has_had_pilots(const std::filesystem::path& state) {
  std::error_code ignored;  // what cannot be seen is not there
  return std::filesystem::exists(state / "pilot-mark", ignored);
}

KeptProcess::Options pilot_guard(const PilotSettings& settings, const std::filesystem::path& orchid,
                                 const std::filesystem::path& state) {
  return {.name = "pilot_guard",
          .program = orchid,
          .arguments = {"pilot", "guard", "--state", state.native(), "--grace",
                        seconds(settings.gateway_grace)},
          .outlives = true};
}

}  // namespace orchid::gateway
