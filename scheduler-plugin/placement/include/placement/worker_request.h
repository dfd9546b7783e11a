// placement/worker_request.h: what is wanted of a worker. It has this one form from the document
// that a client sends to the placement, to the demand for pilots and to the explanation.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/grant.h"
#include "placement/host.h"
#include "placement/reason.h"

namespace orchid::placement {

/// What one worker has.
struct WorkerShape {
  std::uint32_t cores = 1;  // at least 1
  ByteCount memory{};
  std::uint32_t gpus = 0;
  std::string gpu_model{};  // empty: any
  friend bool operator==(const WorkerShape&, const WorkerShape&) = default;
};

/// Who asks, for how many workers and in which lease stands beside it. A value.
struct WorkerRequest {
  /// In order of preference, for each worker by itself: "1 GPU, or else 4 cores". One at least.
  std::vector<WorkerShape> alternatives{WorkerShape{}};

  // Constraints on its host. Empty: any will do. Each is named in `visit_constraints`.
  std::string host{};                     // name
  std::vector<std::string> avoid_host{};  // names: on none of these
  std::string cluster{};                  // name of its batch system
  std::string architecture{};             // "x86_64"
  std::vector<std::string> images{};      // architectures that there is code for: one of these
  std::optional<HostKind> kind{};
  std::vector<std::string> features{};    // all of them
  std::chrono::milliseconds lifetime{0};  // its grant lasts so much longer, at least
  std::optional<double> watts_at_most{};  // that the host draws, this worker included

  /// Where its client runs, if that is known.
  HostId client_host{};
  /// On no other one. Only then grants are looked at that clients of their host alone can reach.
  bool client_host_only = false;
  /// Of the executor that has the data of the calls, and on no other grant; empty: they have none.
  /// Comes before any policy's order.
  GrantId data_at{};
  /// Names: others have their turn there.
  std::vector<std::string> reserved_hosts{};
  /// For the policy `near`: the nearest first, after the client's own host.
  std::vector<HostId> near{};

  friend bool operator==(const WorkerRequest&, const WorkerRequest&) = default;
};

/// Calls `visit(name, field)` for each constraint of a request, with its name in documents: what
/// reads or writes requests needs to know no constraint by itself.
template <typename Request, typename Visitor>
void visit_constraints(Request& request, Visitor visit) {
  visit("host", request.host);
  visit("avoid_host", request.avoid_host);
  visit("cluster", request.cluster);
  visit("architecture", request.architecture);
  visit("images", request.images);
  visit("kind", request.kind);
  visit("features", request.features);
  visit("lifetime_ms", request.lifetime);
  visit("watts_at_most", request.watts_at_most);
}

/// What constraints look at, of a host or of a batch system's node. Borrowed.
struct HostTraits {
  const std::string& name;
  const std::string& cluster;
  const std::string& architecture;
  std::optional<HostKind> kind;  // nothing: not known
  const std::vector<std::string>& features;
};
/// As `orchid build --target` names it: "x86-64" for "x86_64".
[[nodiscard]] std::string target_name(std::string_view architecture);
/// "no image for aarch64; the module has x86-64". Both sorted.
[[nodiscard]] std::string no_image_text(const std::vector<std::string>& hosts,
                                        const std::vector<std::string>& images);
/// The first constraint that the host does not meet; `fits` if it meets all.
[[nodiscard]] Reason misfit_of(const HostTraits& host, const WorkerRequest& request);
/// The same of those alone that tell hosts apart that are otherwise alike.
[[nodiscard]] Reason name_misfit(const std::string& host, const WorkerRequest& request);

/// "4 cores, 1 GPU a100, 2 GiB", as placement/shape_text.h reads it.
[[nodiscard]] std::string to_string(const WorkerShape& shape);
/// "1 core, 1 GPU, or of 4 cores, on a host with the feature fast, for 60 s".
[[nodiscard]] std::string to_string(const WorkerRequest& request);

/// Workers that are wanted alike, and have found no place.
struct WorkerDemand {
  std::uint32_t workers = 1;
  WorkerRequest worker{};
};

}  // namespace orchid::placement
