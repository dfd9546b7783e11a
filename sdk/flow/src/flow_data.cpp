#include "flow_run/flow_data.h"

#include <algorithm>
#include <array>

namespace orchid::flow {

bool moves_data(const Plan& plan) {
  return std::ranges::any_of(plan.nodes, [](const PlannedNode& node) {
    return node.gives.is_data() || std::ranges::any_of(node.ports, [](const PlannedPort& port) {
             return port.type.is_data();
           });
  });
}

std::string data_id_of(Client& client, std::string_view reference) {
  if (parse_data_id(reference)) return std::string(reference);
  return client.describe_data(reference).id;
}

std::vector<std::string> references_to(const std::vector<DataId>& data) {
  std::vector<std::string> references;
  references.reserve(data.size());
  for (const DataId& one : data) references.push_back(to_string(one));
  return references;
}

void find_lost(Client& client, const std::vector<DataId>& data, CallFailed& failed) {
  // A call that was accepted and whose data is lost later ends as a bad request.
  constexpr std::array<std::string_view, 3> may_be_for_data{"data_lost", "not_found",
                                                            "bad_request"};
  if (std::ranges::find(may_be_for_data, failed.outcome) == may_be_for_data.end()) return;
  for (const DataId& one : data) {
    try {
      if (client.describe_data(to_string(one)).state != "lost") continue;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found && error.kind() != ErrorKind::data_lost) continue;
    }
    failed.lost.push_back(one);
  }
  if (!failed.lost.empty()) failed.outcome = "data_lost";
}

void DataDrops::drop(const DataId& data) {
  thread_.run([this, data] {
    try {
      // What has a name may be somebody's: a function may give an object that it found.
      if (client_.describe_data(to_string(data)).name.empty()) client_.remove_data(to_string(data));
    } catch (const Error&) {  // it is gone, or goes with its time to live
    }
  });
}

}  // namespace orchid::flow
