#include "relay.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "foundation/log.h"
#include "lane_client/executor_message.h"
#include "lane_client/last_answers.h"
#include "lane_client/open_lane.h"
#include "lane_client/policy.h"

namespace orchid::dispatch {

using transport::LaneResponse;

namespace {

lane_client::Deadline lane_deadline() {
  return lane_client::Deadline::clock::now() + lane_client::connect_within;
}

}  // namespace

Failure Relay::run() {
  if (auto claimed = claim(); !claimed) {
    (void)tell_gateway(LaneRefused{claimed.error().code, claimed.error().message});
    return std::move(claimed.error());
  }
  while (true)
    if (auto turned = turn(); !turned) {
      if (forged_) (void)tell_gateway(*forged_);  // the executor has not said how it ended
      return std::move(turned.error());
    }
}

Result<void> Relay::tell_gateway(const LaneMessage& message, const std::vector<int>& descriptors) {
  return send_packet(gateway_.get(), encode(message), descriptors);
}

Result<void> Relay::claim() {
  pollfd wait{gateway_.get(), POLLIN, 0};
  if (::poll(&wait, 1, 1000 * static_cast<int>(lane_client::connect_within.count())) != 1)
    return fail(ErrorCode::timed_out, "the gateway claimed no worker in time");
  auto packet = receive_packet(gateway_.get(), false);
  if (!packet) return fail(std::move(packet.error()));
  if (!*packet) return fail(ErrorCode::timed_out, "the gateway claimed no worker in time");
  auto message = parse_lane_message((*packet)->text);
  if (!message) return fail(std::move(message.error()));
  auto* wanted = std::get_if<LaneClaim>(&*message);
  if (wanted == nullptr || wanted->address.empty())
    return fail(ErrorCode::bad_request, "the gateway's first message was not a claim of a worker");
  executor_address_ = std::exchange(wanted->address, {});
  wanted->knows_progress = true;  // it ends here, in the local lane
  auto executor = lane_client::claim_there(executor_address_, *wanted, lane_deadline());
  if (!executor) return fail(std::move(executor.error()));
  executor_ = std::move(*executor);
  return {};
}

/// One look at everything that can bring something, or a sleep.
Result<void> Relay::turn() {
  const std::uint64_t spin_ticks = rate_.ticks(spin);
  const std::uint64_t start = ticks_now();
  do {
    bool moved = false;
    for (auto step : {&Relay::pass_answer, &Relay::pass_call}) {
      const auto passed = (this->*step)();
      if (!passed) return fail(passed.error());
      moved = moved || *passed;
    }
    if (moved) return {};
    if (ticks_now() - start > spin_ticks / 16) ::sched_yield();
  } while ((local_ && remote_) && ticks_now() - start < spin_ticks);
  wait();
  for (auto step : {&Relay::pass_to_gateway, &Relay::pass_to_executor}) {
    // All that is there: what the channel has taken in already makes no descriptor readable.
    Result<bool> passed = true;
    while (passed && *passed) passed = (this->*step)();
    if (!passed) return fail(std::move(passed.error()));
  }
  return check_time();
}

void Relay::wait() {
  // While a call is away, or nobody is there to take it, the next one in the local lane has to
  // wait.
  const bool looks_for_calls = local_ && remote_ && !in_remote_;
  const bool sleeps =
      (!looks_for_calls || local_->prepare_to_sleep()) && (!remote_ || remote_->prepare_to_sleep());
  std::array<pollfd, 4> wait{{{gateway_.get(), POLLIN, 0},
                              {executor_->descriptor(), POLLIN, 0},
                              {looks_for_calls ? local_->wake_descriptor() : -1, POLLIN, 0},
                              {remote_ ? remote_->wake_descriptor() : -1, POLLIN, 0}}};
  if (executor_->wants_to_write()) wait[1].events |= POLLOUT;
  constexpr int look_ms = 1000;
  ::poll(wait.data(), wait.size(), sleeps ? look_ms : 0);
  if (looks_for_calls) local_->finish_sleep();
  if (remote_) remote_->finish_sleep();
}

/// Announcements, modules, cancellations.
Result<bool> Relay::pass_to_executor() {
  auto packet = receive_packet(gateway_.get(), false);
  if (!packet) return fail(std::move(packet.error()));
  if (!*packet) return false;
  std::vector<int> files;
  for (const UniqueFd& file : (*packet)->descriptors) files.push_back(file.get());
  if (auto sent = executor_->send((*packet)->text, files); !sent)
    return fail(std::move(sent.error()));
  return true;
}

Result<bool> Relay::pass_to_gateway() {
  auto packet = executor_->receive();
  if (!packet) return fail(std::move(packet.error()));
  if (!*packet) return false;
  auto message = lane_client::parse_executor_message((*packet)->text);
  if (!message) return fail(std::move(message.error()));
  auto passed = std::visit([&](auto& said) { return pass(said); }, *message);
  if (!passed) return fail(std::move(passed.error()));
  return true;
}

/// The worker that was announced may have died meanwhile: then the next one comes.
Result<void> Relay::pass(const LaneClaimed& claimed) {
  conversation_.announced();
  worker_ = claimed.worker;
  const auto there = lane_client::lane_address_of(claimed, executor_address_, lane_deadline());
  if (!there) return fail(there.error());
  const auto context = ucx_.of(lane_client::fabric_of(claimed));
  if (!context) return fail(context.error());
  auto remote = transport::UcxLaneClient::connect(**context, *there);
  if (!remote) {
    log::info("event=worker_out_of_reach reason=\"{}\"", remote.error().message);
    const auto step = conversation_.opening_failed(remote.error(), Clock::now());
    if (step == lane_client::Step::end) return fail(std::move(remote.error()));
    return {};
  }
  auto theirs = transport::make_lane({claimed.request_bytes, claimed.response_bytes});
  if (!theirs) return fail(std::move(theirs.error()));
  auto ours = transport::duplicate(*theirs);
  if (!ours) return fail(std::move(ours.error()));
  auto local = transport::LocalLaneWorker::attach(std::move(*ours));
  if (!local) return fail(std::move(local.error()));
  remote_.emplace(std::move(*remote));
  local_.emplace(std::move(*local));
  in_remote_ = false;
  lost_.reset();
  conversation_.opened();
  LaneClaimed local_claim = claimed;
  local_claim.port = 0;
  local_claim.key.clear();
  return tell_gateway(local_claim,
                      {theirs->memory.get(), theirs->wake_worker.get(), theirs->wake_client.get()});
}

/// Answers that came before the end count, and one that the worker says it has given may be coming.
void Relay::take_last_answers(const LaneEnded& ended) {
  if (!remote_) return;
  const bool waits = lane_client::claims_answer(ended, remote_request_);
  lane_client::take_last_answers(*remote_, lane_client::last_answers_within, [&] {
    while (remote_ && in_remote_) {
      const auto passed = pass_answer();
      if (!passed) return false;
      if (!*passed) break;
    }
    return waits && remote_ && in_remote_;
  });
}

/// What the call had logged goes where a client of this host looks for it.
Result<void> Relay::pass(LaneEnded& ended) {
  take_last_answers(ended);
  if (in_remote_ && lost_ && lost_->is_at_end()) lane_client::find_forgery(ended, remote_request_);
  lost_.reset();
  ended.answered = 0;  // the gateway's end of this is the local lane
  if (forged_) {
    forged_->replaced_in = ended.replaced_in;
    forged_->log = std::move(ended.log);
    ended = *std::exchange(forged_, std::nullopt);
  }
  if (local_) {
    transport::LogHead& head = local_->log_head();
    const std::size_t size = std::min<std::size_t>(ended.log.text.size(), limits::log_size.value);
    std::memcpy(local_->log_text(), ended.log.text.data(), size);
    head.request_id.store(ended.request, std::memory_order_relaxed);
    head.length.store(size + ended.log.dropped, std::memory_order_release);
  }
  ended.log = {};
  remote_.reset();
  local_.reset();
  in_remote_ = false;
  conversation_.ended(Clock::now(), ended.replaced_in);
  return tell_gateway(ended);
}

/// Where the gateway looks for that of a worker of this host. It names its request, so that a late
/// one hurts nobody.
Result<void> Relay::pass(const LaneProgress& progress) {
  if (local_)
    local_->progress().store(transport::pack_progress(progress.request, progress.thousandths),
                             std::memory_order_relaxed);
  return {};
}

/// A worker takes one call after the other, and so does this one: the lane's next call is taken
/// when the one before is answered.
Result<bool> Relay::pass_call() {
  if (!local_ || !remote_ || in_remote_) return false;
  auto request = local_->receive();
  if (!request) return fail(std::move(request.error()));
  if (!*request) return false;
  const CallHeader& header = (*request)->header;
  if (header.kind != static_cast<std::uint8_t>(RequestKind::call) ||
      (header.flags & ~flag_data) != 0) {
    auto refused = local_->answer(
        {.outcome = Outcome::bad_request, .message = "a stream needs a lease of the caller's own"});
    if (!refused) return fail(std::move(refused.error()));
    return true;
  }
  const auto sent = remote_->send({.slot = header.slot,
                                   .generation = header.generation,
                                   .entry = header.entry,
                                   .deadline = std::chrono::nanoseconds(header.deadline_ns),
                                   .input = (*request)->input,
                                   .flags = header.flags});
  if (!sent) return lose_remote(sent.error());
  in_remote_ = true;
  trimmed_ = false;
  remote_request_ = header.request_id;
  return true;
}

/// Only what runs in the worker can have sent that. The executor puts another one in its place, and
/// with its word on that the gateway hears whose fault it was.
Result<void> Relay::give_up_remote(const Failure& why) {
  const std::string message = lane_client::broken_rules(why.message);
  forged_ = LaneEnded{.request = in_remote_ ? remote_request_ : 0,
                      .outcome = Outcome::function_crashed,
                      .message = message,
                      .started = in_remote_};
  remote_.reset();
  (void)conversation_.give_up(message, Clock::now());
  return replace_worker(message);
}

Result<void> Relay::replace_worker(const std::string& why) {
  return executor_->send(encode(LaneReplace{.reason = why, .worker = worker_}));
}

/// The executor knows what has become of the worker. A call that has not gone out is sent again by
/// whoever waits for it. Errors: `why`, if the lane has not merely broken.
Result<bool> Relay::lose_remote(Failure why) {
  if (why.code == ErrorCode::bad_request) {
    if (auto asked = give_up_remote(why); !asked) return fail(std::move(asked.error()));
    return false;
  }
  if (why.code != ErrorCode::unreachable) return fail(std::move(why));
  lost_ = std::exchange(remote_, std::nullopt);
  (void)conversation_.broken(why, Clock::now());
  return false;
}

/// The gateway trims the local lane, and this one the other. An executor that says nothing takes
/// the worker for a sound one: it is to put another in its place. Errors: `unreachable`: it does
/// not.
Result<void> Relay::check_time() {
  if (remote_ && !in_remote_ && !trimmed_ &&
      Clock::now() - idle_since_ >= lane_client::trim_after) {
    remote_->trim();
    trimmed_ = true;
  }
  switch (conversation_.expire(Clock::now())) {
    case lane_client::Step::none:
      return {};
    case lane_client::Step::ask:
    case lane_client::Step::replace:
      return replace_worker(conversation_.trouble());
    case lane_client::Step::end:
      break;
  }
  return fail(ErrorCode::unreachable, conversation_.trouble());
}

Result<bool> Relay::pass_answer() {
  if (!remote_) return false;
  auto response = remote_->receive();
  if (!response) return lose_remote(std::move(response.error()));
  if (!*response) return false;
  auto answered = answer(**response);
  remote_->release(**response);
  in_remote_ = false;
  idle_since_ = Clock::now();
  if (!answered) return fail(std::move(answered.error()));
  return true;
}

Result<void> Relay::answer(const LaneResponse& response) {
  transport::LaneWorker::Answer answer{.kind = response.kind,
                                       .outcome = response.outcome,
                                       .run_time = response.run_time,
                                       .log = response.log,
                                       .log_dropped = response.log_dropped,
                                       .quick_code = response.quick_code};
  const std::string_view text(reinterpret_cast<const char*>(response.payload.data()),
                              response.payload.size());
  if (response.payload_is_message) {
    answer.message = text;
  } else if (!response.payload.empty()) {
    std::byte* room = local_->output(response.payload.size());
    if (room != nullptr) {
      std::memcpy(room, response.payload.data(), response.payload.size());
    } else {
      answer.outcome = Outcome::limit_exceeded;
      answer.message = "there is no room for the output until earlier answers have been taken";
    }
  }
  return local_->answer(answer);
}

}  // namespace orchid::dispatch
