#include "crew/crew_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace orchid::executor {
namespace {

/// A member that cannot keep what others rely on ends, and its crew is formed anew.
std::unexpected<Failure> no_memory() {
  return fail(ErrorCode::no_capacity,
              "this member has no memory for the children of its crew's calls: spawn fewer at a "
              "time, or give the crew's workers more memory");
}

}  // namespace

void CrewLane::begin(const transport::CrewMessage& message) {
  call_ = message.header;
  from_ = message.from;
  turn_ = message.header.held_answers != 0 ? 1 : 0;
  asker_ = {};
  outputs_.clear();
  log_.text = message.log.text;
  log_.dropped = message.log.dropped;
}

/// What the last call has written and asked for, if anything is left of it.
void CrewLane::forget_wishes() {
  output_ = {};
  next_.reset();
  (void)std::exchange(spawned_, {});
  spawned_bytes_ = 0;
  rest_.reset();
  refusal_.reset();
  spawn_refused_ = false;
}

transport::LaneRequest CrewLane::request_of(std::span<std::byte> input) const {
  const LoadedModule* module = parts_.modules.find_key(crew::module_key_of(call_));
  transport::LaneRequest request{.header = call_, .input = input};
  // What else a call's header may say is for lanes.
  request.header.kind = static_cast<std::uint8_t>(RequestKind::call);
  request.header.flags = 0;
  request.header.slot = module == nullptr ? no_slot : module->slot;
  request.header.generation = module == nullptr ? 0 : module->generation;
  return request;
}

/// At least 1 is left: 0 would be no deadline.
void CrewLane::spend(std::chrono::nanoseconds time) {
  if (call_.deadline_ns == 0) return;
  const auto spent = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  call_.deadline_ns = spent < call_.deadline_ns ? call_.deadline_ns - spent : 1;
}

