// data/data_routes.h: /v1/data: objects made, read, listed and deleted over HTTP.
#pragma once
#include <boost/asio/io_context.hpp>
#include <string>

#include "data/data_service.h"
#include "foundation/clock.h"
#include "foundation/task.h"
#include "http/routes.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router.
class DataRoutes final : public Routes {
 public:
  struct Parts {
    DataService& data;  // on the control thread
    boost::asio::io_context& io;
    const Clock& clock;
    Poster control;
    Poster here;
  };
  explicit DataRoutes(Parts parts) : parts_(std::move(parts)) {}
  void add_to(Router& router) override;

 private:
  void make(Request& request, const Reply& reply);
  void get(Request& request, const Reply& reply);
  void describe(Request& request, const Reply& reply);
  void list(Request& request, const Reply& reply);
  void remove(Request& request, const Reply& reply);
  void room_made(const Reply& reply, ReachableData room);
  [[nodiscard]] std::move_only_function<void()> abandoning(DataId room) const;

  /// `question(service)` is asked on the control thread, and `done` with its answer here.
  template <typename Question, typename Done>
  void ask(Question question, Done done);

  Parts parts_;
};

}  // namespace orchid::gateway
