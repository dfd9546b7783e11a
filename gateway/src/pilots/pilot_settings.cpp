#include "pilots/pilot_settings.h"

namespace orchid::gateway {

KeptProcess::Options pilot_keeper(const PilotSettings& settings,
                                  const std::filesystem::path& orchid,
                                  const std::filesystem::path& socket) {
  KeptProcess::Options options{.name = "pilot_keeper",
                               .program = orchid,
                               .arguments = {"pilot", "keep", "--while-input-is-open", "--gateway",
                                             "unix:" + socket.native()}};
  const auto add = [&options](const char* flag, const std::string& value) {
    if (value.empty()) return;
    options.arguments.emplace_back(flag);
    options.arguments.push_back(value);
  };
  const auto seconds = [](std::chrono::milliseconds time) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + "s";
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
  add("--max-queued", std::to_string(settings.most_queued));
  add("--max", std::to_string(settings.most_running));
  add("--max-cores", std::to_string(settings.most_cores));
  add("--shortest", seconds(settings.shortest));
  add("--longest", seconds(settings.longest));
  add("--idle-time", seconds(settings.idle_time));
  add("--gateway-grace", seconds(settings.gateway_grace));
  add("--memory-per-core", std::to_string(settings.worker_memory.value));
  return options;
}

}  // namespace orchid::gateway
