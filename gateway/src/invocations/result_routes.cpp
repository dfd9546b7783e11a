#include "invocations/result_routes.h"

#include <algorithm>
#include <span>

#include "http/problem.h"
#include "http/query.h"
#include "http/request_options.h"
#include "invocations/invocation_documents.h"
#include "invocations/invocation_events.h"
#include "invocations/invocation_routes.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::seconds longest_wait{60};
constexpr std::size_t longest_list = 1000;

Response refuse_result(const Failure& failure, const std::string& id) {
  Problem problem = problem_of(failure);
  if (parse_invocation_id(id)) problem.invocation = id;  // and not whatever the caller wrote
  return to_response(problem);
}

Response unknown(const std::string& id) {
  return refuse_result(
      Failure{ErrorCode::not_found,
              "there is no invocation " + id + ", or it ended too long ago to be remembered"},
      id);
}

/// Ends with `reply` unless there is an invocation.
template <typename Use>
ViewDone with_view(const Reply& reply, const std::string& id, const Use& use) {
  return [reply, id, use](Result<std::optional<InvocationView>> view) {
    if (!view) return reply.send(refuse_result(view.error(), id));
    if (!*view) return reply.send(unknown(id));
    use(**view);
  };
}

Response cancel_asked(const std::string& id) {
  return json_response(202, "{\"id\":\"" + id + "\",\"cancelling\":true}\n");
}

/// What all threads know, put together on the one that asked.
struct Gathering {
  std::vector<InvocationView> views;
  std::size_t missing = 0;
  std::size_t limit = 0;
  std::optional<StoredState> state;
  std::optional<Failure> failure;

  void add(std::vector<InvocationView> more) {
    for (InvocationView& view : more)
      if (!state || view.record.state == *state) views.push_back(std::move(view));
  }
  [[nodiscard]] std::vector<InvocationView> newest() {
    std::ranges::stable_sort(views, std::ranges::greater{},
                             [](const InvocationView& v) { return v.record.accepted; });
    if (views.size() > limit) views.resize(limit);
    return std::move(views);
  }
};

Result<std::optional<StoredState>> parse_state(std::string_view text) {
  if (text.empty()) return std::optional<StoredState>{};
  for (const StoredState state : {StoredState::queued, StoredState::started, StoredState::done})
    if (text == state_name(state)) return std::optional(state);
  return fail(ErrorCode::bad_request, "state must be queued, running or done");
}

/// Of what no key begins with. Characters are counted as openapi.yaml means them, in UTF-8.
Result<void> check_key(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  if (std::ranges::count_if(text, begins) <= 255) return {};
  return fail(ErrorCode::bad_request, "key must have at most 255 characters");
}

}  // namespace

void ResultRoutes::add_to(Router& router) {
  const auto bind = [this](void (ResultRoutes::*handler)(Request&, const Reply&)) {
    return
        [this, handler](Request& request, const Reply& reply) { (this->*handler)(request, reply); };
  };
  router.add(Method::get, "/v1/invocations", {.query = {"limit", "state", "key"}},
             bind(&ResultRoutes::list));
  router.add(Method::get, "/v1/invocations/{}", {.query = {"wait"}}, bind(&ResultRoutes::get));
  router.add(Method::delete_, "/v1/invocations/{}", {}, bind(&ResultRoutes::cancel));
  router.add(Method::get, "/v1/invocations/{}/events", {}, bind(&ResultRoutes::events));
  router.add(Method::get, "/v1/invocations/{}/output", {}, bind(&ResultRoutes::output));
  router.add(Method::get, "/v1/invocations/{}/logs", {}, bind(&ResultRoutes::logs));
}

