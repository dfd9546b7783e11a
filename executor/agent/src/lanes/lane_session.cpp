#include "lanes/lane_session.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "foundation/log.h"
#include "protocol/crew.h"
#include "protocol/digest.h"
#include "protocol/lane_protocol.h"

namespace orchid::executor {
namespace {
constexpr std::chrono::milliseconds thread_interval{20};
constexpr std::chrono::milliseconds memory_interval{100};
/// For what the worker has of its own, with UCX or without.
constexpr ByteCount memory_slack = 128_MiB;
constexpr std::chrono::milliseconds progress_interval{50};
static_assert(LaneProgress::whole == transport::whole_progress);
constexpr std::uint64_t spin_for_ever = 1ULL << 32;
constexpr std::uint64_t spin_adaptively = 50;
constexpr std::uint64_t no_call = ~std::uint64_t{0};
constexpr const char* memory_message =
    "the executor's processes together have used up the memory of its grant, and the kernel "
    "killed this worker";
constexpr std::size_t most_cancellations = 256;  // more than calls fit into a lane

std::uint64_t spin_of(WaitMode wait) {
  switch (wait) {
    case WaitMode::hot:
      return spin_for_ever;
    case WaitMode::blocking:
      return 0;
    case WaitMode::adaptive:
      break;
  }
  return spin_adaptively;
}

}  // namespace

LaneSession::LaneSession(LaneServices& services, std::optional<uid_t> uid,
                         std::function<void(LaneSession&)> ended)
    : services_(services),
      uid_(uid),
      ended_(std::move(ended)),
      claim_by_(std::chrono::steady_clock::now() + claim_within),
      replacement_timer_(services.io) {}

LaneChannel::Handlers LaneSession::handlers() {
  return {[this](Packet& packet) { from_client(packet); }, [this] { end(); }};
}

void LaneSession::send(const LaneMessage& message, const std::vector<int>& descriptors) {
  if (over_) return;
  if (auto sent = client_->send(encode(message), descriptors); !sent) end();
}

void LaneSession::refuse(const Failure& failure) {
  send(LaneRefused{failure.code, failure.message});
  end();
}

void LaneSession::from_client(Packet& packet) {
  const auto self = shared_from_this();
  if (reads_ || opening_)
    return refuse({ErrorCode::bad_request, "who opens data says nothing more over its connection"});
  auto message = parse_lane_message(packet.text);
  if (!message) return refuse(message.error());
  if (const auto* wanted = std::get_if<LaneClaim>(&*message)) return claim(*wanted);
  if (take_data_message(*message)) return;
  if (!lease_) return refuse({ErrorCode::denied, "the first message must be a claim"});
  if (const auto* announced = std::get_if<LaneAnnounce>(&*message)) return announce(*announced);
  if (take_module_message(*message, packet)) return;
  if (const auto* cancel = std::get_if<LaneCancel>(&*message)) {
    if (cancellations_.size() == most_cancellations) cancellations_.erase(cancellations_.begin());
    cancellations_.try_emplace(cancel->request);
    return watch(std::chrono::steady_clock::now());
  }
  if (const auto* replace = std::get_if<LaneReplace>(&*message)) {
    if (worker_ == nullptr || (replace->worker != 0 && replace->worker != worker_->id())) return;
    log::warn("event=worker_replaced lease={} reason=\"{}\"", to_string(*lease_), replace->reason);
    worker_->kill(replace->crew_lost && is_in_crew() ? KillReason::crew : KillReason::unresponsive);
    return;
  }
  if (const auto* wire = std::get_if<LaneWire>(&*message)) return this->wire(*wire);
  refuse({ErrorCode::bad_request, "clients do not send this message"});
}

void LaneSession::claim(const LaneClaim& message) {
  if (lease_) return refuse({ErrorCode::bad_request, "one connection can claim one worker only"});
  if (message.protocol < shared_lane_protocol || message.protocol > newest_lane_protocol)
    return refuse({ErrorCode::unsupported,
                   "this executor speaks the lane protocols 1 to 3, 5; update the older side"});
  apart_ = message.protocol == apart_lane_protocol;
  const auto terms = services_.leases.claim({message.lease, message.secret, uid_, apart_});
  if (!terms) return refuse(terms.error());
  lease_ = message.lease;
  client_terms_ = (*terms)->client;
  tenant_ = (*terms)->tenant;
  knows_compiling_ = message.knows_compiling;
  knows_progress_ = message.knows_progress;
  memory_ = (*terms)->memory;
  cores_ = (*terms)->cores_per_worker;
  core_ids_ = (*terms)->core_ids;
  if (auto seated = seat_in_crew(message); !seated) return refuse(seated.error());
  if (!(*terms)->gpus.empty() && services_.devices != nullptr)
    if (Gpu* gpu = services_.devices->find((*terms)->gpus.front());
        gpu != nullptr && !gpu->architecture().empty())
      gpu_.emplace(*gpu);
  take_worker();
}

void LaneSession::take_worker() {
  const auto taken = [weak = weak_from_this()](std::shared_ptr<WorkerProcess> worker) {
    const auto self = weak.lock();
    if (self == nullptr || self->over_) {
      worker->kill(KillReason::released);
      return;
    }
    self->took(std::move(worker));
  };
  if (is_in_crew()) {
    if (!services_.crews->join(crew_member(), seating_, taken))
      refuse(
          {ErrorCode::no_capacity,
           "the crew has all its members, or that one already, or is of another number of them"});
    return;
  }
  if (uid_)
    services_.workers.take(taken);
  else
    services_.workers.take_remote(taken);
}

/// Of what a module does on the lease's GPU.
DeviceOwner LaneSession::device_owner(const std::string& module) const {
  return {.lease = *lease_,
          .module = apart_ ? module : "",
          .http_tenant = is_apart() ? std::optional(tenant_.uid) : std::nullopt};
}

void LaneSession::took(std::shared_ptr<WorkerProcess> worker) {
  worker_ = std::move(worker);
  connected_by_ = std::chrono::steady_clock::now() + limits::lease_claim;
  loading_since_.reset();  // what its predecessor spent on a load is not its fault
  links_answered_ = 0;
  idle_memory_ = {};
  sleep_ = {};
  ending_ = no_call;
  kept_ = {};
  progress_told_ = {};  // its requests have the same numbers
  has_code_ = false;
  swap_by_.reset();
  retire_by_.reset();
  made_.clear();
  asked_.clear();
  services_.workers.on_end(*worker_, [weak = weak_from_this()](const ChildEvent& event) {
    if (const auto self = weak.lock()) self->worker_ended(event);
  });
  if (gpu_) gpu_->took(worker_, device_owner(module_), is_remote());
  if (services_.depots != nullptr)
    services_.depots->take(worker_->id(), worker_->take_service(), tenant_);
  worker_->bind_to(core_ids_);
  if (memory_.value != 0) worker_->limit_memory(memory_);
  if (is_spread()) {  // a worker that is being wired obeys nothing else
    worker_->on_connected([weak = weak_from_this(), id = worker_->id()] {
      if (const auto self = weak.lock(); self != nullptr && self->worker() == id) self->wired();
    });
    return hand_over();
  }
  tell_terms();
  hand_over();
  if (swaps() && retries_.empty()) module_.clear();
  load_again();
}

/// What its lease says.
void LaneSession::tell_terms() {
  if (client_terms_) {
    worker_->set_cores(cores_);
    worker_->tell(Assign{.spin_us = spin_of(client_terms_->wait),
                         .output_limit = limits::direct_size.value,
                         .cores = cores_});
  } else if (cores_ > 1) {  // of one core it knows all that it has to
    worker_->set_cores(cores_);
    worker_->tell(Assign{.spin_us = spin_of(WaitMode::adaptive),
                         .output_limit = limits::output_size.value,
                         .cores = cores_});
  }
}

void LaneSession::hand_over() {
  const transport::LaneDescriptors& lane = worker_->lane();
  LaneClaimed claimed{.worker = worker_->id(),
                      .pid = worker_->pid(),
                      .core = -1,
                      .generation = 1,
                      .request_bytes = lane.geometry.request_bytes,
                      .response_bytes = lane.geometry.response_bytes,
                      .key = {}};
  if (const auto& seat = worker_->crew_seat()) {
    claimed.member = seat->place.member;
    claimed.members = seat->place.members;
    if (is_spread()) claimed.port = worker_->remote_lane().port;
    if (!uid_) return send(claimed);
    return send(claimed, {lane.memory.get(), lane.wake_worker.get(), lane.wake_client.get(),
                          seat->wires->memory.get(), seat->wires->wake[claimed.member].get(),
                          seat->wires->wake[crew::client_member].get()});
  }
  if (uid_)
    return send(claimed, {lane.memory.get(), lane.wake_worker.get(), lane.wake_client.get()});
  claimed.port = worker_->remote_lane().port;
  claimed.key = worker_->remote_lane().key;
  claimed.trusted_fabric = worker_->remote_lane().trusted_fabric;
  send(claimed);
}

void LaneSession::worker_ended(const ChildEvent& event) {
  if (gpu_) gpu_->gone();
  LaneEnded ended = worker_->epitaph(event);
  if (ended.outcome == Outcome::worker_lost && event.kind == ChildEvent::Kind::killed &&
      event.value == SIGKILL && worker_->kill_reason() == KillReason::none &&
      services_.memory_ran_out && services_.memory_ran_out())
    ended.message = memory_message;
  const KillReason why = worker_->kill_reason();
  const bool spoiled = ended.request == 0 && why == KillReason::none;
  const bool swapped = why == KillReason::swapped || (spoiled && retire_by_.has_value());
  if (!swapped && !has_own_counter(why))
    ++services_.counters[spoiled ? "workers_spoiled"
                                 : "workers_" + std::string(to_string(ended.outcome))];
  const std::shared_ptr<WorkerProcess> dead = std::exchange(worker_, nullptr);
  cancellations_.clear();
  if (is_in_crew()) services_.crews->lost(crew_member());
  if (over_) return;
  if (evicted_ || gave_way_) {
    if (is_remote()) ended.log = dead->log_of(ended.request);
    send(ended);
    return end();  // what was to be loaded is loaded elsewhere
  }
  if (swapped) return was_swapped(ended);
  dead->fail_loads(event, ended.message);
  const bool braking = brake_.braking();
  const auto delay = brake_.after_death(std::chrono::steady_clock::now());
  ended.replaced_in = delay;
  if (is_remote()) ended.log = dead->log_of(ended.request);
  send(ended);
  if (delay.count() == 0) return take_worker();
  if (!braking)
    log::warn("event=workers_die_quickly lease={} last=\"{}\"", to_string(*lease_), ended.message);
  replacement_timer_.expires_after(delay);
  replacement_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self != nullptr && !self->over_) self->take_worker();
  });
}

