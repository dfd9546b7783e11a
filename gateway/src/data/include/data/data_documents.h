// data/data_documents.h: data objects as JSON. Pure functions.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "data/data_object.h"

namespace orchid::gateway {

/// Both clocks at one moment: objects are dated by the one that nobody sets.
struct DataMoment {
  MonotonicTime now;
  std::int64_t unix_millis = 0;
};

/// Never with its secret.
[[nodiscard]] std::string data_json(const DataObject& object, const DataMoment& moment);
[[nodiscard]] std::string data_list_json(std::span<const DataObject> objects,
                                         const DataMoment& moment);

}  // namespace orchid::gateway
