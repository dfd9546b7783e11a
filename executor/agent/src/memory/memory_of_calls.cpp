#include "memory/memory_of_calls.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "data/clock_now.h"
#include "foundation/log.h"
#include "foundation/random.h"
#include "foundation/sockets.h"

namespace orchid::executor {
namespace {

/// The gateway may have lost the question.
constexpr std::chrono::milliseconds ask_again_after{1'000};
/// A lease whose process has just ended is looked at again.
constexpr std::chrono::milliseconds settle_again_after{100};

/// Begins anywhere: what a gateway says to another process of this executor is not for this one.
std::uint64_t random_begin() {
  std::array<std::uint64_t, 1> number{};
  fill_random(std::as_writable_bytes(std::span(number)));
  return number.front() >> 1U;  // so that it never wraps
}

ServiceAnswer refusal(std::uint32_t sequence, const Failure& why) {
  return {.verdict = ServiceVerdict::refused,
          .sequence = sequence,
          .code = why.code,
          .message = why.message};
}

/// Nobody listens there, or not for long enough: another process may be on its way.
bool may_pass(const Failure& why) {
  return why.code == ErrorCode::unreachable || why.code == ErrorCode::timed_out;
}

}  // namespace

MemoryOfCalls::MemoryOfCalls(Parts parts, Options options)
    : parts_(std::move(parts)), options_(std::move(options)), last_(random_begin()) {}

/// What has ended a moment ago, with an earlier call, is still there until it has been reaped.
Result<void> MemoryOfCalls::check(const Way& wanted) const {
  const auto count = [&](auto of) {
    return static_cast<std::size_t>(std::ranges::count_if(
        ways_, [&](const auto& entry) { return entry.second.process && of(entry.second); }));
  };
  if (count([&](const Way& way) { return way.worker == wanted.worker; }) >= most_of_worker)
    return fail(ErrorCode::quota, "a call has at most " + std::to_string(most_of_worker) +
                                      " leased memories open at once");
  const std::uint32_t uid = wanted.tenant.uid;
  if (count([&](const Way& way) { return way.tenant.uid == uid; }) >= most_of_tenant)
    return fail(ErrorCode::quota, "your calls have " + std::to_string(most_of_tenant) +
                                      " leased memories open on this executor, and no more are "
                                      "allowed; try again");
  return {};
}

void MemoryOfCalls::ask(const LeaseTenant& tenant, std::uint64_t worker,
                        const ServiceRequest& request, const Answer& answer) {
  // A depot that was killed has taken the answer with it, or not had it yet: then this comes twice,
  // and the answer goes to the depot that is there when it is given.
  for (const auto& [number, way] : ways_)
    if (way.worker == worker && way.sequence == request.sequence && way.answer) return;
  const auto wanted = std::ranges::count_if(ways_, [&](const auto& entry) {
    return entry.second.worker == worker && entry.second.answer;
  });
  if (std::cmp_greater_equal(wanted, most_wanted_of_worker))
    return answer(
        refusal(request.sequence,
                {ErrorCode::quota, "this call is opening " + std::to_string(wanted) +
                                       " leased memories already: wait for these, and try again"}),
        -1);
  const auto lease = parse_lease_id(request.name);
  if (!lease)
    return answer(refusal(request.sequence,
                          {ErrorCode::bad_request,
                           "leased memory is opened by the id of its lease, such as 'l-3-17'"}),
                  -1);
  look(ways_
           .emplace(++last_, Way{.tenant = tenant,
                                 .worker = worker,
                                 .sequence = request.sequence,
                                 .answer = answer,
                                 .lease = *lease,
                                 .due = clock_now() + options_.open_within,
                                 .fault = {}})
           .first);
}

void MemoryOfCalls::refuse(Ways::iterator way, const Failure& why) {
  const Way refused = std::move(ways_.extract(way).mapped());
  log::info("event=memory_not_reached lease={} worker={} code={} reason=\"{}\"",
            to_string(refused.lease), refused.worker, to_string(why.code), why.message);
  refused.answer(refusal(refused.sequence, why), -1);
}

/// False: later, perhaps.
bool MemoryOfCalls::may_start(Ways::iterator way) {
  const auto good = check(way->second);
  if (!good) try_later(way, good.error());
  return good.has_value();
}

/// What this executor has nobody else needs to be asked for.
void MemoryOfCalls::look(Ways::iterator way) {
  Way& wanted = way->second;
  if (clock_now() >= wanted.due) {
    const Failure last = wanted.fault;
    return refuse(way, last);
  }
  if (!may_start(way)) return;
  auto& tokens = tokens_.try_emplace(wanted.tenant.uid, looks_of_tenant).first->second;
  if (!tokens.take(clock_now()))
    return try_later(way, {ErrorCode::no_capacity,
                           "too many calls of yours are opening leased memory; try again"});
  if (auto own = parts_.leases.way_to(wanted.lease, wanted.tenant.uid)) {
    own->host = options_.host_name;
    wanted.is_own = true;
    if (!own->address.empty()) return start(way, *own);
    return try_later(way, {ErrorCode::unreachable, "nobody serves the memory yet; try again"});
  }
  if (!finds_memory_)
    return refuse(way, {ErrorCode::unreachable,
                        "no gateway that knows leases of memory is connected; try again"});
  const Failure silent{ErrorCode::timed_out, "the gateway does not answer; try again"};
  try_later(way, wanted.fault.message.empty() ? silent : wanted.fault, ask_again_after);
  parts_.tell(FindMemory{way->first, wanted.tenant, wanted.lease});
}

void MemoryOfCalls::obey(const MemoryFound& message) {
  const auto way = ways_.find(message.question);
  if (way == ways_.end()) return;
  // Served with another key, it has outlived the process that this way led to.
  if (way->second.settled_by && message.key != way->second.reached.key)
    return tell_fate(way->second, /*has_ended=*/false);
  // Many may have been asked for before one of them was found.
  if (way->second.process || !way->second.answer || !may_start(way)) return;
  start(way, {.key = message.key,
              .address = message.address,
              .bytes = message.bytes,
              .wait = message.wait,
              .host = message.host});
}

void MemoryOfCalls::obey(const MemoryNotFound& message) {
  const auto way = ways_.find(message.question);
  if (way == ways_.end()) return;
  if (way->second.settled_by)
    return tell_fate(way->second, /*has_ended=*/message.code == ErrorCode::not_found);
  if (way->second.process || !way->second.answer) return;
  refuse(way, {message.code, message.message});
}

void MemoryOfCalls::start(Ways::iterator way, const MemoryReach& reach) {
  Way& wanted = way->second;
  wanted.pause.reset();
  auto ends = make_packet_pair();
  if (!ends) return refuse(way, ends.error());
  const std::uint64_t number = way->first;
  auto process = std::make_unique<MemoryProcess>(
      MemoryProcess::Parts{
          .io = parts_.io, .children = parts_.children, .program = options_.program},
      MemoryProcess::Handlers{
          .listening = [](const std::string&) {},
          .connected = [this, number] { connected(number); },
          .lost = [this, number] { lost(number); },
          .ended = [this, number](const std::optional<Failure>& why) { ended(number, why); }});
  if (auto started = process->start(reach, ends->first, options_.scheduling); !started)
    return refuse(way, started.error());
  wanted.reached = reach;
  wanted.socket = std::move(ends->second);
  wanted.process = std::move(process);
}

void MemoryOfCalls::connected(std::uint64_t number) {
  const auto found = ways_.find(number);
  if (found == ways_.end() || !found->second.answer) return;
  Way& way = found->second;
  log::info("event=memory_reached lease={} worker={}", to_string(way.lease), way.worker);
  const Answer answer = std::exchange(way.answer, nullptr);
  const UniqueFd socket = std::move(way.socket);
  answer(
      {.verdict = ServiceVerdict::done, .sequence = way.sequence, .bytes = way.reached.bytes.value},
      socket.get());
}

void MemoryOfCalls::lost(std::uint64_t number) {
  const auto found = ways_.find(number);
  if (found == ways_.end() || found->second.answer || found->second.settled_by) return;
  found->second.settled_by = clock_now() + options_.settle_within;
  settle(found->second, number);
}

/// A lease has ended when it is known no more. It has not when its next process has another key. In
/// between its process has yet to be reaped, or the gateway to hear of it.
void MemoryOfCalls::settle(Way& way, std::uint64_t number) {
  if (clock_now() >= *way.settled_by) return tell_fate(way, /*has_ended=*/false);
  if (way.is_own) {
    const auto now = parts_.leases.way_to(way.lease, way.tenant.uid);
    if (!now || now->key != way.reached.key) return tell_fate(way, /*has_ended=*/!now);
  } else {
    if (!finds_memory_) return tell_fate(way, /*has_ended=*/false);
    parts_.tell(FindMemory{number, way.tenant, way.lease});
  }
  way.pause = std::make_unique<TimeLimit>(parts_.io);
  way.pause->begin(settle_again_after, [this, number] {
    const auto found = ways_.find(number);
    if (found != ways_.end() && found->second.settled_by) settle(found->second, number);
  });
}

void MemoryOfCalls::tell_fate(Way& way, bool has_ended) {
  log::info("event=memory_way_lost lease={} worker={} lease_ended={}", to_string(way.lease),
            way.worker, has_ended);
  way.settled_by.reset();
  if (way.pause) way.pause->end();
  if (way.process) way.process->tell({.ended = has_ended});
}

void MemoryOfCalls::ended(std::uint64_t number, const std::optional<Failure>& why) {
  const auto way = ways_.find(number);
  if (way == ways_.end()) return;
  way->second.process.reset();
  way->second.socket.reset();
  if (!way->second.answer) {
    ways_.erase(way);
    return;
  }
  const Failure fault =
      why.value_or(Failure{ErrorCode::unreachable, "the process that was to go there has ended"});
  if (!may_pass(fault)) return refuse(way, fault);
  try_later(way, {ErrorCode::conflict, "the memory of " + to_string(way->second.lease) +
                                           " is not to be reached (" + fault.message +
                                           "): one program, or one call, uses it at a time"});
}

void MemoryOfCalls::try_later(Ways::iterator way, Failure why, std::chrono::milliseconds after) {
  Way& wanted = way->second;
  wanted.fault = std::move(why);
  wanted.pause = std::make_unique<TimeLimit>(parts_.io);
  wanted.pause->begin(after, [this, number = way->first] {
    const auto found = ways_.find(number);
    if (found != ways_.end() && !found->second.process && found->second.answer) look(found);
  });
}

/// Its processes are still there until they have been reaped.
void MemoryOfCalls::worker_ended(std::uint64_t worker) {
  for (auto next = ways_.begin(); next != ways_.end();) {
    const auto way = next++;
    if (way->second.worker != worker) continue;
    way->second.answer = nullptr;
    if (way->second.process)
      way->second.process->kill();
    else
      ways_.erase(way);
  }
  std::erase_if(tokens_,
                [now = clock_now()](const auto& entry) { return entry.second.is_full(now); });
}

void MemoryOfCalls::end_all() {
  for (auto next = ways_.begin(); next != ways_.end();) {
    const auto way = next++;
    way->second.answer = nullptr;
    if (way->second.process)
      way->second.process->kill();
    else
      ways_.erase(way);
  }
}

}  // namespace orchid::executor
