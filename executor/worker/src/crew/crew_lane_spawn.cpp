// What calls of a crew have spawned: it waits in this member's book, or is lent to members that
// have nothing to do (decision 0042).
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "crew/crew_lane.h"
#include "protocol/limits.h"

namespace orchid::executor {
namespace {

std::span<const std::byte> as_message(std::string_view text) {
  return std::as_bytes(std::span(text))
      .first(std::min<std::size_t>(text.size(), limits::message_size.value));
}

std::unexpected<Failure> nonsense_of(std::uint32_t member, std::string_view what) {
  return fail(ErrorCode::bad_request,
              fmt::format("member {} wrote nonsense into its crew ({})", member, what));
}

}  // namespace

/// After a call of a ring a step of the book has its turn, and after each step the rings are looked
/// at: neither keeps the other waiting for longer than one run.
Result<std::optional<transport::LaneRequest>> CrewLane::take() {
  Result<std::optional<transport::LaneRequest>> request;
  input_ = {};  // of what has run
  (void)std::exchange(outputs_, {});
  forget_wishes();
  if (book_.spare() > 0)
    if (auto lent = lend_children(); !lent) {
      request = fail(std::move(lent.error()));
      return request;
    }
  const bool step_first = std::exchange(step_next_, false) && book_.has_steps();
  if (step_first) {
    request = take_step();
    if (!request || *request) return request;
  }
  request = take_call();
  if (!request || *request) {
    step_next_ = true;
  } else {
    request = take_step();
  }
  end_.set_hungry(request && !*request);
  return request;
}

/// Steps whose call is over end here, and never run.
Result<std::optional<transport::LaneRequest>> CrewLane::take_step() {
  Result<std::optional<transport::LaneRequest>> request;
  while (auto step = book_.next()) {
    const std::uint64_t due = step->due;
    begin(std::move(*step));
    const std::uint64_t now = due == 0 ? 0 : ticks_now();
    const bool over = end_.is_cancelled(call_.request_id);
    if (!over && (due == 0 || now < due)) {
      call_.deadline_ns = due == 0 ? 0 : nanoseconds_between(now, due);
      request->emplace(request_of(input_.bytes()));
      return request;
    }
    auto ended = over ? end_unrun(Outcome::cancelled, cancelled_between)
                      : end_unrun(Outcome::deadline_exceeded, late_between);
    if (ended) continue;
    request = fail(std::move(ended.error()));
    return request;
  }
  return request;
}

std::uint64_t CrewLane::nanoseconds_between(std::uint64_t now, std::uint64_t due) const {
  if (now >= due) return 1;
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(parts_.rate.duration(due - now).count(), 1));
}

void CrewLane::begin(Step step) {
  call_ = step.header;
  from_ = crew::client_member;  // what it forwards to itself may lie in either room
  turn_ = 0;
  asker_ = step.asker;
  input_ = std::move(step.input);
  outputs_ = std::move(step.outputs);
  log_ = std::move(step.log);
}

/// One that has something to do lends nothing less for that: who is hungry is found between any two
/// steps.
Result<void> CrewLane::lend_children() {
  const transport::CrewEnd::Place& place = end_.place();
  for (std::uint32_t member = 1; member <= place.members && book_.spare() > 0; ++member) {
    if (member == place.member || !book_.can_lend(member) || !end_.claim_hungry(member)) continue;
    for (std::size_t left = book_.share(place.members); left > 0; --left) {
      const auto loan = book_.lend(member);
      if (!loan) break;
      if (auto sent = send_loan(member, *loan); !sent) return sent;
    }
  }
  return {};
}

Result<void> CrewLane::send_loan(std::uint32_t member, const SpawnBook::Loan& loan) {
  CallHeader header = loan.child.header;
  header.kind = static_cast<std::uint8_t>(crew::MessageKind::child);
  // One that is late is told so at its new place, too.
  if (loan.child.due != 0) header.deadline_ns = nanoseconds_between(ticks_now(), loan.child.due);
  return end_.send(
      header, {.to = member, .loan = loan.number, .payload = loan.child.input.bytes(), .log = {}});
}

