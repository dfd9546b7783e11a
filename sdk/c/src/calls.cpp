// The C API over the C++ one: each function is one call.
#include <algorithm>
#include <memory>

#include "handles.h"

namespace {

using orchid::c::bytes_of;
using orchid::c::give;
using orchid::c::guarded;
using orchid::c::room_of;
using orchid::c::text_of;
using orchid::c::wait_of;

orchid::CallOptions options_of(const orchid_call_options* options) {
  if (options == nullptr) return {};
  orchid::CallOptions stated{.deadline = std::chrono::nanoseconds(options->deadline_ns),
                             .at_most_once = options->at_most_once != 0};
  for (const orchid_leased_data* one : std::span(options->data, options->data_count))
    stated.data.push_back(one->data);
  return stated;
}

orchid::InvokeOptions options_of(const orchid_invoke_options* options) {
  if (options == nullptr) return {};
  const std::span data(options->data, options->data_count);
  return {.deadline = std::chrono::nanoseconds(options->deadline_ns),
          .data = {data.begin(), data.end()},
          .at_most_once = options->at_most_once != 0,
          .output_data = text_of(options->output_data)};
}

orchid::LeaseConstraints constraints_of(const orchid_lease_options& stated) {
  const std::span avoided(stated.avoid_host, stated.avoid_host_count);
  const std::span features(stated.features, stated.feature_count);
  return {.host = text_of(stated.host),
          .avoid_host = {avoided.begin(), avoided.end()},
          .cluster = text_of(stated.cluster),
          .architecture = text_of(stated.architecture),
          .kind = text_of(stated.kind),
          .features = {features.begin(), features.end()},
          .lifetime = std::chrono::milliseconds(stated.lifetime_ms),
          .watts_at_most = stated.watts_at_most};
}

orchid::LeaseOptions options_of(const orchid_lease_options* stated) {
  orchid::LeaseOptions options;
  if (stated == nullptr) return options;
  if (stated->workers > 0) options.workers = stated->workers;
  if (stated->cores_per_worker > 0) options.cores_per_worker = stated->cores_per_worker;
  if (stated->duration_ms > 0) options.duration = std::chrono::milliseconds(stated->duration_ms);
  if (stated->within_ms > 0) options.within = std::chrono::milliseconds(stated->within_ms);
  options.constraints = constraints_of(*stated);
  for (const orchid_worker_size& size : std::span(stated->alternatives, stated->alternative_count))
    options.alternatives.push_back({.cores = std::max(size.cores, 1U),
                                    .memory = size.memory,
                                    .gpus = size.gpus,
                                    .gpu_model = text_of(size.gpu_model)});
  options.at_least = stated->at_least;
  options.memory = stated->memory;
  options.wait = wait_of(stated->wait);
  if (stated->lane != nullptr) options.lane = stated->lane;
  options.separate_processes = stated->separate_processes != 0;
  return options;
}

orchid_status show(const std::optional<std::span<const std::byte>>& output, const void** chunk,
                   size_t* size) {
  *chunk = output ? output->data() : nullptr;
  *size = output ? output->size() : 0;
  return ORCHID_STATUS_OK;
}

}  // namespace

orchid_status orchid_client_open(const char* gateway, orchid_client** client) {
  return guarded([&] {
    orchid::ClientOptions options;
    if (gateway != nullptr) options.gateway = gateway;
    *client = new orchid_client{orchid::Client(options)};
    return ORCHID_STATUS_OK;
  });
}

void orchid_client_free(orchid_client* client) { delete client; }

