// protocol/source_inventory.h: all that a capacity source has told so far, as its updates make it.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "foundation/result.h"
#include "protocol/source_messages.h"

namespace orchid {

/// What an update has said something about, however little.
struct TouchedNodes {
  bool all = false;  // whatever was known before is replaced
  /// Names and hostnames of nodes that are new, have changed or have gone, or on which a job has.
  std::set<std::string> names;
};

/// Owned by one thread. After an error it stays as it was, and takes only a full update.
class SourceInventory {
 public:
  /// A part of a job, on the node in question. Valid until the next update.
  struct JobPart {
    const SourceJob* job;
    const SourceShare* share;
  };

  /// True when the lines that belong together are complete and what they say is in. Errors:
  /// `bad_request`: a line is missing, or does not fit what is known; ask for a full update.
  [[nodiscard]] Result<bool> apply(SourceUpdate update);

  /// Whether a full update has come.
  [[nodiscard]] bool is_complete() const { return complete_; }
  [[nodiscard]] ClusterTime time() const { return time_; }
  [[nodiscard]] const std::map<std::string, SourceNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::map<std::uint64_t, SourceJob>& jobs() const { return jobs_; }
  /// In the order of their numbers.
  [[nodiscard]] std::vector<JobPart> jobs_on(const std::string& node) const;
  /// Null: no node has it, or several have.
  [[nodiscard]] const SourceNode* only_node_with(const std::string& hostname) const;
  /// By the last complete update.
  [[nodiscard]] const TouchedNodes& touched() const { return touched_; }
  /// By node. One without a forecast stays as it is, as far as the source knows.
  [[nodiscard]] const std::map<std::string, std::vector<SourceWindow>>& forecasts() const {
    return forecasts_;
  }

 private:
  [[nodiscard]] Result<void> check(const SourceUpdate& update) const;
  void take(SourceUpdate update);
  void enter(SourceNode node);
  void remove_node(const std::string& name);
  void enter(SourceJob job);
  void remove_job(std::uint64_t id);
  void touch(const std::string& node);

  bool complete_ = false;
  bool lost_ = false;  // lines that were lost: only a full update helps
  std::uint64_t last_sequence_ = 0;
  std::vector<SourceUpdate> parts_;  // lines that wait for the last one that belongs to them
  ClusterTime time_ = 0;
  std::map<std::string, SourceNode> nodes_;
  std::map<std::uint64_t, SourceJob> jobs_;
  std::map<std::string, std::vector<SourceWindow>> forecasts_;
  /// Of a job: which of its shares.
  struct ShareNumber {
    std::uint64_t job;
    std::size_t share;
    friend auto operator<=>(const ShareNumber&, const ShareNumber&) = default;
  };
  std::unordered_map<std::string, std::vector<ShareNumber>> shares_on_;  // by node; sorted
  std::map<std::string, std::set<std::string>> names_by_hostname_;
  TouchedNodes touched_;
};

}  // namespace orchid
