#include "free_cores.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orchid::flow {

unsigned free_cores(std::string_view hosts) {
  const auto document = nlohmann::json::parse(hosts, nullptr, false);
  if (!document.is_object() || !document.value("hosts", nlohmann::json()).is_array()) return 0;
  unsigned free = 0;
  for (const auto& host : document["hosts"]) {
    if (!host.is_object()) continue;
    const auto number = [&host](const char* name) {
      const auto found = host.find(name);
      return found != host.end() && found->is_number_unsigned() ? found->get<unsigned>() : 0U;
    };
    if (const auto drained = host.find("drained");
        drained != host.end() && drained->is_boolean() && drained->get<bool>())
      continue;
    const unsigned usable = number(host.contains("cores_usable") ? "cores_usable" : "cores");
    free += usable - std::min(usable, number("cores_leased"));
  }
  return free;
}

}  // namespace orchid::flow
