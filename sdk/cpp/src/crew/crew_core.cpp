// The calls of a crew: how they are sent, answered, cancelled and begun again.
#include "crew/crew_core.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "foundation/cpu_pause.h"
#include "foundation/files.h"
#include "http/problem.h"

namespace orchid::sdk {
namespace {

/// So long a caller looks by itself before it sleeps.
constexpr std::chrono::microseconds caller_spin{50};
/// So often a crew may be lost under a call, though no call is to blame. Leases that are taken back
/// do not count.
constexpr unsigned most_losses = 16;
/// That the gateway was not told of yet; of more the oldest are forgotten.
constexpr std::size_t most_traced = 16;
/// Of what the children of one call have answered.
constexpr ByteCount most_kept = 16_MiB;
constexpr ByteCount most_kept_of_all = 64_MiB;
/// What it costs to keep one, besides its bytes.
constexpr std::size_t kept_cost = 128;

}  // namespace

Error::Details CrewCore::no_crew_in_time() {
  return {.kind = ErrorKind::no_capacity,
          .message = "the crew's workers did not come in time",
          .hint = "let it take longer (within), or ask for fewer members"};
}

std::shared_ptr<CrewCore> CrewCore::open(const CrewOptions& options,
                                         std::unique_ptr<CrewSource> source) {
  LeaseGrant grant = source->take(options);
  auto core = std::make_shared<CrewCore>(options, std::move(source), std::move(grant));
  Lock lock(core->mutex_);
  const bool stood = core->changed_.wait_for(
      lock, options.within, [&] { return core->formations_ > 0 || core->why_none_.has_value(); });
  if (core->formations_ > 0) return core;
  Error::Details why = stood ? *core->why_none_ : no_crew_in_time();
  lock.unlock();
  core->release();
  throw Error(std::move(why));
}

CrewCore::CrewCore(const CrewOptions& options, std::unique_ptr<CrewSource> source, LeaseGrant grant)
    : options_(options), source_(std::move(source)), lease_(grant.id), grant_(std::move(grant)) {
  poke_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  for (std::uint32_t place = crew::open_calls; place > 0; --place)
    free_places_.push_back(place - 1);
  driver_ = std::thread([this] { drive(); });
  keeper_ = std::thread([this] { keep(); });
}

CrewCore::~CrewCore() { release(); }

void CrewCore::poke() const {
  constexpr std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(poke_.get(), &one, sizeof(one));
}

std::string CrewCore::id() const {
  const std::lock_guard lock(mutex_);
  return lease_;
}

unsigned CrewCore::formations() const {
  const std::lock_guard lock(mutex_);
  return formations_;
}

std::vector<std::int64_t> CrewCore::pids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::int64_t> pids;
  if (!stands()) return pids;
  for (const Seat& seat : seats_) pids.push_back(seat.pid);
  return pids;
}

void CrewCore::submit(const std::shared_ptr<CrewCall>& call) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return fail(*call, ErrorKind::lease_ended, "the crew was released");
  waiting_.push_back(call);
  launch();
  if (call->history.attempt == 0) poke();
}

void CrewCore::look_closely() {
  const std::lock_guard lock(mutex_);
  if (idle_) poke();
}

/// In their order, but for those whose module is still being loaded.
void CrewCore::launch() {
  std::deque<std::shared_ptr<CrewCall>> later;
  while (!waiting_.empty() && stands() && !free_places_.empty()) {
    std::shared_ptr<CrewCall> call = std::move(waiting_.front());
    waiting_.pop_front();
    if (!call->told && (!is_loaded(*call->module) || !send(call))) later.push_back(std::move(call));
  }
  waiting_.insert(waiting_.begin(), later.begin(), later.end());
}

