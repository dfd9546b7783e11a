#include "workers/worker_pool.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "device/lane_commands.h"
#include "foundation/log.h"
#include "foundation/random.h"
#include "foundation/sockets.h"

namespace orchid::executor {
namespace {
/// On top of a worker's memory, for a lane over UCX: 11 MiB were seen, its thread's stack among
/// them.
constexpr ByteCount ucx_data = 16_MiB;
constexpr std::chrono::milliseconds birth_pause{3};
/// So many are born well within the time that one has.
constexpr std::size_t births_per_deadline = 8;
/// To the C library: large pages for large blocks of memory, where the kernel leaves that to
/// programs. A worker with 4 KiB pages is dead 65 ms later for each GiB, and its cores are needed
/// elsewhere; with these it takes 2.4 ms (docs/decisions/0021).
constexpr const char* huge_pages = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
}  // namespace

WorkerPool::WorkerPool(boost::asio::io_context& io, ChildWatch& children, Options options)
    : io_(io),
      children_(children),
      options_(std::move(options)),
      retry_timer_(io),
      fill_timer_(io) {}

WorkerPool::~WorkerPool() {
  for (auto& [id, worker] : alive_) {
    children_.forget(worker->pid());
    worker->kill(KillReason::released);
  }
  if (zygote_pid_ > 0) {
    children_.forget(zygote_pid_);
    ::kill(zygote_pid_, SIGKILL);
  }
}

void WorkerPool::start() { start_zygote(); }

void WorkerPool::stop() {
  stopped_ = true;
  zygote_ready_ = false;
  retry_timer_.cancel();
  if (zygote_pid_ > 0) ::kill(zygote_pid_, SIGKILL);
  for (Kind* kind : {&local_, &remote_}) {
    kind->waiting.clear();
    for (const auto& worker : kind->ready) worker->kill(KillReason::released);
  }
  for (auto& [id, unborn] : unborn_)
    if (unborn.worker->pid() > 0) unborn.worker->kill(KillReason::released);
}

void WorkerPool::start_zygote() {
  zygote_ready_ = false;
  std::vector<std::string> arguments{"--zygote", "3"};
  if (!options_.remote_address.empty()) arguments.emplace_back("--remote");
  auto started = start_child(options_.worker_program, arguments,
                             {.scheduling = options_.scheduling, .environment = {huge_pages}});
  if (!started) {
    log::error("event=zygote_start_failed reason=\"{}\"", started.error().message);
    return retry_later();
  }
  zygote_pid_ = started->process.release();  // reaped by the watch
  children_.watch(zygote_pid_, [this](const ChildEvent& event) { zygote_ended(event); });
  zygote_ = std::make_unique<PacketChannel>(
      io_, std::move(started->control),
      PacketChannel::Handlers{[this](Packet& packet) { from_zygote(packet); }, [] {}});
}

void WorkerPool::zygote_ended(const ChildEvent& event) {
  if (stopped_) {
    zygote_pid_ = -1;
    return;  // a birth that it has told of is still to be heard
  }
  log::warn("event=zygote_lost pid={} what=\"{}\"", zygote_pid_, describe(event));
  if (event.kind == ChildEvent::Kind::stopped) {
    ::kill(zygote_pid_, SIGKILL);  // comes back here as killed
    return;
  }
  zygote_pid_ = -1;
  zygote_.reset();
  zygote_ready_ = false;
  // What was asked of it will not come; workers that have a process live on.
  for (auto at = unborn_.begin(); at != unborn_.end();) {
    const auto unborn = at++;
    if (unborn->second.worker->pid() < 0) lose_unborn(unborn);
  }
  retry_later();
}

void WorkerPool::retry_later() {
  if (stopped_) return;
  retry_timer_.expires_after(failures_.ended(std::chrono::steady_clock::now()).value());
  retry_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (zygote_pid_ < 0)
      start_zygote();
    else
      fill();
  });
}

