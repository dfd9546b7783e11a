// data/data_documents.h: data objects as JSON. Pure functions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "data/data_object.h"
#include "foundation/result.h"

namespace orchid::gateway {

/// Both clocks at one moment: objects are dated by the one that nobody sets.
struct DataMoment {
  MonotonicTime now;
  std::int64_t unix_millis = 0;
};

/// The body of a request for copies: `copies`, `host`, or both. Errors: `bad_request`.
[[nodiscard]] Result<WantedCopies> parse_wanted_copies(std::span<const std::byte> body);

/// Never with its secret.
[[nodiscard]] std::string data_json(const DataObject& object, const DataMoment& moment);
[[nodiscard]] std::string data_list_json(std::span<const DataObject> objects,
                                         const DataMoment& moment);

}  // namespace orchid::gateway
