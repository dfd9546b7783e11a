#include "share/share_on_node.h"

#include <csignal>
#include <utility>
#include <vector>

#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "share/share_keeper.h"
#include "share/slurm_steps.h"
#include "share/step_command.h"
#include "share/step_surroundings.h"

namespace orchid::share {
namespace {

using Say = std::function<void(const std::string& line)>;
using Words = std::vector<std::string>;

Result<std::string> host_id_of(const OwnStep& own) {
  auto id = read_file("/proc/sys/kernel/random/boot_id", 4_KiB);
  if (!id) return fail(std::move(id.error()));
  std::string text(as_text(*id));
  text.erase(text.find_last_not_of('\n') + 1);
  return text + "/" + (own.cluster.empty() ? "" : own.cluster + "/") + own.node;
}

/// For functions on this node.
Result<std::optional<ByteCount>> memory_here(const ShareOnNode& share, const OwnStep& own,
                                             std::uint32_t cpus, const SlurmSteps& slurm) {
  const auto job = with_memory_here(
      {.per_cpu = share.memory_per_cpu, .per_node = share.memory_per_node}, own, slurm);
  if (!job) return fail(job.error());
  return memory_of({.cores = share.cores, .memory_bytes = share.memory.value_or(ByteCount{}).value},
                   *job, cpus);
}

/// Of orchid-executor and of orchid-grant: what the share is.
Result<Words> words_of_both(const ShareOnNode& share, const OwnStep& own, const CoreList& cores,
                            const SlurmSteps& slurm) {
  Words words{"--grant",
              "share",
              "--job",
              std::to_string(own.job),
              "--core-list",
              to_core_text(cores),
              "--gateway-grace-s",
              std::to_string(share.gateway_grace.count())};
  const auto memory = memory_here(share, own, cpus_of_job(own, cores), slurm);
  if (!memory) return fail(memory.error());
  if (*memory) {
    const auto more = memory_arguments(own, **memory);
    if (!more) return fail(more.error());
    words.insert(words.end(), more->begin(), more->end());
  }
  if (!share.bandwidth_cap.empty())
    words.insert(words.end(), {"--bandwidth-cap", share.bandwidth_cap});
  if (!share.ends_in) return words;
  if (share.ends_in->count() <= 0) return fail(ErrorCode::lease_ended, "the job's time is over");
  words.insert(words.end(), {"--ends-in-s", std::to_string(share.ends_in->count())});
  return words;
}

/// Of orchid-executor alone: where it finds its gateway, and how it is found.
Result<Words> words_of_executor(const ShareOnNode& share, const OwnStep& own,
                                const std::filesystem::path& folder, const Say& say) {
  if (share.gateway.empty() || share.token_file.empty())
    return fail(ErrorCode::bad_request, "--address and --token-file are needed without --site");
  Words words{"--gateway", share.gateway,  "--token-file", share.token_file,
              "--runtime", folder / "run", "--state",      folder / "state",
              "--cluster", own.cluster,    "--node",       own.node};
  if (share.host_is_node) {
    auto id = host_id_of(own);
    if (!id) return fail(std::move(id.error()));
    words.insert(words.end(), {"--host-id", std::move(*id)});
  }
  if (!share.data_memory.empty()) words.insert(words.end(), {"--data-memory", share.data_memory});
  const std::string lanes =
      share.lane_listen == "auto" ? address_towards(share.gateway) : share.lane_listen;
  if (!lanes.empty())
    words.insert(words.end(), {"--lane-listen", lanes});
  else if (share.lane_listen == "auto")
    say("this node has no address by which it reaches " + share.gateway +
        "; only clients on this node can reach its workers");
  return words;
}

/// Of orchid-grant alone: where it finds the site's service, and what it asks of that.
Words words_of_grant(const ShareOnNode& share) {
  Words words{"--for", share.users};
  if (!share.host_socket.empty()) words.insert(words.end(), {"--host-socket", share.host_socket});
  return words;
}

/// A folder of its own, where there is one, goes before the program has ended.
Result<void> run_until_told(ShareKeeper::Options options, NodeFolder* folder) {
  const std::string program = options.executor;
  auto keeper = ShareKeeper::start(std::move(options));
  if (!keeper) return fail(std::move(keeper.error()));
  auto end = keeper->run();
  if (keeper->was_told_to_end()) {
    // First of all: a step that is slow to end may be killed.
    if (folder != nullptr) folder->remove();
    end = keeper->wait_for_end();
  }
  if (end.ok()) return {};
  return fail(ErrorCode::system,
              program + " ended with " + describe(end) + "; its last lines say why");
}

}  // namespace

Result<void> keep_share(const ShareOnNode& share, const Say& say) {
  const sigset_t signals = keeper_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const auto own = read_own_step();
  if (!own) return fail(own.error());
  const SlurmSteps slurm({.folder = share.slurm_folder});
  const auto cores = cores_of_job(*own, slurm);
  if (!cores) return fail(cores.error());
  auto words = words_of_both(share, *own, *cores, slurm);
  if (!words) return fail(std::move(words.error()));
  std::optional<NodeFolder> folder;
  if (!share.site) {
    auto made = NodeFolder::make(own->job);
    if (!made) return fail(std::move(made.error()));
    folder.emplace(std::move(*made));
  }
  const auto more = folder ? words_of_executor(share, *own, folder->path(), say)
                           : Result<Words>(words_of_grant(share));
  if (!more) return fail(more.error());
  words->insert(words->end(), more->begin(), more->end());
  return run_until_told(
      {.executor = share.programs / (share.site ? "orchid-grant" : "orchid-executor"),
       .arguments = std::move(*words),
       .processes =
           {.job = own->job, .node = own->node, .own_step = own->step, .job_cores = *cores},
       .most_cores = share.cores},
      folder ? &*folder : nullptr);
}

}  // namespace orchid::share