Result<void> CrewLane::take_of_loan(const transport::CrewMessage& message) {
  const bool is_child = message.header.kind == static_cast<std::uint8_t>(crew::MessageKind::child);
  return is_child ? borrow(message) : take_end(message);
}

Result<void> CrewLane::borrow(const transport::CrewMessage& message) {
  Step child;
  child.header = message.header;
  if (message.header.deadline_ns != 0)
    child.due =
        ticks_now() + parts_.rate.ticks(std::chrono::nanoseconds(message.header.deadline_ns));
  child.asker = {
      .kind = Asker::Kind::member, .loan = message.header.held_answers, .number = message.from};
  if (!child.input.assign(message.payload)) throw std::bad_alloc();
  end_.done();
  end_.set_hungry(false);  // that was its answer; said again, it asks for more
  if (!book_.borrow(std::move(child))) return nonsense_of(message.from, "a child");
  return {};
}

Result<void> CrewLane::take_end(const transport::CrewMessage& message) {
  const CallHeader& header = message.header;
  const auto asker = book_.take_back(message.from, header.held_answers, header.request_id);
  const auto kind = static_cast<ResponseKind>(header.entry);
  if (!asker || header.status >= outcome_count ||
      (kind != ResponseKind::reply && kind != ResponseKind::need_code))
    return nonsense_of(message.from, "a child's end");
  StepEnd end{.kind = kind, .outcome = static_cast<Outcome>(header.status)};
  if (!end.payload.assign(message.payload)) throw std::bad_alloc();
  end.log.append(message.log.text, message.log.dropped);
  const std::uint64_t request_id = header.request_id;
  end_.done();
  return settle(*asker, request_id, std::move(end));
}

std::optional<CrewLane::Refusal> CrewLane::make_step(std::string_view asked, const Wish& wish,
                                                     Step& step) const {
  const auto refuse = [&](Outcome outcome, std::string_view why) {
    return Refusal{.outcome = outcome, .message = fmt::format("{}: {}", asked, why)};
  };
  if (crew::hops_of(call_) == 0)
    return refuse(Outcome::limit_exceeded,
                  "the call has gone on as often as it may: it goes in circles, or its caller has "
                  "to allow more hops");
  if (wish.input.size() > crew::payload_size.value)
    return refuse(
        Outcome::limit_exceeded,
        fmt::format("{} are over the limit of {}: put what is larger into a data object",
                    to_string(ByteCount{wish.input.size()}), to_string(crew::payload_size)));
  const LoadedModule* const own = parts_.modules.find_key(crew::module_key_of(call_));
  const auto entry = parts_.modules.find_entry(wish.function, own == nullptr ? no_slot : own->slot);
  if (!entry)
    return refuse(Outcome::function_error,
                  wish.missing.empty() ? std::string_view(entry.error().message) : wish.missing);
  const SpawnBook::Limits& most = book_.limits();
  if (!book_.has_room(spawned_.size() + 1, spawned_bytes_ + wish.input.size()) ||
      !step.input.assign(wish.input))
    return refuse(Outcome::no_capacity,
                  fmt::format("member {} holds {} children and calls that wait for theirs, with {} "
                              "of inputs and outputs; the most are {} and {}: spawn fewer at a "
                              "time, or let the recursion end earlier",
                              end_.place().member, book_.held() + spawned_.size(),
                              to_string(ByteCount{book_.bytes().value + spawned_bytes_}), most.held,
                              to_string(most.bytes)));
  step.header = call_;
  step.header.kind = static_cast<std::uint8_t>(crew::MessageKind::call);
  step.header.flags = 0;
  step.header.entry = entry->number;
  crew::set_module_key(step.header, entry->module->key);
  crew::set_hops(step.header, crew::hops_of(call_) - 1);
  return std::nullopt;
}