/// False: it has to wait.
bool CrewCore::send(const std::shared_ptr<CrewCall>& call) {
  const auto left = call->due - std::chrono::steady_clock::now();
  if (left.count() <= 0) {
    fail(*call, ErrorKind::deadline_exceeded, "the deadline passed before the call began");
    return true;
  }
  if (call->member > members_) {
    fail(*call, ErrorKind::worker_lost,
         "there is no member " + std::to_string(call->member) + " any more: the crew has " +
             std::to_string(members_) + " members now");
    return true;
  }
  const std::uint32_t place = free_places_.back();
  CallHeader header;
  header.request_id = ++rounds_ * crew::window_places + place;
  header.deadline_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(left).count());
  header.entry = call->entry;
  header.kind = static_cast<std::uint8_t>(RequestKind::call);
  crew::set_module_key(header, call->module->key);
  crew::set_hops(header, call->hops);
  crew::set_once(header, call->at_most_once);
  crew::set_traced(header, call->traced);
  const auto payload = build(*call, header.request_id);
  if (!payload) return true;
  give_kept_answers(*call, header.request_id);
  if (auto sent = end_->send(header, {.to = call->member, .payload = *payload, .log = {}}); !sent) {
    break_up(sent.error().message);
    return false;
  }
  free_places_.pop_back();
  flights_[place] = call;
  numbers_[place] = header.request_id;
  call->cancel_told = false;
  ++call->history.attempt;
  return true;
}

void CrewCore::take_answers() {
  while (end_) {
    auto message = end_->receive();
    if (!message && message.error().code == ErrorCode::unreachable)
      return part(message.error().message);
    if (!message) return break_up(message.error().message);
    if (!*message) break;
    take_answer(**message);
    end_->done();
  }
  if (!waiting_.empty()) launch();
}

/// Whatever answers what nobody asks is forgotten: what its place is used for now has another
/// number.
void CrewCore::take_answer(const transport::CrewMessage& message) {
  const CallHeader& header = message.header;
  const std::uint32_t place = crew::place_of(header.request_id);
  const std::shared_ptr<CrewCall> call = flights_[place];
  if (call == nullptr || numbers_[place] != header.request_id || header.status >= outcome_count)
    return;
  flights_[place].reset();
  free_places_.push_back(place);
  answered_ = true;
  if (call->told) return;
  if (static_cast<ResponseKind>(header.kind) == ResponseKind::need_code) {
    // Earlier steps of it have run.
    if (call->at_most_once || !lane_client::runs_again_without_code(call->history))
      return fail(*call, ErrorKind::worker_lost,
                  "its members drop the call's module again and again");
    call->module->loaded_at.clear();
    announce(*call->module);
    waiting_.push_front(call);
    return;
  }
  const auto outcome = static_cast<Outcome>(header.status);
  if (outcome == Outcome::ok) {
    Reply reply;
    reply.output.assign(message.payload.begin(), message.payload.end());
    reply.timing.run = std::chrono::nanoseconds(static_cast<std::int64_t>(header.deadline_ns));
    if (call->traced) {
      Trace trace = split_trace(message.log.text);
      reply.path = trace.path;
      remember(*call, "ok", "", std::move(trace));
    }
    return finish(*call, std::move(reply));
  }
  // However it ended then: it was asked to.
  if (call->history.cancelled) return fail(*call, ErrorKind::cancelled, "the call was cancelled");
  if (call->cancel_told || call->due <= std::chrono::steady_clock::now())
    return fail(*call, ErrorKind::deadline_exceeded, "the call's deadline has passed");
  fail(*call, kind_of(outcome),
       (header.flags & flag_message) != 0 ? std::string(as_text(message.payload))
                                          : std::string(to_string(outcome)),
       std::string(message.log.text));
}

void CrewCore::drive_for(const std::shared_ptr<CrewCall>& call) {
  if (options_.wait == Wait::blocking) return;
  const auto until = std::chrono::steady_clock::now() + caller_spin;
  Lock lock(mutex_);
  // Who answers while we look need not wake anybody.
  if (stands()) end_->finish_sleep();
  while (!call->told && stands() &&
         (options_.wait == Wait::hot || std::chrono::steady_clock::now() < until)) {
    take_answers();
    if (call->told) break;
    lock.unlock();
    cpu_pause();
    lock.lock();
  }
  while (end_ && !end_->prepare_to_sleep()) take_answers();
}

