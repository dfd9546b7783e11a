#include "devices/gpu.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <variant>

#include "foundation/log.h"

namespace orchid::executor {
namespace {

/// Of a process that fails again and again: a driver may be installed meanwhile.
constexpr processes::RestartPolicy restarts{.at_once = 1,
                                            .first_pause = std::chrono::milliseconds(100),
                                            .longest_pause = std::chrono::seconds(15),
                                            .window = std::chrono::minutes(2)};
/// How often it asks whether a call is over that uses the GPU.
constexpr std::chrono::milliseconds again_interval{10};
constexpr const char* being_started = "its device process is being started";

}  // namespace

Gpu::Gpu(boost::asio::io_context& io, ChildWatch& children, const DeviceProcess::Options& options,
         OfferedGpu offered, std::function<void()> changed)
    : io_(io),
      children_(children),
      options_(options),
      offered_(std::move(offered)),
      changed_(std::move(changed)),
      failures_(restarts),
      restart_timer_(io),
      limit_timer_(io),
      again_timer_(io) {
  offered_.fault = being_started;
}

Gpu::~Gpu() = default;

void Gpu::start() { start_process(); }

void Gpu::stop() {
  stopped_ = true;
  restart_timer_.cancel();
  limit_timer_.cancel();
  again_timer_.cancel();
  request_.reset();
  if (process_) process_->put_down();
}

Gpu::Counters Gpu::counters() const {
  Counters all = counters_;
  all.launches += usage_.launches;
  all.kernel_us += usage_.kernel_us;
  return all;
}

void Gpu::start_process() {
  ready_ = false;
  ++counters_.starts;
  process_ = std::make_unique<DeviceProcess>(
      io_, children_, options_,
      DeviceProcess::Handlers{[this](const DeviceMessage& message) { told(message); },
                              [this](const ChildEvent& event) { ended(event); }});
  auto started = process_->start(std::to_string(offered_.index));
  if (started) return;
  process_.reset();
  set_fault(started.error().message);
  answer(fail(ErrorCode::unreachable, started.error().message));
  restart_timer_.expires_after(failures_.ended(std::chrono::steady_clock::now()).value());
  restart_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) start_process();
  });
}

void Gpu::set_fault(std::string fault) {
  if (offered_.fault == fault) return;
  if (fault.empty())
    log::info("event=gpu_usable gpu={} model=\"{}\" architecture={}", offered_.index,
              offered_.model, architecture_);
  else
    log::warn("event=gpu_out_of_use gpu={} reason=\"{}\"", offered_.index, fault);
  offered_.fault = std::move(fault);
  changed_();
}

void Gpu::told(const DeviceMessage& message) {
  if (const auto* device = std::get_if<DeviceReady>(&message)) return ready(*device);
  if (const auto* loaded = std::get_if<KernelsLoaded>(&message))
    return kernels_answered(loaded->lane, loaded->module, loaded->generation, {});
  if (const auto* refused = std::get_if<KernelsRefused>(&message))
    return kernels_answered(refused->lane, refused->module, refused->generation,
                            refused->message.empty() ? "no reason given" : refused->message);
  if (const auto* over = std::get_if<DeviceLaneEnded>(&message)) return lane_ended(*over);
  if (const auto* usage = std::get_if<DeviceUsage>(&message)) {
    usage_ = *usage;
    failures_.runs_well();
  }
}

void Gpu::ready(const DeviceReady& message) {
  ready_ = true;
  architecture_ = message.architecture;
  memory_ = message.memory;
  if (offered_.model.empty()) offered_.model = message.model;
  log::info(
      "event=device_ready gpu={} pid={} driver=\"{}\" model=\"{}\" memory_bytes={} start_us={}",
      offered_.index, pid(), message.driver, message.model, message.memory, message.start_us);
  set_fault({});
  advance();
}

void Gpu::serve(const std::shared_ptr<DeviceUser>& user, Served done) {
  if (stopped_) return;
  if (request_ && request_->user != user) {
    if (request_->user->is_using())
      return done(fail(ErrorCode::no_capacity, "another worker's call waits for the GPU"));
    answer(fail(ErrorCode::no_capacity, "another worker's call wants the GPU"));
  }
  if (served_ && served_ != user && served_->is_using())
    return done(fail(ErrorCode::no_capacity, "another worker's call uses the GPU"));
  if (!request_) request_ = Request{.user = user, .waiting = {}};
  request_->waiting.push_back(std::move(done));
  advance();
}