const std::optional<CrewLane::Refusal>& CrewLane::spawn(const Wish& wish) {
  if (spawn_refused_) return refusal_;
  Step child;
  refusal_ = make_step("orchid_spawn", wish, child);
  spawn_refused_ = refusal_.has_value();
  if (refusal_) return refusal_;
  try {
    spawned_.push_back(std::move(child));
    spawned_bytes_ += wish.input.size();
  } catch (const std::bad_alloc&) {
    refusal_ = {.outcome = Outcome::no_capacity,
                .message = fmt::format("orchid_spawn: this member has no memory for more than {} "
                                       "children: spawn fewer at a time",
                                       spawned_.size())};
    spawn_refused_ = true;
  }
  return refusal_;
}

const std::optional<CrewLane::Refusal>& CrewLane::then(const Wish& wish) {
  if (spawn_refused_) return refusal_;
  Step rest;
  refusal_ = make_step("orchid_then", wish, rest);
  spawn_refused_ = refusal_.has_value();
  if (refusal_) return refusal_;
  rest.asker = asker_;
  rest_ = std::move(rest);
  return refusal_;
}

void CrewLane::judge_wishes() {
  if (refusal_) return;
  if (!spawned_.empty() && !rest_)
    refusal_ = {.outcome = Outcome::function_error,
                .message =
                    "orchid_spawn: the call has spawned children, and has not said with "
                    "orchid_then what it goes on with when they have answered"};
  else if (rest_ && next_)
    refusal_ = {.outcome = Outcome::function_error,
                .message =
                    "orchid_forward: the call also waits for children (orchid_then): it can only "
                    "go on in one way"};
}

Result<void> CrewLane::suspend(const Answer& so_far, std::uint64_t left) {
  const std::uint64_t due =
      left == 0 ? 0 : ticks_now() + parts_.rate.ticks(std::chrono::nanoseconds(left));
  rest_->due = due;
  for (Step& child : spawned_) child.due = due;
  (void)whole_log(so_far);
  rest_->log = std::move(log_);
  end_.done();
  KeptChildren kept = is_child() ? KeptChildren() : kept_.find(*rest_, spawned_);
  book_.suspend(std::move(*rest_), std::exchange(spawned_, {}), std::move(kept));
  rest_.reset();
  return {};
}

/// The running child has ended, whatever has become of it.
Result<void> CrewLane::end_child(const Answer& answer) {
  StepEnd end{.kind = answer.kind, .outcome = answer.outcome};
  const bool kept =
      end.payload.assign(answer.message.empty() ? output_ : as_message(answer.message));
  if (!kept) end.outcome = Outcome::no_capacity;
  (void)whole_log(answer);
  end.log = std::move(log_);
  log_ = {};
  return settle(asker_, call_.request_id, std::move(end));
}

/// When one child has failed, the others of its call need not begin any more, wherever they are.
Result<void> CrewLane::settle(const Asker& asker, std::uint64_t request_id, StepEnd end) {
  if (!end.is_ok()) end_.cancel(request_id);
  const auto told = book_.end(asker, request_id, std::move(end), &kept_);
  return told ? deliver(*told) : Result<void>();
}

Result<void> CrewLane::deliver(const SpawnBook::Delivery& told) {
  const StepEnd& end = told.end;
  CallHeader header;
  header.request_id = told.request_id;
  header.status = static_cast<std::uint8_t>(end.outcome);
  const transport::CrewLog log{.text = end.log.text, .dropped = end.log.dropped};
  if (told.to.kind == Asker::Kind::client) {  // a failure, since a success goes on first
    header.kind = static_cast<std::uint8_t>(end.kind);
    if (end.payload.size() > 0) header.flags |= flag_message;
    return end_.send(header,
                     {.to = crew::client_member, .payload = end.payload.bytes(), .log = log});
  }
  header.kind = static_cast<std::uint8_t>(crew::MessageKind::child_end);
  header.entry = static_cast<std::uint16_t>(end.kind);
  return end_.send(
      header,
      {.to = told.to.number, .loan = told.to.loan, .payload = end.payload.bytes(), .log = log});
}

}  // namespace orchid::executor
