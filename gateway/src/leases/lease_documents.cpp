#include "leases/lease_documents.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "http/json_text.h"
#include "http/query.h"
#include "http/request_options.h"
#include "leases/demand_report.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

constexpr std::uint32_t most_workers = 100'000;
constexpr std::uint32_t most_cores = 65'536;
constexpr std::uint32_t most_gpus = 1'024;
constexpr std::uint64_t most_memory = std::uint64_t{1} << 50;  // of a query, in bytes
constexpr std::size_t most_alternatives = 8;
constexpr double most_watts = 1e6;
constexpr milliseconds longest_wait{600'000};
constexpr std::uint64_t longest_lifetime = milliseconds(ClientLeases::longest).count();
constexpr std::size_t most_names = 64;

/// Reads the fields of a client's document one after the other; the first fault is kept, and a
/// field that nobody asked for is one.
class Document {
 public:
  Document(std::span<const std::byte> body, std::string place) : place_(std::move(place)) {
    const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
    json_ = text.empty() ? Json::object() : Json::parse(text, nullptr, false);
    if (!json_.is_object()) note("the body must be a JSON object");
  }

  template <typename Number>
  Number number(const char* key, Number otherwise, Number least, Number most) {
    const Json value = take(key);
    if (value.is_null()) return otherwise;
    if (value.is_number_unsigned()) {
      const auto number = value.get<std::uint64_t>();
      if (number >= least && number <= most) return static_cast<Number>(number);
    }
    note("'" + place_ + key + "' must be a whole number from " + std::to_string(least) + " to " +
         std::to_string(most));
    return otherwise;
  }
  std::string text(const char* key) {
    const Json value = take(key);
    if (value.is_null()) return {};
    if (value.is_string() && value.get_ref<const std::string&>().size() <= 256)
      return value.get<std::string>();
    note("'" + place_ + key + "' must be a text");
    return {};
  }
  bool flag(const char* key, bool otherwise) {
    const Json value = take(key);
    if (value.is_null()) return otherwise;
    if (value.is_boolean()) return value.get<bool>();
    note("'" + place_ + key + "' must be true or false");
    return otherwise;
  }
  std::vector<std::string> texts(const char* key, std::size_t most) {
    const Json value = take(key);
    std::vector<std::string> texts;
    const auto is_text = [](const Json& item) { return item.is_string(); };
    const bool good = value.is_null() || (value.is_array() && value.size() <= most &&
                                          std::ranges::all_of(value, is_text));
    if (good)
      for (const Json& text : value) texts.push_back(text.get<std::string>());
    if (!good)
      note("'" + place_ + key + "' must be a list of at most " + std::to_string(most) + " texts");
    return texts;
  }
  /// An object within; an empty one if it is not there.
  Document object(const char* key) {
    Document nested({}, place_ + key + ".");
    Json value = take(key);
    if (value.is_object())
      nested.json_ = std::move(value);
    else if (!value.is_null())
      note("'" + place_ + key + "' must be an object");
    return nested;
  }
  /// A list of objects; an empty one if it is not there.
  std::vector<Document> objects(const char* key, std::size_t most) {
    Json value = take(key);
    std::vector<Document> list;
    const auto is_object = [](const Json& item) { return item.is_object(); };
    const bool good =
        value.is_null() || (value.is_array() && !value.empty() && value.size() <= most &&
                            std::ranges::all_of(value, is_object));
    if (!good)
      note("'" + place_ + key + "' must be a list of 1 to " + std::to_string(most) + " objects");
    if (!good || value.is_null()) return list;
    for (Json& item : value) {
      list.push_back(Document({}, place_ + key + "[" + std::to_string(list.size()) + "]."));
      list.back().json_ = std::move(item);
    }
    return list;
  }
  [[nodiscard]] bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  double positive(const char* key, double most) {
    const Json value = take(key);
    if (value.is_null()) return 0;
    if (value.is_number() && value.get<double>() > 0 && value.get<double>() <= most)
      return value.get<double>();
    note("'" + place_ + key + "' must be a number above 0");
    return 0;
  }
  void note(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }
  void include(Document& nested) {
    if (auto finished = nested.finish(); !finished) note(finished.error().message);
  }
  Result<void> finish() {
    if (fault_.empty() && !json_.empty())
      note("'" + place_ + json_.begin().key() + "' is not known here: see /openapi.yaml");
    if (fault_.empty()) return {};
    return fail(ErrorCode::bad_request, fault_);
  }

 private:
  Json take(const char* key) {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    if (found == json_.end()) return nullptr;
    Json value = std::move(*found);
    json_.erase(found);
    return value;
  }

  Json json_;
  std::string place_;
  std::string fault_;
};

milliseconds read_duration(Document& document) {
  return milliseconds(document.number<std::uint64_t>(
      "duration_ms", 60'000, static_cast<std::uint64_t>(ClientLeases::shortest.count()),
      static_cast<std::uint64_t>(ClientLeases::longest.count())));
}

placement::WorkerShape read_shape(Document& document, const char* cores) {
  placement::WorkerShape shape;
  shape.cores = document.number<std::uint32_t>(cores, 1, 1, most_cores);
  shape.memory =
      ByteCount{document.number<std::uint64_t>("memory_bytes", 0, 0, std::uint64_t{1} << 50)};
  shape.gpus = document.number<std::uint32_t>("gpus", 0, 0, most_gpus);
  shape.gpu_model = document.text("gpu_model");
  if (!shape.gpu_model.empty() && shape.gpus == 0)
    document.note("'gpu_model' needs a number of 'gpus'");
  return shape;
}

/// Either a list, or the fields of the only one.
std::vector<placement::WorkerShape> read_alternatives(Document& document) {
  std::vector<placement::WorkerShape> shapes;
  if (document.has("alternatives"))
    for (const char* key : {"cores_per_worker", "memory_bytes", "gpus", "gpu_model"})
      if (document.has(key))
        document.note(std::string("'") + key + "' belongs in each of the 'alternatives'");
  for (Document& one : document.objects("alternatives", most_alternatives)) {
    shapes.push_back(read_shape(one, "cores"));
    document.include(one);
  }
  if (shapes.empty()) shapes.push_back(read_shape(document, "cores_per_worker"));
  return shapes;
}

Json view(const ClientLeaseView& lease, Secrets secrets) {
  Json workers = Json::array();
  for (const WorkerGrant& grant : lease.workers) {
    Json worker{{"lease", to_string(grant.lease)},
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
          {"cores_per_worker", lease.worker.alternatives.front().cores},
          {"memory_bytes", lease.worker.alternatives.front().memory.value},
          {"alternatives", shapes_json(lease.worker.alternatives)},
          {"workers_wanted", lease.workers_wanted},
          {"expires_in_ms", lease.expires_in.count()},
          {"workers", std::move(workers)}};
}

/// The first fault in it is kept in the document.
class ConstraintReader {
 public:
  explicit ConstraintReader(Document& document) : document_(document) {}
  void operator()(const char* name, std::string& text) { text = document_.text(name); }
  void operator()(const char* name, std::vector<std::string>& names) {
    names = document_.texts(name, most_names);
  }
  void operator()(const char* name, std::optional<placement::HostKind>& kind) {
    const std::string text = document_.text(name);
    kind = placement::parse_host_kind(text);
    if (!text.empty() && !kind)
      document_.note(std::string("'constraints.") + name + "' must be cpu, gpu or dpu");
  }
  void operator()(const char* name, milliseconds& time) {
    time = milliseconds(document_.number<std::uint64_t>(name, 0, 0, longest_lifetime));
  }
  void operator()(const char* name, std::optional<double>& bound) {
    if (const double number = document_.positive(name, most_watts); number > 0) bound = number;
  }

 private:
  Document& document_;
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

}  // namespace

Result<ClientLeaseRequest> parse_lease_request(std::span<const std::byte> body) {
  Document document(body, "");
  ClientLeaseRequest request;
  request.workers = document.number<std::uint32_t>("workers", 1, 1, most_workers);
  request.at_least =
      document.number<std::uint32_t>("at_least", request.workers, 1, request.workers);
  request.worker.alternatives = read_alternatives(document);
  const std::string wait = document.text("wait");
  if (const auto mode = parse_wait_mode(wait))
    request.wait = *mode;
  else if (!wait.empty())
    document.note("'wait' must be hot, adaptive or blocking");
  request.duration = read_duration(document);
  request.within = milliseconds(document.number<std::uint64_t>(
      "within_ms", 10'000, 0, static_cast<std::uint64_t>(longest_wait.count())));
  request.worker.client_host = placement::HostId(document.text("boot_id"));
  request.worker.client_host_only = !document.flag("remote", true);
  Document constraints = document.object("constraints");
  placement::visit_constraints(request.worker, ConstraintReader(constraints));
  document.include(constraints);
  if (auto good = document.finish(); !good) return fail(std::move(good.error()));
  return request;
}

std::vector<std::string> placement_query_names() {
  std::vector<std::string> names{"cores", "memory_bytes", "gpus", "gpu_model"};
  placement::WorkerRequest worker;
  placement::visit_constraints(worker,
                               [&](const char* name, const auto&) { names.emplace_back(name); });
  return names;
}

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
  Result<void> read;
  placement::visit_constraints(worker, ConstraintQuery(query, read));
  if (!read) return fail(std::move(read.error()));
  return worker;
}

Result<ClientLeaseRenewal> parse_lease_renewal(std::span<const std::byte> body) {
  Document document(body, "");
  ClientLeaseRenewal renewal{.duration = read_duration(document), .lost = {}};
  for (const std::string& text : document.texts("lost", most_workers))
    if (const auto lease = parse_lease_id(text))
      renewal.lost.push_back(*lease);
    else
      document.note("'lost' must be a list of leases of workers");
  if (auto good = document.finish(); !good) return fail(std::move(good.error()));
  return renewal;
}

std::string lease_json(const ClientLeaseView& lease, Secrets secrets) {
  return json_text(view(lease, secrets));
}

std::string lease_list_json(const std::vector<ClientLeaseView>& leases) {
  Json list = Json::array();
  for (const ClientLeaseView& lease : leases) list.push_back(view(lease, Secrets::hidden));
  return json_text({{"leases", std::move(list)}});
}

}  // namespace orchid::gateway
