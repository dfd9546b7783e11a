#include "lease/lease_grant.h"

#include <nlohmann/json.hpp>

#include "foundation/json_document.h"

namespace orchid::sdk {
namespace {

using nlohmann::json;

/// `cores`: of each, where the gateway does not say it of each.
GrantedWorker read_worker(const JsonObject& o, unsigned cores) {
  const JsonObject any = o.optional();
  return {.lease = o.parsed("lease", parse_lease_id),
          .secret = o.text("secret"),
          .executor = any.text("executor"),
          .node = any.text("node"),
          .boot_id = any.text("boot_id"),
          .lane_socket = any.text("lane_socket"),
          .lane_address = any.text("lane_address"),
          .cores = any.number<unsigned>("cores", {.otherwise = cores}),
          .memory = any.number<std::uint64_t>("memory_bytes"),
          .gpus = any.numbers("gpus"),
          .gpu_model = any.text("gpu_model")};
}

}  // namespace

std::string_view word_of(Wait wait) {
  switch (wait) {
    case Wait::hot:
      return "hot";
    case Wait::adaptive:
      return "adaptive";
    case Wait::blocking:
      return "blocking";
  }
  return "adaptive";
}

Error unintelligible_lease(const Failure& fault) {
  return Error({.kind = ErrorKind::internal,
                .message = "the gateway's answer is not a lease: " + fault.message,
                .hint = "compare 'orchid --version' with the gateway's /version"});
}

LeaseGrant parse_lease_grant(std::string_view text) {
  const JsonDocument document(text);
  const JsonObject o = document.root();
  const JsonObject any = o.optional();
  LeaseGrant grant{
      .id = o.text("id"),
      .cores_per_worker = any.number<unsigned>("cores_per_worker", {.otherwise = 1}),
      .memory = any.number<std::uint64_t>("memory_bytes"),
      .expires_in = std::chrono::milliseconds(any.number<std::int64_t>("expires_in_ms"))};
  for (const JsonObject& worker : o.objects("workers"))
    grant.workers.push_back(read_worker(worker, grant.cores_per_worker));
  if (const auto good = document.finish(); !good) throw unintelligible_lease(good.error());
  return grant;
}

json constraints_of(const LeaseConstraints& wanted) {
  json constraints = json::object();
  if (!wanted.host.empty()) constraints["host"] = wanted.host;
  if (!wanted.avoid_host.empty()) constraints["avoid_host"] = wanted.avoid_host;
  if (!wanted.cluster.empty()) constraints["cluster"] = wanted.cluster;
  if (!wanted.architecture.empty()) constraints["architecture"] = wanted.architecture;
  if (!wanted.kind.empty()) constraints["kind"] = wanted.kind;
  if (!wanted.features.empty()) constraints["features"] = wanted.features;
  if (wanted.watts_at_most > 0) constraints["watts_at_most"] = wanted.watts_at_most;
  if (wanted.lifetime.count() != 0) constraints["lifetime_ms"] = wanted.lifetime.count();
  return constraints;
}

std::string lease_request(const LeaseOptions& options, std::string_view boot_id,
                          const std::vector<std::string>& images, WorkersAre workers) {
  json request{{"workers", options.workers},
               {"wait", word_of(options.wait)},
               {"duration_ms", options.duration.count()},
               {"within_ms", options.within.count()},
               {"boot_id", boot_id}};
  if (options.alternatives.empty()) {
    request["cores_per_worker"] = options.cores_per_worker;
    request["memory_bytes"] = options.memory;
  }
  for (const WorkerSize& size : options.alternatives)
    request["alternatives"].push_back({{"cores", size.cores},
                                       {"memory_bytes", size.memory},
                                       {"gpus", size.gpus},
                                       {"gpu_model", size.gpu_model}});
  if (options.lane == "local") request["remote"] = false;
  if (workers == WorkersAre::crew) {
    request["crew"] = true;
    request["remote"] = options.lane != "local";
  }
  if (options.separate_processes) request["separate_processes"] = true;
  if (options.at_least > 0) request["at_least"] = options.at_least;
  json constraints = constraints_of(options.constraints);
  if (!images.empty()) constraints["images"] = images;
  if (!constraints.empty()) request["constraints"] = std::move(constraints);
  return request.dump();
}

std::string renewal_request(std::chrono::milliseconds duration, const std::vector<LeaseId>& lost) {
  json request{{"duration_ms", duration.count()}};
  for (const LeaseId& lease : lost) request["lost"].push_back(to_string(lease));
  return request.dump();
}

}  // namespace orchid::sdk
