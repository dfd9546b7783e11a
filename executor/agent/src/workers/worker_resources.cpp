// workers/worker_resources.cpp: cores, memory and threads of a worker, as the kernel has them.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>

#include "children/core_binding.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "workers/worker_process.h"

namespace orchid::executor {

unsigned WorkerProcess::thread_count() const {
  const auto content = read_file("/proc/" + std::to_string(pid_) + "/stat", 4_KiB);
  if (!content) return 0;
  std::string text(as_text(*content));
  text.erase(0, text.rfind(')') + 1);  // the name may hold anything
  std::istringstream fields(text);
  std::string field;
  for (int skipped = 0; skipped < 17; ++skipped) fields >> field;  // threads are the 20th of all
  unsigned count = 0;
  return fields >> count ? count : 0;
}

ByteCount WorkerProcess::own_memory() const {
  const auto content = read_file("/proc/" + std::to_string(pid_) + "/statm", 4_KiB);
  if (!content) return {};
  std::istringstream fields{std::string(as_text(*content))};
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  if (!(fields >> all >> resident >> shared) || shared > resident) return {};
  return {(resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
}

ByteCount WorkerProcess::lane_memory() const {
  constexpr std::uint64_t block = 512;  // of st_blocks, whatever the file system
  ByteCount kept;
  for (const int file : {lane_.memory.get(), device_lane_.memory.get()}) {
    struct stat status{};
    if (file >= 0 && ::fstat(file, &status) == 0)
      kept.value += static_cast<std::uint64_t>(status.st_blocks) * block;
  }
  return kept;
}

void WorkerProcess::limit_memory(ByteCount data) {
  // What the program itself has mapped and what UCX takes comes on top, as at its birth.
  for (const auto kind : {RLIMIT_DATA, RLIMIT_AS}) {
    rlimit64 limit{};
    if (::prlimit64(pid_, kind, nullptr, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_cur - std::min(limit.rlim_cur, data_limit_.value) + data.value;
    if (::prlimit64(pid_, kind, &limit, nullptr) != 0)
      log::error("event=memory_not_limited worker={} reason=\"{}\"", id_, std::strerror(errno));
  }
  data_limit_ = data;
}

/// What is mapped to be read is no memory of the worker's own, but is counted among its addresses.
void WorkerProcess::move_address_limit(std::int64_t bytes) {
  rlimit64 limit{};
  if (::prlimit64(pid_, RLIMIT_AS, nullptr, &limit) != 0 || limit.rlim_cur == RLIM64_INFINITY)
    return;
  limit.rlim_cur += static_cast<rlim64_t>(bytes);
  if (::prlimit64(pid_, RLIMIT_AS, &limit, nullptr) != 0)
    log::error("event=addresses_not_limited worker={} reason=\"{}\"", id_, std::strerror(errno));
}

void WorkerProcess::map_data(const MapRequest& request, const WorkerData::Done& done,
                             const WorkerData::Gone& gone) {
  const auto bytes = static_cast<std::int64_t>(request.bytes.value);
  move_address_limit(bytes);
  if (!tell_unmaps() || !tell(MapData{request.data, request.bytes.value}, {request.file})) {
    move_address_limit(-bytes);
    gone();
    return done(fail(ErrorCode::no_capacity, "the worker does not listen now; attach again"));
  }
  data_.add(request.data, request.bytes, done, [this, bytes, gone] {
    if (!ended_) move_address_limit(-bytes);
    gone();
  });
}

void WorkerProcess::adopt_data(const DataId& data, ByteCount bytes, MonotonicTime now,
                               const WorkerData::Gone& gone) {
  give_addresses(bytes);
  data_.adopt(data, bytes, now, [this, bytes, gone] {
    take_addresses(bytes);
    gone();
  });
}

void WorkerProcess::unmap_data(const DataId& data) {
  data_.drop(data);
  tell_unmaps();
}

bool WorkerProcess::tell_unmaps() {
  return data_.tell_dropped([this](const DataId& data) { return tell(UnmapData{data}); });
}

void WorkerProcess::bind_to(const CoreList& cores) {
  bound_to_ = cores;
  if (cores.empty() || pid_ <= 0) return;
  if (auto bound = bind_process(pid_, cores); !bound)
    log::error("event=worker_not_bound worker={} cores={} reason=\"{}\"", id_, to_core_text(cores),
               bound.error().message);
}

}  // namespace orchid::executor
