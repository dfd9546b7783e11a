// What sources and the gateway write. Reading is in source_parsing.cpp.
#include "protocol/source_messages.h"

#include <array>
#include <nlohmann/json.hpp>

#include "foundation/json_document.h"
#include "name_list.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> kind_names{"cpu", "gpu", "dpu"};
constexpr std::array<std::string_view, 3> node_state_names{"usable", "planned", "unusable"};
constexpr std::array<std::string_view, 4> job_state_names{"pending", "running", "suspended",
                                                          "completing"};

Json to_json(const SourceNode& n) {
  Json json = {{"name", n.name},
               {"address", n.address},
               {"kind", to_string(n.kind)},
               {"sockets", n.sockets},
               {"cores_per_socket", n.cores_per_socket},
               {"threads_per_core", n.threads_per_core},
               {"cores_usable", n.cores_usable},
               {"memory_bytes", n.memory.value},
               {"state", to_string(n.state)},
               {"cores_free", n.cores_free},
               {"memory_free_bytes", n.memory_free.value}};
  if (!n.hostname.empty()) json["hostname"] = n.hostname;
  if (!n.architecture.empty()) json["architecture"] = n.architecture;
  if (!n.features.empty()) json["features"] = n.features;
  if (!n.partitions.empty()) json["partitions"] = n.partitions;
  if (!n.reserved_cores.empty()) json["reserved_cores"] = to_core_text(n.reserved_cores);
  if (!n.why.empty()) json["why"] = n.why;
  if (!n.reason.empty()) json["reason"] = n.reason;
  if (n.free_cores) json["free_cores"] = to_core_text(*n.free_cores);
  if (n.hidden_cores != 0) json["hidden_cores"] = n.hidden_cores;
  if (n.gpus.empty()) return json;
  Json gpus = Json::array();
  for (const SourceGpu& gpu : n.gpus) gpus.push_back({{"index", gpu.index}, {"type", gpu.type}});
  json["gpus"] = std::move(gpus);
  json["gpus_free"] = n.gpus_free;
  if (n.free_gpus) json["free_gpus"] = to_core_text(*n.free_gpus);
  return json;
}

Json to_json(const SourceJob& j) {
  Json json = {{"id", j.id},
               {"uid", j.uid},
               {"partition", j.partition},
               {"state", to_string(j.state)},
               {"exclusive", j.exclusive},
               {"start_time", j.start_time},
               {"end_time", j.end_time}};
  if (j.array != 0) json["array"] = j.array;
  if (!j.array_tasks.empty()) json["array_tasks"] = j.array_tasks;
  if (!j.planned_nodes.empty()) json["planned_nodes"] = j.planned_nodes;
  if (j.nodes_wanted != 0) json["nodes_wanted"] = j.nodes_wanted;
  if (j.cores_wanted != 0) json["cores_wanted"] = j.cores_wanted;
  for (const SourceShare& share : j.shares) {
    Json one = {{"node", share.node},
                {"cores", to_core_text(share.cores)},
                {"memory_bytes", share.memory.value}};
    if (!share.gpus.empty()) one["gpus"] = to_core_text(share.gpus);
    json["shares"].push_back(std::move(one));
  }
  return json;
}

Json to_json(const SourceForecast& f) {
  Json windows = Json::array();
  for (const SourceWindow& window : f.windows) {
    Json one = {{"cores", window.cores}, {"memory_bytes", window.memory.value}};
    if (window.from != 0) one["from"] = window.from;
    if (window.until != 0) one["until"] = window.until;
    if (window.gpus != 0) one["gpus"] = window.gpus;
    windows.push_back(std::move(one));
  }
  return {{"node", f.node}, {"windows", std::move(windows)}};
}
Json to_json(const std::string& name) { return name; }
Json to_json(std::uint64_t number) { return number; }

/// Collects the rows of an update into lines of the usual length.
class UpdateLines {
 public:
  explicit UpdateLines(const SourceUpdate& update) : update_(update) { begin(); }

  template <typename Row>
  void add(const char* key, const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      std::string text = dump_json(to_json(row));
      if (size_ > 0 && size_ + text.size() > usual_source_line) {
        end(/*more=*/true);
        begin();
      }
      size_ += text.size();
      std::string& list = lists_[key];
      list += list.empty() ? "[" : ",";
      list += text;
    }
  }
  [[nodiscard]] std::vector<std::string> finish() {
    end(/*more=*/false);
    return std::move(lines_);
  }

 private:
  void begin() {
    lists_.clear();
    size_ = 0;
  }
  void end(bool more) {
    // Rows are text already; they are not made twice only to know their length.
    std::string line = R"({"type":"update","sequence":)";
    line += std::to_string(update_.sequence + lines_.size());
    if (update_.full) line += R"(,"full":true)";
    if (more) line += R"(,"more":true)";
    line += R"(,"time":)" + std::to_string(update_.time);
    for (const auto& [key, list] : lists_) {
      line += ",\"" + key + "\":";
      line += list;
      line += ']';
    }
    lines_.push_back(line + "}");
  }

  const SourceUpdate& update_;
  std::map<std::string, std::string> lists_;  // by key: "[row,row"
  std::size_t size_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

std::string_view to_string(SourceNodeKind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}
std::string_view to_string(SourceNodeState state) {
  return node_state_names[static_cast<std::size_t>(state)];
}
std::string_view to_string(SourceJobState state) {
  return job_state_names[static_cast<std::size_t>(state)];
}
std::optional<SourceNodeKind> parse_source_node_kind(std::string_view name) {
  return find_name<SourceNodeKind>(kind_names, name);
}
std::optional<SourceNodeState> parse_source_node_state(std::string_view name) {
  return find_name<SourceNodeState>(node_state_names, name);
}
std::optional<SourceJobState> parse_source_job_state(std::string_view name) {
  return find_name<SourceJobState>(job_state_names, name);
}

std::string encode(const SourceHello& m) {
  return dump_json({{"type", "hello"},
                    {"protocol", {m.oldest_protocol, m.newest_protocol}},
                    {"source", m.source},
                    {"version", m.version},
                    {"cluster", m.cluster},
                    {"backend", m.backend},
                    {"requests_per_minute", m.requests_per_minute}});
}

std::string encode(const SourceReport& m) {
  Json json = {{"type", "report"},
               {"state", m.is_current ? "current" : "stale"},
               {"age_ms", m.age_ms},
               {"counters", m.counters}};
  if (!m.is_current) {
    json["code"] = to_string(m.code);
    json["message"] = m.message;
  }
  return dump_json(json);
}

std::string encode(const SourceError& m) {
  return dump_json({{"type", "error"}, {"code", to_string(m.code)}, {"message", m.message}});
}

std::string encode(const SourceCommand& message) {
  if (const auto* start = std::get_if<SourceStart>(&message))
    return dump_json({{"type", "start"}, {"protocol", start->protocol}});
  return dump_json({{"type", "resync"}});
}

std::vector<std::string> encode(const SourceUpdate& update) {
  UpdateLines lines(update);
  lines.add("nodes", update.nodes);
  lines.add("nodes_gone", update.nodes_gone);
  lines.add("jobs", update.jobs);
  lines.add("jobs_gone", update.jobs_gone);
  lines.add("forecasts", update.forecasts);
  return lines.finish();
}

}  // namespace orchid