orchid_status orchid_deploy(orchid_client* client, const char* name, const void* module,
                            size_t size) {
  return guarded([&] {
    (void)client->client.deploy(name, bytes_of(module, size));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_deploy_file(orchid_client* client, const char* name, const char* path) {
  return guarded([&] {
    (void)client->client.deploy_file(name, path);
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_invoke(orchid_client* client, const char* function, const void* input,
                            size_t size, uint64_t deadline_ns, orchid_bytes* output) {
  return guarded([&] {
    return give(client->client
                    .invoke(function, bytes_of(input, size),
                            {.deadline = std::chrono::nanoseconds(deadline_ns)})
                    .output,
                output);
  });
}

orchid_status orchid_invoke_with(orchid_client* client, const char* function, const void* input,
                                 size_t size, const orchid_invoke_options* options,
                                 orchid_bytes* output) {
  return guarded([&] {
    return give(client->client.invoke(function, bytes_of(input, size), options_of(options)).output,
                output);
  });
}

orchid_status orchid_lease_take(orchid_client* client, const orchid_lease_options* options,
                                orchid_lease** lease) {
  return guarded([&] {
    *lease = new orchid_lease{client->client.lease(options_of(options))};
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_lease_release(orchid_lease* lease) {
  return guarded([&] {
    lease->lease.release();
    return ORCHID_STATUS_OK;
  });
}

void orchid_lease_free(orchid_lease* lease) { delete lease; }

uint32_t orchid_lease_workers(const orchid_lease* lease) { return lease->lease.workers(); }

const char* orchid_lease_id(const orchid_lease* lease) { return lease->lease.id().c_str(); }

orchid_status orchid_release_lease(orchid_client* client, const char* id) {
  return guarded([&] {
    client->client.release_lease(id);
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_lease_function(orchid_lease* lease, const char* name,
                                    orchid_function** function) {
  return guarded([&] {
    *function = new orchid_function{lease->lease.function(name)};
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_lease_module(orchid_lease* lease, const void* module, size_t size,
                                  const char* entry, orchid_function** function) {
  return guarded([&] {
    const orchid::LeasedModule loaded = lease->lease.module(bytes_of(module, size));
    *function = new orchid_function{loaded.function(entry == nullptr ? "" : entry)};
    return ORCHID_STATUS_OK;
  });
}

void orchid_function_free(orchid_function* function) { delete function; }

orchid_status orchid_call_into(orchid_function* function, const void* input, size_t size,
                               void* output, size_t capacity, size_t* output_size,
                               const orchid_call_options* options) {
  return guarded([&] {
    *output_size = function->function.invoke_into(bytes_of(input, size), room_of(output, capacity),
                                                  options_of(options));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_call_bytes(orchid_function* function, const void* input, size_t size,
                                const orchid_call_options* options, orchid_bytes* output) {
  return guarded([&] {
    return give(function->function.invoke(bytes_of(input, size), options_of(options)).output,
                output);
  });
}

orchid_status orchid_buffer_make(orchid_lease* lease, size_t size, orchid_buffer** buffer) {
  return guarded([&] {
    *buffer = new orchid_buffer{lease->lease.buffer(size)};
    return ORCHID_STATUS_OK;
  });
}

void* orchid_buffer_data(orchid_buffer* buffer) { return buffer->buffer.bytes().data(); }

void orchid_buffer_free(orchid_buffer* buffer) { delete buffer; }

orchid_status orchid_call_buffer(orchid_function* function, orchid_buffer* buffer, void* output,
                                 size_t capacity, size_t* output_size,
                                 const orchid_call_options* options) {
  const std::unique_ptr<orchid_buffer> used(buffer);
  return guarded([&] {
    *output_size = function->function.invoke_into(std::move(used->buffer),
                                                  room_of(output, capacity), options_of(options));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_call_start(orchid_function* function, const void* input, size_t size,
                                const orchid_call_options* options, orchid_future** future) {
  return guarded([&] {
    *future =
        new orchid_future{function->function.async(bytes_of(input, size), options_of(options))};
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_future_wait(orchid_future* future, uint64_t timeout_ns) {
  return guarded([&] {
    constexpr auto longest = static_cast<uint64_t>(std::chrono::nanoseconds::max().count());
    if (future->future.wait_for(std::chrono::nanoseconds(std::min(timeout_ns, longest))))
      return ORCHID_STATUS_OK;
    throw orchid::Error({.kind = orchid::ErrorKind::timed_out,
                         .message = "the call is still running",
                         .hint = "wait again, or cancel it"});
  });
}

orchid_status orchid_future_get(orchid_future* future, orchid_bytes* output) {
  return guarded([&] { return give(future->future.get().output, output); });
}

void orchid_future_cancel(orchid_future* future) { future->future.cancel(); }

orchid_status orchid_future_then(orchid_future* future, orchid_callback callback, void* context) {
  return guarded([&] {
    future->future.then([callback, context](orchid::ReplyFuture reply) {
      orchid_future done{std::move(reply)};
      callback(&done, context);
    });
    return ORCHID_STATUS_OK;
  });
}

void orchid_future_free(orchid_future* future) { delete future; }

orchid_status orchid_lease_map(orchid_lease* lease, orchid_function* function,
                               const orchid_input* inputs, size_t count,
                               const orchid_call_options* options, orchid_bytes* outputs) {
  std::fill_n(outputs, count, orchid_bytes{});
  const orchid_status status = guarded([&] {
    lease->lease.for_each(
        function->function, count,
        [&](std::size_t i) { return bytes_of(inputs[i].data, inputs[i].size); },
        [&](std::size_t i, std::span<const std::byte> output) { give(output, &outputs[i]); },
        options_of(options));
    return ORCHID_STATUS_OK;
  });
  if (status != ORCHID_STATUS_OK)
    for (orchid_bytes& output : std::span(outputs, count)) orchid_bytes_free(&output);
  return status;
}

orchid_status orchid_stream_open(orchid_function* function, const orchid_call_options* options,
                                 orchid_stream** stream) {
  return guarded([&] {
    *stream = new orchid_stream{function->function.stream(options_of(options))};
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_stream_write(orchid_stream* stream, const void* chunk, size_t size,
                                  int* sent) {
  return guarded([&] {
    const bool was_sent = stream->stream.write(bytes_of(chunk, size));
    if (sent != nullptr) *sent = was_sent ? 1 : 0;
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_stream_try_write(orchid_stream* stream, const void* chunk, size_t size,
                                      int* sent) {
  return guarded([&] {
    *sent = stream->stream.try_write(bytes_of(chunk, size)) ? 1 : 0;
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_stream_finish(orchid_stream* stream) {
  return guarded([&] {
    stream->stream.finish();
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_stream_read(orchid_stream* stream, const void** chunk, size_t* size) {
  return guarded([&] { return show(stream->stream.read(), chunk, size); });
}

orchid_status orchid_stream_try_read(orchid_stream* stream, const void** chunk, size_t* size) {
  return guarded([&] { return show(stream->stream.try_read(), chunk, size); });
}

int orchid_stream_ended(const orchid_stream* stream) { return stream->stream.ended() ? 1 : 0; }

void orchid_stream_cancel(orchid_stream* stream) { stream->stream.cancel(); }

void orchid_stream_free(orchid_stream* stream) { delete stream; }
