// handles.h: what the C API's opaque handles hold, and how exceptions become a status.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "orchid/client.h"
#include "orchid/lease.h"
#include "orchid/orchid.h"
#include "orchid/stream.h"

struct orchid_client {
  orchid::Client client;
};
struct orchid_lease {
  orchid::Lease lease;
};
struct orchid_function {
  orchid::LeasedFunction function;
};
struct orchid_future {
  orchid::ReplyFuture future;
};
struct orchid_buffer {
  orchid::Buffer buffer;
};

struct orchid_stream {
  orchid::Stream stream;
};
struct orchid_memory {
  orchid::RemoteMemory memory;
};
struct orchid_memory_coming {
  orchid::MemoryGet get;
};
struct orchid_leased_data {
  orchid::LeasedData data;
};
struct orchid_data_mapping {
  orchid::MappedData data;
};

namespace orchid::c {

[[nodiscard]] orchid_status status_of(ErrorKind kind);
/// Of the exception that is being handled; it is this thread's last failure from now on.
[[nodiscard]] orchid_status caught();
/// NULL is no text.
[[nodiscard]] inline std::string text_of(const char* given) {
  return given == nullptr ? "" : given;
}
[[nodiscard]] inline std::span<const std::byte> bytes_of(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), size};
}
[[nodiscard]] inline std::span<std::byte> room_of(void* data, std::size_t size) {
  return {static_cast<std::byte*>(data), size};
}
/// Of a number of the C API: ORCHID_WAIT_...
[[nodiscard]] Wait wait_of(std::uint32_t wait);
/// `output` is an output that the caller frees.
orchid_status give(std::span<const std::byte> bytes, orchid_bytes* output);

template <typename Work>
orchid_status guarded(Work work) noexcept {
  try {
    return work();
  } catch (...) {
    return caught();
  }
}

}  // namespace orchid::c
