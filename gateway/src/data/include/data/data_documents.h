// data/data_documents.h: data objects as JSON. Pure functions.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "data/data_object.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid::gateway {

/// Both clocks at one moment: objects are dated by the one that nobody sets.
struct DataMoment {
  MonotonicTime now;
  std::int64_t unix_millis = 0;
};
[[nodiscard]] DataMoment moment_of(const Clock& clock);

/// The body of a request for copies: `copies`, `host`, or both. Errors: `bad_request`.
[[nodiscard]] Result<WantedCopies> parse_wanted_copies(std::span<const std::byte> body);
/// How long an object that is to be kept as a file lives, as a client asks: nothing: as it did.
/// Errors: `bad_request`.
[[nodiscard]] Result<std::optional<std::chrono::milliseconds>> parse_wanted_file(
    std::span<const std::byte> body);

/// The body of a request for a room that a program of this host writes by itself. Errors:
/// `bad_request`; `unsupported`: the program is on another host.
[[nodiscard]] Result<ByteCount> parse_wanted_room(std::span<const std::byte> body);
/// What opens the object, or the room, at the lane socket, with its secret: for its user alone. An
/// empty socket: it is on another host, and is to be read with GET.
[[nodiscard]] std::string data_access_json(const DataObject& object,
                                           const std::filesystem::path& lane_socket);

/// Never with its secret.
[[nodiscard]] std::string data_json(const DataObject& object, const DataMoment& moment);
[[nodiscard]] std::string data_list_json(std::span<const DataObject> objects,
                                         const DataMoment& moment);

}  // namespace orchid::gateway
