#include "grant_connection.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/pipe.h"
#include "foundation/units.h"

namespace orchid::site {
namespace {

Result<std::string> read_token(const std::filesystem::path& file) {
  if (file.empty()) return std::string();
  const auto content = read_file(file, 4_KiB);
  if (!content) return fail(Failure(content.error()).while_doing("reading the site's token"));
  return std::string(as_text(*content));
}

}  // namespace

GrantConnection::GrantConnection(HostSurroundings& host, const GrantTable& table, UniqueFd socket,
                                 PeerProcess peer, MonotonicTime now)
    : host_(host), table_(table), socket_(std::move(socket)), peer_(std::move(peer)), since_(now) {}

std::optional<StandingGrant> GrantConnection::standing() const {
  if (!slot_ || left_at_ || ended_) return std::nullopt;
  return StandingGrant{.job = offer_->job, .cores = cores_};
}

void GrantConnection::tell(const GrantMessage& message, const UniqueFd& descriptor) {
  std::vector<int> descriptors;
  if (descriptor) descriptors.push_back(descriptor.get());
  // Who does not read is about to be closed anyway.
  if (socket_) (void)send_packet(socket_.get(), encode(message), descriptors);
}

void GrantConnection::refuse(const Failure& why) {
  log::warn("event=grant_refused uid={} pid={} job={} code={} reason=\"{}\"", peer_.uid, peer_.pid,
            offer_ ? offer_->job : 0, to_string(why.code), why.message);
  tell(GrantRefused{why.code, why.message});
  inquiry_.reset();
  socket_.reset();
}

void GrantConnection::message_came(MonotonicTime now) {
  auto packet = receive_packet(socket_.get(), false);
  if (!packet) {
    socket_.reset();
    inquiry_.reset();
    return leave("its placeholder has gone", now);
  }
  if (!*packet) return;
  if (!offer_) {
    if (auto taken = take_offer(std::move(**packet), now); !taken) refuse(taken.error());
    return;
  }
  const auto message = parse_grant_message((*packet)->text);
  const bool asked = message && std::holds_alternative<GrantLeave>(*message);
  if (!asked || !slot_) {
    socket_.reset();
    inquiry_.reset();
  }
  leave(asked ? "its placeholder was asked to end" : "its placeholder sent an invalid message",
        now);
}

Result<void> GrantConnection::take_offer(Packet packet, MonotonicTime now) {
  auto message = parse_grant_message(packet.text);
  if (!message) return fail(std::move(message.error()));
  auto* offer = std::get_if<GrantOffer>(&*message);
  if (offer == nullptr) return fail(ErrorCode::bad_request, "the first message must be an offer");
  offer_ = std::move(*offer);
  if (!packet.descriptors.empty())
    return fail(ErrorCode::bad_request, "an offer must not carry descriptors");
  const auto users = allowed_users(*offer_, peer_.uid, host_.configuration.policy);
  if (!users) return fail(users.error());
  users_ = *users;
  auto step = prove_step(peer_.pid, peer_.uid, host_.configuration.proof);
  if (!step) return fail(std::move(step.error()));
  // What was read was the process's own only if it still lives.
  if (peer_.has_ended()) return fail(ErrorCode::not_found, "the placeholder has ended");
  step_ = std::move(*step);
  if (step_.held_to_cores || step_.job != offer_->job) return decide(std::nullopt, now);
  if (!table_.may_ask(peer_.uid))
    return fail(ErrorCode::quota, "Slurm is being asked about other offers of yours; try again");
  auto inquiry = SlurmInquiry::start({.commands = host_.configuration.slurm_commands,
                                      .job = step_.job,
                                      .node = host_.configuration.node});
  if (!inquiry) return fail(std::move(inquiry.error()));
  inquiry_.emplace(std::move(*inquiry));
  return {};
}

void GrantConnection::answer_came(MonotonicTime now) {
  if (!inquiry_->read()) return;
  auto answer = inquiry_->answer();
  inquiry_.reset();
  if (!answer) return refuse(answer.error());
  if (auto decided = decide(std::move(*answer), now); !decided) refuse(decided.error());
}

Result<void> GrantConnection::decide(std::optional<JobOnNode> slurm, MonotonicTime now) {
  const auto standing = table_.standing();
  auto cores = allowed_cores(*offer_,
                             {.uid = peer_.uid,
                              .step = step_,
                              .slurm = std::move(slurm),
                              .thread_order = host_.thread_order},
                             standing);
  if (!cores) return fail(std::move(cores.error()));
  cores_ = std::move(*cores);
  return start_executor(now);
}

Result<void> GrantConnection::start_executor(MonotonicTime now) {
  const auto slot = take_slot();
  if (!slot) return fail(slot.error());
  if (auto started = start_in_slot(*slot); !started) {
    host_.slots.forget_use(slot->number);
    host_.slots.give_back(slot->number);
    return started;
  }
  slot_ = slot->number;
  started_at_ = now;
  return {};
}

/// A service before this one may have left somebody in a slot, who is ended, and then waits for the
/// system to clear him away: meanwhile another slot will do.
Result<SlotBook::Taken> GrantConnection::take_slot() {
  const SlotUse use{.owner = peer_.uid, .users = users_};
  std::vector<SlotBook::Taken> occupied;
  auto slot = host_.slots.take(use);
  for (; slot && !end_all_of(host_.folders.uid_of(slot->number)); slot = host_.slots.take(use))
    occupied.push_back(*slot);
  for (const SlotBook::Taken& one : occupied) host_.slots.put_back(one);
  if (slot) return *slot;
  return fail(ErrorCode::no_capacity,
              occupied.empty()
                  ? "this host serves as many grants as it has user ids for (--uids of orchid-host)"
                  : "what was granted before is still being ended; try again");
}

void GrantConnection::start_came(MonotonicTime now) {
  if (const auto started = executor_->report.outcome(); !started)
    return give_up_start(started.error(), now);
  if (left_at_) return;
  log::info(
      "event=grant uid={} pid={} job={} step={} source={} users={} cores={} slot_uid={} "
      "executor={} groups={}",
      peer_.uid, peer_.pid, step_.job, step_.step.empty() ? "batch" : step_.step,
      to_string(offer_->source), to_string(users_), to_core_text(cores_),
      host_.folders.uid_of(*slot_), executor_->process.pid(), step_.groups.size());
  if (step_.groups.empty())
    log::warn(
        "event=no_control_group job={} reason=\"Slurm makes none here: the executor is bound to "
        "the job's cores, but is not inside the job\"",
        step_.job);
  tell(GrantTaken{executor_->process.pid(), cores_}, feed_writer_);
  feed_writer_.reset();
}

/// Its slot is free when it has ended.
void GrantConnection::give_up_start(const Failure& why, MonotonicTime now) {
  host_.slots.forget_use(*slot_);
  left_at_ = now;
  executor_->process.send_signal(SIGKILL);
  refuse(Failure(why).while_doing("starting an executor"));
}

Result<void> GrantConnection::start_in_slot(const SlotBook::Taken& slot) {
  const SlotUse use{.owner = peer_.uid, .users = users_};
  if (auto made = prepare(host_.folders, slot.number, use, slot.is_clean); !made) return made;
  UniqueFd feed;
  if (offer_->feed) {
    auto pipe = make_pipe();
    if (!pipe) return fail(std::move(pipe.error()));
    feed = std::move(pipe->reader);
    feed_writer_ = std::move(pipe->writer);
  }
  auto token = read_token(host_.configuration.token_file);
  if (!token) return fail(std::move(token.error()));
  auto started =
      begin_executor({.program = host_.configuration.executor,
                      .arguments = executor_arguments(
                          host_.configuration, {.offer = *offer_,
                                                .owner = peer_.uid,
                                                .users = users_,
                                                .cores = cores_,
                                                .state = host_.folders.state_of(slot.number),
                                                .runtime = host_.folders.runtime_of(slot.number),
                                                .lane_listen = host_.lane_listen,
                                                .boot_id = host_.boot_id,
                                                .has_feed = static_cast<bool>(feed)}),
                      .uid = host_.folders.uid_of(slot.number),
                      .cores = cores_,
                      .groups = step_.groups,
                      .feed = feed.get(),
                      .token = std::move(*token)});
  if (!started) return fail(std::move(started.error()).while_doing("starting an executor"));
  executor_.emplace(std::move(*started));
  return {};
}

void GrantConnection::peer_ended(MonotonicTime now) {
  socket_.reset();
  inquiry_.reset();
  leave("its placeholder has ended", now);
}

void GrantConnection::leave(std::string_view why, MonotonicTime now) {
  if (!executor_ || left_at_) return;
  log::info("event=grant_leaves job={} reason=\"{}\"", step_.job, why);
  left_at_ = now;
  executor_->process.send_signal(SIGTERM);
}

void GrantConnection::executor_ended(MonotonicTime now) {
  const auto end = executor_->process.reap();
  if (!end) return;
  const auto took = left_at_
                        ? std::chrono::duration_cast<std::chrono::milliseconds>(now - *left_at_)
                        : std::chrono::milliseconds(0);
  log::info("event=grant_ended job={} executor=\"{}\" asked={} milliseconds={}", step_.job,
            describe(*end), left_at_ ? "yes" : "no", took.count());
  ended_ = GrantClear{.in_order = left_at_.has_value() || end->ok(),
                      .message = "orchid-executor ended with " + describe(*end)};
  executor_.reset();
  clear_slot();
}

/// Workers go with their executor; whoever is there all the same does not outlive the grant.
void GrantConnection::clear_slot() {
  if (!end_all_of(host_.folders.uid_of(*slot_))) return;  // tried again at the next tick
  host_.slots.give_back(*slot_);
  slot_.reset();
  tell(*ended_);
  socket_.reset();
}

void GrantConnection::tick(MonotonicTime now) {
  if (socket_ && !offer_ && now - since_ >= offer_within) socket_.reset();
  if (executor_ && left_at_ && now - *left_at_ >= leave_within)
    executor_->process.send_signal(SIGKILL);
  if (starting() >= 0 && !left_at_ && now - started_at_ >= start_within)
    give_up_start(system_failure(ErrorCode::timed_out, "becoming the program", ETIMEDOUT), now);
  if (slot_ && ended_) clear_slot();
}

void GrantConnection::stop(MonotonicTime now) {
  if (!slot_) return refuse({ErrorCode::unreachable, "orchid-host is ending"});
  leave("orchid-host is ending", now);
}

}  // namespace orchid::site
