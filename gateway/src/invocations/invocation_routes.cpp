#include "invocations/invocation_routes.h"

#include "calls/worker_for.h"
#include "http/problem.h"
#include "invocations/invocation_documents.h"
#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

UnixMillis unix_millis(const Clock& clock) {
  return duration_cast<milliseconds>(clock.wall_now().time_since_epoch()).count();
}

Response marked(Response response, bool replayed) {
  if (replayed) response.with("Idempotency-Replayed", "true");
  return response;
}

/// What is not in time is so by the call's own deadline.
Response refuse(const Failure& failure, std::string_view function) {
  Problem problem = failure.code == ErrorCode::timed_out
                        ? problem_of(CallResult{.outcome = Outcome::deadline_exceeded,
                                                .message = failure.message})
                        : problem_of_invocation(failure);
  problem.function = function;
  return to_response(problem);
}

/// The only conflict here is a key that was used for another request: what draft-ietf-httpapi-
/// idempotency-key-header wants is 422.
Response refuse_submission(const Failure& failure, std::string_view function) {
  Problem problem = problem_of_invocation(failure);
  problem.function = function;
  if (failure.code == ErrorCode::conflict) problem.status = 422;
  return to_response(problem);
}

}  // namespace

Response accepted_response(const std::string& id, StoredState state) {
  return std::move(json_response(202, "{\"id\":\"" + id + "\",\"state\":\"" +
                                          std::string(state_name(state)) + "\"}\n")
                       .with("Location", "/v1/invocations/" + id)
                       .with("Orchid-Invocation", id)
                       .with("Preference-Applied", "respond-async"));
}

namespace {

/// Its output is a data object, which the answer describes.
Response kept_response(const std::string& kept_as, Payload description) {
  const std::string id = kept_as.substr(0, kept_as.find(' '));
  const std::string label = kept_as.substr(std::min(id.size() + 1, kept_as.size()));
  Response response;
  response.status = 201;
  response.content_type = content_type::json;
  response.payload = std::move(description);
  response.with("ETag", "\"" + id + "\"")
      .with("Orchid-Data", label)
      .with("Location", "/v1/data/" + label);
  return response;
}

}  // namespace

Response outcome_response(const std::string& id, const std::string& function, CallResult result) {
  Response response;
  if (result.outcome == Outcome::ok && !result.kept_as.empty()) {
    response = kept_response(result.kept_as, std::move(result.output));
    response.with("Orchid-Invocation", id).with("Orchid-Outcome", "ok");
  } else if (result.outcome == Outcome::ok) {
    response.content_type = content_type::bytes;
    response.payload = std::move(result.output);
    response.headers.reserve(256);
    response.with("Orchid-Invocation", id).with("Orchid-Outcome", "ok");
  } else {
    Problem problem = problem_of(result);
    problem.invocation = id;
    problem.function = function;
    response = to_response(problem);
  }
  response.with("Server-Timing", server_timing(result.timings));
  if (!result.node.empty()) response.with("Orchid-Node", result.node);
  return response;
}

CallResult result_of(const InvocationRecord& record, Payload output) {
  CallResult result;
  result.outcome = record.outcome.value_or(Outcome::worker_lost);
  result.message = record.message;
  result.node = record.node;
  result.attempt = record.attempts;
  result.timings = record.timings;
  if (record.output_data.contains(' ')) result.kept_as = record.output_data;
  result.output = std::move(output);
  return result;
}

InvocationRoutes::InvocationRoutes(Parts parts)
    : parts_(std::move(parts)), recent_data_(parts_.find_data.changes), table_(parts_.table) {}

void InvocationRoutes::add_to(Router& router) {
  router.add(Method::post, "/v1/functions/{}/invocations",
             {.is_invocation = true, .body = limits::input_size},
             [this](Request& request, const Reply& reply) { invoke(request, reply); });
}

Result<InvocationRoutes::Accepted> InvocationRoutes::judge(const Request& request) {
  auto reference = parse_function_reference(request.parameters[0]);
  if (!reference) return fail(std::move(reference.error()));
  auto entry = table_.get().resolve(request.identity.tenant.uid, *reference);
  if (!entry) return fail(std::move(entry.error()));
  const module::Manifest& manifest = entry->version->manifest;
  if (auto checked = check_signature(request.header(Header::orchid_signature),
                                     manifest.entries[entry->entry].signature);
      !checked)
    return fail(std::move(checked.error()));
  auto options = parse_invocation_options(request, parts_.defaults);
  if (!options) return fail(std::move(options.error()));
  const bool once = options->at_most_once || !manifest.effects.empty();
  return Accepted{.entry = std::move(*entry),
                  .options = std::move(*options),
                  .at_most_once = once,
                  .at = parts_.clock.now()};
}