void CrewCore::finish(CrewCall& call, Reply reply) {
  call.told = true;
  call.result.set_value(std::move(reply));
}

void CrewCore::fail(CrewCall& call, ErrorKind kind, std::string message, std::string log) {
  if (std::exchange(call.told, true)) return;
  if (call.traced) {
    Trace trace = split_trace(log);
    log = trace.log;
    remember(call, std::string(to_string(kind)), message, std::move(trace));
  }
  call.result.set_exception(std::make_exception_ptr(
      Error({.kind = kind,
             .message = std::move(message),
             .hint = hint_for(kind),
             .outcome = is_outcome(kind) ? std::string(to_string(kind)) : std::string{},
             .function = call.function,
             .node = node_,
             .attempt = call.history.attempt,
             .retryable = is_retryable(kind),
             .log = std::move(log)})));
}

void CrewCore::remember(const CrewCall& call, std::string outcome, std::string message,
                        Trace trace) {
  if (traced_.size() == most_traced) traced_.pop_front();
  traced_.push_back({.function = call.function,
                     .member = call.member,
                     .outcome = std::move(outcome),
                     .message = std::move(message),
                     .took = std::chrono::steady_clock::now() - call.asked,
                     .trace = std::move(trace)});
  clip(traced_.back());
  wanted_.notify_all();
}

void CrewCore::fail_waiting(const CrewModule& module) {
  for (const auto& call : waiting_)
    if (call->module.get() == &module && module.failure)
      fail(*call, module.failure->kind, module.failure->message);
}

void CrewCore::cancel(const std::shared_ptr<CrewCall>& call) {
  const std::lock_guard lock(mutex_);
  if (call->told) return;
  call->history.cancelled = true;
  const auto flight = std::ranges::find(flights_, call);
  if (flight == flights_.end())
    return fail(*call, ErrorKind::cancelled, "the call was cancelled before it began");
  order_end(static_cast<std::uint32_t>(flight - flights_.begin()));
}

/// Whoever gets the call next does not run it; the executor ends it where it runs.
void CrewCore::order_end(std::uint32_t place) {
  if (!end_ || std::exchange(flights_[place]->cancel_told, true)) return;
  end_->cancel(numbers_[place]);
  tell_all(LaneCancel{.request = numbers_[place]});
}

/// Of calls that nobody waits in; a caller that waits says so at once.
void CrewCore::obey_stops() {
  for (const auto& call : waiting_)
    if (call->stop.stop_requested())
      fail(*call, ErrorKind::cancelled, "the call was cancelled before it began");
  for (std::uint32_t place = 0; place < flights_.size(); ++place) {
    const auto& call = flights_[place];
    if (call == nullptr || !call->stop.stop_requested()) continue;
    call->history.cancelled = true;
    order_end(place);
  }
}

void CrewCore::expire(MonotonicTime now) {
  std::erase_if(waiting_, [&](const auto& call) {
    if (call->due <= now)
      fail(*call, ErrorKind::deadline_exceeded,
           why_none_ ? "the deadline passed while there was no crew: " + why_none_->message
                     : "the deadline passed before the call began");
    return call->told;
  });
  if (std::exchange(answered_, false)) answered_at_ = now;
  // Behind a long call others wait beyond their deadlines, and nobody hangs: they are answered soon
  // after that one.
  const auto given_up = [&](const auto& call) {
    return call == nullptr ||
           std::max(call->due, answered_at_) + 2 * lane_client::answer_grace <= now;
  };
  for (std::uint32_t place = 0; place < flights_.size(); ++place) {
    const auto& call = flights_[place];
    if (call == nullptr || call->due > now) continue;
    order_end(place);
    if (call->due + lane_client::answer_grace <= now)
      fail(*call, ErrorKind::deadline_exceeded, "the call's deadline has passed");
    if (stands() && given_up(call) && std::ranges::all_of(flights_, given_up))
      return break_up("a call is overdue, and the executor did not end it");
  }
}

