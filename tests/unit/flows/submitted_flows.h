// submitted_flows.h: submissions whose functions are those of flow_under_test.h.
#pragma once
#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "flow_submission.h"
#include "flow_under_test.h"
#include "foundation/files.h"

namespace orchid::flows {

/// Every kind of node, and pieces that several calls are made for.
inline std::string all_kinds() {
  return "flow: all\n" + flow::functions_section() +
         "inputs: {n: u64, wanted: u64}\n"
         "nodes:\n"
         "  doubled: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: "
         "twice}\n"
         "  total: {kind: reduce, function: sum, fan: 3}\n"
         "  search: {kind: map, takes: [n, wanted], partition: {function: count, takes: [n]}, "
         "each: seven, until: found}\n"
         "  grow: {kind: iterate, function: next, takes: [state, by], times: 40, until: "
         "{function: is_big}}\n"
         "edges:\n"
         "  - {from: n, to: doubled.n}\n"
         "  - {from: doubled, to: total}\n"
         "  - {from: n, to: search.n}\n"
         "  - {from: wanted, to: search.wanted}\n"
         "  - {from: total, to: grow.state}\n"
         "  - {value: 3, to: grow.by}\n"
         "outputs: {total: total, search: search, grow: grow}\n";
}

inline std::vector<std::byte> body_of(const std::string& document, const nlohmann::json& inputs) {
  const std::string text =
      nlohmann::json{{"document", document}, {"file", "f.yaml"}, {"inputs", inputs}}.dump();
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

/// The document's own word counts for functions.
inline flow::KnownFunction not_asked(const std::string& /*name*/) { return {}; }

inline ReadyFlow ready_flow(const std::vector<std::byte>& body) {
  const auto submission = parse_submission(body);
  REQUIRE(submission.has_value());
  auto ready = make_ready(*submission, not_asked);
  REQUIRE_MESSAGE(ready.has_value(), (ready ? std::string() : ready.error().message));
  return std::move(*ready);
}

}  // namespace orchid::flows
