// known_objects.h: what is known of the data objects of a flow that runs: how large they are, and
// where; and how much functions have given, which is what is expected of their next calls.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "flow/optimiser.h"
#include "protocol/data_id.h"

namespace orchid::flow {

/// Owned by one thread. Bounded by the objects that a flow needs at a time: what is dropped is
/// forgotten.
class KnownObjects {
 public:
  /// A call of the function has given an object, or a value of so many bytes.
  void made(const std::string& function, const DataId& data);
  void gave(const std::string& function, std::uint64_t bytes) { given_[function] = bytes; }
  /// It was looked at. An object that nobody knows any more has no bytes and no hosts.
  void see(ObjectSituation object);
  /// A call was given them: copies may be where they were not.
  void may_have_moved(const std::vector<DataId>& data);
  /// From now on those that may have moved are wanted again.
  void look_again();
  void forget(const DataId& data);

  /// Those of them that are known, with their bytes; at most 16.
  [[nodiscard]] std::vector<ObjectSituation> of(const std::vector<DataId>& data) const;
  /// It is to be looked at.
  [[nodiscard]] bool is_wanted(const DataId& data) const;
  /// That a call of the function gives; 0: not known.
  [[nodiscard]] std::uint64_t bytes_given_by(const std::string& function) const;

 private:
  struct Known {
    ObjectSituation object;
    bool may_have_moved = false;
    bool is_old = false;
  };
  std::unordered_map<DataId, Known> known_;
  std::unordered_map<DataId, std::string> makers_;  // of those that were not looked at yet
  std::unordered_map<std::string, std::uint64_t> given_;
};

}  // namespace orchid::flow
