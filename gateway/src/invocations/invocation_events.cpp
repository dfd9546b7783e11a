#include "invocations/invocation_events.h"

#include <utility>

#include "invocations/invocation_documents.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::milliseconds running_look{100};
// Of one whose next state is heard of anyway; whoever has gone is waited for no longer than that.
constexpr std::chrono::milliseconds queued_look{2'000};

}  // namespace

std::string ToldInvocation::tell(const InvocationView& view) {
  std::string events;
  const StoredState state = view.record.state;
  const bool has_ended = state == StoredState::done;
  if (std::exchange(state_, state) != state) {
    progress_.reset();  // it may begin anew
    append_event(events, {.name = has_ended ? "done" : "state",
                          .data = invocation_json(view),
                          .id = state_name(state)});
  }
  if (has_ended || !view.progress || progress_ == view.progress) return events;
  progress_ = view.progress;
  append_event(events, {.name = "progress", .data = progress_json(*progress_)});
  return events;
}

void InvocationEvents::open(std::function<void()> wake) {
  wake_ = std::move(wake);
  ask();
}

EventBatch InvocationEvents::take() {
  EventBatch batch{.text = told_.tell(view_), .last = has_ended() || lost_};
  if (lost_) append_comment(batch.text, "the invocation cannot be followed any more");
  return batch;
}

void InvocationEvents::ask() {
  if (has_ended() || lost_) return;
  const StoredState state = view_.record.state;
  const MonotonicTime until =
      parts_.clock.now() + (state == StoredState::queued ? queued_look : running_look);
  parts_.finder.find(tenant_, view_.record.id, {.until = until, .known = state},
                     [weak = weak_from_this(), until](Result<std::optional<InvocationView>> view) {
                       if (const auto self = weak.lock()) self->found(std::move(view), until);
                     });
}

void InvocationEvents::found(Result<std::optional<InvocationView>> view,
                             MonotonicTime asked_until) {
  lost_ = !view || !*view;
  if (lost_) return wake_();
  const bool is_news =
      (*view)->record.state != view_.record.state || (*view)->progress != view_.progress;
  view_ = std::move(**view);
  if (is_news) wake_();
  // Otherwise nobody may wait any more, since the gateway is stopping; then the connection ends.
  if (is_news || parts_.clock.now() >= asked_until) ask();
}

}  // namespace orchid::gateway