void WorkerPool::from_zygote(Packet& packet) {
  auto message = parse_worker_message(packet.text);
  if (!message)
    return log::error("event=bad_message from=zygote reason=\"{}\"", message.error().message);
  if (std::holds_alternative<ZygoteReady>(*message)) {
    zygote_ready_ = true;
    fill();
  } else if (const auto* birth = std::get_if<Born>(&*message)) {
    born(*birth, packet);
  } else if (const auto* failed = std::get_if<BirthFailed>(&*message)) {
    log::error("event=birth_failed worker={} reason=\"{}\"", failed->worker, failed->message);
    if (const auto lost = unborn_.find(failed->worker); lost != unborn_.end()) lose_unborn(lost);
    retry_later();
  }
}

void WorkerPool::set_spare(std::size_t spare) {
  options_.spare = spare;
  fill();
}

void WorkerPool::pause(bool paused) {
  paused_ = paused;
  fill();
}

void WorkerPool::fill() {
  if (!zygote_ready_ || paused_) return;
  auto asked = request_births(true, spare_remote() + remote_.waiting.size());
  if (asked) asked = request_births(false, options_.spare + local_.waiting.size());
  if (asked) return;
  log::error("event=birth_failed reason=\"{}\"", asked.error().message);
  retry_later();
}

/// So many of a kind are to be ready or on their way.
Result<void> WorkerPool::request_births(bool remote, std::size_t wanted) {
  const auto coming =
      static_cast<std::size_t>(std::ranges::count_if(unborn_, [remote](const auto& item) {
        return item.second.remote == remote && item.second.taken == nullptr;
      }));
  const Kind& kind = remote ? remote_ : local_;
  for (std::size_t have = kind.ready.size() + coming; have < wanted; ++have)
    if (auto asked = request_birth(remote); !asked) return asked;
  return {};
}

void WorkerPool::bear(CrewBirth birth, Taken taken) {
  Result<void> asked = fail(ErrorCode::no_capacity, "no workers are born now");
  const bool spread = !birth.place.near.empty();
  if (spread && options_.remote_address.empty())
    asked = fail(ErrorCode::unsupported, "the executor takes nobody of other hosts");
  else if (zygote_ready_ && !paused_ && !stopped_)
    asked = request_birth(spread, &birth, taken);
  if (asked) return;
  log::warn("event=birth_failed reason=\"{}\"", asked.error().message);
  boost::asio::post(io_, [taken = std::move(taken)] { taken(nullptr); });
}

/// Who it was made for hears of it.
void WorkerPool::lose_unborn(Unborns::iterator lost) {
  if (lost->second.taken)
    boost::asio::post(io_, [taken = std::move(lost->second.taken)] { taken(nullptr); });
  unborn_.erase(lost);
}

/// Hands a member of a crew its descriptors, as many at a time as a packet takes.
void WorkerPool::wire(WorkerProcess& worker) {
  if (!worker.crew_seat()) return;
  const transport::CrewWires& wires = *worker.crew_seat()->wires;
  std::vector<int> descriptors{wires.memory.get()};
  for (const UniqueFd& wake : wires.wake) {
    if (descriptors.size() == max_packet_descriptors)
      worker.tell(CrewWiring{}, std::exchange(descriptors, {}));
    descriptors.push_back(wake.get());
  }
  worker.tell(CrewWiring{}, descriptors);
}

