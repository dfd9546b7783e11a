#include "library_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "flow/tuner.h"
#include "foundation/json_document.h"
#include "foundation/visible_text.h"

namespace orchid::flow {
namespace {

constexpr std::size_t longest_why = 160;

std::unexpected<Failure> lie(std::string what) {
  return fail(ErrorCode::bad_request, std::move(what));
}

Result<Advice> advice_of(const JsonObject& said, const Situation& situation,
                         std::string_view name) {
  Advice advice{.node = said.number<std::uint32_t>("node")};
  const auto node = std::ranges::find(situation.nodes, advice.node, &ReadyNode::node);
  if (node == situation.nodes.end())
    return lie(fmt::format("speaks of node {}, which is not ready", advice.node));
  std::string why = said.optional().text("why");
  if (said.has("priority")) advice.priority = said.number<std::int64_t>("priority");
  if (said.has("calls")) {
    const auto calls = said.number<std::uint64_t>("calls");
    if (!node->in_runs)
      return lie(
          fmt::format("cuts node '{}', whose function takes one piece at a time", node->name));
    if (calls == 0 || calls > node->pieces_left)
      return lie(fmt::format("cuts the {} pieces that are left of node '{}' into {} calls",
                             node->pieces_left, node->name, calls));
    advice.pieces = node->pieces_left / calls + (node->pieces_left % calls == 0 ? 0 : 1);
  }
  if (said.has("host")) {
    const auto host = said.number<std::uint32_t>("host");
    if (host >= situation.hosts.size())
      return lie(fmt::format("wants node '{}' on host {} of {}", node->name, host,
                             situation.hosts.size()));
    why += fmt::format("{}would suit {}", why.empty() ? "" : ", ", situation.hosts[host].name);
  }
  if (why.empty()) why = "it says so";
  advice.why = fmt::format("{}: {}", name, visible_text(why.substr(0, longest_why)));
  return advice;
}

}  // namespace

Result<Decided> decision_of(std::string_view answer, const Situation& situation,
                            std::string_view name) {
  const JsonDocument document(answer, {.subject = "its answer"});
  const JsonObject said = document.root();
  if (said.has("error"))
    return lie("says: " + visible_text(said.text("error").substr(0, longest_why)));
  const std::vector<JsonObject> nodes = said.objects("nodes");
  if (nodes.size() > situation.nodes.size())
    return lie(
        fmt::format("speaks of {} nodes, and {} are ready", nodes.size(), situation.nodes.size()));
  Decided decided;
  for (const JsonObject& one : nodes) {
    auto advice = advice_of(one, situation, name);
    if (!advice) return fail(std::move(advice.error()));
    decided.nodes.push_back(std::move(*advice));
  }
  if (said.has("calls_open")) decided.open_calls = said.number<std::uint32_t>("calls_open");
  if (const auto read = document.finish(); !read)
    return lie("gives an answer that is none: " + visible_text(read.error().message));
  if (std::string fault = fault_of(decided, situation); !fault.empty())
    return lie(std::move(fault));
  return decided;
}

}  // namespace orchid::flow
