#include "worker_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "call_loop.h"
#include "crew/crew_lane.h"
#include "crew/join_crew.h"
#include "devices/cores_device.h"
#include "devices/gpu_device.h"
#include "foundation/sockets.h"
#include "hygiene.h"
#include "made_modules.h"
#include "remote_client.h"
#include "sandbox/confinement.h"
#include "user_code/call_log.h"
#include "user_code/module_table.h"
#include "user_code/runtime_overrides.h"

namespace orchid::executor {
namespace {

/// A worker's descriptors, by number; 0 to 2 are /dev/null.
enum : int {
  control_number = 3,
  wake_worker_number = 4,
  wake_client_number = 5,
  files_number = 6,
  threads_number = 7,
  mappings_number = 8,
  memory_number = 9,
  service_number = 10,
  // Of a worker that can use a GPU.
  wake_device_number = 11,
  wake_from_device_number = 12,
  // Of a member of a crew: what wakes the client, and then the members by their numbers.
  first_crew_number = 13
};
static_assert(service_number + 1 == worker_descriptor_count);
constexpr int count_with_device = wake_from_device_number + 1;
int count_with_crew(const CrewPlace& place) {
  return first_crew_number + static_cast<int>(place.members) + 1;
}

[[noreturn]] void give_up(int control, const std::string& why) {
  (void)send_packet(control, encode(WorkerUnfit{why}));
  ::_exit(1);
}

/// Above all numbers that have a meaning.
constexpr int first_free_number = 128;
static_assert(first_free_number > first_crew_number + static_cast<int>(crew::most_members) + 1);

UniqueFd open_quietly(const char* path, int flags) {
  return UniqueFd(::open(path, flags | O_CLOEXEC));
}

void move_up(UniqueFd& fd) { fd.reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first_free_number)); }

/// Numbers that are to be filled must not be in use by what is still needed, so everything moves
/// out of the way first.
void move_up(BirthDescriptors& descriptors) {
  for (UniqueFd* fd :
       {&descriptors.control, &descriptors.lane_memory, &descriptors.wake_worker,
        &descriptors.wake_client, &descriptors.status_page, &descriptors.device_memory,
        &descriptors.wake_device, &descriptors.wake_from_device})
    if (*fd) move_up(*fd);
}

/// Gives the worker's descriptors their numbers.
void number_descriptors(const BirthDescriptors& descriptors) {
  UniqueFd null = open_quietly("/dev/null", O_RDWR);
  UniqueFd files = open_quietly("/proc/self/fd", O_RDONLY | O_DIRECTORY);
  UniqueFd threads = open_quietly("/proc/self/task", O_RDONLY | O_DIRECTORY);
  UniqueFd mappings = open_quietly("/proc/self/maps", O_RDONLY);
  UniqueFd memory = open_quietly("/proc/self/statm", O_RDONLY);
  for (UniqueFd* fd : {&null, &files, &threads, &mappings, &memory}) move_up(*fd);
  const std::array<int, count_with_device> sources{null.get(),
                                                   null.get(),
                                                   null.get(),
                                                   descriptors.control.get(),
                                                   descriptors.wake_worker.get(),
                                                   descriptors.wake_client.get(),
                                                   files.get(),
                                                   threads.get(),
                                                   mappings.get(),
                                                   memory.get(),
                                                   descriptors.service.get(),
                                                   descriptors.wake_device.get(),
                                                   descriptors.wake_from_device.get()};
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources[i] >= 0) ::dup2(sources[i], static_cast<int>(i));
  // None below them may be free: what came there could not be closed any more.
  if (!descriptors.crew_wake.empty() && !descriptors.wake_device)
    for (const int unused : {wake_device_number, wake_from_device_number})
      ::dup2(null.get(), unused);
  for (std::size_t i = 0; i < descriptors.crew_wake.size(); ++i)
    ::dup2(descriptors.crew_wake[i].get(), first_crew_number + static_cast<int>(i));
}

/// The rings of a member of a crew. Before its descriptors are numbered.
CrewLane* attach_crew(const CrewPlace& place, BirthDescriptors& descriptors,
                      const CrewLane::Parts& parts) {
  const std::size_t expected = std::size_t{place.members} + 2;
  std::vector<UniqueFd> wires;
  while (wires.size() < expected) {
    auto packet = receive_packet(descriptors.control.get(), true);
    if (!packet || !*packet || (*packet)->descriptors.empty()) ::_exit(1);
    for (UniqueFd& wire : (*packet)->descriptors) {
      move_up(wire);
      wires.push_back(std::move(wire));
    }
  }
  const transport::CrewEnd::Place seat{.member = place.member, .members = place.members};
  auto end = place.near.empty()
                 ? transport::CrewEnd::attach(seat, wires.front().get())
                 : transport::CrewEnd::attach_near(seat, place.near, wires.front().get());
  if (!end) give_up(descriptors.control.get(), end.error().message);
  for (std::uint32_t member = 0; member <= place.members; ++member)
    end->set_wake(member, first_crew_number + static_cast<int>(member));
  wires.erase(wires.begin());
  descriptors.crew_wake = std::move(wires);
  return new CrewLane(std::move(*end), parts);
}

