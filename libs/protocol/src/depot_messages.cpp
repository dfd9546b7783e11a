#include "protocol/depot_messages.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "data_json.h"
#include "foundation/json_document.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 11> ask_names{
    "open_data",     "create_data", "seal_data",    "publish_data", "discard_data", "open_memory",
    "create_module", "make_module", "share_module", "fetch_module", "locate_data"};
constexpr std::array<std::string_view, 3> verdict_names{"done", "refused", "again"};

/// Both kinds of names count from 1.
template <typename Kind, std::size_t count>
std::string_view name_of(const std::array<std::string_view, count>& names, Kind kind) {
  return names.at(static_cast<std::size_t>(kind) - 1);
}
template <typename Kind, std::size_t count>
std::optional<Kind> kind_of(const std::array<std::string_view, count>& names,
                            std::string_view name) {
  for (std::size_t i = 0; i < count; ++i)
    if (names.at(i) == name) return static_cast<Kind>(i + 1);
  return std::nullopt;
}

struct Encoder {
  Json operator()(const DepotStart& m) const {
    return {{"type", "start"}, {"tenant", to_json(m.tenant)}, {"data_limit", m.data_limit.value}};
  }
  Json operator()(const DepotServe& m) const {
    return {{"type", "serve"}, {"worker", m.worker}, {"again", m.again}};
  }
  Json operator()(const DepotAnswer& m) const {
    return {{"type", "answer"},
            {"worker", m.worker},
            {"verdict", name_of(verdict_names, m.answer.verdict)},
            {"sequence", m.answer.sequence},
            {"data", to_string(m.answer.data)},
            {"bytes", m.answer.bytes},
            {"code", to_string(m.answer.code)},
            {"message", m.answer.message}};
  }
  Json operator()(const DepotReady&) const { return {{"type", "ready"}}; }
  Json operator()(const DepotAsked& m) const {
    return {{"type", "asked"},
            {"worker", m.worker},
            {"ask", name_of(ask_names, m.request.ask)},
            {"sequence", m.request.sequence},
            {"data", to_string(m.request.data)},
            {"bytes", m.request.bytes},
            {"name", m.request.name}};
  }
  Json operator()(const DepotNonsense& m) const {
    return {{"type", "nonsense"}, {"worker", m.worker}};
  }
  Json operator()(const DepotUnserved& m) const {
    return {{"type", "unserved"}, {"worker", m.worker}};
  }
};

std::optional<ServiceAsk> parse_ask(std::string_view name) {
  return kind_of<ServiceAsk>(ask_names, name);
}
std::optional<ServiceVerdict> parse_verdict(std::string_view name) {
  return kind_of<ServiceVerdict>(verdict_names, name);
}

ServiceAnswer parse_answer(const JsonObject& f) {
  return {.verdict = f.parsed("verdict", parse_verdict),
          .sequence = f.number<std::uint32_t>("sequence"),
          .data = parse_data(f),
          .bytes = f.number<std::uint64_t>("bytes"),
          .code = f.parsed("code", parse_error_code),
          .message = f.text("message")};
}

ServiceRequest parse_request(const JsonObject& f) {
  return {.ask = f.parsed("ask", parse_ask),
          .sequence = f.number<std::uint32_t>("sequence", {.least = 1}),
          .data = parse_data(f),
          .bytes = f.number<std::uint64_t>("bytes"),
          .name = f.text("name", longest_service_name)};
}

std::optional<DepotMessage> read(const JsonObject& f, std::string_view type) {
  const auto worker = [&] { return f.number<std::uint64_t>("worker"); };
  if (type == "start")
    return DepotStart{.tenant = parse_tenant(f),
                      .data_limit = ByteCount{f.number<std::uint64_t>("data_limit")}};
  if (type == "serve") return DepotServe{.worker = worker(), .again = f.flag("again")};
  if (type == "answer") return DepotAnswer{.worker = worker(), .answer = parse_answer(f)};
  if (type == "ready") return DepotReady{};
  if (type == "asked") return DepotAsked{.worker = worker(), .request = parse_request(f)};
  if (type == "nonsense") return DepotNonsense{.worker = worker()};
  if (type == "unserved") return DepotUnserved{.worker = worker()};
  return std::nullopt;
}

}  // namespace

std::string encode(const DepotMessage& message) {
  return dump_json(std::visit(Encoder{}, message));
}

Result<DepotMessage> parse_depot_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  const JsonObject f = document.root();
  auto message = read(f, type);
  if (!message) f.fault("type", "is unknown");
  return document.finish(std::move(message).value_or(DepotReady{}));
}

}  // namespace orchid