void InvocationRoutes::invoke(Request& request, const Reply& reply) {
  auto accepted = judge(request);
  if (!accepted) {
    reply.send(refuse(accepted.error(), request.parameters[0]));
  } else if (!accepted->options.cluster.empty() && !accepted->is_stored()) {
    look_for_cluster(request, reply, std::move(*accepted));
  } else {
    go_on(request, reply, std::move(*accepted));
  }
}

/// Of a call that is stored that is known once it is: its key may be one of before.
void InvocationRoutes::look_for_cluster(Request& request, const Reply& reply, Accepted accepted) {
  std::string cluster = accepted.options.cluster;
  auto found = [this, &request, reply, accepted = std::make_shared<Accepted>(std::move(accepted))](
                   const Result<void>& known) {
    if (!known) return reply.send(refuse(known.error(), request.parameters[0]));
    go_on(request, reply, std::move(*accepted));
  };
  parts_.control([&parts = parts_, cluster = std::move(cluster),
                  found = std::move(found)]() mutable {
    parts.here([found = std::move(found), known = parts.check_cluster(cluster)] { found(known); });
  });
}

void InvocationRoutes::go_on(Request& request, const Reply& reply, Accepted accepted) {
  if (!accepted.options.data.empty())
    find_data(request, reply, std::move(accepted));
  else
    start(request, reply, std::move(accepted));
}

/// Names become versions here, and stay so. A call that is stored is looked after when it starts;
/// for others all is waited for that is to be copied to where they run. The request lives as long
/// as its reply.
void InvocationRoutes::find_data(Request& request, const Reply& reply, Accepted accepted) {
  const bool is_stored = accepted.is_stored();
  const uid_t tenant = request.identity.tenant.uid;
  placement::WorkerRequest worker =
      worker_for(*accepted.entry.version, {.kind = accepted.options.kind,
                                           .device = accepted.options.device,
                                           .cluster = accepted.options.cluster});
  if (!is_stored) accepted.data = recent_data_.find(tenant, accepted.options.data, worker);
  if (accepted.data != nullptr) return start(request, reply, std::move(accepted));
  const auto [number, client_gone] = data_waits_.add();
  CallDataFinder::Wait wait{.tenant = tenant,
                            .names = accepted.options.data,
                            .worker = worker,
                            .deadline = accepted.at + accepted.options.deadline,
                            .client_gone = client_gone};
  auto found = [this, &request, reply, number, worker = std::move(worker),
                accepted =
                    std::make_shared<Accepted>(std::move(accepted))](CallDataFinder::Found data) {
    data_waits_.remove(number);
    accepted->transfer = transfer_since(accepted->at);
    if (!data) return reply.send(refuse(data.error(), request.parameters[0]));
    accepted->data = std::move(*data);
    if (accepted->data->waits_for.empty())
      recent_data_.remember(request.identity.tenant.uid, accepted->options.data, worker,
                            accepted->data);
    start(request, reply, std::move(*accepted));
  };
  if (!is_stored) reply.watch(data_waits_, number);
  parts_.control(
      [&parts = parts_, wait = std::move(wait), is_stored, found = std::move(found)]() mutable {
        auto answer = [here = parts.here, found = std::move(found)](CallDataFinder::Found data) {
          here([found, data = std::move(data)]() mutable { found(std::move(data)); });
        };
        if (is_stored) return answer(parts.find_data.find(wait.tenant, wait.names, wait.worker));
        parts.find_data.gather(std::move(wait), std::move(answer));
      });
}

/// Of a call that came then. To ask where its data is takes less than a millisecond, and is no
/// transfer.
std::chrono::microseconds InvocationRoutes::transfer_since(MonotonicTime at) const {
  constexpr std::chrono::milliseconds asking{1};
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(parts_.clock.now() - at);
  return took < asking ? std::chrono::microseconds(0) : took;
}

std::pair<std::uint64_t, InvocationRoutes::DataWaits::Sign> InvocationRoutes::DataWaits::add() {
  auto sign = std::make_shared<std::atomic<bool>>(false);
  signs_.emplace(++newest_, sign);
  return {newest_, sign};
}

void InvocationRoutes::DataWaits::client_gone(std::uint64_t call) {
  if (const auto sign = signs_.find(call); sign != signs_.end()) *sign->second = true;
}

void InvocationRoutes::start(Request& request, const Reply& reply, Accepted accepted) {
  if (accepted.is_stored())
    submit(request, reply, std::move(accepted));
  else
    run(request, reply, std::move(accepted));
}

