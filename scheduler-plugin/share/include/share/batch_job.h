// share/batch_job.h: the batch job that a process is in, as Slurm's environment says.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/units.h"
#include "share/share_option.h"

namespace orchid::share {

/// A value.
struct BatchJob {
  std::uint64_t id = 0;
  std::string cluster;                // may be empty
  std::vector<std::uint32_t> cpus;    // of each node that it has
  std::optional<ByteCount> per_cpu;   // memory; nothing in both: its environment does not say
  std::optional<ByteCount> per_node;  // memory
  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(cpus.size()); }
  [[nodiscard]] std::uint32_t most_cpus() const;  // of a node
};

using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// Errors: `bad_request`: this process is in no job; `internal`: the environment contradicts
/// itself.
[[nodiscard]] Result<BatchJob> read_batch_job(const Variables& variable);
/// More than the job has cannot be shared. Errors: `bad_request`.
[[nodiscard]] Result<void> check(const ShareOption& option, const BatchJob& job);

/// "2(x3),1" is 2, 2, 2, 1. Errors: `internal`.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_cpus_per_node(std::string_view text);

}  // namespace orchid::share
