#include "devices/gpu.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>
#include <variant>

#include "foundation/log.h"
#include "foundation/visible_text.h"

namespace orchid::executor {
namespace {

/// Of a process that fails again and again: a driver may be installed meanwhile.
constexpr processes::RestartPolicy restarts{.at_once = 1,
                                            .first_pause = std::chrono::milliseconds(100),
                                            .longest_pause = std::chrono::seconds(15),
                                            .window = std::chrono::minutes(2)};
/// The same when there is no driver or no GPU, as before: that takes a person.
constexpr std::chrono::minutes pause_without_driver{2};
/// How often it asks whether a call is over that uses the GPU.
constexpr std::chrono::milliseconds again_interval{10};
constexpr const char* being_started = "its device process is being started";

bool takes_a_person(DeviceFault fault) {
  return fault == DeviceFault::no_driver || fault == DeviceFault::no_device ||
         fault == DeviceFault::old_driver;
}

/// The first line of words that come from a driver, or from whatever says so.
std::string one_line(std::string_view words, std::size_t most) {
  std::string line = visible_text(words.substr(0, words.find('\n')));
  if (line.size() <= most) return line;
  const auto continues = [&line](std::size_t at) {
    return (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U;
  };
  while (most > 0 && continues(most)) --most;
  line.resize(most);
  return line;
}

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
  end_limit();
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
  restart_after(failures_.ended(std::chrono::steady_clock::now()).value());
}

void Gpu::restart_after(std::chrono::milliseconds pause) {
  restart_timer_.expires_after(pause);
  restart_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopped_) start_process();
  });
}

void Gpu::set_fault(std::string fault) {
  fault = one_line(fault, longest_fault);
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
  if (offered_.model.empty()) offered_.model = one_line(message.model, longest_model);
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
    // Who has been told so may have asked again by now.
    if (request_ && request_->user != user)
      return done(fail(ErrorCode::no_capacity, "another worker's call waits for the GPU"));
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
  if (loading_.empty()) answer(lane_);
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
    loading_[slot] = kernels.generation;
    process_->send(LoadKernels{.lane = lane_, .module = slot, .generation = kernels.generation},
                   {kernels.ptx->get()});
  }
  if (!loading_.empty()) limit(options_.load_limit);
}

void Gpu::kernels_answered(std::uint64_t lane, std::uint32_t module, std::uint32_t generation,
                           const std::string& refusal) {
  if (lane != lane_ || !served_) return;
  const auto loading = loading_.find(module);
  if (loading == loading_.end() || loading->second != generation) return;
  loading_.erase(loading);
  if (loading_.empty()) end_limit();
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
  limit_timer_.async_wait([this, number = ++limit_number_](const boost::system::error_code& error) {
    if (error || number != limit_number_ || !process_ || process_->was_put_down()) return;
    process_->put_down();
    give_up_loading();
  });
}

/// What the driver's compiler is not done with it would not be done with in the next process.
void Gpu::give_up_loading() {
  if (loading_.empty()) return;
  const std::string why =
      fmt::format("the driver's compiler was not done with the kernels within {} s",
                  std::chrono::duration<double>(options_.load_limit).count());
  for (const auto& [slot, generation] : std::exchange(loading_, {})) {
    const auto found = served_->kernels.find(slot);
    if (found != served_->kernels.end() && found->second.generation == generation)
      found->second.refusal = why;
  }
  answer(fail(ErrorCode::module_rejected, why));
}

/// A timer that has expired cannot be cancelled any more: its handler is on its way, and finds
/// another number.
void Gpu::end_limit() {
  ++limit_number_;
  limit_timer_.cancel();
}

void Gpu::stop_call(const DeviceUser& user, std::uint64_t call) {
  if (serves(user) && process_) process_->send(StopCall{.lane = lane_, .call = call});
}

void Gpu::release(const DeviceUser& user) {
  if (request_ && request_->user.get() == &user) request_.reset();
  if (serves(user)) end_lane();
}

/// What its worker is at may still run; a process that does not come back from that is ended. The
/// driver's compiler cannot be stopped, and may be at it for much longer than a kernel.
void Gpu::end_lane() {
  served_->worker->page().device_seat.store(no_device_seat);
  served_.reset();
  const bool compiles = !std::exchange(loading_, {}).empty();
  if (!process_ || process_->was_put_down()) return;
  lane_ends_ = true;
  process_->send(EndLane{.lane = lane_});
  limit(compiles ? options_.load_limit : end_patience);
}

void Gpu::lane_ended(const DeviceLaneEnded& message) {
  if (message.lane != lane_) return;
  if (lane_ends_) {
    lane_ends_ = false;
    end_limit();
    return advance();
  }
  end_limit();
  loading_.clear();
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
  const bool was_loading = !std::exchange(loading_, {}).empty();
  lane_ends_ = false;
  end_limit();
  counters_.launches += usage_.launches;
  counters_.kernel_us += usage_.kernel_us;
  usage_ = {};
  const auto user = std::exchange(served_, nullptr);
  const bool had_seat =
      user && user->worker->page().device_seat.exchange(no_device_seat) != no_device_seat;
  for (const auto& done : std::exchange(vacated_, {})) done();
  const bool absent = words && takes_a_person(words->fault) &&
                      offered_.fault == one_line(words->message, longest_fault);
  if (!stopped_ && !ours) {
    if (offered_.fault != one_line(loss.message, longest_fault))  // else it has been said
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
  // Whyever we have ended it: a call that was at work in there waits for answers that do not come.
  // One that has no seat yet gets one in the next process.
  if (ours && had_seat && user->is_using() && user->lost) user->lost(loss);
  if (ours || (was_ready && loss.kind == DeviceLoss::Kind::crashed)) return start_process();
  const std::chrono::milliseconds pause = failures_.ended(std::chrono::steady_clock::now()).value();
  restart_after(absent ? pause_without_driver : pause);
}

}  // namespace orchid::executor
