#include "leases/lease_documents.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "foundation/files.h"
#include "foundation/json_document.h"
#include "http/json_text.h"
#include "http/query.h"
#include "http/request_options.h"
#include "leases/demand_report.h"
#include "placement/shape_text.h"
#include "protocol/crew.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

constexpr std::uint32_t most_workers = 100'000;
constexpr std::uint32_t most_cores = placement::most_cores_of_worker;
constexpr std::uint32_t most_gpus = placement::most_gpus_of_worker;
constexpr std::uint64_t most_memory = placement::most_memory_of_worker.value;  // in bytes
constexpr std::uint64_t most_leased_memory = 1ULL << 50;
constexpr double most_watts = 1e6;
constexpr milliseconds longest_wait{600'000};
constexpr std::uint64_t longest_lifetime = milliseconds(ClientLeases::longest).count();
constexpr std::size_t most_names = 64;

constexpr std::size_t longest_name = 256;
constexpr JsonRules rules{.subject = "the body",
                          .unknown_key = "is not known here: see /openapi.yaml"};

/// No body asks for nothing in particular.
JsonDocument document_of(std::span<const std::byte> body) {
  return JsonDocument(body.empty() ? "{}" : as_text(body), rules);
}

milliseconds read_duration(const JsonObject& o) {
  return milliseconds(
      o.number<std::int64_t>("duration_ms", {.least = ClientLeases::shortest.count(),
                                             .most = ClientLeases::longest.count(),
                                             .otherwise = 60'000}));
}

placement::WorkerShape read_shape(const JsonObject& o, const char* cores) {
  placement::WorkerShape shape;
  shape.cores = o.number<std::uint32_t>(cores, {.least = 1, .most = most_cores, .otherwise = 1});
  shape.memory = ByteCount{o.number<std::uint64_t>("memory_bytes", {.most = most_memory})};
  shape.gpus = o.number<std::uint32_t>("gpus", {.most = most_gpus});
  shape.gpu_model = o.text("gpu_model", longest_name);
  if (!shape.gpu_model.empty() && shape.gpus == 0) o.fault("gpu_model", "needs a number of 'gpus'");
  return shape;
}

/// Either a list, or the fields of the only one.
std::vector<placement::WorkerShape> read_alternatives(const JsonObject& o) {
  std::vector<placement::WorkerShape> shapes;
  if (o.has("alternatives"))
    for (const char* key : {"cores_per_worker", "memory_bytes", "gpus", "gpu_model"})
      if (o.has(key)) o.fault(key, "belongs in each of the 'alternatives'");
  for (const JsonObject& one :
       o.objects("alternatives", {.least = 1, .most = placement::most_alternatives}))
    shapes.push_back(read_shape(one, "cores"));
  if (shapes.empty()) shapes.push_back(read_shape(o, "cores_per_worker"));
  return shapes;
}

Json view(const ClientLeaseView& lease, Secrets secrets) {
  Json workers = Json::array();
  for (const WorkerGrant& grant : lease.workers) {
    Json worker{{"lease", to_string(grant.lease)},
                {"executor", grant.executor.value()},
                {"node", grant.node},
                {"boot_id", grant.boot_id},
                {"lane_socket", grant.lane_socket},
                {"lane_address", grant.lane_address}};
    worker["cores"] = grant.cores;
    worker["memory_bytes"] = grant.memory.value;
    worker["gpus"] = grant.gpus;
    worker["gpu_model"] = grant.gpu_model;
    if (secrets == Secrets::shown) worker["secret"] = grant.secret;
    workers.push_back(std::move(worker));
  }
  return {{"id", to_string(lease.id)},
          {"state", lease.open ? "open" : "opening"},
          {"wait", to_string(lease.wait)},
          {"separate_processes", lease.separate_processes},
          {"crew", lease.crew},
          {"cores_per_worker", lease.worker.alternatives.front().cores},
          {"memory_bytes", lease.worker.alternatives.front().memory.value},
          {"alternatives", shapes_json(lease.worker.alternatives)},
          {"workers_wanted", lease.workers_wanted},
          {"expires_in_ms", lease.expires_in.count()},
          {"workers", std::move(workers)}};
}

/// With the fields that every lease has.
Json view(const MemoryLeaseView& lease, Secrets secrets) {
  Json json{{"id", to_string(lease.id)},
            {"kind", "memory"},
            {"state", lease.open ? "open" : "opening"},
            {"wait", to_string(lease.wait)},
            {"separate_processes", false},
            {"cores_per_worker", 0},
            {"memory_bytes", lease.bytes.value},
            {"alternatives", Json::array()},
            {"workers_wanted", 0},
            {"expires_in_ms", lease.expires_in.count()},
            {"workers", Json::array()},
            {"node", lease.node},
            {"boot_id", lease.boot_id},
            {"address", lease.address}};
  if (secrets == Secrets::shown) json["key"] = lease.key;
  return json;
}

/// What of it is not there is not wanted.
class ConstraintReader {
 public:
  explicit ConstraintReader(const JsonObject& constraints) : constraints_(constraints) {}
  void operator()(const char* name, std::string& text) const {
    text = constraints_.text(name, longest_name);
  }
  void operator()(const char* name, std::vector<std::string>& names) const {
    names = constraints_.texts(name, {.most = most_names});
  }
  void operator()(const char* name, std::optional<placement::HostKind>& kind) const {
    const std::string text = constraints_.text(name, longest_name);
    kind = placement::parse_host_kind(text);
    if (!text.empty() && !kind) constraints_.fault(name, "must be cpu, gpu or dpu");
  }
  void operator()(const char* name, milliseconds& time) const {
    time = milliseconds(constraints_.number<std::uint64_t>(name, {.most = longest_lifetime}));
  }
  void operator()(const char* name, std::optional<double>& bound) const {
    if (const double number = constraints_.positive(name, most_watts); number > 0) bound = number;
  }

 private:
  const JsonObject& constraints_;
};

/// The same of a query, where lists have commas: "ib,ssd". The first fault is kept.
class ConstraintQuery {
 public:
  ConstraintQuery(std::string_view query, Result<void>& read) : query_(query), read_(read) {}
  void operator()(const char* name, std::string& text) { text = query_parameter(query_, name); }
  void operator()(const char* name, std::vector<std::string>& names) {
    const std::string text = query_parameter(query_, name);
    for (std::string_view list = text; !list.empty();)
      if (const std::string_view item = take_item(list, ','); !item.empty())
        names.emplace_back(item);
    if (names.size() > most_names)
      note(std::string("'") + name + "' has more than " + std::to_string(most_names) + " names");
  }
  void operator()(const char* name, std::optional<placement::HostKind>& kind) {
    const std::string text = query_parameter(query_, name);
    kind = placement::parse_host_kind(text);
    if (!text.empty() && !kind) note(std::string("'") + name + "' must be cpu, gpu or dpu");
  }
  void operator()(const char* name, milliseconds& time) {
    if (const auto number = whole(name, {.least = 0, .most = longest_lifetime}))
      time = milliseconds(*number);
  }
  void operator()(const char* name, std::optional<double>& bound) {
    if (const auto number =
            whole(name, {.least = 1, .most = static_cast<std::uint64_t>(most_watts)}))
      bound = static_cast<double>(*number);
  }

 private:
  struct Range {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
  };
  std::optional<std::uint64_t> whole(const char* name, Range range) {
    const std::string text = query_parameter(query_, name);
    if (text.empty()) return std::nullopt;
    auto number = parse_number_field(name, text, {.least = range.least, .most = range.most});
    if (number) return *number;
    note(std::move(number.error().message));
    return std::nullopt;
  }
  void note(std::string fault) {
    if (read_) read_ = fail(ErrorCode::bad_request, std::move(fault));
  }

  std::string_view query_;
  Result<void>& read_;
};

/// All of its members are on the host of their client, who shares memory with them, unless it may
/// be on several hosts.
void read_crew(const JsonObject& o, ClientLeaseRequest& request) {
  if (request.workers < crew::least_members || request.workers > crew::most_members)
    o.fault("workers", "must be 2 to 64 for a crew");
  if (request.at_least < crew::least_members)
    o.fault("at_least", "must be 2 to the number of workers for a crew");
  if (request.separate_processes)
    o.fault("separate_processes", "cannot be: a crew's members run all modules of the crew");
  request.crew_spreads = o.has("remote") && o.flag("remote");
  if (request.crew_spreads) return;
  if (request.worker.client_host.value().empty())
    o.fault("boot_id", "must name the client's host, on which its crew is");
  request.worker.client_host_only = true;
}

}  // namespace

Result<ClientLeaseRequest> parse_lease_request(std::span<const std::byte> body) {
  const JsonDocument document = document_of(body);
  const JsonObject o = document.root().optional();
  ClientLeaseRequest request;
  request.workers =
      o.number<std::uint32_t>("workers", {.least = 1, .most = most_workers, .otherwise = 1});
  request.at_least = o.number<std::uint32_t>(
      "at_least", {.least = 1, .most = request.workers, .otherwise = request.workers});
  request.worker.alternatives = read_alternatives(o);
  const std::string wait = o.text("wait", longest_name);
  if (const auto mode = parse_wait_mode(wait))
    request.wait = *mode;
  else if (!wait.empty())
    o.fault("wait", "must be hot, adaptive or blocking");
  if (o.has("separate_processes")) request.separate_processes = o.flag("separate_processes");
  if (o.has("crew")) request.crew = o.flag("crew");
  request.duration = read_duration(o);
  request.within = milliseconds(o.number<std::int64_t>(
      "within_ms", {.least = 0, .most = longest_wait.count(), .otherwise = 10'000}));
  request.worker.client_host = placement::HostId(o.text("boot_id", longest_name));
  request.worker.client_host_only = o.has("remote") && !o.flag("remote");
  if (request.crew) read_crew(o, request);
  const JsonObject constraints = o.object("constraints");
  placement::visit_constraints(request.worker, ConstraintReader(constraints));
  return document.finish(std::move(request));
}

bool asks_for_memory(std::span<const std::byte> body) {
  const Json json = Json::parse(as_text(body), nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("workers") && json["workers"] == 0;
}

Result<MemoryLeaseRequest> parse_memory_request(std::span<const std::byte> body) {
  const JsonDocument document = document_of(body);
  const JsonObject o = document.root().optional();
  MemoryLeaseRequest request;
  [[maybe_unused]] const auto no_workers = o.number<std::uint32_t>("workers");
  request.bytes = ByteCount{o.number<std::uint64_t>("memory_bytes", {.most = most_leased_memory})};
  const std::string wait = o.text("wait", longest_name);
  if (const auto mode = parse_wait_mode(wait))
    request.wait = *mode;
  else if (!wait.empty())
    o.fault("wait", "must be hot, adaptive or blocking");
  request.duration = read_duration(o);
  request.on.client_host = placement::HostId(o.text("boot_id", longest_name));
  request.on.client_host_only = o.has("remote") && !o.flag("remote");
  const JsonObject constraints = o.object("constraints");
  placement::visit_constraints(request.on, ConstraintReader(constraints));
  return document.finish(std::move(request));
}

std::vector<std::string> placement_query_names() {
  std::vector<std::string> names{"cores", "memory_bytes", "gpus", "gpu_model", "needs"};
  placement::WorkerRequest worker;
  placement::visit_constraints(worker,
                               [&](const char* name, const auto&) { names.emplace_back(name); });
  return names;
}

namespace {

/// In place of the other parameters of a worker.
Result<void> read_needs(std::string_view query, placement::WorkerRequest& worker) {
  const std::string text = query_parameter(query, "needs");
  if (text.empty()) return {};
  for (const char* name : {"cores", "memory_bytes", "gpus", "gpu_model"})
    if (!query_parameter(query, name).empty())
      return fail(ErrorCode::bad_request,
                  std::string("'") + name + "' belongs into 'needs', as in '4 cores, 2 GiB'");
  auto shapes = placement::parse_shapes(text);
  if (!shapes) return fail(shapes.error().code, "needs: " + shapes.error().message);
  worker.alternatives = std::move(*shapes);
  return {};
}

}  // namespace

Result<placement::WorkerRequest> parse_placement_query(std::string_view query) {
  placement::WorkerRequest worker;
  // The least is also what a parameter is that is left out.
  const auto number = [query](const char* name, NumberRange range) -> Result<std::uint64_t> {
    const std::string text = query_parameter(query, name);
    if (text.empty()) return range.least;
    return parse_number_field(name, text, range);
  };
  const auto cores = number("cores", {1, most_cores});
  if (!cores) return fail(cores.error());
  const auto memory = number("memory_bytes", {0, most_memory});
  if (!memory) return fail(memory.error());
  const auto gpus = number("gpus", {0, most_gpus});
  if (!gpus) return fail(gpus.error());
  worker.alternatives = {{.cores = static_cast<std::uint32_t>(*cores),
                          .memory = ByteCount{*memory},
                          .gpus = static_cast<std::uint32_t>(*gpus),
                          .gpu_model = query_parameter(query, "gpu_model")}};
  Result<void> read = read_needs(query, worker);
  if (read) placement::visit_constraints(worker, ConstraintQuery(query, read));
  if (!read) return fail(std::move(read.error()));
  return worker;
}

Result<ClientLeaseRenewal> parse_lease_renewal(std::span<const std::byte> body) {
  const JsonDocument document = document_of(body);
  const JsonObject o = document.root().optional();
  ClientLeaseRenewal renewal{.duration = read_duration(o), .lost = {}};
  for (const std::string& text : o.texts("lost", {.most = most_workers}))
    if (const auto lease = parse_lease_id(text))
      renewal.lost.push_back(*lease);
    else
      o.fault("lost", "must be a list of leases of workers");
  return document.finish(std::move(renewal));
}

std::string lease_json(const ClientLeaseView& lease, Secrets secrets) {
  return json_text(view(lease, secrets));
}

std::string lease_json(const MemoryLeaseView& lease, Secrets secrets) {
  return json_text(view(lease, secrets));
}

std::string lease_list_json(const std::vector<ClientLeaseView>& leases,
                            const std::vector<MemoryLeaseView>& memory) {
  Json list = Json::array();
  for (const ClientLeaseView& lease : leases) list.push_back(view(lease, Secrets::hidden));
  for (const MemoryLeaseView& lease : memory) list.push_back(view(lease, Secrets::hidden));
  return json_text({{"leases", std::move(list)}});
}

}  // namespace orchid::gateway
