// Bodies to and from other hosts.
#include <memory>
#include <utility>

#include "data/data_requests.h"
#include "data/data_routes.h"
#include "http/response.h"

namespace orchid::gateway {

FarPorts DataRoutes::far_ports() const {
  return {.data = parts_.data, .io = parts_.io, .control = parts_.control, .here = parts_.here};
}

void DataRoutes::far_room_made(const Reply& reply, const ReachableData& room) {
  FarRoom::open(far_ports(), room,
                [this, reply, id = room.object.id](Result<std::unique_ptr<FarRoom>> opened) {
                  if (!opened) return reply.send(refuse_data(opened.error()));
                  (*opened)->when_over([this, reply, id](Result<void> moved) {
                    if (moved) return seal(reply, id);
                    abandoning(id)();
                    Failure why = std::move(moved.error());
                    why.message = "nothing of the object is kept: " + why.message;
                    reply.send(refuse_data(why));
                  });
                  take_body(reply, id, std::make_unique<FarRoomWriter>(std::move(*opened)));
                });
}

void DataRoutes::get_far(const Reply& reply, const ReachableData& object, Response response,
                         const ByteRange& range) {
  if (range.length == 0) return reply.send(std::move(response));
  open_far_body(far_ports(), object, range.begin, range.length,
                [reply, response = std::move(response)](
                    Result<std::shared_ptr<const FileBody>> body) mutable {
                  if (!body) return reply.send(refuse_data(body.error()));
                  response.file = std::move(*body);
                  reply.send(std::move(response));
                });
}

}  // namespace orchid::gateway
