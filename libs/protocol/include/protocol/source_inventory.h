// protocol/source_inventory.h: all that a capacity source has told so far, as its updates make it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "protocol/source_messages.h"

namespace orchid {

/// Owned by one thread. After an error it stays as it was, and takes only a full update.
class SourceInventory {
 public:
  /// True when the lines that belong together are complete and what they say is in. Errors:
  /// `bad_request`: a line is missing, or does not fit what is known; ask for a full update.
  [[nodiscard]] Result<bool> apply(SourceUpdate update);

  /// Whether a full update has come.
  [[nodiscard]] bool is_complete() const { return complete_; }
  [[nodiscard]] ClusterTime time() const { return time_; }
  [[nodiscard]] const std::map<std::string, SourceNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::map<std::uint64_t, SourceJob>& jobs() const { return jobs_; }
  /// By node. One without a forecast stays as it is, as far as the source knows.
  [[nodiscard]] const std::map<std::string, std::vector<SourceWindow>>& forecasts() const {
    return forecasts_;
  }

 private:
  [[nodiscard]] Result<void> check(const SourceUpdate& update) const;
  void take(SourceUpdate update);

  bool complete_ = false;
  bool lost_ = false;  // lines that were lost: only a full update helps
  std::uint64_t last_sequence_ = 0;
  std::vector<SourceUpdate> parts_;  // lines that wait for the last one that belongs to them
  ClusterTime time_ = 0;
  std::map<std::string, SourceNode> nodes_;
  std::map<std::uint64_t, SourceJob> jobs_;
  std::map<std::string, std::vector<SourceWindow>> forecasts_;
};

}  // namespace orchid
