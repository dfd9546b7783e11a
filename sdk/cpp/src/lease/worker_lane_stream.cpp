// A stream in a worker's lane: it has the lane for itself, from `begin` to the function's reply or
// the worker's end.
#include <algorithm>

#include "foundation/files.h"
#include "http/problem.h"
#include "lease/lane_stream.h"
#include "lease/worker_lane.h"
#include "protocol/lane_messages.h"

namespace orchid::sdk {
namespace {

constexpr unsigned most_credit = 16;

}  // namespace

void WorkerLane::begin(LaneStream& stream) {
  stream_ = stream.shared_from_this();
  stream.end = end_;
  ++stream.call.history.attempt;
  last_code_ = stream.call.code->number;
  load_.store(1, std::memory_order_relaxed);  // for as long as it is here
  {
    const std::lock_guard lock(stream.opening);
    stream.call.lane.store(this, std::memory_order_release);
  }
  stream.opened.notify_all();
}

Result<void> WorkerLane::send_entry(LaneStream& stream, const StreamEntry& entry) {
  if (!conversation_.is_ready()) return fail(ErrorCode::unreachable, "the worker is out of reach");
  end_->collect();
  transport::LaneCall call{.input = entry.chunk, .kind = entry.kind};
  if (stream.first_request == 0) {
    const auto* slot = codes_.ready(stream.code->number);
    if (slot == nullptr) return fail(ErrorCode::no_capacity, "the code is being loaded");
    call.kind = RequestKind::call;
    call.flags = flag_stream;
    call.slot = slot->slot;
    call.generation = slot->generation;
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
    if (!stream.first_entry && usual_runs_.size() > modules_per_worker)
      stream.first_entry = {.chunk = {entry.chunk.begin(), entry.chunk.end()}, .last = entry.last};
  }
  // Nobody's call: its answer is taken by what is in the lane.
  flights_.push_entry(*sent);
  ++stream.in_flight;
  return {};
}

void WorkerLane::take_of_stream(const transport::LaneResponse& response) {
  const std::shared_ptr<LaneStream> stream = stream_;
  (void)flights_.pop();
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
    case ResponseKind::need_data:  // which no entry of a stream is answered
      break;
  }
  end_->client->release(response);
  lane_failed({ErrorCode::bad_request, "the worker dropped a stream's input"});
}

/// The worker has dropped the code for another module's. False: it does so too often, or nobody
/// waits for the function any more.
bool WorkerLane::await_code(LaneStream& stream) {
  forget_code(*stream.code);
  announce();
  if (stream.cancel_told || !stream.first_entry ||
      !lane_client::runs_again_without_code(stream.call.history))
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
  if (codes_.ready(stream.code->number) != nullptr) {
    ++stream.call.history.attempt;
    const auto sent = send_entry(stream, {.chunk = first.chunk, .last = first.last});
    if (sent || phase() != LanePhase::ready) return;
    trouble = "the stream's first chunk could not be sent a second time: " + sent.error().message;
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
  count_load();
  finish(stream->call);
}

/// Its caller, or what became of that, may want it to end.
void WorkerLane::obey_stream() {
  const std::shared_ptr<LaneStream> stream = stream_;
  DirectCall& call = stream->call;
  if (!call.cancel_wanted.load(std::memory_order_acquire) || stream->cancel_told) return;
  stream->cancel_told = true;
  call.history.cancelled = true;
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

void WorkerLane::receive_chunks(const LaneStream& stream) {
  if (stream_.get() != &stream) return;
  if (end_) end_->collect();
  (void)take_answers();
  if (attention_.load(std::memory_order_relaxed) != attention_seen_) handle_events();
}

/// Gives up what is overdue: the stream, or the executor's word on a lane that broke. True: the
/// stream is done.
bool WorkerLane::check_due(const LaneStream& stream) {
  const MonotonicTime now = std::chrono::steady_clock::now();
  const bool is_late = now >= stream.call.due + lane_client::answer_grace;
  obey(is_late ? conversation_.give_up("a stream is overdue and the executor did not end it", now)
               : conversation_.expire(now));
  return stream.call.done();
}

void WorkerLane::drive_for(const LaneStream& stream) {
  drive([&, seen = stream.news] { return stream.news != seen || stream.call.done(); },
        [&] { return check_due(stream); },
        [&] { return std::min(stream.call.due + lane_client::answer_grace, conversation_.due()); });
}

}  // namespace orchid::sdk