Result<std::optional<transport::LaneRequest>> CrewLane::receive() {
  try {
    return take();
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

Result<std::optional<transport::LaneRequest>> CrewLane::take_call() {
  Result<std::optional<transport::LaneRequest>> request;
  while (true) {
    auto message = end_.receive();
    if (!message) {
      request = fail(std::move(message.error()));
      return request;
    }
    if (!*message) return request;
    if (crew::is_of_loan((*message)->header.kind)) {
      if (auto taken = take_of_loan(**message); !taken) {
        request = fail(std::move(taken.error()));
        return request;
      }
      continue;
    }
    begin(**message);
    if (end_.is_cancelled(call_.request_id)) {
      if (auto ended = end_unrun(Outcome::cancelled, cancelled_between); !ended) {
        request = fail(std::move(ended.error()));
        return request;
      }
      continue;
    }
    request->emplace(request_of((*message)->payload));
    return request;
  }
}

std::byte* CrewLane::output(std::size_t size) {
  if (size > crew::payload_size.value) return nullptr;
  const std::span<std::byte> room = end_.room(crew::client_member, call_.request_id, 0);
  const bool placed = output_.data() == room.data();
  if (!placed && size <= transport::inline_bytes) {
    output_ = {small_output_.data(), size};
    return small_output_.data();
  }
  if (!placed && !output_.empty()) std::memcpy(room.data(), output_.data(), output_.size());
  output_ = room.first(size);
  return room.data();
}

std::string CrewLane::step_line(const Answer& answer) const {
  const LoadedModule* const module = parts_.modules.find_key(crew::module_key_of(call_));
  const bool known = module != nullptr && call_.entry < module->names.size();
  return fmt::format("{}{} {} {}\n", crew::step_mark, end_.place().member,
                     known ? module->names[call_.entry] : "unknown",
                     std::max<std::int64_t>(answer.run_time.count(), 0));
}

transport::CrewLog CrewLane::whole_log(const Answer& answer) {
  if (crew::is_traced(call_)) log_.append(step_line(answer));
  log_.append(answer.log, answer.log_dropped);
  return {.text = log_.text, .dropped = log_.dropped};
}

Result<void> CrewLane::answer(const Answer& answer) {
  try {
    return is_child() ? end_child(answer) : tell_client(answer);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

Result<void> CrewLane::tell_client(const Answer& answer) {
  CallHeader header;
  header.request_id = call_.request_id;
  header.deadline_ns = static_cast<std::uint64_t>(answer.run_time.count());
  header.kind = static_cast<std::uint8_t>(answer.kind);
  header.status = static_cast<std::uint8_t>(answer.outcome);
  header.version = call_header_version;
  header.origin = call_.origin;
  if (!answer.message.empty()) header.flags |= flag_message;
  if (answer.quick_code) header.flags |= flag_quick;
  const auto message =
      std::as_bytes(std::span(answer.message))
          .first(std::min<std::size_t>(answer.message.size(), limits::message_size.value));
  auto sent = end_.send(header, {.to = crew::client_member,
                                 .turn = 0,
                                 .payload = message.empty() ? output_ : message,
                                 .log = whole_log(answer)});
  end_.done();
  return sent;
}

Result<void> CrewLane::end_unrun(Outcome outcome, std::string_view why) {
  output_ = {};
  return answer({.outcome = outcome, .message = why});
}

std::optional<CrewLane::Refusal> CrewLane::find_fault(const Move& move, Next& next) const {
  const std::uint32_t members = end_.place().members;
  if (is_child())
    return Refusal{.outcome = Outcome::function_error,
                   .message =
                       "orchid_forward: a child that was spawned does not go on at another member: "
                       "its output goes to the call that has spawned it"};
  if (move.member == crew::client_member)
    return Refusal{.outcome = Outcome::function_error,
                   .message =
                       "orchid_forward: member 0 is the client, which gets the output of "
                       "the entry that returns without going on"};
  if (move.member > members)
    return Refusal{.outcome = Outcome::function_error,
                   .message = fmt::format("orchid_forward: there is no member {}: this crew's "
                                          "members are 1 to {}",
                                          move.member, members)};
  if (move.input.size() > crew::payload_size.value)
    return Refusal{.outcome = Outcome::limit_exceeded,
                   .message = fmt::format("orchid_forward: {} of input are over the limit of {}: "
                                          "put what is larger into a data object",
                                          to_string(ByteCount{move.input.size()}),
                                          to_string(crew::payload_size))};
  if (crew::hops_of(call_) == 0)
    return Refusal{.outcome = Outcome::limit_exceeded,
                   .message =
                       "orchid_forward: the call has gone on as often as it may: it goes in "
                       "circles, or its caller has to allow more hops"};
  next = {.member = move.member,
          .module = crew::module_key_of(call_),
          .entry = call_.entry,
          .input = {}};
  if (move.entry.empty()) return std::nullopt;
  const LoadedModule* const own = parts_.modules.find_key(next.module);
  const auto found = parts_.modules.find_entry(move.entry, own == nullptr ? no_slot : own->slot);
  if (!found)
    return Refusal{
        .outcome = Outcome::function_error,
        .message = "orchid_forward: " +
                   (move.missing.empty() ? found.error().message : std::string(move.missing))};
  next.module = found->module->key;
  next.entry = found->number;
  return std::nullopt;
}

const std::optional<CrewLane::Refusal>& CrewLane::go_on(const Move& move) {
  if (spawn_refused_) return refusal_;
  Next next;
  next_.reset();
  refusal_ = find_fault(move, next);
  if (refusal_) return refusal_;
  std::span<std::byte> place = small_input_;
  if (move.input.size() > place.size())
    place = end_.room(move.member, call_.request_id, turn_to(move.member));
  if (!move.input.empty()) std::memmove(place.data(), move.input.data(), move.input.size());
  next.input = place.first(move.input.size());
  next_ = next;
  return refusal_;
}

const std::optional<CrewLane::Refusal>& CrewLane::cannot_go_on(std::string why) {
  if (spawn_refused_) return refusal_;
  next_.reset();
  refusal_ = {.outcome = Outcome::function_error, .message = std::move(why)};
  return refusal_;
}

/// Nothing: it is over.
std::optional<std::uint64_t> CrewLane::time_left(const Answer& so_far) const {
  if (call_.deadline_ns == 0) return 0;
  const auto took = static_cast<std::uint64_t>(std::max<std::int64_t>(so_far.run_time.count(), 0));
  if (took >= call_.deadline_ns) return std::nullopt;
  return call_.deadline_ns - took;
}

Result<void> CrewLane::move_on(const Answer& so_far) {
  const auto left = time_left(so_far);
  try {
    if (left) return rest_ ? suspend(so_far, *left) : forward(so_far, *left);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  output_ = {};
  Answer late = so_far;
  late.outcome = Outcome::deadline_exceeded;
  late.message = late_between;
  return answer(late);
}

Result<void> CrewLane::forward(const Answer& so_far, std::uint64_t left) {
  CallHeader header = call_;
  header.kind = static_cast<std::uint8_t>(crew::MessageKind::call);
  header.flags = 0;
  header.entry = next_->entry;
  crew::set_module_key(header, next_->module);
  header.deadline_ns = left;
  crew::set_hops(header, crew::hops_of(call_) - 1);
  auto sent = end_.send(header, {.to = next_->member,
                                 .turn = turn_to(next_->member),
                                 .payload = next_->input,
                                 .log = whole_log(so_far)});
  end_.done();
  return sent;
}

}  // namespace orchid::executor
