// invocations/invocation_events.h: one invocation as a stream of events: its states, how far it is,
// and at last its document.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "foundation/clock.h"
#include "http/event_stream.h"
#include "http/stream_limit.h"
#include "invocations/invocation_finder.h"
#include "invocations/invocation_view.h"

namespace orchid::gateway {

/// What a reader has been told of an invocation. A value.
class ToldInvocation {
 public:
  /// What of it the reader does not know, as events; empty: it knows all.
  [[nodiscard]] std::string tell(const InvocationView& view);

 private:
  std::optional<StoredState> state_;
  std::optional<double> progress_;
};

/// Belongs to its connection's HTTP thread. Asks for the invocation again and again: hears at once
/// of another state, and looks several times a second how far a running one is. A function says
/// that in memory that it shares with the gateway, which nobody announces.
class InvocationEvents final : public EventSource,
                               public std::enable_shared_from_this<InvocationEvents> {
 public:
  struct Parts {
    const InvocationFinder& finder;  // of this thread; outlives it
    const Clock& clock;
    StreamLimit::Place place;  // held as long as it lives
  };
  /// `view`: what is known now.
  InvocationEvents(Parts parts, uid_t tenant, InvocationView view)
      : parts_(std::move(parts)), tenant_(tenant), view_(std::move(view)) {}

  void open(std::function<void()> wake) override;
  [[nodiscard]] EventBatch take() override;

 private:
  [[nodiscard]] bool has_ended() const { return view_.record.state == StoredState::done; }
  void ask();
  void found(Result<std::optional<InvocationView>> view, MonotonicTime asked_until);

  Parts parts_;
  uid_t tenant_;
  InvocationView view_;  // the newest
  ToldInvocation told_;
  std::function<void()> wake_;
  bool lost_ = false;  // it cannot be found any more
};

}  // namespace orchid::gateway
