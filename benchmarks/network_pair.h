// benchmarks/network_pair.h: two network namespaces joined by a virtual cable: two hosts, as far as
// TCP can see.
#pragma once
#include <sys/types.h>

#include <string>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::bench {

/// The calling process moves into the first one. Nothing has a name outside, so nothing is left
/// over, however the program ends. Needs root, or user namespaces. Owned by the main thread.
class NetworkPair {
 public:
  static constexpr const char* device = "link0";  // the same name at both ends
  static constexpr const char* here = "10.99.0.1";
  static constexpr const char* there = "10.99.0.2";

  [[nodiscard]] static Result<NetworkPair> create();
  NetworkPair(NetworkPair&& other) noexcept;
  NetworkPair& operator=(NetworkPair&&) = delete;
  ~NetworkPair();

  /// The other host: for setns(2) with CLONE_NEWNET | CLONE_NEWNS.
  [[nodiscard]] int far_namespace() const { return far_.get(); }
  /// Moves the calling process there; for a child.
  [[nodiscard]] Result<void> enter_far_side() const;

 private:
  NetworkPair(pid_t keeper, UniqueFd far) : keeper_(keeper), far_(std::move(far)) {}
  pid_t keeper_ = -1;  // lives in the far namespace
  UniqueFd far_;       // its descriptor
};

}  // namespace orchid::bench
