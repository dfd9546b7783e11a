// calls/call_data.h: the data objects that a call is given.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "placement/grant.h"
#include "protocol/data_id.h"

namespace orchid::gateway {

/// As the names stood when the call was accepted. Immutable.
struct CallData {
  std::vector<DataId> ids;          // in the order of the call; 1 to `limits::data_per_call`
  std::vector<std::string> labels;  // for people: "climate@3"; one for each
  placement::GrantId at;            // of the executor that has them
  std::string host;                 // its name
  /// While it lives, newer versions of their names do not make them go. Destroyed on any thread.
  std::shared_ptr<const void> keeper = nullptr;
};

/// "d-…,d-…": what CallDataFinder reads. Empty for none.
[[nodiscard]] std::string to_string(const std::shared_ptr<const CallData>& data);

/// On the control thread: what the header field Orchid-Data names for this tenant now, and keeps
/// for as long as the answer lives. Errors: `bad_request`, `not_found`, `data_lost`,
/// `data_elsewhere`; `unreachable`: it may be there later.
using CallDataFinder =
    std::function<Result<std::shared_ptr<const CallData>>(uid_t tenant, std::string_view names)>;

}  // namespace orchid::gateway
