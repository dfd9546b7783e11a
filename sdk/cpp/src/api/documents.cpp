#include "api/documents.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/numbers.h"

namespace orchid::sdk {
namespace {

using nlohmann::json;

Error unintelligible(std::string_view what) {
  return Error({.kind = ErrorKind::internal,
                .message = "the gateway's answer is not " + std::string(what),
                .hint = "compare 'orchid --version' with the gateway's /version"});
}

std::string text_of(const json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

template <typename Read>
auto read_document(std::string_view text, std::string_view what, Read read) {
  try {
    return read(json::parse(text));
  } catch (const json::exception&) {
    throw unintelligible(what);
  }
}

FunctionInfo read_function(const json& document) {
  FunctionInfo info{.name = document.at("name").get<std::string>(),
                    .version = text_of(document, "version")};
  for (const json& entry : document.value("entries", json::array())) {
    if (entry.is_string()) {
      info.entries.push_back({entry.get<std::string>(), ""});
    } else {
      info.entries.push_back({entry.at("name").get<std::string>(), text_of(entry, "signature")});
    }
  }
  for (const json& target : document.value("targets", json::array())) {
    if (target.is_string()) {
      info.targets.push_back(target.get<std::string>());
    } else {
      const std::string kind = text_of(target, "kind");
      info.targets.push_back(target.at("arch").get<std::string>() +
                             (kind.empty() ? "" : " " + kind));
    }
  }
  info.size = document.value("size", std::uint64_t{0});
  info.json = document.dump();
  return info;
}

InvocationStatus read_invocation(const json& document) {
  InvocationStatus status{.id = document.at("id").get<std::string>(),
                          .function = text_of(document, "function"),
                          .state = text_of(document, "state"),
                          .outcome = text_of(document, "outcome"),
                          .message = text_of(document, "message"),
                          .node = text_of(document, "node")};
  if (const auto attempt = document.find("attempt");
      attempt != document.end() && attempt->is_number_unsigned())
    status.attempt = attempt->get<unsigned>();
  if (const auto progress = document.find("progress");
      progress != document.end() && progress->is_number())
    status.progress = progress->get<double>();
  status.json = document.dump();
  return status;
}

/// A list is an array, or an object with the array under `key`.
const json& list_in(const json& document, const char* key) {
  return document.is_array() ? document : document.at(key);
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
  return read_document(text, "a function", read_function);
}

std::vector<FunctionInfo> parse_functions(std::string_view text) {
  return read_document(text, "a list of functions", [](const json& document) {
    std::vector<FunctionInfo> functions;
    for (const json& item : list_in(document, "functions"))
      functions.push_back(read_function(item));
    return functions;
  });
}

InvocationStatus parse_invocation(std::string_view text) {
  return read_document(text, "an invocation", read_invocation);
}

std::vector<InvocationStatus> parse_invocations(std::string_view text) {
  return read_document(text, "a list of invocations", [](const json& document) {
    std::vector<InvocationStatus> invocations;
    for (const json& item : list_in(document, "invocations"))
      invocations.push_back(read_invocation(item));
    return invocations;
  });
}

std::string parse_accepted(const HttpResponse& response) {
  if (const auto id = response.header("orchid-invocation"); !id.empty()) return std::string(id);
  return read_document(response.text(), "an accepted invocation",
                       [](const json& document) { return document.at("id").get<std::string>(); });
}

Reply make_reply(HttpResponse response, std::string invocation) {
  const CallTiming timing = parse_server_timing(response.header("server-timing"));
  return {
      .output = std::move(response.body), .invocation = std::move(invocation), .timing = timing};
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
