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