/// The worker's lane to a device process, if it has one. Before the descriptors are numbered.
std::optional<transport::LocalLaneClient> attach_device_lane(BirthDescriptors& descriptors) {
  if (!descriptors.device_memory) return std::nullopt;
  auto lane = transport::LocalLaneClient::attach(
      {std::move(descriptors.device_memory),
       UniqueFd(::fcntl(descriptors.wake_device.get(), F_DUPFD_CLOEXEC, first_free_number)),
       UniqueFd(::fcntl(descriptors.wake_from_device.get(), F_DUPFD_CLOEXEC, first_free_number)),
       device_lane_geometry});
  if (!lane) give_up(descriptors.control.get(), lane.error().message);
  return std::move(*lane);
}

/// Where the kernels of modules for GPUs run; null: on cores. A device process can reach the lane
/// of calls that come from this host.
Device* make_gpu(std::optional<transport::LocalLaneClient> device_lane,
                 const transport::LocalLaneWorker& lane, StatusPage& page, bool remote) {
  if (!device_lane) return nullptr;
  device_lane->use_wake_descriptors(wake_device_number, wake_from_device_number);
  return new GpuDevice({.lane = std::move(*device_lane),
                        .page = page,
                        .call_input = remote ? std::span<const std::byte>() : lane.input_slab(),
                        .call_output = remote ? std::span<const std::byte>() : lane.output_slab()});
}

/// UCX for a worker whose lane may go over an RDMA device: what it opens is kept.
transport::UcxContext* open_devices(const RemoteLane& remote, int control,
                                    ConfinementOptions& confinement) {
  const std::vector<int> before = open_descriptors();
  auto made = make_ucx(remote);
  if (!made) give_up(control, made.error().message);
  confinement.rdma_device = (*made)->uses_verbs();
  for (const int fd : open_descriptors())
    if (std::ranges::find(before, fd) == before.end()) confinement.keep_descriptors.push_back(fd);
  return *made;
}

/// Of the first stage.
ConfinementOptions confinement_of(const Birth& birth, int parent_pid) {
  ConfinementOptions options{
      .role = birth.remote ? SandboxRole::remote_worker : SandboxRole::worker,
      .data_limit = ByteCount{birth.data_limit},
      .parent_pid = parent_pid};
  options.others_may_raise_limits = true;  // what the lease says is not known yet
  if (birth.device_lane) options.protected_descriptors = count_with_device;
  if (birth.crew) options.protected_descriptors = count_with_crew(*birth.crew);
  for (int fd = 0; fd < options.protected_descriptors; ++fd) options.keep_descriptors.push_back(fd);
  for (const std::string& path : birth.readable_paths) options.readable_paths.emplace_back(path);
  return options;
}

void bind_to(std::int32_t core) {
  if (core < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  ::sched_setaffinity(0, sizeof(set), &set);
}

/// What the worker's state is looked at through; UCX may open and close descriptors of its own.
Hygiene::Options questions_for(const Birth& birth, const DataMappings& data) {
  return {.descriptors = birth.remote && birth.readable_paths.empty() ? -1 : files_number,
          .threads = threads_number,
          .mappings = mappings_number,
          .memory = memory_number,
          .library_threads = birth.remote.has_value(),
          .data = &data,
          .opens_files = !birth.readable_paths.empty()};
}

/// The agent says `proceed` once the process is in its cgroup. The worker's end of its service
/// socket.
UniqueFd await_proceed(int control) {
  auto packet = receive_packet(control, true);
  if (!packet || !*packet || !parse_worker_message((*packet)->text) ||
      (*packet)->descriptors.size() != 1)
    ::_exit(1);
  UniqueFd service = std::move((*packet)->descriptors.front());
  move_up(service);
  return service;
}

/// What asks the depot during calls. None of it is ever destroyed.
struct CallServices {
  CallObjects* objects;
  CallMemory* memory;
  MadeModules* made;
};
struct ModuleParts {
  ModuleTable& modules;
  CodeMap& code;
  const Hygiene& hygiene;
};
CallServices make_services(StatusPage& page, DataMappings& data, const ModuleParts& modules) {
  const auto stopped = [&page] {
    return page.stop.load(std::memory_order_relaxed) == call_of(page.state.load());
  };
  auto* depot = new ServiceClient(service_number, stopped);
  return {.objects = new CallObjects(*depot, data),
          .memory = new CallMemory(*depot, stopped),
          .made = new MadeModules({.depot = *depot,
                                   .modules = modules.modules,
                                   .code = modules.code,
                                   .hygiene = modules.hygiene,
                                   .control = control_number})};
}

/// One more than the highest number in use. None below it is free: what a worker is sent could be
/// neither closed nor mapped there.
int close_up_descriptors() {
  const int end = end_of_descriptors();
  int filler = 0;
  while (filler >= 0 && filler < end) filler = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  if (filler >= end) ::close(filler);
  return end;
}

StatusPage& map_page(const BirthDescriptors& descriptors) {
  void* memory = ::mmap(nullptr, status_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        descriptors.status_page.get(), 0);
  if (memory == MAP_FAILED) give_up(descriptors.control.get(), "the status page cannot be mapped");
  return *static_cast<StatusPage*>(memory);
}

}  // namespace