/// What a client's lease keeps is the client's own affair: it has the memory for itself.
void LaneSession::watch_memory(MonotonicTime now) {
  if (client_terms_ || !idle_memory_.is_due(now, worker_->page().calls.load())) return;
  // Its client gives back the lane's pages when nothing is in the lane for a second.
  const ByteCount kept{worker_->own_memory().value + worker_->lane_memory().value};
  if (kept > IdleMemory::bound)
    worker_->tell(Retire{"the functions of this worker kept " + to_string(kept) +
                         " of memory while nobody called them"});
}

/// Over the conversation, so that no answer waits for it; and not by the worker, whose thread is
/// the function's now.
void LaneSession::tell_progress(MonotonicTime now) {
  if (!is_remote() || !knows_progress_ || now - progress_looked_ < progress_interval) return;
  progress_looked_ = now;
  const std::uint64_t request = worker_->page().request_id.load(std::memory_order_relaxed);
  const auto thousandths = worker_->progress_of(request);
  if (!thousandths) return;
  const LaneProgress told =
      std::exchange(progress_told_,
                    {.request = request, .thousandths = static_cast<std::uint32_t>(*thousandths)});
  if (told.request != request || told.thousandths != *thousandths) send(progress_told_);
}

void LaneSession::watch(MonotonicTime now) {
  if (!lease_ && !reads_ && now >= claim_by_)
    return refuse({ErrorCode::timed_out, "no worker was claimed in time"});
  if (evicted_) evict(now);
  if (over_ || worker_ == nullptr) return;
  if (worker_->awaits_client() && now >= connected_by_) {
    if (worker_->kill_reason() == KillReason::none)
      log::warn("event=client_did_not_connect lease={} worker={}", to_string(*lease_),
                worker_->id());
    return worker_->kill(KillReason::no_client);
  }
  StatusPage& page = worker_->page();
  const std::uint64_t word = page.state.load(std::memory_order_acquire);
  if (swap_by_) swap_worker(now);
  worker_->tell_unmaps(now);
  asked_.expire(now);
  watch_loads(now, is_in_call(run_state_of(word)));
  if (!is_in_call(run_state_of(word))) return watch_memory(now);
  tell_progress(now);
  if (over_) return;
  if (now - threads_counted_ >= thread_interval) {
    threads_counted_ = now;
    // Those of its team for kernels are not the function's.
    if (worker_->thread_count() > limits::threads_per_worker + worker_->cores())
      return worker_->kill(KillReason::threads);
  }
  if (now - memory_looked_ >= memory_interval) {
    memory_looked_ = now;
    if (worker_->own_memory().value > worker_->data_limit().value + memory_slack.value)
      return worker_->kill(KillReason::memory);
  }
  const std::uint64_t number = call_of(word);
  if (run_state_of(word) == RunState::ending) return watch_ending(number, now);
  if (gpu_) gpu_->watch();
  if (const auto left = time_left(); left && left->count() <= 0) {
    page.stop.store(number, std::memory_order_relaxed);
    worker_->kill_if_running(number, KillReason::deadline);
    return;
  }
  const auto cancelled = cancellations_.find(page.request_id.load(std::memory_order_relaxed));
  if (cancelled == cancellations_.end()) return;
  std::optional<MonotonicTime>& kill_at = cancelled->second;
  if (!kill_at) {
    page.stop.store(number, std::memory_order_relaxed);
    if (gpu_) gpu_->stop_call(number);
    kill_at = now + limits::cancel_grace;
  } else if (now >= *kill_at) {
    worker_->kill_if_running(number, KillReason::cancelled);
  }
}

