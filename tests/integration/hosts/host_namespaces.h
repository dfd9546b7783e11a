// hosts/host_namespaces.h: hosts as far as TCP can see: network namespaces on one bridge, each with
// a host name of its own.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "foundation/result.h"

namespace orchid::tests {

/// The calling process moves into a namespace of its own, which has the bridge. Nothing has a name
/// outside, so nothing is left over, however the program ends. Needs root. Owned by the main
/// thread, and made before any other.
class HostNamespaces {
 public:
  static constexpr const char* here = "10.98.0.1";

  /// Errors: `unsupported`: namespaces are not permitted here.
  [[nodiscard]] static Result<HostNamespaces> create(unsigned hosts);
  HostNamespaces(HostNamespaces&& other) noexcept : keepers_(std::move(other.keepers_)) {}
  HostNamespaces& operator=(HostNamespaces&&) = delete;
  ~HostNamespaces();

  [[nodiscard]] static std::string address(unsigned host) {
    return "10.98.0." + std::to_string(host + 2);
  }
  [[nodiscard]] static std::string name(unsigned host) { return "host" + std::to_string(host); }
  /// Before the words of a command that shall run there.
  [[nodiscard]] std::vector<std::string> entry(unsigned host) const;
  /// Of a process that lives there.
  [[nodiscard]] std::string process(unsigned host) const {
    return std::to_string(keepers_.at(host));
  }
  /// Pulls the cable: both sides go on, and hear nothing of each other.
  [[nodiscard]] static Result<void> unplug(unsigned host);
  /// Puts it in again, and returns when packets go through.
  [[nodiscard]] Result<void> plug_in(unsigned host) const;

 private:
  explicit HostNamespaces(std::vector<pid_t> keepers) : keepers_(std::move(keepers)) {}
  std::vector<pid_t> keepers_;  // a process that lives in each host
};

}  // namespace orchid::tests
