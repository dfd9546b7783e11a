// sandbox/confinement.h: how a worker or compiler process gives up what it does not need, in the
// only order that works.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid {

/// A worker's own descriptors are numbered from 0 up to this.
constexpr int worker_descriptor_count = 11;

/// A remote worker speaks to a client of another host: up to the second stage it may open
/// connections and look at /proc and /sys, where UCX finds the network's devices. A door does the
/// same, but never connects to anybody, and has no sockets but those of the network. A dispatch
/// speaks to workers of many hosts for all its life: it stays in the first stage, may connect, and
/// has no sockets but those of the network either. A device process loads a GPU's driver between
/// the stages, which makes threads and opens files. In the second stage it opens nothing, but maps
/// what it is sent, and goes on asking the driver; its memory is limited only then, since a driver
/// reserves a huge range of addresses. A depot speaks to workers and to its agent over sockets that
/// it is sent, in the second stage, too; it maps nothing but memory of its own. What runs a
/// tenant's flows stays in the first stage: it has opened its files before, writes to them, and
/// speaks over sockets that it is sent, but makes none to anybody.
enum class SandboxRole { worker, remote_worker, compiler, door, dispatch, device, depot, flows };

struct ConfinementOptions {
  SandboxRole role;
  ByteCount
      data_limit;  // RLIMIT_DATA, on top of what is mapped now: heap, stacks, private mappings
  int parent_pid;  // dies with it; fails when it is gone already
  std::vector<int> keep_descriptors;  // ascending; all others are closed
  int protected_descriptors =
      worker_descriptor_count;  // in stage 2 those below it cannot be closed or replaced any more
  std::vector<std::filesystem::path>
      readable_paths;  // Landlock: these trees may be read, nothing else may be opened
  /// Landlock: these may be read, written, and asked by ioctl; a folder means all that is in it.
  std::vector<std::filesystem::path> device_paths = {};
  /// Landlock: files of these trees may be read and written.
  std::vector<std::filesystem::path> writable_paths = {};
  bool others_may_raise_limits = false;  // of memory: its parent; itself cannot after stage 2
  bool rdma_device = false;  // it has one open, and goes on asking it for things in stage 2
};

/// All descriptors that are open, ascending: for a process that keeps what it has. One of them is
/// that of the look itself, closed by now. None, if /proc does not tell.
[[nodiscard]] std::vector<int> open_descriptors();
/// One more than the highest number in use; the limit, if /proc does not tell.
[[nodiscard]] int end_of_descriptors();

/// Stage 1, while the process has one thread: descriptors, rlimits, parent-death signal,
/// capabilities, no_new_privs, Landlock, seccomp. Memory files, sockets and mappings that the
/// process needs must exist before. Errors: `system`, naming the step; `unreachable` when the
/// parent is gone. The process must end then.
[[nodiscard]] Result<void> confine(const ConfinementOptions& options);

/// Stage 2, before any user code or bitcode is touched: no shared mappings, no new descriptors
/// (other than of files in `readable_paths`), no new processes. Cannot be undone.
[[nodiscard]] Result<void> confine_further(const ConfinementOptions& options);

/// What this kernel lets us enforce, for `orchid doctor`: "landlock ABI 7", "seccomp"; or why not.
struct SandboxSupport {
  int landlock_abi = 0;  // 0: none
  bool seccomp = false;
  std::vector<std::string> missing;
};
[[nodiscard]] SandboxSupport probe_sandbox_support();

}  // namespace orchid