/// One step towards what is wanted; the process's answer brings the next one.
void Gpu::advance() {
  if (!request_ || !process_ || !ready_ || process_->was_put_down() || lane_ends_) return;
  const std::shared_ptr<DeviceUser> user = request_->user;
  if (served_ && served_ != user) {
    if (!unseat())
      return answer(fail(ErrorCode::no_capacity, "another worker's call uses the GPU"));
    if (*owner_ == user->owner) return end_lane();
  }
  if (owner_ && *owner_ != user->owner) return process_->put_down();
  // Kernels are loaded while none runs: a call that begins meanwhile waits for the seat.
  if (!served_)
    begin_lane();
  else if (has_new_kernels() && !unseat())
    return try_again();
  load_kernels();
  if (loading_ == 0) answer(lane_);
}

/// Takes the GPU from the worker that it serves. False: a call of that has just begun to use it.
/// Both sides write first and read then, so one of them sees the other.
bool Gpu::unseat() {
  std::atomic<std::uint64_t>& seat = served_->worker->page().device_seat;
  const std::uint64_t before = seat.exchange(no_device_seat);
  if (!served_->is_using()) return true;
  seat.store(before);
  return false;
}

void Gpu::begin_lane() {
  const WorkerProcess& worker = *request_->user->worker;
  const transport::LaneDescriptors& lane = worker.device_lane();
  const transport::LaneDescriptors& calls = worker.lane();
  served_ = request_->user;
  owner_ = served_->owner;
  loaded_.clear();
  if (auto emptied = transport::empty_lane(lane); !emptied)
    log::error("event=device_lane_not_emptied reason=\"{}\"", emptied.error().message);
  ServeLane message{.lane = ++lane_, .memory_limit = memory_};
  std::vector<int> descriptors{lane.memory.get(), lane.wake_worker.get(), lane.wake_client.get()};
  if (!served_->remote_calls) {
    message.call_request_bytes = calls.geometry.request_bytes.value;
    message.call_response_bytes = calls.geometry.response_bytes.value;
    descriptors.push_back(calls.memory.get());
  }
  process_->send(message, descriptors);
}

bool Gpu::has_new_kernels() const {
  return std::ranges::any_of(served_->kernels, [this](const auto& item) {
    const auto known = loaded_.find(item.first);
    return item.second.refusal.empty() &&
           (known == loaded_.end() || known->second != item.second.generation);
  });
}

void Gpu::try_again() {
  again_timer_.expires_after(again_interval);
  again_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) advance();
  });
}

void Gpu::load_kernels() {
  for (const auto& [slot, kernels] : served_->kernels) {
    const auto known = loaded_.find(slot);
    if (!kernels.refusal.empty() || (known != loaded_.end() && known->second == kernels.generation))
      continue;
    loaded_[slot] = kernels.generation;
    ++loading_;
    process_->send(LoadKernels{.lane = lane_, .module = slot, .generation = kernels.generation},
                   {kernels.ptx->get()});
  }
  if (loading_ != 0) limit(load_patience);
}

void Gpu::kernels_answered(std::uint64_t lane, std::uint32_t module, std::uint32_t generation,
                           const std::string& refusal) {
  if (loading_ == 0 || lane != lane_ || !served_) return;
  if (--loading_ == 0) limit_timer_.cancel();
  if (const auto found = served_->kernels.find(module);
      found != served_->kernels.end() && found->second.generation == generation)
    found->second.refusal = refusal;
  advance();
}

void Gpu::answer(const Result<std::uint64_t>& result) {
  if (!request_) return;
  const Request request = std::move(*request_);
  request_.reset();
  for (const Served& done : request.waiting) done(result);
}

void Gpu::limit(std::chrono::milliseconds time) {
  limit_timer_.expires_after(time);
  limit_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || !process_) return;
    if (loading_ != 0)
      answer(fail(ErrorCode::unreachable,
                  fmt::format("the driver's compiler was not done with the kernels within {} s",
                              load_patience.count())));
    process_->put_down();
  });
}

void Gpu::stop_call(const DeviceUser& user, std::uint64_t call) {
  if (serves(user) && process_) process_->send(StopCall{.lane = lane_, .call = call});
}

