#include "invocations/invocation_documents.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "http/json_text.h"
#include "http/request_options.h"
#include "http/timestamp.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;

double in_milliseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

std::string_view tier_of(const CallTimings& timings) { return timings.quick_code ? "quick" : "o3"; }

Json list_of(std::string_view ids) {
  Json list = Json::array();
  while (!ids.empty()) list.push_back(take_item(ids, ','));
  return list;
}

/// "NAME", or once it is kept "ID NAME@VERSION".
void describe_output(Json& json, std::string_view output) {
  const std::string_view id = output.substr(0, output.find(' '));
  if (id.size() == output.size()) {
    json["output_data"] = output;
  } else {
    json["output_data"] = output.substr(id.size() + 1);
    json["output_data_id"] = id;
  }
}

Json describe_invocation(const InvocationView& view) {
  const InvocationRecord& record = view.record;
  Json json{{"id", record.id},
            {"function", record.function},
            {"version", record.digest},
            {"entry", record.entry},
            {"mode", view.synchronous ? "sync" : "async"},
            {"state", state_name(record.state)},
            {"accepted", format_time(record.accepted)},
            {"deadline", format_time(record.deadline)},
            {"attempt", record.attempts}};
  if (record.idempotency_key) json["idempotency_key"] = *record.idempotency_key;
  if (record.at_most_once) json["at_most_once"] = true;
  if (record.kind) json["host_kind"] = to_string(*record.kind);
  if (record.device) json["device"] = to_string(*record.device);
  if (!record.cluster.empty()) json["cluster"] = record.cluster;
  if (!record.data.empty()) json["data"] = list_of(record.data);
  if (!record.output_data.empty()) describe_output(json, record.output_data);
  if (view.progress) json["progress"] = *view.progress;
  if (record.state != StoredState::done) return json;
  json["finished"] = record.finished ? Json(format_time(*record.finished)) : Json();
  json["outcome"] = record.outcome ? Json(to_string(*record.outcome)) : Json();
  if (!record.message.empty()) json["message"] = record.message;
  if (!record.node.empty()) json["node"] = record.node;
  if (record.lease != LeaseId{}) json["lease"] = to_string(record.lease);
  json["output_size"] = record.output_size;
  json["log_dropped"] = record.log_dropped;
  json["timings_ms"] = {{"transfer", in_milliseconds(record.timings.transfer)},
                        {"queue", in_milliseconds(record.timings.queue)},
                        {"place", in_milliseconds(record.timings.place)},
                        {"compile", in_milliseconds(record.timings.compile)},
                        {"link", in_milliseconds(record.timings.link)},
                        {"run", in_milliseconds(record.timings.run)}};
  json["tier"] = tier_of(record.timings);
  return json;
}

}  // namespace

std::string_view state_name(StoredState state) {
  switch (state) {
    case StoredState::queued:
      return "queued";
    case StoredState::started:
      return "running";
    case StoredState::done:
      return "done";
  }
  return "unknown";
}

std::string invocation_json(const InvocationView& view) {
  return json_text(describe_invocation(view));
}

std::string progress_json(double progress) { return json_text({{"progress", progress}}); }

std::string invocation_list_json(const std::vector<InvocationView>& views) {
  Json list = Json::array();
  for (const InvocationView& view : views) list.push_back(describe_invocation(view));
  return json_text({{"invocations", list}});
}

std::string server_timing(const CallTimings& t) {
  std::string text;
  text.reserve(128);
  if (t.transfer.count() > 0)
    fmt::format_to(std::back_inserter(text), "transfer;dur={:.3f}, ", in_milliseconds(t.transfer));
  fmt::format_to(std::back_inserter(text),
                 "queue;dur={:.3f}, place;dur={:.3f}, compile;dur={:.3f}, link;dur={:.3f}, "
                 "run;dur={:.3f};desc={}",
                 in_milliseconds(t.queue), in_milliseconds(t.place), in_milliseconds(t.compile),
                 in_milliseconds(t.link), in_milliseconds(t.run), tier_of(t));
  return text;
}

}  // namespace orchid::gateway
