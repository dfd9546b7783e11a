#include "leases/demand_report.h"

#include <nlohmann/json.hpp>

namespace orchid::gateway {
namespace {

/// Of one row. Its constraints are written also where anything will do, but for how long its
/// workers have to last, which is told beside them, and a bound on power, which demand does not
/// have.
class ConstraintWriter {
 public:
  explicit ConstraintWriter(nlohmann::json& row) : row_(row) {}
  void operator()(const char* name, const std::string& text) { row_["constraints"][name] = text; }
  void operator()(const char* name, const std::vector<std::string>& names) {
    row_["constraints"][name] = names;
  }
  void operator()(const char* name, std::optional<placement::HostKind> kind) {
    row_["constraints"][name] = kind ? to_string(*kind) : "";
  }
  void operator()(const char* name, std::chrono::milliseconds time) { row_[name] = time.count(); }
  void operator()(const char*, std::optional<double>) {}

 private:
  nlohmann::json& row_;
};

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

nlohmann::json demand_json(const std::vector<placement::WorkerDemand>& demand) {
  std::uint64_t cores = 0;
  nlohmann::json wanted = nlohmann::json::array();
  for (const placement::WorkerDemand& one : demand) {
    cores += std::uint64_t{one.workers} * one.worker.alternatives.front().cores;
    nlohmann::json row{{"workers", one.workers},
                       {"alternatives", nlohmann::json(shapes_json(one.worker.alternatives))}};
    placement::visit_constraints(one.worker, ConstraintWriter(row));
    wanted.push_back(std::move(row));
  }
  return {{"cores_wanted", cores}, {"wanted", std::move(wanted)}};
}

}  // namespace orchid::gateway
