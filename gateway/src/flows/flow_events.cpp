#include "flow_events.h"

#include <utility>

namespace orchid::gateway {
namespace {
/// A reader that has gone is asked for no longer than that.
constexpr std::chrono::seconds patience{10};
}  // namespace

void FlowEvents::open(std::function<void()> wake) { wake_ = std::move(wake); }

/// The next news are asked for when these have been taken: a slow reader hears of the newest state.
EventBatch FlowEvents::take() {
  EventBatch batch{.text = std::exchange(news_.content, {}), .last = news_.answer.last};
  if (!batch.last) ask();
  return batch;
}

void FlowEvents::ask() {
  if (std::exchange(asking_, true)) return;
  parts_.asker.ask(parts_.tenant,
                   {.ask = FlowAsk::news,
                    .flow = parts_.flow,
                    .key = {},
                    .since = news_.answer.next,
                    .wait = patience},
                   {}, [weak = weak_from_this()](Result<FlowReply> news) {
                     if (const auto self = weak.lock()) self->arrived(std::move(news));
                   });
}

void FlowEvents::arrived(Result<FlowReply> news) {
  asking_ = false;
  if (news && !news->answer.failure) {
    news_ = std::move(*news);
    return wake_();
  }
  // The process has ended, or the flow was deleted; whoever still wants to know comes back.
  append_comment(news_.content, news ? news->answer.failure->message : news.error().message);
  news_.answer.last = true;
  wake_();
}

}  // namespace orchid::gateway