void ResultRoutes::get(Request& request, const Reply& reply) {
  const std::string id(request.parameters[0]);
  MonotonicTime until{};
  if (const std::string wait = query_parameter(request.query, "wait"); !wait.empty()) {
    auto duration = parse_wait(wait);
    if (!duration) return reply.send(refuse_result(duration.error(), id));
    until = parts_.clock.now() + std::min<std::chrono::milliseconds>(*duration, longest_wait);
  }
  finder_.find(request.identity.tenant.uid, id, {.until = until},
               with_view(reply, id, [reply](const InvocationView& view) {
                 reply.send(json_response(200, invocation_json(view)));
               }));
}

void ResultRoutes::events(Request& request, const Reply& reply) {
  const std::string id(request.parameters[0]);
  const uid_t tenant = request.identity.tenant.uid;
  // 204 is what a reader that comes back by itself takes for the end.
  const bool knows_all = request.header(Header::last_event_id) == state_name(StoredState::done);
  finder_.find(tenant, id, {},
               with_view(reply, id, [this, reply, id, tenant, knows_all](InvocationView& view) {
                 if (knows_all && view.record.state == StoredState::done) {
                   Response nothing;
                   nothing.status = 204;
                   return reply.send(std::move(nothing));
                 }
                 auto place = parts_.streams.enter(tenant);
                 if (!place) return reply.send(refuse_result(place.error(), id));
                 reply.send(event_stream_response(std::make_shared<InvocationEvents>(
                     InvocationEvents::Parts{finder_, parts_.clock, std::move(*place)}, tenant,
                     std::move(view))));
               }));
}

void ResultRoutes::output(Request& request, const Reply& reply) {
  const std::string id(request.parameters[0]);
  auto fetch = [&async = parts_.async, control = parts_.control, here = parts_.here, reply,
                id](const InvocationView& view) {
    const InvocationRecord& record = view.record;
    if (record.state != StoredState::done)
      return reply.send(refuse_result(
          Failure{ErrorCode::conflict, "invocation " + id +
                                           " has not ended: ask for /v1/invocations/" + id +
                                           "?wait=60s first"},
          id));
    if (record.outcome != Outcome::ok)
      return reply.send(outcome_response(id, record.function, result_of(record, {})));
    if (view.synchronous) {
      Problem problem = problem_of(Failure{
          ErrorCode::not_found,
          "invocation " + id +
              " was synchronous: its output was the answer to its request, and is not kept"});
      problem.status = 410;
      problem.invocation = id;
      return reply.send(to_response(problem));
    }
    control([&async, here, reply, record] {
      async.output(record.id, [here, reply, record](Result<std::vector<std::byte>> output) {
        here([reply, record, output = std::move(output)]() mutable {
          if (!output) return reply.send(refuse_result(output.error(), record.id));
          Response response = outcome_response(record.id, record.function,
                                               result_of(record, Payload::of(std::move(*output))));
          response.status = 200;  // also of what its end has made
          reply.send(std::move(response));
        });
      });
    });
  };
  finder_.find(request.identity.tenant.uid, id, {}, with_view(reply, id, fetch));
}

void ResultRoutes::logs(Request& request, const Reply& reply) {
  const std::string id(request.parameters[0]);
  const uid_t tenant = request.identity.tenant.uid;
  auto send = [here = parts_.here, reply, id](Result<InvocationLog> log) {
    here([reply, id, log = std::move(log)]() mutable {
      if (!log) return reply.send(refuse_result(log.error(), id));
      Response response;
      response.content_type = content_type::text;
      response.with("Orchid-Log-Complete", log->complete ? "true" : "false");
      response.with("Orchid-Log-Dropped", std::to_string(log->dropped));
      response.text = std::move(log->text);
      reply.send(std::move(response));
    });
  };
  auto fetch = [this, send, tenant, id](const InvocationView& view) {
    if (!view.synchronous) {
      parts_.control(
          [&async = parts_.async, record = view.record, send] { async.log(record, send); });
      return;
    }
    const CallsPort* port = finder_.home(id);
    port->post([calls = port->calls, tenant, number = *parse_invocation_id(id), id, send] {
      auto log = calls->log(tenant, number);
      if (log) return send(std::move(*log));
      send(fail(ErrorCode::not_found, "the log of " + id + " is gone"));
    });
  };
  finder_.find(tenant, id, {}, with_view(reply, id, fetch));
}

