#include "share/batch_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "foundation/numbers.h"

namespace orchid::share {
namespace {

constexpr std::uint64_t most_nodes = 1'000'000;

std::optional<std::uint64_t> number_of(const Variables& variable, const std::string& name) {
  const auto text = variable(name);
  return text ? parse_number<std::uint64_t>(*text) : std::nullopt;
}

/// Slurm says it in MiB; 0 is "all there is", which is another amount on each node.
std::optional<ByteCount> memory_of(const Variables& variable, const std::string& name) {
  const auto number = number_of(variable, name);
  if (!number || *number == 0 || *number > 1ULL << 40) return std::nullopt;
  return ByteCount{*number << 20};
}

}  // namespace

std::uint32_t BatchJob::most_cpus() const { return *std::ranges::max_element(cpus); }

Result<std::vector<std::uint32_t>> parse_cpus_per_node(std::string_view text) {
  std::vector<std::uint32_t> cpus;
  const Failure fault{ErrorCode::internal,
                      fmt::format("SLURM_JOB_CPUS_PER_NODE is '{}', which names no nodes", text)};
  while (!text.empty()) {
    const auto comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    std::uint64_t nodes = 1;
    if (const auto bracket = part.find("(x"); bracket != std::string_view::npos) {
      const auto times =
          parse_number<std::uint64_t>(part.substr(bracket + 2, part.size() - bracket - 3));
      if (!times || !part.ends_with(')')) return fail(fault);
      nodes = *times;
      part = part.substr(0, bracket);
    }
    const auto count = parse_number<std::uint64_t>(part);
    if (!count || *count == 0 || *count > 65'536 || nodes + cpus.size() > most_nodes)
      return fail(fault);
    cpus.insert(cpus.end(), nodes, static_cast<std::uint32_t>(*count));
  }
  if (cpus.empty()) return fail(fault);
  return cpus;
}

Result<BatchJob> read_batch_job(const Variables& variable) {
  BatchJob job;
  const auto id = number_of(variable, "SLURM_JOB_ID");
  if (!id || *id == 0)
    return fail(ErrorCode::bad_request,
                "this is not a Slurm job (SLURM_JOB_ID is not set): start a share inside the job "
                "whose idle cores it is to use, in its script or in a shell of salloc; outside of "
                "jobs use 'orchid pilot start'");
  job.id = *id;
  job.cluster = variable("SLURM_CLUSTER_NAME").value_or("");
  auto cpus = parse_cpus_per_node(variable("SLURM_JOB_CPUS_PER_NODE").value_or(""));
  if (!cpus) return fail(std::move(cpus.error()));
  job.cpus = std::move(*cpus);
  job.per_cpu = memory_of(variable, "SLURM_MEM_PER_CPU");
  job.per_node = memory_of(variable, "SLURM_MEM_PER_NODE");
  return job;
}

Result<void> check(const ShareOption& option, const BatchJob& job) {
  const std::uint32_t most = job.most_cpus();
  if (option.cores > most)
    return fail(ErrorCode::bad_request,
                fmt::format("cores:{} is more than job {} has on any node: {}; cores:auto shares "
                            "the cores that the job does not use",
                            option.cores, job.id, most));
  std::optional<ByteCount> memory = job.per_node;
  if (job.per_cpu) memory = ByteCount{job.per_cpu->value * most};
  if (memory && option.memory_bytes > memory->value)
    return fail(ErrorCode::bad_request,
                fmt::format("mem:{}M is more memory than job {} has on any node: {} MiB",
                            option.memory_bytes >> 20, job.id, memory->value >> 20));
  return {};
}

}  // namespace orchid::share
