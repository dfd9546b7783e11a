#include "library_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "flow/tuner.h"
#include "foundation/visible_text.h"

namespace orchid::flow {
namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_why = 160;

std::unexpected<Failure> lie(std::string what) {
  return fail(ErrorCode::bad_request, std::move(what));
}

/// Of what a library wrote by itself: anything may stand there.
template <typename T>
Result<T> whole_number(const Json& json) {
  if (json.is_number_unsigned()) {
    if (const auto value = json.get<std::uint64_t>(); std::in_range<T>(value))
      return static_cast<T>(value);
  } else if (json.is_number_integer()) {
    if (const auto value = json.get<std::int64_t>(); std::in_range<T>(value))
      return static_cast<T>(value);
  }
  return lie("gives a number that is none, or out of range");
}

/// Throws nlohmann's exceptions.
Result<Advice> advice_of(const Json& json, const Situation& situation, std::string_view name) {
  const auto number = whole_number<std::uint32_t>(json.at("node"));
  if (!number) return fail(number.error());
  Advice advice{.node = *number};
  const auto node = std::ranges::find(situation.nodes, advice.node, &ReadyNode::node);
  if (node == situation.nodes.end())
    return lie(fmt::format("speaks of node {}, which is not ready", advice.node));
  std::string why = json.value("why", std::string());
  if (json.contains("priority")) {
    const auto priority = whole_number<std::int64_t>(json.at("priority"));
    if (!priority) return fail(priority.error());
    advice.priority = *priority;
  }
  if (json.contains("calls")) {
    const auto calls = whole_number<std::uint64_t>(json.at("calls"));
    if (!calls) return fail(calls.error());
    if (!node->in_runs)
      return lie(
          fmt::format("cuts node '{}', whose function takes one piece at a time", node->name));
    if (*calls == 0 || *calls > node->pieces_left)
      return lie(fmt::format("cuts the {} pieces that are left of node '{}' into {} calls",
                             node->pieces_left, node->name, *calls));
    advice.pieces = node->pieces_left / *calls + (node->pieces_left % *calls == 0 ? 0 : 1);
  }
  if (json.contains("host")) {
    const auto host = whole_number<std::uint32_t>(json.at("host"));
    if (!host) return fail(host.error());
    if (*host >= situation.hosts.size())
      return lie(fmt::format("wants node '{}' on host {} of {}", node->name, *host,
                             situation.hosts.size()));
    why += fmt::format("{}would suit {}", why.empty() ? "" : ", ", situation.hosts[*host].name);
  }
  if (why.empty()) why = "it says so";
  advice.why = fmt::format("{}: {}", name, visible_text(why.substr(0, longest_why)));
  return advice;
}

}  // namespace

Result<Decided> decision_of(std::string_view answer, const Situation& situation,
                            std::string_view name) {
  try {
    const Json json = Json::parse(answer);
    if (json.contains("error"))
      return lie("says: " +
                 visible_text(json.at("error").get<std::string>().substr(0, longest_why)));
    const Json& nodes = json.at("nodes");
    if (nodes.size() > situation.nodes.size())
      return lie(fmt::format("speaks of {} nodes, and {} are ready", nodes.size(),
                             situation.nodes.size()));
    Decided decided;
    for (const Json& one : nodes) {
      auto advice = advice_of(one, situation, name);
      if (!advice) return fail(std::move(advice.error()));
      decided.nodes.push_back(std::move(*advice));
    }
    if (json.contains("calls_open")) {
      const auto open = whole_number<std::uint32_t>(json.at("calls_open"));
      if (!open) return fail(open.error());
      decided.open_calls = *open;
    }
    if (std::string fault = fault_of(decided, situation); !fault.empty())
      return lie(std::move(fault));
    return decided;
  } catch (const Json::exception&) {
    return lie("gives an answer that is none");
  }
}

}  // namespace orchid::flow