void ResultRoutes::cancel_async(uid_t tenant, const std::string& id, const Reply& reply) {
  parts_.control([&async = parts_.async, here = parts_.here, tenant, id, reply] {
    async.cancel(tenant, id, [here, id, reply](Result<void> asked) {
      here([id, reply, asked = std::move(asked)] {
        reply.send(asked ? cancel_asked(id) : refuse_result(asked.error(), id));
      });
    });
  });
}

void ResultRoutes::cancel(Request& request, const Reply& reply) {
  const std::string id(request.parameters[0]);
  const uid_t tenant = request.identity.tenant.uid;
  const auto number = parse_invocation_id(id);
  if (!number) return reply.send(unknown(id));
  const CallsPort* port = finder_.home(id);
  if (port == nullptr) return cancel_async(tenant, id, reply);
  port->post([this, here = parts_.here, calls = port->calls, tenant, number, id, reply] {
    const SyncCalls::Cancelled cancelled = calls->cancel(tenant, *number);
    here([this, cancelled, tenant, id, reply] {
      switch (cancelled) {
        case SyncCalls::Cancelled::asked:
          return reply.send(cancel_asked(id));
        case SyncCalls::Cancelled::unknown:
          return cancel_async(tenant, id, reply);
        case SyncCalls::Cancelled::too_late:
          break;
      }
      reply.send(refuse_result(
          Failure{ErrorCode::conflict, "invocation " + id + " has ended already"}, id));
    });
  });
}

void ResultRoutes::list(Request& request, const Reply& reply) {
  const uid_t tenant = request.identity.tenant.uid;
  auto gathering = std::make_shared<Gathering>();  // shared by the answers that are awaited
  gathering->limit = 100;
  const std::string key = query_parameter(request.query, "key");
  if (auto fits = check_key(key); !fits) return reply.send(refuse_result(fits.error(), ""));
  gathering->missing = key.empty() ? parts_.threads.size() + 1 : 1;
  if (const std::string text = query_parameter(request.query, "limit"); !text.empty()) {
    auto limit = parse_number_field("limit", text, {1, longest_list});
    if (!limit) return reply.send(refuse_result(limit.error(), ""));
    gathering->limit = *limit;
  }
  auto state = parse_state(query_parameter(request.query, "state"));
  if (!state) return reply.send(refuse_result(state.error(), ""));
  gathering->state = *state;
  auto arrived = [gathering, reply](Result<std::vector<InvocationView>> views) {
    if (views) gathering->add(std::move(*views));
    if (!views) gathering->failure = std::move(views.error());
    if (--gathering->missing > 0) return;
    reply.send(gathering->failure ? refuse_result(*gathering->failure, "")
                                  : json_response(200, invocation_list_json(gathering->newest())));
  };
  // What has a key is asynchronous.
  for (const CallsPort& port :
       std::span(parts_.threads).first(key.empty() ? parts_.threads.size() : 0))
    port.post([here = parts_.here, calls = port.calls, tenant, limit = gathering->limit, arrived] {
      here([arrived, views = calls->list(tenant, limit)]() mutable { arrived(std::move(views)); });
    });
  InvocationFilter filter{
      .tenant = tenant, .limit = gathering->limit, .finished = std::nullopt, .key_begins = key};
  if (*state) filter.finished = **state == StoredState::done;
  parts_.control([&async = parts_.async, here = parts_.here, filter, arrived] {
    async.list(filter, [here, arrived](Result<std::vector<InvocationRecord>> records) {
      here([arrived, records = std::move(records)]() mutable {
        if (!records) return arrived(fail(std::move(records.error())));
        std::vector<InvocationView> views;
        for (InvocationRecord& record : *records)
          views.push_back({.record = std::move(record), .synchronous = false});
        arrived(std::move(views));
      });
    });
  });
}

}  // namespace orchid::gateway