Result<void> WorkerPool::request_birth(bool remote, const CrewBirth* crew, Taken taken) {
  auto page = StatusPageMapping::create();
  if (!page) return fail(std::move(page.error()));
  auto lane = transport::make_lane(options_.geometry);
  if (!lane) return fail(std::move(lane.error()));
  auto control = make_packet_pair();
  if (!control) return fail(std::move(control.error()));
  const std::uint64_t id = next_id_++;
  auto worker =
      std::make_shared<WorkerProcess>(id, std::move(*page), std::move(*lane), options_.data_limit);
  Birth birth{.worker = id,
              .data_limit = options_.data_limit.value + (remote ? ucx_data.value : 0),
              .request_bytes = options_.geometry.request_bytes.value,
              .response_bytes = options_.geometry.response_bytes.value,
              .core = -1,
              .readable_paths = options_.readable_paths};
  std::vector<int> descriptors{control->second.get(), worker->lane().memory.get(),
                               worker->lane().wake_worker.get(), worker->lane().wake_client.get(),
                               worker->page_descriptor()};
  if (options_.on_gpus) {
    auto device = transport::make_lane(device_lane_geometry);
    if (!device) return fail(std::move(device.error()));
    birth.device_lane = true;
    for (const UniqueFd* fd : {&device->memory, &device->wake_worker, &device->wake_client})
      descriptors.push_back(fd->get());
    worker->set_device_lane(std::move(*device));
  }
  if (remote) {
    birth.remote = RemoteLane{.address = options_.remote_address,
                              .key = random_hex(16),
                              .trusted_fabric = options_.trusted_fabric && crew == nullptr};
    worker->set_remote_lane({.key = birth.remote->key});
  }
  if (crew != nullptr) {
    birth.crew = crew->place;
    worker->set_crew_seat({crew->place, crew->wires});
  }
  auto sent = zygote_->send(encode(birth), descriptors);
  if (!sent) return sent;
  // The zygote makes one after the other: whoever is behind many has more time.
  auto deadline = std::make_unique<boost::asio::steady_timer>(
      io_, options_.birth_deadline * (1 + static_cast<int>(unborn_.size() / births_per_deadline)));
  deadline->async_wait([this, id](const boost::system::error_code& error) {
    if (error) return;
    log::warn("event=birth_timed_out worker={}", id);
    const auto found = unborn_.find(id);
    const auto late = found == unborn_.end() ? nullptr : found->second.worker;
    if (late != nullptr) lose_unborn(found);
    if (late != nullptr && late->pid() > 0)
      late->kill(KillReason::unresponsive);
    else if (zygote_pid_ > 0)
      ::kill(zygote_pid_, SIGKILL);  // it does not answer: a fresh one is started
  });
  unborn_.emplace(id, Unborn{std::move(worker), std::move(control->first), std::move(deadline),
                             remote, std::move(taken)});
  return {};
}

void WorkerPool::born(const Born& message, Packet& packet) {
  const auto found = unborn_.find(message.worker);
  if (found == unborn_.end() || packet.descriptors.size() != 1) return;
  const std::shared_ptr<WorkerProcess> worker = found->second.worker;
  const std::uint64_t id = worker->id();
  const PacketChannel::Handlers handlers{[this, id](Packet& from) { from_worker(id, from); },
                                         [this, id] {
                                           if (const auto found = alive_.find(id);
                                               found != alive_.end())
                                             found->second->control_closed();
                                         }};
  auto control = std::make_unique<PacketChannel>(io_, std::move(found->second.control), handlers);
  worker->born(static_cast<pid_t>(message.pid), std::move(packet.descriptors.front()),
               std::move(control));
  ++births_;
  alive_[id] = worker;
  children_.watch(worker->pid(),
                  [this, worker](const ChildEvent& event) { worker_event(worker, event); });
  if (stopped_) return worker->kill(KillReason::released);
  auto service = make_packet_pair();
  if (!service) {
    log::error("event=birth_failed worker={} reason=\"{}\"", id, service.error().message);
    return worker->kill(KillReason::released);
  }
  worker->set_service(std::move(service->second));
  // The place for a cgroup: the process is known and has done nothing yet.
  worker->tell(Proceed{}, {service->first.get()});
  wire(*worker);
}