/// Of what their calls' children have answered. All members have ended, or nobody can say.
void CrewCore::find_kept_answers() {
  std::size_t kept_of_all = 0;
  for (const auto& call : waiting_) kept_of_all += call->kept_bytes;
  for (const auto& call : flights_) kept_of_all += call == nullptr ? 0 : call->kept_bytes;
  for (std::uint32_t member = 1; member <= members_; ++member)
    transport::AnswerShelf::read(end_->shelf_from(member), [&](std::uint64_t request_id,
                                                               std::uint64_t key,
                                                               std::span<const std::byte> answer) {
      const std::uint32_t place = crew::place_of(request_id);
      const auto& call = flights_[place];
      if (call == nullptr || numbers_[place] != request_id || call->told || call->at_most_once)
        return;
      const std::size_t cost = answer.size() + kept_cost;
      if (call->kept_bytes + cost > most_kept.value || kept_of_all + cost > most_kept_of_all.value)
        return;
      if (!call->kept.try_emplace(key, answer.begin(), answer.end()).second) return;
      call->kept_bytes += cost;
      kept_of_all += cost;
    });
}

/// To all members, since nobody knows where it will wait for its children. What finds no room runs
/// again.
void CrewCore::give_kept_answers(const CrewCall& call, std::uint64_t request_id) {
  for (const auto& [key, answer] : call.kept)
    for (transport::AnswerShelf& shelf : shelves_)
      (void)shelf.put(request_id, key, answer, transport::AnswerShelf::WhenFull::stop);
}

/// No member of the crew that they were sent to is left. `all_began`: none of them may be begun
/// again as if nothing had happened.
void CrewCore::take_back_all(bool all_began) {
  const auto is_to_blame = [&](const LaneEnded& ended) {
    const std::uint32_t place = crew::place_of(ended.request);
    return numbers_[place] == ended.request && flights_[place] != nullptr;
  };
  const bool nobody_knows_why =
      !std::exchange(taken_back_, false) && std::ranges::none_of(named_, is_to_blame);
  for (std::uint32_t place = crew::open_calls; place > 0; --place) {
    const std::shared_ptr<CrewCall> call = std::exchange(flights_[place - 1], nullptr);
    if (call == nullptr) continue;
    free_places_.push_back(place - 1);
    if (call->told) continue;
    if (nobody_knows_why) ++call->losses;
    const auto named = std::ranges::find(named_, numbers_[place - 1], &LaneEnded::request);
    judge_lost(call, named == named_.end() ? nullptr : &*named, all_began);
  }
  named_.clear();
  why_lost_.clear();
}

/// Where a call was that nobody names is not known: between two members, or at one that was ended
/// with the others. It has begun, but it is not what ended them.
void CrewCore::judge_lost(const std::shared_ptr<CrewCall>& call, const LaneEnded* named,
                          bool began) {
  const LaneEnded lost{.message = why_lost_.empty()
                                      ? "a member of the crew was lost"
                                      : "a member of the crew was lost: " + why_lost_};
  const LaneEnded& ended = named != nullptr ? *named : lost;
  if (call->losses == most_losses)
    return fail(*call, ErrorKind::worker_lost,
                "the crew was lost " + std::to_string(most_losses) +
                    " times while the call was under way, and no call is known to have done it; "
                    "the last time " +
                    lost.message);
  const auto verdict =
      lane_client::judge(call->history,
                         {.named = named != nullptr || began || call->at_most_once,
                          .at_most_once = call->at_most_once,
                          .deadline_passed = std::chrono::steady_clock::now() >= call->due},
                         ended);
  if (verdict.runs_again) return waiting_.push_front(call);
  fail(*call, kind_of(verdict.outcome), std::string(verdict.message), ended.log.text);
}

}  // namespace orchid::sdk
