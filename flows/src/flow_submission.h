// flow_submission.h: what somebody has submitted: a document with its files, and values of its
// inputs. Pure functions.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/checker.h"
#include "flow/plan.h"
#include "flow/values.h"
#include "foundation/result.h"

namespace orchid::flows {

struct Submission {
  std::string document;
  std::string file;  // what faults call the document
  std::map<std::string, std::string> files;
  std::map<std::string, std::string> inputs;  // as JSON
  std::map<std::string, flow::Bytes> encoded_inputs;
};
/// The JSON object of `POST /v1/flows`. Errors: `bad_request`.
[[nodiscard]] Result<Submission> parse_submission(std::span<const std::byte> body);

/// Says what is known of a function that a document names.
using FindFunction = std::function<flow::KnownFunction(const std::string&)>;

/// A function as it was when the flow was submitted: so the flow goes on, whatever is deployed
/// since.
struct KnownVersion {
  std::string signature;  // empty: it takes and gives bytes
  std::string exact;      // a reference to just that version
  std::string needs{};    // what its workers have, as flow::KnownFunction says it
};
using KnownVersions = std::map<std::string, KnownVersion>;  // by what documents call them
[[nodiscard]] std::string to_json(const KnownVersions& functions);
/// Errors: `bad_request`.
[[nodiscard]] Result<KnownVersions> parse_known_versions(std::string_view json);
/// Those that are known; others are missing.
[[nodiscard]] FindFunction finder_of(const KnownVersions& functions);

/// What a check of the document asks: functions are found by `find`, and files among those that
/// were sent along. Both outlive it.
[[nodiscard]] flow::Surroundings surroundings_of(const Submission& submission,
                                                 const FindFunction& find);

struct ReadyFlow {
  flow::Plan plan;
  std::vector<flow::Value> inputs;  // as the plan has them
};
/// Errors: `bad_request`, with each fault of the document, its line and column; or what is wrong
/// with the inputs.
[[nodiscard]] Result<ReadyFlow> make_ready(const Submission& submission, const FindFunction& find);

}  // namespace orchid::flows