void WorkerPool::from_worker(std::uint64_t id, Packet& packet) {
  const auto found = alive_.find(id);
  if (found == alive_.end()) return;
  const std::shared_ptr<WorkerProcess> worker = found->second;
  auto message = parse_worker_message(packet.text);
  if (message && !packet.descriptors.empty())
    message = fail(ErrorCode::bad_request, "a worker sends no descriptors");
  if (message && std::holds_alternative<WorkerReady>(*message)) {
    if (const auto made = unborn_.extract(id); !made.empty()) {
      if (!made.mapped().taken) return ready(local_, worker);
      failures_.runs_well();
      return made.mapped().taken(worker);
    }
    if (worker->client_connected()) {
      worker->tell_connected();
      return fill_later();
    }
  }
  if (const auto* listening = message ? std::get_if<WorkerListening>(&*message) : nullptr;
      listening != nullptr && unborn_.contains(id)) {
    auto made = unborn_.extract(id);
    worker->set_remote_lane({.port = listening->port,
                             .key = worker->remote_lane().key,
                             .trusted_fabric = options_.trusted_fabric});
    if (!made.mapped().taken) return ready(remote_, worker);
    failures_.runs_well();
    return made.mapped().taken(worker);
  }
  if (const auto* unfit = message ? std::get_if<WorkerUnfit>(&*message) : nullptr;
      unfit != nullptr && (unborn_.contains(id) || worker->awaits_client()))
    return log::error("event=worker_unfit worker={} reason=\"{}\"", id, unfit->message);
  // An honest member says so between its calls, and only where some are elsewhere.
  if (message && std::holds_alternative<CrewLost>(*message) && worker->crew_seat() &&
      !worker->crew_seat()->place.near.empty() &&
      !is_in_call(run_state_of(worker->page().state.load(std::memory_order_acquire))))
    return worker->kill(KillReason::crew);
  if (message && worker->take_answer(*message)) return;
  // User code has found the socket. It has one sandbox to spoil, and no more of our time.
  log::warn("event=worker_sent_nonsense worker={}", id);
  worker->kill(KillReason::nonsense);
}

void WorkerPool::ready(Kind& kind, const std::shared_ptr<WorkerProcess>& worker) {
  failures_.runs_well();
  if (kind.waiting.empty()) {
    kind.ready.push_back(worker);
    return;
  }
  Taken taken = std::move(kind.waiting.front());
  kind.waiting.pop_front();
  taken(worker);
}

void WorkerPool::take(Kind& kind, Taken taken) {
  if (kind.ready.empty()) {
    kind.waiting.push_back(std::move(taken));
    return fill();
  }
  std::shared_ptr<WorkerProcess> worker = std::move(kind.ready.front());
  kind.ready.pop_front();
  taken(std::move(worker));
  // UCX keeps two cores busy while a client connects: births come behind that.
  if (&kind != &remote_) fill_later();
}

/// A birth takes a core a millisecond. While a spare worker is left, it gives way to what whoever
/// has just taken one, or lost one, does next.
void WorkerPool::fill_later() {
  if (local_.ready.empty() || !local_.waiting.empty() || !remote_.waiting.empty())
    return boost::asio::post(io_, [this] { fill(); });
  if (std::exchange(fills_later_, true)) return;
  fill_timer_.expires_after(birth_pause);
  fill_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    fills_later_ = false;
    fill();
  });
}

void WorkerPool::worker_event(const std::shared_ptr<WorkerProcess>& worker,
                              const ChildEvent& event) {
  if (event.kind == ChildEvent::Kind::stopped) {
    if (worker->held()) return;
    log::warn("event=worker_stopped worker={} pid={}", worker->id(), worker->pid());
    worker->kill(KillReason::stopped);
    return;
  }
  alive_.erase(worker->id());
  const auto unborn = unborn_.find(worker->id());
  const bool newborn = unborn != unborn_.end();
  if (newborn) lose_unborn(unborn);
  const bool spare = std::erase(local_.ready, worker) + std::erase(remote_.ready, worker) != 0;
  if (!stopped_ && (newborn || spare))
    log::warn("event=spare_worker_lost worker={} what=\"{}\"", worker->id(), describe(event));
  worker->lose_data();
  if (ended_) ended_(worker->id());
  if (auto handler = end_handlers_.extract(worker->id()); !handler.empty()) handler.mapped()(event);
  if (newborn)
    retry_later();  // something is wrong with births: not at full speed
  else
    fill_later();
}

}  // namespace orchid::executor
