#include <algorithm>
#include <thread>

#include "foundation/host_addresses.h"
#include "offload/offload_access.h"

namespace orchid {
namespace sdk {
namespace {

/// Of the gateway that is there when workers are wanted.
class GatewayWorkers final : public WorkerSource {
 public:
  explicit GatewayWorkers(const OffloadOptions& options) : options_(options) {}

  [[nodiscard]] Recruits take() override {
    if (!client_) client_.emplace(options_.client);
    Lease lease = client_->lease(options_.lease);
    const std::vector<std::string> nodes = lease.capacity().nodes;
    const bool here = std::ranges::find(nodes, own_host_name()) != nodes.end();
    return {.lease = std::move(lease),
            .kind = here ? ParticipantKind::sharing_worker : ParticipantKind::worker};
  }

 private:
  const OffloadOptions options_;
  std::optional<Client> client_;  // finds its gateway when it is made
};

std::unique_ptr<WorkerSource> source_for(const OffloadOptions& options) {
  if (options.lease.workers == 0) return nullptr;
  return std::make_unique<GatewayWorkers>(options);
}

unsigned threads_for(const OffloadOptions& options) {
  return options.local_threads != 0 ? options.local_threads
                                    : std::max(std::thread::hardware_concurrency(), 1U);
}

}  // namespace

void throw_bad_output(const EmbeddedFunction& function, const std::string& problem) {
  throw Error({.kind = ErrorKind::signature_mismatch,
               .message = "a worker's output is not what the function returns: " + problem,
               .function = function.name});
}

void throw_length_mismatch(const EmbeddedFunction& function, std::size_t items,
                           std::size_t results) {
  throw Error(
      {.kind = ErrorKind::bad_request,
       .message = std::to_string(items) + " items and " + std::to_string(results) + " results",
       .hint = "give and return one result for each item",
       .function = function.name});
}

}  // namespace sdk

OffloadPool::OffloadPool(const OffloadOptions& options)
    : OffloadPool(std::make_unique<sdk::OffloadCrew>(sdk::threads_for(options),
                                                     sdk::source_for(options))) {}
OffloadPool::OffloadPool(std::unique_ptr<sdk::OffloadCrew> crew) : crew_(std::move(crew)) {}
OffloadPool::~OffloadPool() = default;

OffloadReport OffloadPool::run(const OffloadWork& work) { return crew_->run(work); }
unsigned OffloadPool::workers() const { return crew_->callers(); }

}  // namespace orchid
