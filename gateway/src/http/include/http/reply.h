// http/reply.h: how a handler answers, at once or later.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>

#include "http/body.h"
#include "http/response.h"

namespace orchid::gateway {

/// Who wants to know that a client went away before it had its answer.
class ClientWatcher {
 public:
  virtual ~ClientWatcher() = default;
  virtual void client_gone(std::uint64_t call) = 0;
};

/// A connection that waits for an answer. Belongs to its HTTP thread.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  /// Ignored unless `exchange` is the one that waits.
  virtual void respond(std::uint64_t exchange, Response response) = 0;
  virtual void watch(std::uint64_t exchange, ClientWatcher& watcher, std::uint64_t call) = 0;
  /// Likewise.
  virtual void take_body(std::uint64_t exchange, std::unique_ptr<BodySink> sink) = 0;
};

/// The right to answer one request. Copies stand for the same answer; the first one that is used
/// counts. May travel through other threads, but is used on its own.
///
/// Of a route that streams (`RouteOptions::streams`) the handler has the request before its body:
/// an answer refuses the body, and a sink takes it. The sink answers when it is finished.
class Reply {
 public:
  Reply(std::shared_ptr<AnswerSink> sink, std::uint64_t exchange)
      : sink_(std::move(sink)), exchange_(exchange) {}
  void send(Response response) const { sink_->respond(exchange_, std::move(response)); }
  /// Until it is answered; at once if the client has gone, or it is answered, already. `watcher`
  /// outlives the connection.
  void watch(ClientWatcher& watcher, std::uint64_t call) const {
    sink_->watch(exchange_, watcher, call);
  }
  /// Once, and not after an answer. The sink is destroyed when the client has gone.
  void take_body(std::unique_ptr<BodySink> sink) const {
    sink_->take_body(exchange_, std::move(sink));
  }

 private:
  std::shared_ptr<AnswerSink> sink_;  // shared with the connection's own asynchronous operations
  std::uint64_t exchange_;
};

}  // namespace orchid::gateway
