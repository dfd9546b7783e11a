#include "data/room_routes.h"
#include "data/data_documents.h"

#include <utility>

#include "data/data_requests.h"
#include "http/response.h"

namespace orchid::gateway {
namespace {

constexpr ByteCount largest_room_request{4096};

/// With a secret in it, which nobody on the way is to keep.
Response access_answer(unsigned status, const ReachableData& data) {
  Response response = json_response(status, data_access_json(data.object, data.lane_socket));
  return named(std::move(response.with("Cache-Control", "no-store")), data.object);
}

Result<DataId> parse_room(const Request& request) {
  if (const auto id = parse_data_id(request.parameters[0])) return *id;
  return fail(ErrorCode::bad_request, "'" + std::string(request.parameters[0]) +
                                          "' is no room: it is called by the id of its object");
}

}  // namespace

void RoomRoutes::add_to(Router& router) {
  const auto bind = [this](void (RoomRoutes::*handler)(Request&, const Reply&)) {
    return
        [this, handler](Request& request, const Reply& reply) { (this->*handler)(request, reply); };
  };
  const RouteOptions with_document{.body = largest_room_request};
  router.add(Method::post, "/v1/rooms", with_document, bind(&RoomRoutes::make));
  router.add(Method::post, "/v1/data/{}/rooms", with_document, bind(&RoomRoutes::make));
  router.add(Method::post, "/v1/rooms/{}/seal", {}, bind(&RoomRoutes::seal));
  router.add(Method::delete_, "/v1/rooms/{}", {}, bind(&RoomRoutes::abandon));
  router.add(Method::get, "/v1/data/{}/access", {}, bind(&RoomRoutes::give_access));
}

void RoomRoutes::make(Request& request, const Reply& reply) {
  const auto bytes = parse_wanted_room(request.body);
  if (!bytes) return reply.send(refuse_data(bytes.error()));
  auto wanted = parse_new_data(request, *bytes);
  if (!wanted) return reply.send(refuse_data(wanted.error()));
  wanted->is_here = true;
  parts_.control(
      [&data = parts_.data, here = parts_.here, reply, wanted = std::move(*wanted)]() mutable {
        data.make(std::move(wanted), [here, reply](const Result<ReachableData>& room) {
          here([reply,
                answer = room ? access_answer(201, *room) : refuse_data(room.error())]() mutable {
            reply.send(std::move(answer));
          });
        });
      });
}

/// Its program has written all of it, and has it mapped no more.
void RoomRoutes::seal(Request& request, const Reply& reply) {
  const auto room = parse_room(request);
  if (!room) return reply.send(refuse_data(room.error()));
  const auto sealed = [here = parts_.here, reply,
                       &clock = parts_.clock](const Result<ReachableData>& data) {
    here([reply, data, &clock] {
      if (!data) return reply.send(refuse_data(data.error()));
      const DataObject& object = data->object;
      Response response = json_response(201, data_json(object, moment_of(clock)));
      reply.send(std::move(
          named(std::move(response), object).with("Location", "/v1/data/" + label_of(object))));
    });
  };
  parts_.control([&data = parts_.data, tenant = request.identity.tenant.uid, room = *room, sealed] {
    if (auto may = data.check_room(tenant, room); !may) return sealed(fail(std::move(may.error())));
    data.seal(room, sealed);
  });
}

void RoomRoutes::abandon(Request& request, const Reply& reply) {
  const auto room = parse_room(request);
  if (!room) return reply.send(refuse_data(room.error()));
  parts_.control([&data = parts_.data, here = parts_.here, tenant = request.identity.tenant.uid,
                  room = *room, reply] {
    auto may = data.check_room(tenant, room);
    if (may) data.abandon(room);
    here([reply, may = std::move(may)] {
      if (!may) return reply.send(refuse_data(may.error()));
      Response response;
      response.status = 204;
      reply.send(std::move(response));
    });
  });
}

void RoomRoutes::give_access(Request& request, const Reply& reply) {
  auto reference = parse_data_reference(request.parameters[0]);
  if (!reference) return reply.send(refuse_data(reference.error()));
  parts_.control([&data = parts_.data, here = parts_.here, tenant = request.identity.tenant.uid,
                  reference = std::move(*reference), reply] {
    here([reply, found = data.find(tenant, reference)] {
      reply.send(found ? access_answer(200, *found) : refuse_data(found.error()));
    });
  });
}

}  // namespace orchid::gateway
