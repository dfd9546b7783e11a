// data/data_routes.h: /v1/data: objects made, read, listed and deleted over HTTP.
#pragma once
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "data/data_opener.h"
#include "data/data_service.h"
#include "data/far_room.h"
#include "foundation/background_thread.h"
#include "foundation/clock.h"
#include "foundation/task.h"
#include "http/byte_range.h"
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
    BackgroundThread& closing;  // of files: the last close of one gives all its pages back
  };
  explicit DataRoutes(Parts parts) : parts_(std::move(parts)) {}
  void add_to(Router& router) override;

 private:
  void make(Request& request, const Reply& reply);
  void get(Request& request, const Reply& reply);
  void get_far(const Reply& reply, const ReachableData& object, Response response,
               const ByteRange& range);
  void describe(Request& request, const Reply& reply);
  void digest(Request& request, const Reply& reply);
  void copy(Request& request, const Reply& reply);
  void keep_as_file(Request& request, const Reply& reply);
  void list(Request& request, const Reply& reply);
  void remove(Request& request, const Reply& reply);
  void room_made(const Reply& reply, ReachableData room);
  void far_room_made(const Reply& reply, const ReachableData& room);
  void take_body(const Reply& reply, DataId room, std::unique_ptr<BodySink> sink);
  void seal(const Reply& reply, DataId room);
  [[nodiscard]] FarPorts far_ports() const;
  [[nodiscard]] std::shared_ptr<const FileBody> body_of(OpenedData data,
                                                        const ByteRange& range) const;
  [[nodiscard]] std::move_only_function<void()> abandoning(DataId room) const;

  /// `question(service)` is asked on the control thread, and `done` with its answer here.
  template <typename Question, typename Done>
  void ask(Question question, Done done);

  Parts parts_;
};

}  // namespace orchid::gateway
