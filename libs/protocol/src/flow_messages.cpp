#include "protocol/flow_messages.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/json_document.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 12> ask_names{"submit", "list",   "show",   "outputs",
                                                     "log",    "news",   "cancel", "retry",
                                                     "resume", "remove", "check",  "templates"};
constexpr std::array<std::string_view, 4> content_names{"nothing", "json", "text", "events"};
/// A failure's message may be longer than a packet; who reads it wants its beginning.
constexpr std::size_t longest_failure_text = 16 * 1024;

template <typename Kind, std::size_t count>
std::string_view name_of(const std::array<std::string_view, count>& names, Kind kind) {
  return names.at(static_cast<std::size_t>(kind));
}
template <typename Kind, std::size_t count>
std::optional<Kind> kind_of(const std::array<std::string_view, count>& names,
                            std::string_view name) {
  for (std::size_t i = 0; i < count; ++i)
    if (names.at(i) == name) return static_cast<Kind>(i);
  return std::nullopt;
}

struct Encoder {
  Json operator()(const FlowRequest& m) const {
    return {{"type", "request"},
            {"number", m.number},
            {"ask", name_of(ask_names, m.ask)},
            {"flow", m.flow},
            {"key", m.key},
            {"since", m.since},
            {"wait_ms", m.wait.count()},
            {"brief", m.brief}};
  }
  Json operator()(const FlowConnection&) const { return {{"type", "connection"}}; }
  Json operator()(const FlowAnswer& m) const {
    Json json{{"type", "answer"}, {"number", m.number}};
    if (m.failure) {
      json["code"] = to_string(m.failure->code);
      json["message"] = m.failure->message.substr(0, longest_failure_text);
      return json;
    }
    json["content"] = name_of(content_names, m.content);
    json["is_new"] = m.is_new;
    json["next"] = m.next;
    json["last"] = m.last;
    return json;
  }
  Json operator()(const FlowDial&) const { return {{"type", "dial"}}; }
};

std::optional<FlowAsk> parse_ask(std::string_view name) {
  return kind_of<FlowAsk>(ask_names, name);
}
std::optional<FlowContent> parse_content(std::string_view name) {
  return kind_of<FlowContent>(content_names, name);
}

FlowRequest parse_request(const JsonObject& f) {
  constexpr std::chrono::milliseconds longest = longest_flow_wait;
  return {.number = f.number<std::uint64_t>("number"),
          .ask = f.parsed("ask", parse_ask),
          .flow = f.text("flow"),
          .key = f.text("key"),
          .since = f.number<std::uint64_t>("since"),
          .wait = std::chrono::milliseconds(
              f.number<std::int64_t>("wait_ms", {.least = 0, .most = longest.count()})),
          .brief = f.has("brief") && f.flag("brief")};
}

FlowAnswer parse_answer(const JsonObject& f) {
  FlowAnswer answer{.number = f.number<std::uint64_t>("number"), .failure = std::nullopt};
  if (f.has("code")) {
    answer.failure = Failure{f.parsed("code", parse_error_code), f.text("message")};
    return answer;
  }
  answer.content = f.parsed("content", parse_content);
  answer.is_new = f.flag("is_new");
  answer.next = f.number<std::uint64_t>("next");
  answer.last = f.flag("last");
  return answer;
}

std::optional<FlowMessage> read(const JsonObject& f, std::string_view type) {
  if (type == "request") return parse_request(f);
  if (type == "connection") return FlowConnection{};
  if (type == "answer") return parse_answer(f);
  if (type == "dial") return FlowDial{};
  return std::nullopt;
}

}  // namespace

std::string encode(const FlowMessage& message) { return dump_json(std::visit(Encoder{}, message)); }

Result<FlowMessage> parse_flow_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  const JsonObject f = document.root();
  auto message = read(f, type);
  if (!message) f.fault("type", "is unknown");
  return document.finish(std::move(message).value_or(FlowDial{}));
}

}  // namespace orchid
