// The life of a lease: its workers come and go, its modules are loaded, it ends.
#include <sched.h>

#include <algorithm>

#include "lease/lease_core.h"
#include "lease/lease_threads.h"
#include "problem.h"

namespace orchid::sdk {
namespace {

constexpr std::chrono::microseconds spin_alone{2};
constexpr std::chrono::microseconds adaptive_spin{30};
constexpr std::chrono::milliseconds socket_interval{1};
constexpr unsigned most_failed_loads = 3;
constexpr std::chrono::seconds longest_load{60};
/// So long after a worker was lost the gateway is asked often whether there is another. It knows a
/// host to be lost after half a minute or so.
constexpr std::chrono::seconds longest_search{90};

bool is_transient(ErrorCode code) {
  return code == ErrorCode::internal || code == ErrorCode::unreachable ||
         code == ErrorCode::timed_out || code == ErrorCode::system;
}

}  // namespace

LeaseCore::LeaseCore(Terms terms)
    : options_(std::move(terms.options)),
      id_(std::move(terms.grant.id)),
      cores_per_worker_(terms.grant.cores_per_worker),
      memory_(terms.grant.memory),
      source_(std::move(terms.source)),
      rate_(TickRate::since(terms.began)),
      ticks_{.alone = rate_.ticks(spin_alone),
             .spin = options_.wait == Wait::blocking ? 0 : rate_.ticks(adaptive_spin),
             .socket = rate_.ticks(socket_interval)},
      renewed_at_(std::chrono::steady_clock::now().time_since_epoch().count()),
      threads_(std::move(terms.threads)) {}

LeaseCore::~LeaseCore() { release(); }

std::shared_ptr<LeaseCore> LeaseCore::open(Terms terms) {
  LeaseGrant grant = terms.grant;
  auto core = std::make_shared<LeaseCore>(std::move(terms));
  const auto threads = core->threads();
  threads->lanes.look_after(core);
  threads->keeper.keep(core);
  core->add_workers(std::move(grant));
  core->wait_for_workers();
  return core;
}

void LeaseCore::add_workers(LeaseGrant grant) {
  const std::lock_guard lock(lanes_mutex_);
  if (ended()) return;
  for (GrantedWorker& worker : grant.workers) {
    const bool known = std::ranges::any_of(
        owned_lanes_, [&](const auto& lane) { return lane->worker().lease == worker.lease; });
    if (known || owned_lanes_.size() == lane_limit) continue;
    owned_lanes_.push_back(std::make_unique<WorkerLane>(*this, std::move(worker)));
    WorkerLane* lane = owned_lanes_.back().get();
    (void)lane->try_drive();  // before anybody else knows it
    lanes_[owned_lanes_.size() - 1].store(lane);
    lane_count_.store(owned_lanes_.size(), std::memory_order_release);
    lane->open(options_.lane);
    lane->leave();
  }
}

/// A worker may be lost before its lane is there, or its executor taken back: the keeper asks the
/// gateway for another one meanwhile, and ends the lease when there will be none.
void LeaseCore::wait_for_workers() {
  const unsigned wanted = options_.at_least > 0 ? options_.at_least : options_.workers;
  const MonotonicTime until = std::chrono::steady_clock::now() + options_.within;
  std::optional<Error::Details> why;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [&] { return ready_workers() >= wanted || end_; });
    if (!end_ && ready_workers() >= wanted) return;
    why = end_ ? end_ : refusal_;
  }
  const unsigned got = ready_workers();
  release();
  if (why) throw Error(*why);
  throw Error({.kind = ErrorKind::no_capacity,
               .message = "only " + std::to_string(got) + " of " + std::to_string(wanted) +
                          " workers could be reached",
               .hint = "is this program on the workers' host, and its user theirs?",
               .retryable = true});
}

std::shared_ptr<LeaseCode> LeaseCore::load(std::string digest, std::string function,
                                           UniqueFd module) {
  std::shared_ptr<LeaseCode> code;
  {
    const std::lock_guard lock(mutex_);
    if (end_) throw Error(*end_);
    const auto found = std::ranges::find(codes_, digest, &LeaseCode::digest);
    if (found != codes_.end()) {
      code = *found;
      if (!code->module) code->module = std::move(module);
    } else {
      code = std::make_shared<LeaseCode>();
      code->number = static_cast<unsigned>(codes_.size());
      code->digest = std::move(digest);
      code->function = std::move(function);
      code->module = std::move(module);
      codes_.push_back(code);
      codes_version_.fetch_add(1);
    }
  }
  poke_lanes();
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, std::chrono::steady_clock::now() + longest_load,
                      [&] { return code->loaded || code->rejected || end_; });
  if (code->loaded) return code;
  if (code->rejected) throw Error(*code->rejected);
  if (end_) throw Error(*end_);
  throw Error({.kind = ErrorKind::timed_out,
               .message = "no worker has loaded the module within a minute",
               .hint = "try again, or look at the executor's log",
               .function = code->function});
}

