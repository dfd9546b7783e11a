// data/room_routes.h: objects that programs of this host write and read by themselves, through the
// lane socket of the executor that has them: /v1/rooms, and what opens an object there
// (docs/decisions/0039).
#pragma once
#include "data/data_service.h"
#include "foundation/clock.h"
#include "foundation/task.h"
#include "http/routes.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router. No bytes of objects come here.
class RoomRoutes final : public Routes {
 public:
  struct Parts {
    DataService& data;  // on the control thread
    const Clock& clock;
    Poster control;
    Poster here;
  };
  explicit RoomRoutes(Parts parts) : parts_(std::move(parts)) {}
  void add_to(Router& router) override;

 private:
  void make(Request& request, const Reply& reply);
  void seal(Request& request, const Reply& reply);
  void abandon(Request& request, const Reply& reply);
  void give_access(Request& request, const Reply& reply);

  Parts parts_;
};

}  // namespace orchid::gateway