void Gpu::release(const DeviceUser& user) {
  if (request_ && request_->user.get() == &user) request_.reset();
  if (serves(user)) end_lane();
}

/// What its worker is at may still run; a process that does not come back from that is ended.
void Gpu::end_lane() {
  served_->worker->page().device_seat.store(no_device_seat);
  served_.reset();
  loading_ = 0;
  if (!process_ || process_->was_put_down()) return;
  lane_ends_ = true;
  process_->send(EndLane{.lane = lane_});
  limit(end_patience);
}

void Gpu::lane_ended(const DeviceLaneEnded& message) {
  if (message.lane != lane_) return;
  if (lane_ends_) {
    lane_ends_ = false;
    limit_timer_.cancel();
    return advance();
  }
  limit_timer_.cancel();
  loading_ = 0;
  log::warn("event=device_lane_ended gpu={} lane={} reason=\"{}\"", offered_.index, lane_,
            message.message);
  if (request_ && request_->user == served_)
    answer(fail(ErrorCode::unreachable, message.message));  // it was not even taken
  if (const auto user = std::exchange(served_, nullptr)) {
    user->worker->page().device_seat.store(no_device_seat);
    if (user->lost) user->lost({.kind = DeviceLoss::Kind::nonsense, .message = message.message});
  }
}

void Gpu::vacate(const LeaseId& lease, std::function<void()> done) {
  if (request_ && request_->user->owner.lease == lease) request_.reset();
  if (!process_ || !owner_ || owner_->lease != lease) return done();
  vacated_.push_back(std::move(done));
  process_->put_down();
}

DeviceLoss Gpu::loss_of(const ChildEvent& event) const {
  using Kind = DeviceLoss::Kind;
  if (const auto& words = process_->last_words()) {
    const bool crashed = words->fault == DeviceFault::crashed;
    return {.kind = crashed ? Kind::crashed : Kind::lost, .message = words->message};
  }
  if (process_->started_too_slowly())
    return {.kind = Kind::lost,
            .message = fmt::format("its device process was not ready within {} s",
                                   options_.start_limit.count() / 1000)};
  const std::string what = describe(event);
  // The driver runs there: a kernel may make it crash. But nobody in there sends SIGKILL.
  if (event.kind == ChildEvent::Kind::killed && event.value != SIGKILL)
    return {.kind = Kind::crashed, .message = "the GPU's device process has ended: " + what};
  return {.kind = Kind::lost, .message = "the GPU's device process has ended: " + what};
}

void Gpu::ended(const ChildEvent& event) {
  const bool was_ready = std::exchange(ready_, false);
  const bool ours = process_->was_put_down();
  const DeviceLoss loss = loss_of(event);
  const auto words = process_->last_words();
  process_.reset();
  owner_.reset();
  loaded_.clear();
  const bool was_loading = std::exchange(loading_, 0) != 0;
  lane_ends_ = false;
  limit_timer_.cancel();
  counters_.launches += usage_.launches;
  counters_.kernel_us += usage_.kernel_us;
  usage_ = {};
  const auto user = std::exchange(served_, nullptr);
  if (user) user->worker->page().device_seat.store(no_device_seat);
  for (const auto& done : std::exchange(vacated_, {})) done();
  if (!stopped_ && !ours) {
    log::warn("event=device_lost gpu={} reason=\"{}\"", offered_.index, loss.message);
    const bool gone = words && words->fault == DeviceFault::lost;
    if (gone) ++counters_.losses;
    if (loss.kind == DeviceLoss::Kind::crashed) ++counters_.crashes;
    if (user && user->lost) user->lost(loss);
    if (was_loading)
      answer(fail(loss.kind == DeviceLoss::Kind::crashed ? ErrorCode::module_rejected
                                                         : ErrorCode::unreachable,
                  loss.message));
    // Out of the offer until a new process has run its first kernel.
    if (gone || !was_ready) {
      answer(fail(ErrorCode::unreachable, loss.message));
      set_fault(loss.message);
    }
  }
  if (stopped_) return;
  if (ours || (was_ready && loss.kind == DeviceLoss::Kind::crashed)) return start_process();
  restart_timer_.expires_after(failures_.ended(std::chrono::steady_clock::now()).value());
  restart_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) start_process();
  });
}

}  // namespace orchid::executor
