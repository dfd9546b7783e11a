// site/executor_arguments.h: the words with which an executor of a site is started. No I/O.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "protocol/grant_messages.h"
#include "site/host_configuration.h"

namespace orchid::site {

struct ExecutorTerms {
  const GrantOffer& offer;
  uid_t owner = 0;
  GrantUsers users = GrantUsers::owner;
  CoreList cores;
  std::filesystem::path state;
  std::filesystem::path runtime;
  std::string lane_listen;  // empty: clients of this host only
  std::string boot_id;      // of this machine
  bool has_feed = false;
};
/// Whom the executor serves, and with which rights, is the site's word; how long it lasts and how
/// much it may use of the job, its owner's.
[[nodiscard]] std::vector<std::string> executor_arguments(const HostConfiguration& site,
                                                          const ExecutorTerms& terms);

}  // namespace orchid::site
