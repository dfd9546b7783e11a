// What sources and the gateway read of each other. Writing is in source_messages.cpp.
#include <algorithm>
#include <optional>
#include <utility>

#include "json_fields.h"
#include "protocol/source_messages.h"

namespace orchid {
namespace {

constexpr std::size_t longest_name = 256;
constexpr std::size_t longest_message = 4096;
constexpr std::size_t most_names = 1024;
constexpr std::size_t most_windows = 64;

CoreList core_list(JsonFields& f, const char* key) {
  auto list = parse_core_list(f.text(key, longest_source_line));
  if (!list) return f.fault<CoreList>(key, "must be a list of numbers like 0-3,8");
  return std::move(*list);
}
CoreList core_list_if_any(JsonFields& f, const char* key) {
  return f.has(key) ? core_list(f, key) : CoreList{};
}
std::string text_if_any(JsonFields& f, const char* key, std::size_t longest = longest_name) {
  return f.has(key) ? f.text(key, longest) : std::string{};
}
std::vector<std::string> names_if_any(JsonFields& f, const char* key) {
  auto names = f.has(key) ? f.texts(key) : std::vector<std::string>{};
  const bool good = names.size() <= most_names && std::ranges::all_of(names, [](const auto& name) {
                      return !name.empty() && name.size() <= longest_name;
                    });
  return good ? names : f.fault<std::vector<std::string>>(key, "has a name out of range");
}
template <std::integral T>
T number_if_any(JsonFields& f, const char* key) {
  return f.has(key) ? f.number<T>(key) : T{};
}
std::string name_of(JsonFields& f, const char* key) {
  std::string name = f.text(key, longest_name);
  if (name.empty()) return f.fault<std::string>(key, "must not be empty");
  return name;
}
ClusterTime time_if_any(JsonFields& f, const char* key) {
  const auto time = number_if_any<ClusterTime>(f, key);
  return time < 0 ? f.fault<ClusterTime>(key, "is out of range") : time;
}

void parse_gpus(JsonFields& f, SourceNode& n) {
  if (!f.has("gpus")) return;
  for (JsonFields& gpu : f.objects("gpus")) {
    n.gpus.push_back({gpu.number<std::uint32_t>("index"), text_if_any(gpu, "type")});
    f.include(gpu);
  }
  CoreList indices;
  for (const SourceGpu& gpu : n.gpus) indices.push_back(gpu.index);
  std::ranges::sort(indices);
  if (indices.size() > most_names || std::ranges::adjacent_find(indices) != indices.end() ||
      (!indices.empty() && indices.back() > highest_core))
    f.fault<int>("gpus", "must have different indices");
  n.gpus_free = f.number<std::uint32_t>("gpus_free");
  if (f.has("free_gpus")) n.free_gpus = core_list(f, "free_gpus");
  if (n.gpus_free > n.gpus.size()) f.fault<int>("gpus_free", "is more than there are");
  if (n.free_gpus &&
      (n.free_gpus->size() != n.gpus_free || !without(*n.free_gpus, indices).empty()))
    f.fault<int>("free_gpus", "must be gpus_free of the node's GPUs");
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

SourceNode parse_node(JsonFields& f) {
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
  if (const auto fault = find_miscount(n)) f.fault<int>(fault->key, fault->what);
  return n;
}

SourceJob parse_job(JsonFields& f) {
  SourceJob j;
  j.id = f.number<std::uint64_t>("id");
  j.array = number_if_any<std::uint64_t>(f, "array");
  j.array_tasks = text_if_any(f, "array_tasks", longest_message);
  j.uid = f.number<std::uint32_t>("uid");
  j.partition = text_if_any(f, "partition", longest_message);
  j.state = f.parsed("state", parse_source_job_state);
  j.exclusive = f.has("exclusive") && f.flag("exclusive");
  j.start_time = time_if_any(f, "start_time");
  j.end_time = time_if_any(f, "end_time");
  j.planned_nodes = f.has("planned_nodes") ? f.texts("planned_nodes") : std::vector<std::string>{};
  j.nodes_wanted = number_if_any<std::uint32_t>(f, "nodes_wanted");
  j.cores_wanted = number_if_any<std::uint32_t>(f, "cores_wanted");
  if (!f.has("shares")) return j;
  for (JsonFields& share : f.objects("shares")) {
    j.shares.push_back({name_of(share, "node"), core_list(share, "cores"),
                        ByteCount{share.number<std::uint64_t>("memory_bytes")},
                        core_list_if_any(share, "gpus")});
    f.include(share);
  }
  if (j.state == SourceJobState::pending && !j.shares.empty())
    f.fault<int>("shares", "must not be there while a job is pending");
  return j;
}

SourceForecast parse_forecast(JsonFields& f) {
  SourceForecast forecast{.node = name_of(f, "node"), .windows = {}};
  ClusterTime last = 0;
  for (JsonFields& window : f.objects("windows")) {
    const SourceWindow w{.from = time_if_any(window, "from"),
                         .until = time_if_any(window, "until"),
                         .cores = window.number<std::uint32_t>("cores"),
                         .memory = ByteCount{window.number<std::uint64_t>("memory_bytes")},
                         .gpus = number_if_any<std::uint32_t>(window, "gpus")};
    const bool follows = forecast.windows.empty() ? w.from == 0 : w.from == last && last != 0;
    if (!follows || (w.until != 0 && w.until <= w.from))
      f.fault<int>("windows", "must follow each other, the first from now");
    last = w.until;
    forecast.windows.push_back(w);
    f.include(window);
  }
  if (forecast.windows.empty() || forecast.windows.size() > most_windows)
    f.fault<int>("windows", "must have at least 1 and at most 64 elements");
  return forecast;
}

template <typename Row, typename Parse>
void parse_rows(JsonFields& f, const char* key, std::vector<Row>& rows, Parse parse) {
  if (!f.has(key)) return;
  for (JsonFields& row : f.objects(key)) {
    rows.push_back(parse(row));
    f.include(row);
  }
}

Result<SourceMessage> parse_update(JsonFields& f) {
  SourceUpdate m;
  m.sequence = f.number<std::uint64_t>("sequence");
  m.full = f.has("full") && f.flag("full");
  m.more = f.has("more") && f.flag("more");
  m.time = f.number<ClusterTime>("time");
  parse_rows(f, "nodes", m.nodes, parse_node);
  if (f.has("nodes_gone")) m.nodes_gone = f.texts("nodes_gone");
  parse_rows(f, "jobs", m.jobs, parse_job);
  if (f.has("jobs_gone"))
    for (const auto& id : f.raw("jobs_gone")) {
      if (!id.is_number_unsigned()) f.fault<int>("jobs_gone", "must be a list of whole numbers");
      m.jobs_gone.push_back(id.is_number_unsigned() ? id.get<std::uint64_t>() : 0);
    }
  parse_rows(f, "forecasts", m.forecasts, parse_forecast);
  return f.finish<SourceMessage>(std::move(m));
}

Result<SourceMessage> parse_hello(JsonFields& f) {
  SourceHello m;
  const std::vector<std::uint32_t> versions = f.numbers("protocol");
  if (versions.size() != 2 || versions[0] > versions[1])
    return fail(ErrorCode::bad_request,
                "message 'hello': field 'protocol' must be [oldest, newest]");
  m.oldest_protocol = versions[0];
  m.newest_protocol = versions[1];
  m.source = name_of(f, "source");
  m.version = f.text("version", longest_name);
  m.cluster = name_of(f, "cluster");
  m.backend = text_if_any(f, "backend");
  m.requests_per_minute = number_if_any<std::uint32_t>(f, "requests_per_minute");
  return f.finish<SourceMessage>(std::move(m));
}

Result<SourceMessage> parse_report(JsonFields& f) {
  SourceReport m;
  const std::string state = f.text("state", longest_name);
  if (state != "current" && state != "stale") f.fault<int>("state", "has an unknown value");
  m.is_current = state == "current";
  m.age_ms = f.number<std::uint64_t>("age_ms");
  if (!m.is_current) {
    m.code = f.parsed("code", parse_error_code);
    m.message = f.text("message", longest_message);
  }
  if (!f.has("counters")) return f.finish<SourceMessage>(std::move(m));
  const auto& counters = f.raw("counters");
  for (const auto& [name, value] : counters.items()) {
    if (!value.is_number_unsigned() || name.size() > longest_name ||
        m.counters.size() == most_names)
      f.fault<int>("counters", "must be whole numbers by name");
    else
      m.counters.emplace(name, value.get<std::uint64_t>());
  }
  return f.finish<SourceMessage>(std::move(m));
}

Result<SourceMessage> parse_error(JsonFields& f) {
  SourceError m;
  m.code = f.parsed("code", parse_error_code);
  m.message = f.text("message", longest_message);
  return f.finish<SourceMessage>(std::move(m));
}

std::unexpected<Failure> unknown_type(const std::string& type) {
  return fail(ErrorCode::bad_request, "no message of this protocol is of type '" + type + "'");
}

}  // namespace

Result<SourceMessage> parse_source_message(std::string_view line) {
  if (line.size() > longest_source_line)
    return fail(ErrorCode::too_large, "a line of a source has at most 4 MiB");
  auto fields = JsonFields::parse(line);
  if (!fields) return fail(std::move(fields.error()));
  if (fields->type() == "hello") return parse_hello(*fields);
  if (fields->type() == "update") return parse_update(*fields);
  if (fields->type() == "report") return parse_report(*fields);
  if (fields->type() == "error") return parse_error(*fields);
  return unknown_type(fields->type());
}

Result<SourceCommand> parse_source_command(std::string_view line) {
  if (line.size() > longest_source_line)
    return fail(ErrorCode::too_large, "a line to a source has at most 4 MiB");
  auto fields = JsonFields::parse(line);
  if (!fields) return fail(std::move(fields.error()));
  if (fields->type() == "resync") return SourceCommand(SourceResync{});
  if (fields->type() != "start") return unknown_type(fields->type());
  const SourceStart start{.protocol = fields->number<std::uint32_t>("protocol")};
  return fields->finish<SourceCommand>(start);
}

}  // namespace orchid
