// lease/call_objects.h: the data objects that calls of a lease are given.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "orchid/lease.h"
#include "protocol/data_id.h"

namespace orchid::sdk {

/// What a LeasedData holds. Immutable.
struct LeasedObject {
  DataId id;
  std::string text;   // the id
  std::string label;  // for people
  std::uint64_t size = 0;
  std::vector<std::string> hosts;  // that had it when it was looked up
};

/// Immutable, shared by the calls that are given the same.
struct CallObjects {
  std::vector<DataId> ids;  // 1 to `limits::data_per_call`, in the order of the function's
  std::vector<std::shared_ptr<const LeasedObject>> objects;  // the same
  std::vector<std::string> nearest;                          // hosts with most of their bytes

  [[nodiscard]] bool has(const DataId& id) const;
  /// Empty: it has no such object.
  [[nodiscard]] std::string label_of(const DataId& id) const;
  /// "'climate@3' and 'rain@1'".
  [[nodiscard]] std::string labels() const;
};

/// Null: the call is given none. Throws `bad_request`: there are too many.
[[nodiscard]] std::shared_ptr<const CallObjects> make_objects(const std::vector<LeasedData>& data);
[[nodiscard]] inline std::shared_ptr<const CallObjects> objects_of(const CallOptions& options) {
  return options.data.empty() ? nullptr : make_objects(options.data);
}

}  // namespace orchid::sdk
