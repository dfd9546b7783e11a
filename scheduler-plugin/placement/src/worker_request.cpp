#include "placement/worker_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace orchid::placement {

Reason name_misfit(const std::string& host, const WorkerRequest& request) {
  if (!request.host.empty() && request.host != host) return Reason::other_host;
  if (std::ranges::find(request.avoid_host, host) != request.avoid_host.end())
    return Reason::avoided_host;
  if (std::ranges::find(request.reserved_hosts, host) != request.reserved_hosts.end())
    return Reason::reserved_host;
  return Reason::fits;
}

Reason misfit_of(const HostTraits& host, const WorkerRequest& request) {
  if (const Reason reason = name_misfit(host.name, request); reason != Reason::fits) return reason;
  if (!request.cluster.empty() && request.cluster != host.cluster) return Reason::other_cluster;
  if (!request.architecture.empty() && request.architecture != host.architecture)
    return Reason::wrong_architecture;
  // Batch systems do not always tell the architecture of a node that is down.
  if (!request.images.empty() && !host.architecture.empty() &&
      std::ranges::find(request.images, host.architecture) == request.images.end())
    return Reason::no_image;
  if (request.kind && request.kind != host.kind) return Reason::wrong_kind;
  const bool has_all = std::ranges::all_of(request.features, [&](const std::string& feature) {
    return std::ranges::find(host.features, feature) != host.features.end();
  });
  return has_all ? Reason::fits : Reason::lacks_feature;
}

std::string target_name(std::string_view architecture) {
  return architecture == "x86_64" ? "x86-64" : std::string(architecture);
}

namespace {

std::string target_names(const std::vector<std::string>& architectures, std::string_view between) {
  std::vector<std::string> names;
  for (const std::string& one : architectures) names.push_back(target_name(one));
  return fmt::format("{}", fmt::join(names, between));
}

}  // namespace

std::string no_image_text(const std::vector<std::string>& hosts,
                          const std::vector<std::string>& images) {
  return fmt::format("no image for {}; the module has {}", target_names(hosts, " or "),
                     target_names(images, " and "));
}

std::string to_string(const WorkerRequest& request) {
  std::vector<std::string> shapes;
  for (const WorkerShape& shape : request.alternatives) shapes.push_back(to_string(shape));
  std::string text = fmt::format("{}", fmt::join(shapes, ", or of "));
  if (!request.host.empty()) text += ", on the host " + request.host;
  if (!request.cluster.empty()) text += ", in the cluster " + request.cluster;
  if (!request.data_at.value().empty()) text += ", where its data is";
  if (!request.avoid_host.empty())
    text += fmt::format(", not on {}", fmt::join(request.avoid_host, ", "));
  if (request.kind) text += fmt::format(", on a host of the kind {}", to_string(*request.kind));
  if (!request.architecture.empty()) text += ", on " + request.architecture;
  if (!request.images.empty())
    text += ", with an image for " + target_names(request.images, " or ");
  if (!request.features.empty())
    text += fmt::format(", on a host with the feature{} {}",
                        request.features.size() == 1 ? "" : "s", fmt::join(request.features, ", "));
  if (request.lifetime.count() > 0)
    text += fmt::format(", for {} s",
                        std::chrono::ceil<std::chrono::seconds>(request.lifetime).count());
  return text;
}

}  // namespace orchid::placement
