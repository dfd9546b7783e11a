// protocol/service_messages.h: what a worker asks its tenant's depot during a call, and what it is
// answered, over its service socket (docs/PROTOCOL.md §11).
//
// Packets of fixed size. One request at a time. Each end checks what the other has sent: a depot
// that gets anything else has its worker ended, and a worker takes nothing else for an answer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/error_code.h"
#include "protocol/data_id.h"

namespace orchid {

enum class ServiceAsk : std::uint16_t {
  open_data = 1,    // by `name`, or by `data` where that is empty: a descriptor to read
  create_data = 2,  // a room of `bytes`: its id, and a descriptor to write
  seal_data = 3,    // the room `data` has `bytes`, and is called `name`: immutable from now on
  publish_data =
      4,  // the call has succeeded: the `bytes` objects that it has sealed are to be seen
  discard_data = 5,  // it has not: all that it has made is to vanish
  open_memory = 6,   // the lease of memory `name`: its bytes, and a socket (memory_access.h)
  /// Modules that a call of a crew makes. A room of `bytes` for one: a descriptor to write. It
  /// replaces the room before.
  create_module = 7,
  /// The room has `bytes`: a module, or if `name` is a module's digest, constants to set in that
  /// one (constants.h). Its code, in `message` its digest, and in `bytes` its CompileTier.
  make_module = 8,
  share_module = 9,  // the crew is to have the module `name`: in `bytes` its place in this worker
  /// A call of a crew wants the module `name`, which this worker does not have: a digest, the first
  /// 16 digits of one, or a deployed function. Answered as make_module is.
  fetch_module = 10,
  /// Which member of the crew is to go on with the object of open_data: in `bytes` its number, in
  /// `data` the object's id.
  locate_data = 11,
};

/// `sequence`: not 0, and another one than that of the request before.
struct ServiceRequest {
  ServiceAsk ask = ServiceAsk::open_data;
  std::uint32_t sequence = 0;
  DataId data{};
  std::uint64_t bytes = 0;
  /// "NAME", "NAME@VERSION", a lease, a digest or the beginning of one; at most
  /// `longest_service_name`.
  std::string name{};
  friend bool operator==(const ServiceRequest&, const ServiceRequest&) = default;
};

enum class ServiceVerdict : std::uint16_t {
  done = 1,     // with a descriptor, if one was asked for
  refused = 2,  // `code` and `message` say why
  again = 3,    // the depot is a new one: what was asked is to be asked again; its sequence is 0
};

/// `sequence`: the request's.
struct ServiceAnswer {
  ServiceVerdict verdict = ServiceVerdict::done;
  std::uint32_t sequence = 0;
  DataId data{};
  std::uint64_t bytes = 0;
  ErrorCode code = ErrorCode::internal;  // of `refused`
  /// Why, if it is refused; what is longer than `longest_service_message` is cut.
  std::string message{};
  friend bool operator==(const ServiceAnswer&, const ServiceAnswer&) = default;
};

/// Where a module lies in its worker, in an answer's `bytes`: slot and generation.
[[nodiscard]] constexpr std::uint64_t pack_place(std::uint32_t slot, std::uint32_t generation) {
  return std::uint64_t{generation} << 32U | slot;
}
[[nodiscard]] constexpr std::uint32_t slot_of(std::uint64_t place) {
  return static_cast<std::uint32_t>(place);
}
[[nodiscard]] constexpr std::uint32_t generation_of(std::uint64_t place) {
  return static_cast<std::uint32_t>(place >> 32U);
}

constexpr std::size_t service_request_bytes = 128;
constexpr std::size_t service_answer_bytes = 512;
constexpr std::size_t longest_service_name = 88;
constexpr std::size_t longest_service_message = 472;

/// `request.name` is not longer than it may be.
[[nodiscard]] std::string encode(const ServiceRequest& request);
[[nodiscard]] std::string encode(const ServiceAnswer& answer);
/// Nothing: it is none.
[[nodiscard]] std::optional<ServiceRequest> parse_service_request(std::string_view packet);
[[nodiscard]] std::optional<ServiceAnswer> parse_service_answer(std::string_view packet);

}  // namespace orchid
