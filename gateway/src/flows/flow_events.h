// flow_events.h: one flow as a stream of events, which its process tells when it is asked for news.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "flows/flow_routes.h"
#include "http/event_stream.h"

namespace orchid::gateway {

/// Belongs to its connection's HTTP thread.
class FlowEvents final : public EventSource, public std::enable_shared_from_this<FlowEvents> {
 public:
  struct Parts {
    FlowAsker asker;
    StreamLimit::Place place;  // held as long as it lives
    Tenant tenant;
    std::string flow;
  };
  /// `first`: the news so far.
  FlowEvents(Parts parts, FlowReply first) : parts_(std::move(parts)), news_(std::move(first)) {}

  void open(std::function<void()> wake) override;
  [[nodiscard]] EventBatch take() override;

 private:
  void ask();
  void arrived(Result<FlowReply> news);

  Parts parts_;
  FlowReply news_;  // its content until that has been taken
  std::function<void()> wake_;
  bool asking_ = false;
};

}  // namespace orchid::gateway
