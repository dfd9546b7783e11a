// Leased memory: each function is one call of the C++ API.
#include <chrono>
#include <cstring>
#include <memory>

#include "handles.h"

namespace {

using orchid::c::bytes_of;
using orchid::c::guarded;
using orchid::c::room_of;
using orchid::c::text_of;

orchid::MemoryOptions options_of(const orchid_memory_options* stated) {
  orchid::MemoryOptions options;
  if (stated == nullptr) return options;
  options.bytes = stated->bytes;
  options.host = text_of(stated->host);
  options.wait = orchid::c::wait_of(stated->wait);
  if (stated->duration_ms > 0) options.duration = std::chrono::milliseconds(stated->duration_ms);
  if (stated->within_ms > 0) options.within = std::chrono::milliseconds(stated->within_ms);
  if (stated->patience_ms > 0) options.patience = std::chrono::milliseconds(stated->patience_ms);
  return options;
}

orchid::MemoryRows rows_of(const orchid_memory_rows& rows) {
  return {.offset = rows.offset, .row = rows.row, .stride = rows.stride, .count = rows.count};
}

/// Of rows that are not within the memory it is not looked at.
std::size_t size_of(const orchid_memory_rows& rows) { return rows.row * rows.count; }

/// Rows whose size overflows are not within any memory, which is told of them when they run.
void require_one_place(const orchid_memory_step& step) {
  const bool has_bytes = step.rows.row > 0 && step.rows.count > 0;
  if (has_bytes && (step.put == nullptr) == (step.get == nullptr))
    throw orchid::Error({.kind = orchid::ErrorKind::bad_request,
                         .message = step.put == nullptr
                                        ? "a step of orchid_memory_run has neither put nor get"
                                        : "a step of orchid_memory_run has both put and get",
                         .hint = "set one of them, and leave the other one NULL"});
}

orchid_status hand_out(orchid_memory** memory, orchid::RemoteMemory taken) {
  *memory = std::make_unique<orchid_memory>(std::move(taken)).release();
  return ORCHID_STATUS_OK;
}

}  // namespace

orchid_status orchid_memory_take(orchid_client* client, const orchid_memory_options* options,
                                 orchid_memory** memory) {
  return guarded([&] { return hand_out(memory, client->client.memory(options_of(options))); });
}

orchid_status orchid_memory_attach(orchid_client* client, const char* id,
                                   const orchid_memory_options* options, orchid_memory** memory) {
  return guarded(
      [&] { return hand_out(memory, client->client.attach_memory(id, options_of(options))); });
}

orchid_status orchid_memory_reserve(orchid_client* client, const orchid_memory_options* options,
                                    char id[ORCHID_LEASE_ID_SIZE]) {
  *id = 0;
  return guarded([&] {
    const std::string lease = client->client.reserve_memory(options_of(options)).id;
    if (lease.size() >= ORCHID_LEASE_ID_SIZE)
      throw orchid::Error({.kind = orchid::ErrorKind::internal,
                           .message = "the gateway has given a lease a name that is too long"});
    std::memcpy(id, lease.c_str(), lease.size() + 1);
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_keep(orchid_client* client, const char* id, uint64_t duration_ms) {
  return guarded([&] {
    client->client.keep_memory(id, std::chrono::milliseconds(duration_ms));
    return ORCHID_STATUS_OK;
  });
}

void orchid_memory_free(orchid_memory* memory) { delete memory; }

uint64_t orchid_memory_size(const orchid_memory* memory) { return memory->memory.size(); }

const char* orchid_memory_host(const orchid_memory* memory) {
  return memory->memory.host().c_str();
}

const char* orchid_memory_id(const orchid_memory* memory) { return memory->memory.id().c_str(); }

orchid_status orchid_memory_put(orchid_memory* memory, uint64_t offset, const void* data,
                                size_t size) {
  return guarded([&] {
    memory->memory.put(offset, bytes_of(data, size));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_get(orchid_memory* memory, uint64_t offset, void* data, size_t size) {
  return guarded([&] {
    memory->memory.get(offset, room_of(data, size));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_put_rows(orchid_memory* memory, const orchid_memory_rows* rows,
                                     const void* data) {
  return guarded([&] {
    memory->memory.put(rows_of(*rows), bytes_of(data, size_of(*rows)));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_get_rows(orchid_memory* memory, const orchid_memory_rows* rows,
                                     void* data) {
  return guarded([&] {
    memory->memory.get(rows_of(*rows), room_of(data, size_of(*rows)));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_run(orchid_memory* memory, const orchid_memory_step* steps,
                                size_t count) {
  return guarded([&] {
    orchid::MemoryBatch batch = memory->memory.batch();
    for (const orchid_memory_step& step : std::span(steps, count)) {
      require_one_place(step);
      if (step.put != nullptr)
        batch.put(rows_of(step.rows), bytes_of(step.put, size_of(step.rows)));
      else
        batch.get(rows_of(step.rows), room_of(step.get, size_of(step.rows)));
    }
    batch.run();
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_start_get(orchid_memory* memory, uint64_t offset, void* data,
                                      size_t size, orchid_memory_coming** coming) {
  return guarded([&] {
    *coming = std::make_unique<orchid_memory_coming>(
                  memory->memory.get_async(offset, room_of(data, size)))
                  .release();
    return ORCHID_STATUS_OK;
  });
}

int orchid_memory_ready(orchid_memory_coming* coming) { return coming->get.ready() ? 1 : 0; }

orchid_status orchid_memory_wait(orchid_memory_coming* coming) {
  return guarded([&] {
    coming->get.wait();
    return ORCHID_STATUS_OK;
  });
}

void orchid_memory_coming_free(orchid_memory_coming* coming) { delete coming; }

orchid_status orchid_memory_fetch_add(orchid_memory* memory, uint64_t offset, uint64_t add,
                                      uint64_t* before) {
  return guarded([&] {
    *before = memory->memory.fetch_add(offset, add);
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_compare_swap(orchid_memory* memory, uint64_t offset, uint64_t expected,
                                         uint64_t desired, uint64_t* before) {
  return guarded([&] {
    *before = memory->memory.compare_swap(offset, expected, desired);
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_fence(orchid_memory* memory) {
  return guarded([&] {
    memory->memory.fence();
    return ORCHID_STATUS_OK;
  });
}