void InvocationRoutes::run(Request& request, const Reply& reply, Accepted accepted) {
  const MonotonicTime now = accepted.at;
  const InvocationOptions& options = accepted.options;
  // Who waits at least until the deadline gets the call's own end.
  const bool to_the_end = options.wait >= options.deadline;
  SyncRequest call{.tenant = request.identity.tenant.uid,
                   .version = std::move(accepted.entry.version),
                   .entry = accepted.entry.entry,
                   .input = Payload::of(std::move(request.body)),
                   .deadline = now + options.deadline,
                   .wait_until = to_the_end ? MonotonicTime::max() : now + options.wait,
                   .at_most_once = accepted.at_most_once,
                   .kind = options.kind,
                   .device = options.device,
                   .cluster = options.cluster,
                   .data = std::move(accepted.data),
                   .output_data = options.output_data,
                   .transfer = accepted.transfer};
  auto ended = [this, reply, function = std::string(request.parameters[0]), tenant = call.tenant,
                data = to_string(call.data)](SyncAnswer result) {
    const Outcome outcome = result.result.outcome;
    const bool may_have_lost_it =
        !data.empty() && !result.outlived &&
        (outcome == Outcome::no_capacity || outcome == Outcome::worker_lost);
    if (may_have_lost_it)
      look_for_lost_data(reply, function, tenant, data, std::move(result));
    else
      answer(reply, function, std::move(result));
  };
  auto started = parts_.calls.start(std::move(call), std::move(ended));
  if (started) return reply.watch(*this, *started);
  reply.send(refuse(started.error(), request.parameters[0]));
}

void InvocationRoutes::answer(const Reply& reply, const std::string& function, SyncAnswer result) {
  reply.send(result.outlived ? accepted_response(result.id, StoredState::started)
                             : outcome_response(result.id, function, std::move(result.result)));
}

/// A call that has found no worker where its data was is told whether that is still there.
void InvocationRoutes::look_for_lost_data(const Reply& reply, const std::string& function,
                                          uid_t tenant, const std::string& data,
                                          SyncAnswer result) {
  parts_.control([this, reply, function, tenant, data, result = std::move(result)]() mutable {
    if (auto found = parts_.find_data.find(tenant, data, {});
        !found && found.error().code == ErrorCode::data_lost) {
      result.result.outcome = Outcome::bad_request;
      result.result.refused = found.error().code;
      result.result.message = std::move(found.error().message);
    }
    parts_.here([this, reply, function, result = std::move(result)]() mutable {
      answer(reply, function, std::move(result));
    });
  });
}

void InvocationRoutes::submit(Request& request, const Reply& reply, Accepted accepted) {
  const InvocationOptions& options = accepted.options;
  const UnixMillis now = unix_millis(parts_.clock);
  std::string reference(request.parameters[0]);
  if (!options.data.empty()) reference += " " + options.data;
  if (!options.output_data.empty()) reference += " > " + options.output_data;
  AsyncSubmission submission{.tenant = request.identity.tenant.uid,
                             .version = std::move(accepted.entry.version),
                             .entry = accepted.entry.entry,
                             .idempotency_key = options.idempotency_key,
                             .reference = std::move(reference),
                             .at_most_once = accepted.at_most_once,
                             .kind = options.kind,
                             .device = options.device,
                             .cluster = options.cluster,
                             .data = std::move(accepted.data),
                             .output_data = options.output_data,
                             .accepted = now,
                             .deadline = now + options.deadline.count(),
                             .input = Payload::of(std::move(request.body))};
  const MonotonicTime until = parts_.clock.now() + options.wait;
  const bool waits = !options.respond_async;
  std::string function(request.parameters[0]);
  auto send = [here = parts_.here, reply](Response response) {
    here([reply, response = std::move(response)]() mutable { reply.send(std::move(response)); });
  };
  // From here on, everything runs on the control thread; the answer comes back here.
  auto ended = [&async = parts_.async, send, function](InvocationView view, bool replayed) {
    auto answer = [send, function, replayed](const InvocationRecord& record, Payload output) {
      send(marked(outcome_response(record.id, function, result_of(record, std::move(output))),
                  replayed));
    };
    if (view.output) return answer(view.record, std::move(*view.output));
    async.output(view.record.id, [send, function, answer,
                                  record = view.record](Result<std::vector<std::byte>> output) {
      if (!output) return send(refuse(output.error(), function));
      answer(record, Payload::of(std::move(*output)));
    });
  };
  auto durable = [&async = parts_.async, send, function, ended, until,
                  waits](Result<InsertedInvocation> inserted) {
    if (!inserted) return send(refuse_submission(inserted.error(), function));
    const InvocationRecord& record = inserted->record;
    const bool replayed = inserted->existed;
    if (!waits) return send(marked(accepted_response(record.id, record.state), replayed));
    async.wait(
        record.tenant, record.id, {.until = until},
        [send, ended, replayed, id = record.id](Result<std::optional<InvocationView>> view) {
          if (view && *view && (*view)->record.state == StoredState::done)
            return ended(std::move(**view), replayed);
          const bool known = view && *view;
          send(marked(accepted_response(id, known ? (*view)->record.state : StoredState::queued),
                      replayed));
        });
  };
  parts_.control([&async = parts_.async, submission = std::move(submission),
                  durable = std::move(durable)]() mutable {
    async.submit(std::move(submission), std::move(durable));
  });
}

}  // namespace orchid::gateway