std::vector<std::shared_ptr<LeaseCode>> LeaseCore::codes() const {
  const std::lock_guard lock(mutex_);
  return codes_;
}

void LeaseCore::code_loaded(LeaseCode& code, const std::vector<std::string>& entries) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(code.loaded, true)) code.entries = entries;
  code.failed_loads = 0;
  changed_.notify_all();
}

bool LeaseCore::code_rejected(LeaseCode& code, const LaneRejected& why) {
  std::vector<DirectCall*> refused;
  Error::Details details{
      .kind = parse_error_kind(to_string(why.code)).value_or(ErrorKind::internal),
      .message = "cannot be loaded: " + why.message,
      .function = code.function};
  {
    const std::lock_guard lock(mutex_);
    if (why.code == ErrorCode::no_capacity) return true;
    if (is_transient(why.code) && ++code.failed_loads < most_failed_loads) return true;
    code.rejected = details;
    const auto of_code = [&](const DirectCall& call) {
      return call.code == &code ? Turn::now : Turn::never;
    };
    while (DirectCall* call = queue_.take(of_code)) {
      refused.push_back(call);
      waiting_.fetch_sub(1);
    }
    changed_.notify_all();
  }
  for (DirectCall* call : refused) finish_with(*call, details);
  return false;
}

int LeaseCore::module_of(LeaseCode& code) {
  {
    const std::lock_guard lock(mutex_);
    if (code.module) return code.module.get();
    if (std::exchange(code.fetching, true)) return -1;
  }
  for (const auto& known : codes())
    if (const auto lease_threads = threads(); lease_threads && known.get() == &code)
      lease_threads->keeper.fetch(weak_from_this(), known);
  return -1;
}

void LeaseCore::module_fetched(LeaseCode& code, Result<UniqueFd> module) {
  const bool failed = !module;
  {
    const std::lock_guard lock(mutex_);
    code.fetching = false;
    if (!failed && !code.module) code.module = std::move(*module);
    codes_version_.fetch_add(1);
  }
  if (failed && !code_rejected(code, {code.digest, module.error().code, module.error().message}))
    return;
  poke_lanes();
}

void LeaseCore::lane_changed() {
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  if (waiting_.load() != 0) offer();
}

void LeaseCore::lane_died() {
  search_ends_.store(
      (std::chrono::steady_clock::now() + longest_search).time_since_epoch().count());
  lane_changed();
  if (ended()) return;
  if (const auto lease_threads = threads()) lease_threads->keeper.renew_soon(weak_from_this());
}

std::vector<LeaseId> LeaseCore::lost_workers() const {
  std::vector<LeaseId> lost;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < lane_count(); ++i) {
    const WorkerLane& lane = *lanes_[i].load(std::memory_order_relaxed);
    if (lane.phase() == LanePhase::dead && !told_lost_.contains(lane.worker().lease))
      lost.push_back(lane.worker().lease);
  }
  return lost;
}

void LeaseCore::renewed(const std::vector<LeaseId>& told, LeaseGrant grant) {
  renewed_at_.store(std::chrono::steady_clock::now().time_since_epoch().count());
  {
    const std::lock_guard lock(mutex_);
    told_lost_.insert(told.begin(), told.end());
  }
  add_workers(std::move(grant));
}

bool LeaseCore::is_overdue() const {
  const MonotonicTime renewed_at{MonotonicTime::duration(renewed_at_.load())};
  return std::chrono::steady_clock::now() - renewed_at > options_.duration;
}

bool LeaseCore::misses_workers() const {
  const MonotonicTime search_ends{MonotonicTime::duration(search_ends_.load())};
  if (std::chrono::steady_clock::now() >= search_ends) return false;
  unsigned alive = 0;
  for (std::size_t i = 0; i < lane_count(); ++i)
    if (lanes_[i].load(std::memory_order_relaxed)->phase() != LanePhase::dead) ++alive;
  return alive < options_.workers;
}