/// Its outcome is the worker's to tell, and neither a deadline nor the client ends it any more. But
/// that it says so is no proof of it.
void LaneSession::watch_ending(std::uint64_t number, MonotonicTime now) {
  if (ending_ != number) {
    ending_ = number;
    ended_by_ = now + ending_patience;
  } else if (now >= ended_by_) {
    worker_->kill(KillReason::unresponsive);
  }
}

/// Of the running call; nothing: it has no deadline.
std::optional<std::chrono::nanoseconds> LaneSession::time_left() const {
  const StatusPage& page = worker_->page();
  const std::uint64_t deadline = page.deadline_ns.load(std::memory_order_relaxed);
  if (deadline == 0) return std::nullopt;
  const std::uint64_t ticks = ticks_since(page.started_ticks.load(std::memory_order_relaxed));
  return std::chrono::nanoseconds(
             static_cast<std::int64_t>(std::min<std::uint64_t>(deadline, 1ULL << 60))) -
         services_.rate.duration(ticks);
}

void LaneSession::evict(MonotonicTime now) {
  if (over_) return;
  if (std::exchange(evicted_, true) && worker_ != nullptr &&
      worker_->kill_reason() != KillReason::none)
    return;  // its end is on the way
  if (worker_ == nullptr) return end();
  const std::uint64_t word = worker_->page().state.load(std::memory_order_acquire);
  if (is_in_call(run_state_of(word))) {
    const std::uint64_t number = call_of(word);
    if (!spared_) {
      const auto left = time_left();
      const bool is_about_to_end =
          run_state_of(word) == RunState::ending || (left && *left < eviction_patience);
      spared_ = is_about_to_end ? number : no_call;
      evict_by_ = now + eviction_patience;
    }
    if (spared_ == number && now < evict_by_) return;
    if (worker_->kill_if_running(number, KillReason::evicted)) return;
    // It has ended meanwhile, and what it has made is being published.
    const std::uint64_t now_word = worker_->page().state.load(std::memory_order_acquire);
    if (run_state_of(now_word) == RunState::ending && spared_ != number) {
      spared_ = number;
      evict_by_ = now + eviction_patience;
      return;
    }
  }
  worker_->kill(KillReason::evicted);
}

void LaneSession::revoke(const Failure& why) { refuse(why); }

void LaneSession::end() {
  if (std::exchange(over_, true)) return;
  const auto self = shared_from_this();
  replacement_timer_.cancel();
  if (reads_) services_.data.stop_reading(*reads_);
  // The worker holds this client's data and code: it is never given to another.
  if (gpu_) gpu_->gone();
  if (worker_ != nullptr) worker_->kill(KillReason::released);
  if (lease_ && is_in_crew()) services_.crews->leave(crew_member());
  if (lease_)
    if (const auto closed = services_.leases.give_back(*lease_)) services_.lease_closed(*closed);
  ended_(*this);
}

}  // namespace orchid::executor
