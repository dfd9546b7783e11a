#include "fabric_probe.h"

#include <poll.h>

#include <chrono>

#include "children/own_program.h"
#include "foundation/sockets.h"

namespace orchid::executor {
namespace {

constexpr std::chrono::milliseconds longest{10'000};

}  // namespace

Result<FabricFound> probe_fabric(const std::filesystem::path& worker_program) {
  auto child = start_child(worker_program, {"--probe-fabric", "3"});
  if (!child) return fail(std::move(child.error()));
  pollfd wait{.fd = child->control.get(), .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, static_cast<int>(longest.count())) != 1)
    return fail(ErrorCode::timed_out, "looking for network devices took too long");
  auto packet = receive_packet(child->control.get(), false);
  if (!packet || !*packet)
    return fail(ErrorCode::system, worker_program.string() + " --probe-fabric gave no answer");
  auto message = parse_worker_message((*packet)->text);
  if (!message) return fail(std::move(message.error()));
  auto* found = std::get_if<FabricFound>(&*message);
  if (found == nullptr) return fail(ErrorCode::system, "programs of two versions of Orchid");
  return std::move(*found);
}

Result<void> check_fabric(LaneFabric wanted, const FabricFound& found) {
  if (wanted == LaneFabric::tcp) return {};
  if (!found.usable) return fail(ErrorCode::unsupported, found.description);
  if (wanted == LaneFabric::verbs && !found.verbs)
    return fail(ErrorCode::unsupported,
                "no RDMA device that lanes could use (" + found.description +
                    "): see that `ucx_info -d` lists rc_ and ud_ transports of a port here "
                    "(packages ucx-utils, ibverbs-providers; rights on /dev/infiniband), or say "
                    "--lane-fabric auto, which goes over TCP without one");
  return {};
}

}  // namespace orchid::executor
