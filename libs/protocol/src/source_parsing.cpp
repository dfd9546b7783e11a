// What sources and the gateway read of each other. Writing is in source_messages.cpp.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/json_document.h"
#include "protocol/source_messages.h"

namespace orchid {
namespace {

constexpr std::size_t longest_name = 256;
constexpr std::size_t longest_message = 4096;
constexpr std::size_t most_names = 1024;
constexpr std::size_t most_windows = 64;

CoreList core_list(const JsonObject& f, const char* key) {
  auto list = parse_core_list(f.text(key, longest_source_line));
  if (list) return std::move(*list);
  f.fault(key, "must be a list of numbers like 0-3,8");
  return {};
}
CoreList core_list_if_any(const JsonObject& f, const char* key) {
  return core_list(f.optional(), key);
}
std::string text_if_any(const JsonObject& f, const char* key, std::size_t longest = longest_name) {
  return f.optional().text(key, longest);
}
std::vector<std::string> names_if_any(const JsonObject& f, const char* key) {
  auto names = f.optional().texts(key, {.most = most_names});
  const bool good = std::ranges::all_of(
      names, [](const std::string& name) { return !name.empty() && name.size() <= longest_name; });
  if (!good) f.fault(key, "has a name out of range");
  return names;
}
template <std::integral T>
T number_if_any(const JsonObject& f, const char* key) {
  return f.optional().number<T>(key);
}
std::string name_of(const JsonObject& f, const char* key) {
  std::string name = f.text(key, longest_name);
  if (name.empty()) f.fault(key, "must not be empty");
  return name;
}
ClusterTime time_if_any(const JsonObject& f, const char* key) {
  return f.optional().number<ClusterTime>(key, {.least = 0});
}

void parse_gpus(const JsonObject& f, SourceNode& n) {
  if (!f.has("gpus")) return;
  for (const JsonObject& gpu : f.objects("gpus"))
    n.gpus.push_back({gpu.number<std::uint32_t>("index"), text_if_any(gpu, "type")});
  CoreList indices;
  for (const SourceGpu& gpu : n.gpus) indices.push_back(gpu.index);
  std::ranges::sort(indices);
  if (indices.size() > most_names || std::ranges::adjacent_find(indices) != indices.end() ||
      (!indices.empty() && indices.back() > highest_core))
    f.fault("gpus", "must have different indices");
  n.gpus_free = f.number<std::uint32_t>("gpus_free");
  if (f.has("free_gpus")) n.free_gpus = core_list(f, "free_gpus");
  if (n.gpus_free > n.gpus.size()) f.fault("gpus_free", "is more than there are");
  if (n.free_gpus &&
      (n.free_gpus->size() != n.gpus_free || !without(*n.free_gpus, indices).empty()))
    f.fault("free_gpus", "must be gpus_free of the node's GPUs");
}

struct FieldFault {
  const char* key;
  const char* what;
};

/// What must hold between the fields, so that nobody counts a core that is not there.
std::optional<FieldFault> find_miscount(const SourceNode& n) {
  const std::uint64_t cores = std::uint64_t{n.sockets} * n.cores_per_socket;
  if (cores == 0 || cores > highest_core + 1UL || n.threads_per_core == 0)
    return FieldFault{"cores_per_socket", "is out of range"};
  if (!n.reserved_cores.empty() && n.reserved_cores.back() >= cores)
    return FieldFault{"reserved_cores", "names a core that is not there"};
  if (n.cores_usable > cores - n.reserved_cores.size())
    return FieldFault{"cores_usable", "is more than there are"};
  if (n.cores_free > n.cores_usable) return FieldFault{"cores_free", "is more than jobs may use"};
  if (n.hidden_cores > n.cores_usable - n.cores_free)
    return FieldFault{"hidden_cores", "is more than is in use"};
  if (n.memory_free > n.memory) return FieldFault{"memory_free_bytes", "is more than there is"};
  if (n.state == SourceNodeState::unusable && (n.cores_free != 0 || n.gpus_free != 0))
    return FieldFault{"state", "is unusable: nothing is free there"};
  if (!n.free_cores) return std::nullopt;
  if (n.free_cores->size() != n.cores_free)
    return FieldFault{"free_cores", "must be as many as cores_free"};
  if (!n.free_cores->empty() && n.free_cores->back() >= cores)
    return FieldFault{"free_cores", "names a core that is not there"};
  if (without(*n.free_cores, n.reserved_cores).size() != n.free_cores->size())
    return FieldFault{"free_cores", "names a reserved core"};
  return std::nullopt;
}

SourceNode parse_node(const JsonObject& f) {
  SourceNode n;
  n.name = name_of(f, "name");
  n.address = f.text("address", longest_name);
  n.hostname = text_if_any(f, "hostname");
  n.architecture = text_if_any(f, "architecture");
  if (f.has("kind")) n.kind = f.parsed("kind", parse_source_node_kind);
  n.features = names_if_any(f, "features");
  n.partitions = names_if_any(f, "partitions");
  n.sockets = f.number<std::uint32_t>("sockets");
  n.cores_per_socket = f.number<std::uint32_t>("cores_per_socket");
  n.threads_per_core = f.number<std::uint32_t>("threads_per_core");
  n.reserved_cores = core_list_if_any(f, "reserved_cores");
  n.cores_usable = f.number<std::uint32_t>("cores_usable");
  n.memory = ByteCount{f.number<std::uint64_t>("memory_bytes")};
  n.state = f.parsed("state", parse_source_node_state);
  n.why = names_if_any(f, "why");
  n.reason = text_if_any(f, "reason", longest_message);
  n.cores_free = f.number<std::uint32_t>("cores_free");
  if (f.has("free_cores")) n.free_cores = core_list(f, "free_cores");
  if (f.has("hidden_cores")) n.hidden_cores = f.number<std::uint32_t>("hidden_cores");
  n.memory_free = ByteCount{f.number<std::uint64_t>("memory_free_bytes")};
  parse_gpus(f, n);
  if (const auto fault = find_miscount(n)) f.fault(fault->key, fault->what);
  return n;
}

SourceJob parse_job(const JsonObject& f) {
  SourceJob j;
  j.id = f.number<std::uint64_t>("id");
  j.array = number_if_any<std::uint64_t>(f, "array");
  j.array_tasks = text_if_any(f, "array_tasks", longest_message);
  j.uid = f.number<std::uint32_t>("uid");
  j.partition = text_if_any(f, "partition", longest_message);
  j.state = f.parsed("state", parse_source_job_state);
  j.exclusive = f.optional().flag("exclusive");
  j.start_time = time_if_any(f, "start_time");
  j.end_time = time_if_any(f, "end_time");
  j.planned_nodes = f.optional().texts("planned_nodes");
  j.nodes_wanted = number_if_any<std::uint32_t>(f, "nodes_wanted");
  j.cores_wanted = number_if_any<std::uint32_t>(f, "cores_wanted");
  if (!f.has("shares")) return j;
  for (const JsonObject& share : f.objects("shares"))
    j.shares.push_back({name_of(share, "node"), core_list(share, "cores"),
                        ByteCount{share.number<std::uint64_t>("memory_bytes")},
                        core_list_if_any(share, "gpus")});
  if (j.state == SourceJobState::pending && !j.shares.empty())
    f.fault("shares", "must not be there while a job is pending");
  return j;
}

SourceForecast parse_forecast(const JsonObject& f) {
  SourceForecast forecast{.node = name_of(f, "node"), .windows = {}};
  ClusterTime last = 0;
  for (const JsonObject& window : f.objects("windows")) {
    const SourceWindow w{.from = time_if_any(window, "from"),
                         .until = time_if_any(window, "until"),
                         .cores = window.number<std::uint32_t>("cores"),
                         .memory = ByteCount{window.number<std::uint64_t>("memory_bytes")},
                         .gpus = number_if_any<std::uint32_t>(window, "gpus")};
    const bool follows = forecast.windows.empty() ? w.from == 0 : w.from == last && last != 0;
    if (!follows || (w.until != 0 && w.until <= w.from))
      f.fault("windows", "must follow each other, the first from now");
    last = w.until;
    forecast.windows.push_back(w);
  }
  if (forecast.windows.empty() || forecast.windows.size() > most_windows)
    f.fault("windows", "must have at least 1 and at most 64 elements");
  return forecast;
}

template <typename Row>
void parse_rows(const JsonObject& f, const char* key, std::vector<Row>& rows,
                Row (*parse)(const JsonObject& row)) {
  if (!f.has(key)) return;
  for (const JsonObject& row : f.objects(key)) rows.push_back(parse(row));
}

SourceUpdate parse_update(const JsonObject& f) {
  SourceUpdate m;
  m.sequence = f.number<std::uint64_t>("sequence");
  m.full = f.optional().flag("full");
  m.more = f.optional().flag("more");
  m.time = f.number<ClusterTime>("time");
  parse_rows(f, "nodes", m.nodes, parse_node);
  m.nodes_gone = f.optional().texts("nodes_gone");
  parse_rows(f, "jobs", m.jobs, parse_job);
  m.jobs_gone = f.optional().numbers<std::uint64_t>("jobs_gone");
  parse_rows(f, "forecasts", m.forecasts, parse_forecast);
  return m;
}

SourceHello parse_source_hello(const JsonObject& f) {
  SourceHello m;
  const std::vector<std::uint32_t> versions = f.numbers("protocol");
  if (versions.size() == 2 && versions[0] <= versions[1]) {
    m.oldest_protocol = versions[0];
    m.newest_protocol = versions[1];
  } else {
    f.fault("protocol", "must be [oldest, newest]");
  }
  m.source = name_of(f, "source");
  m.version = f.text("version", longest_name);
  m.cluster = name_of(f, "cluster");
  m.backend = text_if_any(f, "backend");
  m.requests_per_minute = number_if_any<std::uint32_t>(f, "requests_per_minute");
  return m;
}

SourceReport parse_report(const JsonObject& f) {
  SourceReport m;
  const std::string state = f.text("state", longest_name);
  if (state != "current" && state != "stale") f.fault("state", "has an unknown value");
  m.is_current = state == "current";
  m.age_ms = f.number<std::uint64_t>("age_ms");
  if (!m.is_current) {
    m.code = f.parsed("code", parse_error_code);
    m.message = f.text("message", longest_message);
  }
  m.counters = f.optional().numbers_by_name("counters", {.most = most_names});
  return m;
}

SourceMessage read_source_message(const JsonObject& f, std::string_view type) {
  if (type == "hello") return parse_source_hello(f);
  if (type == "update") return parse_update(f);
  if (type == "report") return parse_report(f);
  if (type == "error")
    return SourceError{.code = f.parsed("code", parse_error_code),
                       .message = f.text("message", longest_message)};
  f.fault("type", "is none of this protocol");
  return {};
}

SourceCommand read_source_command(const JsonObject& f, std::string_view type) {
  if (type == "resync") return SourceResync{};
  if (type != "start") f.fault("type", "is none of this protocol");
  return SourceStart{.protocol = f.number<std::uint32_t>("protocol")};
}

}  // namespace

Result<SourceMessage> parse_source_message(std::string_view line) {
  if (line.size() > longest_source_line)
    return fail(ErrorCode::too_large, "a line of a source has at most 4 MiB");
  JsonDocument document(line, {.subject = "the message"});
  const std::string type = document.type();
  return document.finish(read_source_message(document.root(), type));
}

Result<SourceCommand> parse_source_command(std::string_view line) {
  if (line.size() > longest_source_line)
    return fail(ErrorCode::too_large, "a line to a source has at most 4 MiB");
  JsonDocument document(line, {.subject = "the message"});
  const std::string type = document.type();
  return document.finish(read_source_command(document.root(), type));
}

}  // namespace orchid
