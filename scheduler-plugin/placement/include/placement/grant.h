// placement/grant.h: what one source hands over of one host, and what Slurm gave to its jobs there.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "placement/core_set.h"
#include "placement/host.h"

namespace orchid::placement {

using GrantId = StrongId<struct GrantIdTag, std::string>;      // unique over all sources
using SourceId = StrongId<struct SourceIdTag, std::string>;    // "local", "slurm"
using TenantId = StrongId<struct TenantIdTag, std::uint32_t>;  // uid
using JobId = StrongId<struct JobIdTag>;

/// `until` of a grant that ends only when it is taken back.
constexpr MonotonicTime no_end = MonotonicTime::max();

enum class GrantUsers : std::uint8_t { owner_only, everybody };

/// What is in a grant that is not open stays there; nothing new comes.
enum class GrantState : std::uint8_t {
  open,
  draining,  // it ends soon
  silent,    // whoever makes its workers does not answer
};

/// Cores, memory and GPUs of one host, from one source. Grants of a host may name the same cores:
/// each core is leased once at most, whoever hands it over. A worker lies within one grant, since
/// it ends when its grant ends. A value.
struct Grant {
  GrantId id;
  HostId host;
  SourceId source;
  TenantId owner;
  GrantUsers users = GrantUsers::everybody;
  CoreSet cores;
  ByteCount memory;
  CoreSet gpus;  // indices
  MonotonicTime until = no_end;
  GrantState state = GrantState::open;
  bool own_host_only = false;  // its workers can be reached by clients of its host alone
  std::optional<JobId> job;    // of a pilot or a share: cores that Slurm gave to it are ours
};

enum class JobState : std::uint8_t {
  running,
  suspended,   // its cores are not free: it goes on at any time. Its grants get no new work
  completing,  // until its epilog has ended
};

/// What Slurm gave to one job on one host. Memory 0: Slurm does not count it.
struct JobAllocation {
  JobId job;
  CoreSet cores;
  ByteCount memory;
  CoreSet gpus;
  JobState state = JobState::running;
  friend bool operator==(const JobAllocation&, const JobAllocation&) = default;
};

/// All jobs of one host, and whether Slurm wants nothing new there (drained, in maintenance, …).
struct HostAllocation {
  HostId host;
  bool drained = false;
  std::vector<JobAllocation> jobs;
};

}  // namespace orchid::placement