void live_as_worker(const Birth& birth, BirthDescriptors descriptors, const TickRate& rate,
                    int parent_pid) {
  const int control = control_number;
  ::prctl(PR_SET_NAME, "orchid-worker");
  move_up(descriptors);
  descriptors.service = await_proceed(descriptors.control.get());
  const transport::LaneGeometry geometry{ByteCount{birth.request_bytes},
                                         ByteCount{birth.response_bytes}};
  StatusPage& page = map_page(descriptors);
  auto lane = transport::LocalLaneWorker::attach(
      {std::move(descriptors.lane_memory),
       UniqueFd(::fcntl(descriptors.wake_worker.get(), F_DUPFD_CLOEXEC, first_free_number)),
       UniqueFd(::fcntl(descriptors.wake_client.get(), F_DUPFD_CLOEXEC, first_free_number)),
       geometry});
  if (!lane) give_up(descriptors.control.get(), lane.error().message);
  auto device_lane = attach_device_lane(descriptors);
  auto* modules = new ModuleTable();
  CrewLane* const crew =
      birth.crew ? attach_crew(*birth.crew, descriptors, {.modules = *modules, .rate = rate})
                 : nullptr;
  number_descriptors(descriptors);
  auto* gpu = make_gpu(std::move(device_lane), *lane, page, birth.remote.has_value());
  bind_to(birth.core);

  // Nothing of these is destroyed: the process ends by _exit or a signal.
  auto* log = new CallLog(lane->log_head(), lane->log_text());
  override_targets().page = &page;
  override_targets().log = log;
  log->capture_standard_streams();
  auto* code = new CodeMap();
  auto* data = new DataMappings();
  auto* hygiene = new Hygiene(questions_for(birth, *data));
  install_crash_handlers(page, *code);

  ConfinementOptions confinement = confinement_of(birth, parent_pid);
  lane->use_wake_descriptors(wake_worker_number, wake_client_number);
  transport::UcxContext* ucx = nullptr;
  if (birth.remote && birth.remote->trusted_fabric)
    ucx = open_devices(*birth.remote, control, confinement);
  if (auto confined = confine(confinement); !confined) give_up(control, confined.error().message);
  transport::LaneWorker* calls =
      crew != nullptr ? crew : static_cast<transport::LaneWorker*>(&*lane);
  if (birth.remote) {
    if (ucx == nullptr) {
      auto made = make_ucx(*birth.remote);
      if (!made) give_up(control, made.error().message);
      ucx = *made;
    }
    if (crew != nullptr) {
      if (auto joined = join_crew(*crew, *ucx, *birth.remote, control); !joined)
        give_up(control, joined.error().message);
    } else {
      auto remote = await_remote_client(*ucx, *birth.remote, geometry, control);
      if (!remote) give_up(control, remote.error().message);
      calls = new transport::UcxLaneWorker(std::move(*remote));
    }
    confinement.protected_descriptors = close_up_descriptors();
  }
  auto* cores = new CoresDevice(rate);
  const CallServices services =
      make_services(page, *data, {.modules = *modules, .code = *code, .hygiene = *hygiene});
  auto* loop = new CallLoop({*calls, page, *log, *hygiene, *cores, gpu, *code, *modules, *data,
                             *services.objects, *services.memory, *services.made, rate, control,
                             birth.core, lane->progress(), crew});
  hygiene->remember();
  if (auto confined = confine_further(confinement); !confined)
    give_up(control, confined.error().message);
  (void)send_packet(control, encode(WorkerReady{}));
  loop->run();
}

}  // namespace orchid::executor
