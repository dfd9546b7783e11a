#include "data/data_routes.h"

#include <memory>
#include <utility>

#include "data/data_documents.h"
#include "data/data_opener.h"
#include "data/data_requests.h"
#include "data/room_writer.h"
#include "http/byte_range.h"
#include "http/request_options.h"

namespace orchid::gateway {
namespace {

constexpr ByteCount largest_document{4096};

/// What a request to read an object wants of it, taken from its header before that goes.
struct Reading {
  bool is_head = false;
  std::string range;
  std::string if_range;
  std::string if_none_match;
};

Reading reading_of(const Request& request) {
  return {.is_head = request.method == Method::head,
          .range = std::string(request.header(Header::range)),
          .if_range = std::string(request.header(Header::if_range)),
          .if_none_match = std::string(request.header(Header::if_none_match))};
}

/// The answer without its file, and the part that is wanted.
struct Answer {
  Response response;
  ByteRange range;
  bool has_body = true;
};

Answer answer_to(const Reading& reading, const DataObject& object) {
  Answer answer;
  answer.response.content_type = content_type::bytes;
  answer.response = named(std::move(answer.response), object);
  answer.response.with("Accept-Ranges", "bytes");
  if (!reading.if_none_match.empty() && names_tag(reading.if_none_match, to_string(object.id))) {
    answer.response.status = 304;
    answer.has_body = false;
    return answer;
  }
  const bool is_same = reading.if_range.empty() || trim_blanks(reading.if_range) == etag(object);
  answer.range = parse_range(is_same ? reading.range : "", object.bytes.value);
  if (answer.range.kind == ByteRange::Kind::whole) return answer;
  answer.response.with("Content-Range", content_range(answer.range, object.bytes.value));
  answer.response.status = answer.range.kind == ByteRange::Kind::part ? 206 : 416;
  answer.has_body = answer.range.kind == ByteRange::Kind::part;
  return answer;
}

}  // namespace

template <typename Question, typename Done>
void DataRoutes::ask(Question question, Done done) {
  parts_.control([&data = parts_.data, here = parts_.here, question = std::move(question),
                  done = std::move(done)]() mutable {
    here([answer = question(data), done = std::move(done)]() mutable { done(std::move(answer)); });
  });
}

void DataRoutes::add_to(Router& router) {
  const auto bind = [this](void (DataRoutes::*handler)(Request&, const Reply&)) {
    return
        [this, handler](Request& request, const Reply& reply) { (this->*handler)(request, reply); };
  };
  router.add(Method::get, "/v1/data", {}, bind(&DataRoutes::list));
  router.add(Method::post, "/v1/data", {.streams = true}, bind(&DataRoutes::make));
  router.add(Method::put, "/v1/data/{}", {.streams = true}, bind(&DataRoutes::make));
  router.add(Method::get, "/v1/data/{}", {}, bind(&DataRoutes::get));
  router.add(Method::delete_, "/v1/data/{}", {}, bind(&DataRoutes::remove));
  router.add(Method::get, "/v1/data/{}/document", {}, bind(&DataRoutes::describe));
  router.add(Method::get, "/v1/data/{}/digest", {}, bind(&DataRoutes::digest));
  router.add(Method::post, "/v1/data/{}/copies", {.body = largest_document},
             bind(&DataRoutes::copy));
  router.add(Method::post, "/v1/data/{}/durable", {.body = largest_document},
             bind(&DataRoutes::keep_as_file));
}

void DataRoutes::make(Request& request, const Reply& reply) {
  auto wanted = parse_new_data(request, ByteCount{request.content_length});
  if (!wanted) return reply.send(refuse_data(wanted.error()));
  auto made = [this, reply](Result<ReachableData> room) {
    if (!room) return reply.send(refuse_data(room.error()));
    room_made(reply, std::move(*room));
  };
  parts_.control([&data = parts_.data, here = parts_.here, wanted = std::move(*wanted),
                  made = std::move(made)]() mutable {
    data.make(std::move(wanted), [here, made = std::move(made)](Result<ReachableData> room) {
      here([made, room = std::move(room)]() mutable { made(std::move(room)); });
    });
  });
}

std::move_only_function<void()> DataRoutes::abandoning(DataId room) const {
  return [control = parts_.control, &data = parts_.data, room] {
    control([&data, room] { data.abandon(room); });
  };
}

void DataRoutes::room_made(const Reply& reply, ReachableData room) {
  if (room.far) return far_room_made(reply, room);
  const DataId id = room.object.id;
  auto opened = [this, reply, id, size = room.object.bytes](Result<OpenedData> given) {
    if (!given) {
      abandoning(id)();
      return reply.send(refuse_data(given.error()));
    }
    take_body(reply, id,
              std::make_unique<RoomWriter>(
                  std::move(given->file), size, [this, reply, id] { seal(reply, id); },
                  abandoning(id), parts_.closing));
  };
  open_data(parts_.io, room.lane_socket,
            {.data = id, .secret = std::move(room.object.secret), .access = DataAccess::write},
            std::move(opened));
}

void DataRoutes::take_body(const Reply& reply, DataId room, std::unique_ptr<BodySink> sink) {
  parts_.control([&data = parts_.data, here = parts_.here, room, reply] {
    data.watch(room, [here, reply] {
      here([reply] {
        reply.send(
            refuse_data({ErrorCode::unreachable,
                         "its executor has given the room up: nothing is kept; send it again"}));
      });
    });
  });
  reply.take_body(std::move(sink));
}

void DataRoutes::seal(const Reply& reply, DataId room) {
  auto sealed = [this, reply](const Result<ReachableData>& data) {
    if (!data) return reply.send(refuse_data(data.error()));
    const DataObject& object = data->object;
    Response response = json_response(201, data_json(object, moment_of(parts_.clock)));
    reply.send(std::move(
        named(std::move(response), object).with("Location", "/v1/data/" + label_of(object))));
  };
  parts_.control(
      [&data = parts_.data, here = parts_.here, room, sealed = std::move(sealed)]() mutable {
        data.seal(room, [here, sealed = std::move(sealed)](Result<ReachableData> result) {
          here([sealed, result = std::move(result)] { sealed(result); });
        });
      });
}

/// What it has open is closed elsewhere: the object may have been deleted meanwhile.
std::shared_ptr<const FileBody> DataRoutes::body_of(OpenedData data, const ByteRange& range) const {
  auto* body = new FileBody{std::move(data.loan), std::move(data.file), range.begin, range.length};
  return {body, [body, &closing = parts_.closing](const FileBody* /*the same*/) {
            closing.run([owned = std::unique_ptr<FileBody>(body)] {});
          }};
}

void DataRoutes::get(Request& request, const Reply& reply) {
  auto reference = parse_data_reference(request.parameters[0]);
  if (!reference) return reply.send(refuse_data(reference.error()));
  ask([tenant = request.identity.tenant.uid, reference = std::move(*reference)](
          const DataService& data) { return data.find(tenant, reference); },
      [this, reply, reading = reading_of(request)](Result<ReachableData> found) {
        if (!found) return reply.send(refuse_data(found.error()));
        Answer answer = answer_to(reading, found->object);
        if (!answer.has_body) return reply.send(std::move(answer.response));
        if (reading.is_head) {
          answer.response.file = std::make_shared<const FileBody>(
              UniqueFd{}, UniqueFd{}, answer.range.begin, answer.range.length);
          return reply.send(std::move(answer.response));
        }
        if (found->far) return get_far(reply, *found, std::move(answer.response), answer.range);
        LaneOpenData wanted{.data = found->object.id,
                            .secret = std::move(found->object.secret),
                            .access = DataAccess::read};
        open_data(parts_.io, found->lane_socket, wanted,
                  [this, reply, answer = std::move(answer)](Result<OpenedData> given) mutable {
                    if (!given) return reply.send(refuse_data(given.error()));
                    answer.response.file = body_of(std::move(*given), answer.range);
                    reply.send(std::move(answer.response));
                  });
      });
}

void DataRoutes::describe(Request& request, const Reply& reply) {
  auto reference = parse_data_reference(request.parameters[0]);
  if (!reference) return reply.send(refuse_data(reference.error()));
  ask([tenant = request.identity.tenant.uid, reference = std::move(*reference)](
          const DataService& data) { return data.describe(tenant, reference); },
      [this, reply](const Result<DataObject>& found) {
        if (!found) return reply.send(refuse_data(found.error()));
        reply.send(named(json_response(200, data_json(*found, moment_of(parts_.clock))), *found));
      });
}

/// Answered when its bytes have been read.
void DataRoutes::digest(Request& request, const Reply& reply) {
  auto reference = parse_data_reference(request.parameters[0]);
  if (!reference) return reply.send(refuse_data(reference.error()));
  auto done = [this, reply](const Result<DataObject>& found) {
    if (!found) return reply.send(refuse_data(found.error()));
    reply.send(named(json_response(200, data_json(*found, moment_of(parts_.clock))), *found));
  };
  parts_.control([&data = parts_.data, here = parts_.here, tenant = request.identity.tenant.uid,
                  reference = std::move(*reference), done = std::move(done)]() mutable {
    data.digest(tenant, reference, [here, done = std::move(done)](Result<DataObject> found) {
      here([done, found = std::move(found)] { done(found); });
    });
  });
}

/// Answered when its file is written.
void DataRoutes::keep_as_file(Request& request, const Reply& reply) {
  auto reference = parse_data_reference(request.parameters[0]);
  if (!reference) return reply.send(refuse_data(reference.error()));
  const auto life = parse_wanted_file(request.body);
  if (!life) return reply.send(refuse_data(life.error()));
  auto done = [this, reply](const Result<DataObject>& kept) {
    if (!kept) return reply.send(refuse_data(kept.error()));
    reply.send(named(json_response(200, data_json(*kept, moment_of(parts_.clock))), *kept));
  };
  parts_.control([&data = parts_.data, here = parts_.here, tenant = request.identity.tenant.uid,
                  reference = std::move(*reference), life = *life,
                  done = std::move(done)]() mutable {
    data.keep_as_file(tenant, reference, life,
                      [here, done = std::move(done)](Result<DataObject> kept) {
                        here([done, kept = std::move(kept)] { done(kept); });
                      });
  });
}

/// It is on its way when this is answered, unless it is there already.
void DataRoutes::copy(Request& request, const Reply& reply) {
  auto reference = parse_data_reference(request.parameters[0]);
  if (!reference) return reply.send(refuse_data(reference.error()));
  auto wanted = parse_wanted_copies(request.body);
  if (!wanted) return reply.send(refuse_data(wanted.error()));
  ask([tenant = request.identity.tenant.uid, reference = std::move(*reference),
       wanted =
           std::move(*wanted)](DataService& data) { return data.copy(tenant, reference, wanted); },
      [this, reply](const Result<DataObject>& found) {
        if (!found) return reply.send(refuse_data(found.error()));
        reply.send(named(json_response(202, data_json(*found, moment_of(parts_.clock))), *found));
      });
}

void DataRoutes::list(Request& request, const Reply& reply) {
  ask([tenant = request.identity.tenant.uid](const DataService& data) { return data.list(tenant); },
      [this, reply](const std::vector<DataObject>& objects) {
        reply.send(json_response(200, data_list_json(objects, moment_of(parts_.clock))));
      });
}

/// Answered when no executor has a file of it any more.
void DataRoutes::remove(Request& request, const Reply& reply) {
  auto reference = parse_data_reference(request.parameters[0]);
  if (!reference) return reply.send(refuse_data(reference.error()));
  auto precondition = parse_precondition(request);
  if (!precondition) return reply.send(refuse_data(precondition.error()));
  auto done = [reply](const Result<void>& removed) {
    if (!removed) return reply.send(refuse_data(removed.error()));
    Response response;
    response.status = 204;
    reply.send(std::move(response));
  };
  parts_.control([&data = parts_.data, here = parts_.here, tenant = request.identity.tenant.uid,
                  reference = std::move(*reference), precondition = std::move(*precondition),
                  done = std::move(done)]() mutable {
    data.remove(tenant, reference, precondition,
                [here, done = std::move(done)](Result<void> removed) {
                  here([done, removed = std::move(removed)] { done(removed); });
                });
  });
}

}  // namespace orchid::gateway
