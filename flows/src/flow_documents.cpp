// flow_documents.cpp: what is told of flows: their states, and the JSON of the HTTP API.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "flow_book.h"

namespace orchid::flows {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace

/// As it was when the flow's end was written down.
std::string FlowBook::without_nodes(const DoneFlow& done) {
  Json json = parsed(done.summary);
  if (json.is_object()) json.erase("nodes");
  return dump_text(json);
}

std::string FlowBook::state_of(const Entry& entry) {
  if (entry.record.done) return "done";
  if (!entry.suspended.empty()) return "suspended";
  return std::string(flow::to_string(entry.run->outcome()));
}

bool FlowBook::has_ended(const Entry& entry) {
  if (entry.record.done) return true;
  return entry.suspended.empty() && entry.run->outcome() != flow::FlowOutcome::running;
}

std::uint64_t FlowBook::sequence_of(const Entry& entry) {
  if (entry.run) return entry.run->sequence();
  return entry.record.done ? parsed(entry.brief).value("sequence", std::uint64_t{1}) : 0;
}

/// Without its nodes.
Json FlowBook::summary_of(const Entry& entry) {
  if (entry.record.done) return parsed(entry.brief);
  const std::string state = state_of(entry);
  Json json{{"id", entry.record.id},
            {"name", entry.record.name},
            {"state", state},
            {"submitted", time_text(entry.record.submitted)}};
  if (!entry.suspended.empty()) json["message"] = entry.suspended;
  if (!entry.run) return json;
  if (has_ended(entry)) json["ended"] = time_text(entry.run->last_wall());
  if (const std::string message = entry.run->message(); !message.empty() && state == "failed")
    json["message"] = message;
  json["nodes_total"] = entry.run->plan().nodes.size();
  json["nodes_done"] = entry.run->nodes_done();
  json["sequence"] = entry.run->sequence();
  return json;
}

std::string FlowBook::document_of(const Entry& entry) {
  if (entry.record.done) return entry.record.done->summary;
  std::string text = dump_text(summary_of(entry));
  if (entry.run) {
    text.pop_back();  // its brace
    text += ",\"nodes\":" + entry.run->nodes() + "}";
  }
  return text + "\n";
}

std::string FlowBook::brief_of(const Entry& entry) { return dump_text(summary_of(entry)) + "\n"; }

/// The flow's own state comes last, with all that is known then.
std::string FlowBook::news_of(const Entry& entry, std::uint64_t since) {
  const std::uint64_t sequence = sequence_of(entry);
  if (since == sequence) return {};
  std::string text = entry.run ? entry.run->news(since > sequence ? 0 : since) : "";
  // When each node changed is forgotten then, and so all are told.
  if (entry.record.done)
    for (const Json& node : parsed(entry.record.done->summary).value("nodes", Json::array()))
      text += fmt::format("event: node\nid: {}\ndata: {}\n\n", sequence, dump_text(node));
  const bool ended = has_ended(entry);
  text += fmt::format("event: {}\nid: {}\ndata: {}\n", ended ? "end" : "state", sequence,
                      ended ? document_of(entry) : brief_of(entry));
  return text;
}

void FlowBook::list(const FlowRequest& request) {
  std::vector<const Entry*> newest;
  for (const auto& [id, entry] : flows_) newest.push_back(&entry);
  std::ranges::stable_sort(newest, std::ranges::greater{},
                           [](const Entry* entry) { return entry->record.submitted; });
  Json list = Json::array();
  for (const Entry* entry : newest) list.push_back(summary_of(*entry));
  parts_.answer({.number = request.number, .failure = {}, .content = FlowContent::json},
                dump_text(Json{{"flows", std::move(list)}}) + "\n");
}

}  // namespace orchid::flows
