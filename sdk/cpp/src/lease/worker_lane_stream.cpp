// A stream in a worker's lane: it has the lane for itself, from `begin` to the function's reply or
// the worker's end.
#include <sched.h>

#include <algorithm>

#include "foundation/files.h"
#include "lease/lane_stream.h"
#include "lease/lease_core.h"
#include "lease/worker_lane.h"
#include "problem.h"
#include "protocol/lane_messages.h"

namespace orchid::sdk {
namespace {

constexpr unsigned looks_per_clock = 64;
constexpr unsigned most_credit = 16;

}  // namespace

void WorkerLane::begin(LaneStream& stream) {
  stream_ = stream.shared_from_this();
  stream.end = end_;
  ++stream.call.attempt;
  last_code_ = stream.call.code->number;
  load_.store(1, std::memory_order_relaxed);  // for as long as it is here
  {
    const std::lock_guard lock(stream.opening);
    stream.call.lane.store(this, std::memory_order_release);
  }
  stream.opened.notify_all();
}

Result<void> WorkerLane::send_entry(LaneStream& stream, const StreamEntry& entry) {
  if (phase_.load(std::memory_order_relaxed) != LanePhase::ready)
    return fail(ErrorCode::unreachable, "the worker is out of reach");
  end_->collect();
  transport::LaneCall call{.input = entry.chunk, .kind = entry.kind};
  if (stream.first_request == 0) {
    const Slot& slot = slots_[stream.code->number];
    call.kind = RequestKind::call;
    call.flags = flag_stream;
    call.slot = slot.slot;
    call.generation = slot.generation;
    call.entry = stream.call.entry;
    call.deadline =
        std::max(stream.call.due - std::chrono::steady_clock::now(), std::chrono::nanoseconds(1));
  }
  if (entry.last) call.flags |= flag_last;
  auto sent = end_->client->send(call);
  if (!sent) {
    const bool stays =
        sent.error().code == ErrorCode::no_capacity || sent.error().code == ErrorCode::too_large;
    if (!stays) lane_failed(sent.error());
    return fail(std::move(sent.error()));
  }
  if (entry.home != nullptr && entry.home->end == end_) entry.home->used = true;
  if (stream.first_request == 0) {
    stream.first_request = *sent;
    if (!stream.first_entry && slots_.size() > modules_per_worker)
      stream.first_entry = {.chunk = {entry.chunk.begin(), entry.chunk.end()}, .last = entry.last};
  }
  // Nobody's call: its answer is taken by what is in the lane.
  flights_[tail_ % flight_limit] = {.call = nullptr, .request = *sent, .cancel_sent = true};
  ++tail_;
  ++stream.in_flight;
  return {};
}

void WorkerLane::take_of_stream(const transport::LaneResponse& response) {
  const std::shared_ptr<LaneStream> stream = stream_;
  ++head_;
  --stream->in_flight;
  ++stream->news;
  if (response.kind == ResponseKind::need_code && await_code(*stream))
    return end_->client->release(response);
  stream->first_entry.reset();
  switch (response.kind) {
    case ResponseKind::chunk:
      if (stream->input_ended) stream->credit = std::min(2 * stream->credit, most_credit);
      if (!stream->keep(response)) end_->client->release(response);
      return;
    case ResponseKind::reply:
      return end_stream(response);
    case ResponseKind::need_code:
      end_->client->release(response);
      stream->call.error = std::make_unique<Error::Details>(
          stream->cancel_told
              ? failure_of(stream->call, ErrorKind::cancelled,
                           "the stream was cancelled before it started")
              : failure_of(stream->call, ErrorKind::worker_lost,
                           "the worker has dropped the function's code, and gets it again"));
      return forget_stream();
    case ResponseKind::discarded:
      break;
  }
  end_->client->release(response);
  lane_failed({ErrorCode::bad_request, "the worker threw a stream's input away"});
}

/// The worker has dropped the code for another module's. False: it does so too often, or nobody
/// waits for the function any more.
bool WorkerLane::await_code(LaneStream& stream) {
  slots_[stream.code->number] = {};
  announce();
  if (stream.cancel_told || !stream.first_entry || ++stream.call.stale_answers > most_stale_answers)
    return false;
  stream.first_entry->waits_for_code = true;
  stream.first_request = 0;
  return true;
}

bool WorkerLane::stream_waits_for(const LeaseCode& code) const {
  return stream_ != nullptr && stream_->code.get() == &code && stream_->first_entry &&
         stream_->first_entry->waits_for_code;
}

/// Its code was loaded again, or never will be.
void WorkerLane::begin_again(LaneStream& stream) {
  LaneStream::FirstEntry& first = *stream.first_entry;
  ++stream.news;
  first.waits_for_code = false;
  std::string trouble = "the worker cannot load the function's code again";
  if (slots_[stream.code->number].state == SlotState::ready) {
    const auto sent = send_entry(stream, {.chunk = first.chunk, .last = first.last});
    if (sent || phase() != LanePhase::ready) return;
    trouble = "the first chunk does not go into the lane again: " + sent.error().message;
  }
  stream.call.error = std::make_unique<Error::Details>(
      failure_of(stream.call, ErrorKind::internal, std::move(trouble)));
  forget_stream();
}

void WorkerLane::end_stream(const transport::LaneResponse& response) {
  DirectCall& call = stream_->call;
  call.run_time = response.run_time;
  if (response.outcome == Outcome::ok) {
    if (!stream_->keep(response)) end_->client->release(response);
    return forget_stream();
  }
  set_error(call, response);
  end_->client->release(response);
  forget_stream();
}

/// The stream is its owner's from then on. Entries behind its end are answered all the same.
void WorkerLane::forget_stream() {
  const std::shared_ptr<LaneStream> stream = std::exchange(stream_, nullptr);
  load_.store(static_cast<unsigned>(tail_ - head_), std::memory_order_relaxed);
  finish(stream->call);
}

/// After the worker's end, as `empty` for calls.
void WorkerLane::lose_stream(const LaneEnded& how) {
  const std::shared_ptr<LaneStream> stream = std::exchange(stream_, nullptr);
  ++stream->news;
  if (core_.ended()) return core_.put_back(stream->call);  // which tells why it has
  lost(stream->call, how);
}

/// Its caller, or what became of that, may want it to end.
void WorkerLane::obey_stream() {
  const std::shared_ptr<LaneStream> stream = stream_;
  DirectCall& call = stream->call;
  if (!call.cancel_wanted.load(std::memory_order_acquire) || stream->cancel_told) return;
  stream->cancel_told = true;
  call.cancelled = true;
  if (stream->first_request == 0) {
    call.error = std::make_unique<Error::Details>(
        failure_of(call, ErrorKind::cancelled, "the stream was cancelled before it started"));
    return forget_stream();
  }
  tell(LaneCancel{stream->first_request});
  // For a function that waits for input. One that cannot be told so is killed soon.
  (void)send_entry(*stream, {.kind = RequestKind::stop});
}

bool WorkerLane::has_attentive_owner() const {
  // Between hosts the lane goes on only while somebody drives it.
  return stream_ != nullptr && !stream_->abandoned && kind_ == LaneKind::local;
}

void WorkerLane::look_at(const LaneStream& stream) {
  if (stream_.get() != &stream) return;
  if (end_) end_->collect();
  (void)take_answers();
  if (attention_.load(std::memory_order_relaxed) != attention_seen_) look_around();
}

/// Gives up what is overdue: the stream, or the executor's word on a lane that broke.
void WorkerLane::check_due(const LaneStream& stream) {
  const MonotonicTime now = std::chrono::steady_clock::now();
  if (now >= stream.call.due + LeaseCore::last_words)
    replace("a stream is overdue and the executor did not end it");
  else
    check_time(now);
}

void WorkerLane::drive_for(const LaneStream& stream) {
  const bool sleeps = core_.options().wait != Wait::hot;
  const LeaseCore::Ticks& ticks = core_.ticks();
  const std::uint64_t seen = stream.news;
  std::uint64_t start = 0;
  std::uint64_t socket_looked = 0;
  while (stream.news == seen && !stream.call.done()) {
    bool progress = false;
    for (unsigned look = 0; look < looks_per_clock && !progress; ++look)
      progress = take_answers() || attention_.load(std::memory_order_relaxed) != attention_seen_;
    if (progress) {
      if (attention_.load(std::memory_order_relaxed) != attention_seen_) look_around();
      start = 0;
      continue;
    }
    const std::uint64_t now = ticks_now();
    if (start == 0) start = socket_looked = now;
    if (sleeps && now - start >= ticks.spin) {
      check_due(stream);
      if (stream.call.done()) return;
      const MonotonicTime due = stream.call.due + LeaseCore::last_words;
      sleep(is_timed_.load(std::memory_order_relaxed) ? std::min(due, patience_ends_) : due);
      start = 0;
    } else if (now - start > ticks.alone) {
      ::sched_yield();
      if (now - socket_looked < ticks.socket) continue;
      socket_looked = now;
      read_socket();
      check_due(stream);
    }
  }
}

}  // namespace orchid::sdk
