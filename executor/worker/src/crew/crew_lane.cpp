#include "crew/crew_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace orchid::executor {
namespace {

constexpr std::uint32_t no_slot = ~std::uint32_t{0};

}  // namespace

void CrewLane::linked(const Module& module) {
  unlinked(module.slot);
  modules_.push_back({.key = crew::module_key(module.digest),
                      .slot = module.slot,
                      .generation = module.generation,
                      .entries = module.entries});
}

void CrewLane::unlinked(std::uint32_t slot) {
  std::erase_if(modules_, [slot](const Linked& each) { return each.slot == slot; });
}

const CrewLane::Linked* CrewLane::find(std::uint64_t key) const {
  const auto found = std::ranges::find(modules_, key, &Linked::key);
  return found == modules_.end() ? nullptr : &*found;
}

void CrewLane::begin(const transport::CrewMessage& message) {
  call_ = message.header;
  from_ = message.from;
  turn_ = message.header.held_answers != 0 ? 1 : 0;
  log_ = message.log.text;
  log_dropped_ = message.log.dropped;
  output_ = {};
  next_.reset();
  refusal_.reset();
}

Result<std::optional<transport::LaneRequest>> CrewLane::receive() {
  Result<std::optional<transport::LaneRequest>> request;
  while (true) {
    auto message = end_.receive();
    if (!message) {
      request = fail(std::move(message.error()));
      return request;
    }
    if (!*message) return request;
    begin(**message);
    if (end_.is_cancelled(call_.request_id)) {
      if (auto ended = end_unrun(Outcome::cancelled, "the call was cancelled between two steps");
          !ended) {
        request = fail(std::move(ended.error()));
        return request;
      }
      continue;
    }
    const Linked* module = find(crew::module_key_of(call_));
    transport::LaneRequest& taken = request->emplace();
    taken.header = call_;
    // What else a call's header may say is for lanes.
    taken.header.kind = static_cast<std::uint8_t>(RequestKind::call);
    taken.header.flags = 0;
    taken.header.slot = module == nullptr ? no_slot : module->slot;
    taken.header.generation = module == nullptr ? 0 : module->generation;
    taken.input = (*message)->payload;
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

transport::CrewLog CrewLane::whole_log(const Answer& answer) {
  log_dropped_ += answer.log_dropped;
  const std::size_t left = crew::log_size.value - std::min(log_.size(), crew::log_size.value);
  const std::string_view kept = answer.log.substr(0, left);
  log_ += kept;
  log_dropped_ += answer.log.size() - kept.size();
  return {.text = log_, .dropped = log_dropped_};
}

Result<void> CrewLane::answer(const Answer& answer) {
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

std::optional<CrewLane::Refusal> CrewLane::find_fault(const Step& step,
                                                      std::uint16_t& entry) const {
  const std::uint32_t members = end_.place().members;
  if (step.member == crew::client_member)
    return Refusal{.outcome = Outcome::function_error,
                   .message =
                       "orchid_forward: member 0 is the client, which gets the output of "
                       "the entry that returns without going on"};
  if (step.member > members)
    return Refusal{.outcome = Outcome::function_error,
                   .message = fmt::format("orchid_forward: there is no member {}: this crew's "
                                          "members are 1 to {}",
                                          step.member, members)};
  if (step.input.size() > crew::payload_size.value)
    return Refusal{.outcome = Outcome::limit_exceeded,
                   .message = fmt::format("orchid_forward: {} of input are over the limit of {}: "
                                          "put what is larger into a data object",
                                          to_string(ByteCount{step.input.size()}),
                                          to_string(crew::payload_size))};
  if (crew::hops_of(call_) == 0)
    return Refusal{.outcome = Outcome::limit_exceeded,
                   .message =
                       "orchid_forward: the call has gone on as often as it may: it goes in "
                       "circles, or its caller has to allow more hops"};
  entry = call_.entry;
  if (step.entry.empty()) return std::nullopt;
  const Linked* module = find(crew::module_key_of(call_));
  const auto found = module == nullptr ? std::vector<std::string>::const_iterator{}
                                       : std::ranges::find(module->entries, step.entry);
  if (module == nullptr || found == module->entries.end())
    return Refusal{.outcome = Outcome::function_error,
                   .message = fmt::format("orchid_forward: the module has no entry '{}'",
                                          step.entry.substr(0, limits::function_name_length))};
  entry = static_cast<std::uint16_t>(found - module->entries.begin());
  return std::nullopt;
}

const std::optional<CrewLane::Refusal>& CrewLane::go_on(const Step& step) {
  std::uint16_t entry = 0;
  next_.reset();
  refusal_ = find_fault(step, entry);
  if (refusal_) return refusal_;
  std::span<std::byte> place = small_input_;
  if (step.input.size() > place.size())
    place = end_.room(step.member, call_.request_id, turn_to(step.member));
  if (!step.input.empty()) std::memmove(place.data(), step.input.data(), step.input.size());
  next_ = {.member = step.member, .entry = entry, .input = place.first(step.input.size())};
  return refusal_;
}

Result<void> CrewLane::move_on(const Answer& so_far) {
  CallHeader header = call_;
  header.flags = 0;
  header.entry = next_->entry;
  crew::set_hops(header, crew::hops_of(call_) - 1);
  const auto took = static_cast<std::uint64_t>(std::max<std::int64_t>(so_far.run_time.count(), 0));
  if (call_.deadline_ns != 0) {
    if (took >= call_.deadline_ns) {
      output_ = {};
      Answer late = so_far;
      late.outcome = Outcome::deadline_exceeded;
      late.message = "the deadline passed between two steps of the call";
      return answer(late);
    }
    header.deadline_ns = call_.deadline_ns - took;
  }
  auto sent = end_.send(header, {.to = next_->member,
                                 .turn = turn_to(next_->member),
                                 .payload = next_->input,
                                 .log = whole_log(so_far)});
  end_.done();
  return sent;
}

}  // namespace orchid::executor
