// Leased memory: each function is one call of the C++ API.
#include <memory>

#include "handles.h"

orchid_status orchid_memory_take(orchid_client* client, uint64_t bytes, const char* host,
                                 orchid_memory** memory) {
  return orchid::c::guarded([&] {
    const orchid::MemoryOptions options{.bytes = bytes, .host = host == nullptr ? "" : host};
    *memory = std::make_unique<orchid_memory>(client->client.memory(options)).release();
    return ORCHID_STATUS_OK;
  });
}

void orchid_memory_free(orchid_memory* memory) { delete memory; }

uint64_t orchid_memory_size(const orchid_memory* memory) { return memory->memory.size(); }

const char* orchid_memory_host(const orchid_memory* memory) {
  return memory->memory.host().c_str();
}

orchid_status orchid_memory_put(orchid_memory* memory, uint64_t offset, const void* data,
                                size_t size) {
  return orchid::c::guarded([&] {
    memory->memory.put(offset, std::span(static_cast<const std::byte*>(data), size));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_get(orchid_memory* memory, uint64_t offset, void* data, size_t size) {
  return orchid::c::guarded([&] {
    memory->memory.get(offset, std::span(static_cast<std::byte*>(data), size));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_fetch_add(orchid_memory* memory, uint64_t offset, uint64_t add,
                                      uint64_t* before) {
  return orchid::c::guarded([&] {
    *before = memory->memory.fetch_add(offset, add);
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_compare_swap(orchid_memory* memory, uint64_t offset, uint64_t expected,
                                         uint64_t desired, uint64_t* before) {
  return orchid::c::guarded([&] {
    *before = memory->memory.compare_swap(offset, expected, desired);
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_memory_fence(orchid_memory* memory) {
  return orchid::c::guarded([&] {
    memory->memory.fence();
    return ORCHID_STATUS_OK;
  });
}
