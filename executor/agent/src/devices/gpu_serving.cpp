// Whom a GPU serves: seats, lanes, and the kernels in them.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>
#include <utility>

#include "devices/gpu.h"
#include "foundation/log.h"

namespace orchid::executor {
namespace {

/// How often it asks whether a call is over that uses the GPU.
constexpr std::chrono::milliseconds again_interval{10};
/// For the next call of the same module and tenant over HTTP, which may come with another lease.
constexpr std::chrono::seconds kept_for{1};

}  // namespace

void Gpu::serve(const std::shared_ptr<DeviceUser>& user, Served done) {
  if (stopped_) return;
  if (request_ && request_->user != user) {
    if (request_->user->is_using())
      return done(fail(ErrorCode::no_capacity, "another worker's call waits for the GPU"));
    // It has a seat, and may call what it is told is loaded.
    if (request_->user == served_ && has_new_kernels())
      return done(fail(ErrorCode::no_capacity, "another worker's kernels are to be loaded first"));
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
  if (!request_ || !process_ || !ready_ || process_->was_put_down() || process_->last_words())
    return;
  const std::shared_ptr<DeviceUser> user = request_->user;
  // Nobody is served: the process need not come back from what it is at for another owner.
  if (lane_ends_) {
    if (owner_ != user->owner) replace_for(*user);
    return;
  }
  if (served_ && served_ != user) {
    if (!unseat())
      return answer(fail(ErrorCode::no_capacity, "another worker's call uses the GPU"));
    if (*owner_ == user->owner) return end_lane();
  }
  if (owner_ && *owner_ != user->owner) return replace_for(*user);
  // Kernels are loaded while none runs: a call that begins meanwhile waits for the seat.
  if (!served_)
    begin_lane();
  else if (has_new_kernels() && has_seat() && !unseat())
    return try_again();
  load_kernels();
  if (loading_.empty()) answer(lane_);
}

/// What is left of the owner before is no business of this one.
void Gpu::replace_for(const DeviceUser& user) {
  replace(owner_->lease == user.owner.lease ? "another module" : "another lease");
}

void Gpu::replace(std::string_view why) {
  log::info("event=device_replaced gpu={} pid={} reason=\"{}\"", offered_.index, pid(), why);
  process_->put_down();
}

/// Without one a call of the served worker may wait, but is not in the lane.
bool Gpu::has_seat() const { return served_->worker->page().device_seat.load() != no_device_seat; }

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
  keep_.end();
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

/// The driver has neither got nor refused them.
bool Gpu::is_new(std::uint32_t slot, const SlotKernels& kernels) const {
  const auto known = loaded_.find(slot);
  return kernels.refusal.empty() && (known == loaded_.end() || known->second != kernels.generation);
}

bool Gpu::has_new_kernels() const {
  return std::ranges::any_of(served_->kernels,
                             [this](const auto& item) { return is_new(item.first, item.second); });
}

void Gpu::try_again() {
  again_timer_.expires_after(again_interval);
  again_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) advance();
  });
}

void Gpu::load_kernels() {
  for (const auto& [slot, kernels] : served_->kernels) {
    if (!is_new(slot, kernels)) continue;
    loaded_[slot] = kernels.generation;
    loading_.push_back({.slot = slot, .generation = kernels.generation});
    process_->send(LoadKernels{.lane = lane_, .module = slot, .generation = kernels.generation},
                   {kernels.ptx->get()});
  }
  if (!loading_.empty()) limit(options_.load_limit);
}

void Gpu::kernels_answered(std::uint64_t lane, std::uint32_t module, std::uint32_t generation,
                           const std::string& refusal) {
  if (lane != lane_ || !served_) return;
  const KernelsOfSlot answered{.slot = module, .generation = generation};
  if (loading_.empty() || loading_.front() != answered) return;
  loading_.pop_front();
  if (loading_.empty()) limit_.end();
  refuse(answered, refusal);
  advance();
}

/// `why` empty: they are not refused.
void Gpu::refuse(const KernelsOfSlot& kernels, const std::string& why) {
  const auto found = served_->kernels.find(kernels.slot);
  if (found != served_->kernels.end() && found->second.generation == kernels.generation)
    found->second.refusal = why;
}

void Gpu::answer(const Result<std::uint64_t>& result) {
  if (!request_) return;
  const Request request = std::move(*request_);
  request_.reset();
  for (const Served& done : request.waiting) done(result);
}

void Gpu::limit(std::chrono::milliseconds time) {
  limit_.begin(time, [this] {
    if (!process_ || process_->was_put_down()) return;
    give_up_loading();
    process_->put_down();
  });
}

/// What the driver's compiler is not done with it would not be done with in the next process. That
/// one loads the others.
void Gpu::give_up_loading() {
  if (loading_.empty()) return;
  refuse(loading_.front(),
         fmt::format("the driver's compiler was not done with the kernels within {} s",
                     std::chrono::duration<double>(options_.load_limit).count()));
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
  if (!process_ || process_->was_put_down() || process_->last_words()) return;
  lane_ends_ = true;
  process_->send(EndLane{.lane = lane_});
  limit(compiles ? options_.load_limit : end_patience);
}

void Gpu::lane_ended(const DeviceLaneEnded& message) {
  if (message.lane != lane_) return;
  if (lane_ends_) {
    lane_ends_ = false;
    limit_.end();
    if (!vacated_.empty() && !process_->was_put_down()) keep();
    return advance();
  }
  limit_.end();
  loading_.clear();
  log::warn("event=device_lane_ended gpu={} lane={} by={} reason=\"{}\"", offered_.index, lane_,
            to_string(message.end), message.message);
  if (request_ && request_->user == served_)
    answer(fail(ErrorCode::unreachable, message.message));  // it was not even taken
  if (const auto user = std::exchange(served_, nullptr)) {
    user->worker->page().device_seat.store(no_device_seat);
    const auto kind =
        message.end == DeviceLaneEnd::worker ? DeviceLoss::Kind::nonsense : DeviceLoss::Kind::lost;
    if (user->lost) user->lost({.kind = kind, .message = message.message});
  }
}

void Gpu::vacate(const LeaseId& lease, std::function<void()> done) {
  if (request_ && request_->user->owner.lease == lease) request_.reset();
  if (!process_ || lingers_ || !owner_ || owner_->lease != lease) return done();
  vacated_.push_back(std::move(done));
  if (process_->was_put_down()) return;
  if (owner_->http_tenant && !served_) {
    if (!lane_ends_) keep();
    return;  // else when the lane has ended
  }
  replace("its lease is over");
}

/// Nothing of the lease is at work in the process any more, and its memory is free. HTTP calls come
/// on many connections, whose leases take turns: a new process for each would cost most of a
/// second. Whoever else wants the GPU gets a new one, as does everybody after a while.
void Gpu::keep() {
  keep_.begin(kept_for, [this] {
    if (process_ && !process_->was_put_down() && !served_) process_->put_down();
  });
  tell_vacated();
}

}  // namespace orchid::executor
