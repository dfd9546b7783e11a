#include "api/documents.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "foundation/json_document.h"
#include "foundation/numbers.h"

namespace orchid::sdk {
namespace {

constexpr std::size_t longest_message = 1 << 20;  // a function may have written it

Error unintelligible(const std::string& what) {
  return Error({.kind = ErrorKind::internal,
                .message = "the gateway's answer is not " + what,
                .hint = "compare 'orchid --version' with the gateway's /version"});
}

template <typename Value>
Value read_answer(std::string_view text, const char* what, Value (*read)(const JsonObject& o)) {
  const JsonDocument document(text);
  Value value = read(document.root());
  if (const auto good = document.finish(); !good)
    throw unintelligible(std::string(what) + ": " + good.error().message);
  return value;
}

FunctionInfo read_function(const JsonObject& o) {
  const JsonObject any = o.optional();
  FunctionInfo info{.name = o.text("name"), .version = any.text("version")};
  for (const JsonObject& entry : any.objects("entries"))
    info.entries.push_back({entry.text("name"), entry.text("signature")});
  for (const JsonObject& target : any.objects("targets")) {
    const std::string kind = target.text("kind");
    const std::string architecture = target.text("arch");
    info.targets.push_back(architecture + (kind.empty() ? "" : " " + kind));
    if (kind == "bitcode" && !architecture.starts_with("nvptx"))
      info.architectures.push_back(architecture);
  }
  std::ranges::sort(info.architectures);
  info.size = any.number<std::uint64_t>("size");
  info.needs = any.text("needs");
  for (const JsonObject& size : any.objects("alternatives"))
    info.alternatives.push_back({.cores = size.number<unsigned>("cores", {.least = 1}),
                                 .memory = size.number<std::uint64_t>("memory_bytes"),
                                 .gpus = size.number<unsigned>("gpus"),
                                 .gpu_model = size.text("gpu_model")});
  if (info.alternatives.empty()) info.alternatives.emplace_back();  // of an older gateway
  info.effects = any.texts("effects");
  info.json = o.dump();
  return info;
}

FlowStatus read_flow(const JsonObject& o) {
  const JsonObject any = o.optional();
  return {.id = o.text("id"),
          .name = any.text("name"),
          .state = o.text("state"),
          .message = any.text("message"),
          .submitted = any.text("submitted"),
          .ended = any.text("ended"),
          .nodes = any.number<std::uint64_t>("nodes_total"),
          .nodes_done = any.number<std::uint64_t>("nodes_done"),
          .json = o.dump()};
}

DataInfo read_data(const JsonObject& o) {
  const JsonObject any = o.optional();
  return {.id = o.text("id"),
          .name = any.text("name"),
          .version = any.number<std::uint64_t>("version"),
          .size = any.number<std::uint64_t>("bytes"),
          .state = any.text("state"),
          .created = any.text("created"),
          .expires = any.text("expires"),
          .hosts = any.texts("hosts"),
          .arriving_at = any.texts("arriving_at"),
          .copies_wanted = any.number<std::uint32_t>("copies_wanted", {.otherwise = 1}),
          .digest = any.text("digest"),
          .durable = any.flag("durable"),
          .json = o.dump()};
}

InvocationStatus read_invocation(const JsonObject& o) {
  const JsonObject any = o.optional();
  return {
      .id = o.text("id"),
      .function = any.text("function"),
      .state = any.text("state"),
      .outcome = any.text("outcome"),
      .message = any.text("message", longest_message),
      .node = any.text("node"),
      .attempt = any.number<unsigned>("attempt"),
      .json = o.dump(),
      .progress = o.has("progress") ? std::optional(o.decimal("progress", 0, 1)) : std::nullopt};
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string_view cut(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const std::string_view part = trimmed(rest.substr(0, end));
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

}  // namespace

FunctionInfo parse_function(std::string_view text) {
  return read_answer(text, "a function", read_function);
}

std::vector<FunctionInfo> parse_functions(std::string_view text) {
  return read_answer<std::vector<FunctionInfo>>(text, "a list of functions", [](const auto& o) {
    std::vector<FunctionInfo> functions;
    for (const JsonObject& item : o.objects("functions")) functions.push_back(read_function(item));
    return functions;
  });
}

std::string wanted_copies(const CopyOptions& options) {
  nlohmann::json body = nlohmann::json::object();
  if (options.copies != 0) body["copies"] = options.copies;
  if (!options.host.empty()) body["host"] = options.host;
  return dump_json(body);
}

DataInfo parse_data(std::string_view text) { return read_answer(text, "a data object", read_data); }

std::vector<DataInfo> parse_data_list(std::string_view text) {
  return read_answer<std::vector<DataInfo>>(text, "a list of data objects", [](const auto& o) {
    std::vector<DataInfo> all;
    for (const JsonObject& item : o.objects("data")) all.push_back(read_data(item));
    return all;
  });
}

FlowStatus parse_flow(std::string_view text) { return read_answer(text, "a flow", read_flow); }

std::vector<FlowStatus> parse_flows(std::string_view text) {
  return read_answer<std::vector<FlowStatus>>(text, "a list of flows", [](const auto& o) {
    std::vector<FlowStatus> all;
    for (const JsonObject& item : o.objects("flows")) all.push_back(read_flow(item));
    return all;
  });
}

InvocationStatus parse_invocation(std::string_view text) {
  return read_answer(text, "an invocation", read_invocation);
}

std::vector<InvocationStatus> parse_invocations(std::string_view text) {
  return read_answer<std::vector<InvocationStatus>>(
      text, "a list of invocations", [](const auto& o) {
        std::vector<InvocationStatus> invocations;
        for (const JsonObject& item : o.objects("invocations"))
          invocations.push_back(read_invocation(item));
        return invocations;
      });
}

std::string parse_accepted(const HttpResponse& response) {
  if (const auto id = response.header("orchid-invocation"); !id.empty()) return std::string(id);
  return read_answer<std::string>(response.text(), "an accepted invocation",
                                  [](const auto& o) { return o.text("id"); });
}

Reply make_reply(HttpResponse response, std::string invocation) {
  const CallTiming timing = parse_server_timing(response.header("server-timing"));
  std::string node(response.header("orchid-node"));
  return {.output = std::move(response.body),
          .invocation = std::move(invocation),
          .timing = timing,
          .node = std::move(node)};
}

CallTiming whole_timing(CallTiming told, const ExchangeTimes& seen,
                        std::chrono::nanoseconds total) {
  told.connect = seen.connect;
  told.send = seen.send;
  told.receive = seen.receive;
  told.total = total;
  const auto known = told.connect + told.send + told.queue + told.place + told.compile + told.link +
                     told.run + told.receive;
  // The two clocks agree but for the last digits of what the gateway tells.
  told.wait = std::max(total - known, std::chrono::nanoseconds(0));
  return told;
}

InvocationLog make_log(const HttpResponse& response) {
  InvocationLog log{.text = std::string(response.text())};
  const std::string_view dropped = response.header("orchid-log-dropped");
  if (dropped.empty()) return log;
  const auto count = parse_number<std::uint64_t>(dropped);
  // A count that cannot be read must not look like a log that is whole.
  if (!count) throw unintelligible("a log with the size of what is missing");
  log.dropped = *count;
  return log;
}

CallTiming parse_server_timing(std::string_view header) {
  CallTiming timing;
  const std::pair<std::string_view, std::chrono::nanoseconds*> parts[] = {
      {"queue", &timing.queue},
      {"place", &timing.place},
      {"compile", &timing.compile},
      {"link", &timing.link},
      {"run", &timing.run}};
  while (!header.empty()) {
    std::string_view metric = cut(header, ',');
    const std::string_view name = cut(metric, ';');
    while (!metric.empty()) {
      std::string_view parameter = cut(metric, ';');
      if (!parameter.starts_with("dur=")) continue;
      const auto milliseconds = leading_number<double>(parameter.substr(4));
      if (!milliseconds) continue;
      for (const auto& [known, duration] : parts)
        if (known == name)
          *duration = std::chrono::nanoseconds(static_cast<std::int64_t>(*milliseconds * 1e6));
    }
  }
  return timing;
}

}  // namespace orchid::sdk
