#include "check_report.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "flow/checker.h"
#include "flow/document.h"
#include "flow/fault.h"
#include "flow/port_type.h"
#include "flow_run.h"

namespace orchid::flows {
namespace {

using Json = nlohmann::ordered_json;

/// Whoever mends these asks again.
constexpr std::size_t most_told = 1'000;

Json faults_of(const std::vector<flow::Fault>& faults, const std::string& document) {
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(faults.size(), most_told); ++i) {
    const flow::Fault& fault = faults[i];
    Json one{{"line", fault.place.line}, {"column", fault.place.column}};
    if (!fault.file.empty() && fault.file != document) one["file"] = fault.file;
    one["message"] = fault.message;
    list.push_back(std::move(one));
  }
  return list;
}

Json ends_of(const std::vector<flow::NodeShape::End>& ends) {
  Json list = Json::array();
  for (const flow::NodeShape::End& end : ends)
    list.push_back({{"name", end.name}, {"type", flow::to_string(end.type)}});
  return list;
}

}  // namespace

std::string check_report(const Submission& submission, const FindFunction& find) {
  const flow::Parsed parsed = flow::parse_document(submission.document, submission.file);
  flow::Checked checked;
  checked.faults = parsed.faults;
  if (parsed.faults.empty())
    checked = flow::check(parsed.document, surroundings_of(submission, find));
  Json nodes = Json::array();
  for (const flow::NodeShape& shape : checked.shapes) {
    Json one{{"node", shape.node}, {"known", shape.is_known}};
    one["ports"] = ends_of(shape.ports);
    one["outputs"] = ends_of(shape.outputs);
    nodes.push_back(std::move(one));
  }
  return dump_text(Json{{"faults", faults_of(checked.faults, submission.file)},
                        {"faults_total", checked.faults.size()},
                        {"nodes", std::move(nodes)}}) +
         "\n";
}

}  // namespace orchid::flows
