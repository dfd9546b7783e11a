#include "leases/demand_report.h"

#include <nlohmann/json.hpp>

namespace orchid::gateway {
namespace {

using Json = nlohmann::json;

Json constraints_json(const placement::Constraints& constraints) {
  return {{"host", constraints.host},
          {"architecture", constraints.architecture},
          {"kind", constraints.kind ? to_string(*constraints.kind) : ""},
          {"features", constraints.features}};
}

}  // namespace

nlohmann::ordered_json shapes_json(const std::vector<placement::WorkerShape>& shapes) {
  auto list = nlohmann::ordered_json::array();
  for (const placement::WorkerShape& shape : shapes)
    list.push_back({{"cores", shape.cores},
                    {"memory_bytes", shape.memory.value},
                    {"gpus", shape.gpus},
                    {"gpu_model", shape.gpu_model}});
  return list;
}

Json demand_json(const std::vector<WorkerDemand>& demand) {
  std::uint64_t cores = 0;
  Json wanted = Json::array();
  for (const WorkerDemand& one : demand) {
    cores += std::uint64_t{one.workers} * one.alternatives.front().cores;
    wanted.push_back({{"workers", one.workers},
                      {"alternatives", Json(shapes_json(one.alternatives))},
                      {"constraints", constraints_json(one.constraints)},
                      {"lifetime_ms", one.lifetime.count()}});
  }
  return {{"cores_wanted", cores}, {"wanted", std::move(wanted)}};
}

}  // namespace orchid::gateway
