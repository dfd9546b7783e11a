// orchid/lease_options.h: what a program says of the workers that it wants, and of its calls.
#pragma once
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "orchid/leased_data.h"

namespace orchid {

/// How workers wait for calls and callers for answers.
enum class Wait : std::uint8_t {
  hot,       // spin: the least latency; each waiting worker and caller fills a core
  adaptive,  // spin for some 30 µs, then sleep
  blocking,  // sleep at once
};

/// Empty: any.
struct LeaseConstraints {
  std::string host{};                     // name
  std::vector<std::string> avoid_host{};  // names of hosts on which no worker is placed; at most 64
  std::string cluster{};                  // its batch system's name
  std::string architecture{};             // as uname says it: "x86_64"
  std::string kind{};                     // "cpu", "gpu" or "dpu"
  std::vector<std::string> functions{};   // deployed ones that its workers are to run: hosts that
                                          // they have an image for
  std::vector<std::string> features{};    // all of them, as the batch system names them
  std::chrono::milliseconds lifetime{0};  // the cores stay Orchid's for so much longer, as far as
                                          // is known
  double watts_at_most = 0;  // of the host, this worker included; 0: any. Hosts that do not tell
                             // what they draw are left out
};

/// What one worker has. Kernels of its functions run on its first GPU, which is nobody else's for
/// as long as the lease lasts.
struct WorkerSize {
  unsigned cores = 1;
  std::uint64_t memory = 0;  // bytes; 0: what the site gives
  unsigned gpus = 0;
  std::string gpu_model{};  // as the batch system names it; empty: any
};

struct LeaseOptions {
  unsigned workers = 1;
  unsigned at_least = 0;  // 0: all of them
  unsigned cores_per_worker = 1;
  std::uint64_t memory = 0;  // bytes for each worker; 0: what the site gives
  Wait wait = Wait::adaptive;
  std::chrono::milliseconds duration{60'000};  // renewed for as long as the Lease lives
  std::chrono::milliseconds within{10'000};    // so long it may take to get the workers
  LeaseConstraints constraints{};
  /// "auto"; "local": within this host; "ucx": as between hosts; "tcp": the same, and never over
  /// RDMA, whatever the other host's executor says of the network (--lane-fabric).
  std::string lane = "auto";
  /// What each worker may have, by itself, the best first: {{.gpus = 1}, {.cores = 4}} takes a GPU
  /// where one is free and four cores elsewhere. Not empty: `cores_per_worker` and `memory` are not
  /// looked at. At most 8.
  std::vector<WorkerSize> alternatives{};
  /// No worker process runs the code of two modules, so that no function meets what another one has
  /// left in its process. A call of a module that no idle worker has waits some milliseconds for a
  /// fresh worker; with one worker for each module that is once. What functions keep in globals is
  /// lost with their worker.
  bool separate_processes = false;
};

struct CallOptions {
  std::chrono::nanoseconds deadline{0};  // from now to the result, waiting included; 0: 60 s
  bool at_most_once = false;             // never started twice, also when its worker is lost
  std::stop_token stop{};                // cancels the call
  /// That it is given (Lease::data), at most 64, in the order of its function's data arguments. It
  /// waits until a worker has them: on a host that lacks one, until that is copied there. Its input
  /// is copied then, also that in a Buffer. Errors of such a call: `data_lost`, `data_elsewhere`.
  std::vector<LeasedData> data{};
};

}  // namespace orchid
