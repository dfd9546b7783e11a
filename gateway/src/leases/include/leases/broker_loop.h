// leases/broker_loop.h: the broker on the control thread: changes come in from any thread, and what
// it decides goes to those who do it.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "foundation/task.h"
#include "leases/worker_broker.h"

namespace orchid::gateway {

/// Does a part of what the broker decides. Called on the control thread.
class ActionPerformer {
 public:
  virtual ~ActionPerformer() = default;
  /// False: the action is for somebody else, or for others as well.
  [[nodiscard]] virtual bool perform(const BrokerAction& action) = 0;
  /// Several times a second. What it has the broker decide is done then.
  virtual void tick(MonotonicTime /*now*/) {}
};

/// Belongs to the control thread, whose io_context it is given; `post` and `ask` may be called on
/// any thread. Made before the threads run, destroyed after they have ended and before the
/// io_contexts.
class BrokerLoop {
 public:
  BrokerLoop(boost::asio::io_context& control, const Clock& clock, WorkerBroker& broker);
  BrokerLoop(const BrokerLoop&) = delete;
  BrokerLoop& operator=(const BrokerLoop&) = delete;

  /// Before the control thread runs. Each action is offered to the performers in this order; they
  /// outlive the control thread.
  void add(ActionPerformer& performer) { performers_.push_back(&performer); }

  /// Any thread: `change(broker, now)` is called on the control thread, unless the loop has
  /// stopped, and what the broker decides by it is done.
  template <typename Change>
  void post(Change change) {
    boost::asio::post(control_,
                      [this, change = std::move(change), alive = std::weak_ptr(alive_)]() mutable {
                        if (!alive.expired() && !stopped_) make(std::move(change));
                      });
  }
  /// The same for a question; `done` is called with the answer, on the thread of `reply_to`.
  template <typename Question, typename Done>
  void ask(Question question, Poster reply_to, Done done) {
    post([question = std::move(question), reply_to = std::move(reply_to), done = std::move(done)](
             WorkerBroker& broker, MonotonicTime now) mutable {
      reply_to([done = std::move(done), answer = question(broker, now)]() mutable {
        done(std::move(answer));
      });
    });
  }
  /// Control thread: the same at once.
  template <typename Change>
  void make(Change change) {
    change(broker_, clock_.now());
    perform();
  }

  [[nodiscard]] MonotonicTime now() const { return clock_.now(); }
  /// Control thread: nothing is done any more.
  void stop();

 private:
  void perform();
  void tick();

  boost::asio::io_context& control_;
  const Clock& clock_;
  WorkerBroker& broker_;
  std::vector<ActionPerformer*> performers_;
  boost::asio::steady_timer timer_;
  bool stopped_ = false;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell posted work whether we are still here
};

}  // namespace orchid::gateway
