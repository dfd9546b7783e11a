// lease/lease_source.h: whoever granted a lease, as the lease sees it.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "lease/lease_grant.h"
#include "orchid/client.h"

namespace orchid::sdk {

/// Any thread. All functions throw `orchid::Error`.
class LeaseSource {
 public:
  virtual ~LeaseSource() = default;
  /// Extends the lease; workers may have been added. `lost` ones are to be replaced.
  [[nodiscard]] virtual LeaseGrant renew(std::chrono::milliseconds duration,
                                         const std::vector<LeaseId>& lost) = 0;
  virtual void release() = 0;
  /// "N" or "N@<version>".
  [[nodiscard]] virtual FunctionInfo describe(const std::string& function) = 0;
  /// A deployed module's bytes.
  [[nodiscard]] virtual std::vector<std::byte> module(const std::string& function,
                                                      const std::string& digest) = 0;
  /// "NAME", "NAME@3" or an id.
  [[nodiscard]] virtual DataInfo describe_data(const std::string& reference) = 0;
  /// Orders a copy of a data object, and does not wait for it.
  virtual void copy_data(const std::string& id, const std::string& host) = 0;
};

}  // namespace orchid::sdk