void LeaseCore::lane_refused(const LaneRefused& why) {
  const std::lock_guard lock(mutex_);
  const auto said = parse_error_kind(to_string(why.code)).value_or(ErrorKind::internal);
  // What a lease that has run ends with.
  const bool over = said == ErrorKind::cancelled || said == ErrorKind::lease_ended;
  refusal_ = Error::Details{.kind = over ? ErrorKind::lease_ended : said,
                            .message = why.message,
                            .hint = hint_for(over ? ErrorKind::lease_ended : said)};
}

void LeaseCore::poke_lanes() {
  for (std::size_t i = 0; i < lane_count(); ++i) lanes_[i].load(std::memory_order_relaxed)->poke();
}

unsigned LeaseCore::ready_workers() const {
  unsigned ready = 0;
  for (std::size_t i = 0; i < lane_count(); ++i)
    if (lanes_[i].load(std::memory_order_relaxed)->phase() == LanePhase::ready) ++ready;
  return ready;
}

unsigned LeaseCore::idle_workers() const {
  unsigned idle = 0;
  for (std::size_t i = 0; i < lane_count(); ++i)
    if (lanes_[i].load(std::memory_order_relaxed)->looks_idle()) ++idle;
  return idle;
}

std::vector<std::int64_t> LeaseCore::worker_pids() const {
  std::vector<std::int64_t> pids;
  for (std::size_t i = 0; i < lane_count(); ++i)
    if (const auto pid = lanes_[i].load(std::memory_order_relaxed)->pid(); pid != 0)
      pids.push_back(pid);
  return pids;
}

bool LeaseCore::has_live_lane() const {
  for (std::size_t i = 0; i < lane_count(); ++i)
    if (lanes_[i].load(std::memory_order_relaxed)->phase() != LanePhase::dead) return true;
  return false;
}

LeaseCapacity LeaseCore::capacity() const {
  LeaseCapacity capacity{.cores_per_worker = cores_per_worker_, .memory_per_worker = memory_};
  for (std::size_t i = 0; i < lane_count(); ++i) {
    const WorkerLane& lane = *lanes_[i].load(std::memory_order_relaxed);
    if (lane.phase() == LanePhase::dead) continue;
    ++capacity.promised;
    if (lane.phase() != LanePhase::ready) continue;
    ++capacity.workers;
    capacity.largest_input = std::max(capacity.largest_input, lane.largest_input());
    capacity.largest_output = std::max(capacity.largest_output, lane.largest_output());
    const GrantedWorker& worker = lane.worker();
    capacity.granted.push_back({.node = worker.node,
                                .cores = worker.cores,
                                .memory = worker.memory,
                                .gpus = worker.gpus,
                                .gpu_model = worker.gpu_model});
    if (std::ranges::find(capacity.nodes, worker.node) == capacity.nodes.end())
      capacity.nodes.push_back(worker.node);
  }
  return capacity;
}

std::shared_ptr<LeaseThreads> LeaseCore::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_;
}

bool LeaseCore::ended() const {
  const std::lock_guard lock(mutex_);
  return end_.has_value();
}

std::optional<Error::Details> LeaseCore::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

void LeaseCore::end(Error::Details why) {
  std::deque<DirectCall*> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (end_) return;
    end_ = why;
    waiting = queue_.take_all();
    waiting_.store(0);
    changed_.notify_all();
  }
  for (DirectCall* call : waiting) finish_with(*call, why);
  const std::lock_guard lock(lanes_mutex_);
  for (const auto& lane : owned_lanes_) lane->want_closed();
  poke_lanes();
}

void LeaseCore::release() {
  end({.kind = ErrorKind::lease_ended,
       .message = "the lease was released",
       .hint = hint_for(ErrorKind::lease_ended)});
  std::shared_ptr<LeaseThreads> threads;
  {
    const std::lock_guard lock(mutex_);
    if (!threads_) return;
  }
  {
    const std::lock_guard lock(lanes_mutex_);
    for (const auto& lane : owned_lanes_) {
      lane->want_closed();
      for (lane->poke(); lane->phase() != LanePhase::dead; lane->poke()) ::sched_yield();
    }
  }
  try {
    source_->release();
  } catch (const Error&) {
    // The executor has its workers back already; the gateway's copy expires.
  }
  const std::lock_guard lock(mutex_);
  threads.swap(threads_);
}

}  // namespace orchid::sdk
