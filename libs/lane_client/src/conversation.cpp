#include "lane_client/conversation.h"

#include <utility>

#include "lane_client/policy.h"

namespace orchid::lane_client {

void Conversation::await(MonotonicTime due, bool is_last) {
  due_.store(due, std::memory_order_relaxed);
  is_last_ = is_last;
}

void Conversation::announced() {
  was_heard_ = true;
  due_.store(MonotonicTime::max(), std::memory_order_relaxed);
}

void Conversation::opened() {
  failed_openings_ = 0;
  announced();
  phase_.store(LanePhase::ready, std::memory_order_release);
}

Step Conversation::opening_failed(const Failure& why, MonotonicTime now) {
  trouble_ = why.message;
  if (is_futile(why.code) || ++failed_openings_ == most_failed_openings) return Step::end;
  await(now + explain_within, false);
  return Step::none;
}

Step Conversation::broken(const Failure& why, MonotonicTime now) {
  if (why.code != ErrorCode::unreachable) return give_up(why.message, now);
  if (!is_ready()) return Step::none;
  trouble_ = why.message;
  phase_.store(LanePhase::losing, std::memory_order_release);
  await(now + explain_within, false);
  return Step::none;
}

Step Conversation::give_up(std::string reason, MonotonicTime now) {
  if (!is_ready() && phase() != LanePhase::losing) return Step::none;
  trouble_ = std::move(reason);
  phase_.store(LanePhase::replacing, std::memory_order_release);
  await(now + replace_within, true);
  return Step::replace;
}

void Conversation::ended(MonotonicTime now, std::chrono::milliseconds pause) {
  trouble_ = "the last one ended";
  was_heard_ = true;
  if (phase() != LanePhase::claiming) phase_.store(LanePhase::replacing, std::memory_order_release);
  await(now + pause + replace_within, true);
}

Step Conversation::expire(MonotonicTime now) {
  if (now < due()) return Step::none;
  if (is_last_) {
    if (was_heard_) trouble_ = "the executor has not replaced the worker (" + trouble_ + ")";
    return Step::end;
  }
  if (phase() == LanePhase::losing) return give_up(trouble_, now);
  await(now + replace_within, true);
  return Step::ask;
}

void Conversation::die() {
  announced();
  phase_.store(LanePhase::dead, std::memory_order_release);
}

}  // namespace orchid::lane_client
