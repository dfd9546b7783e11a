// calls_left.h: calls of flows that the gateway has under way, whichever process has asked for
// them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "orchid/client.h"

namespace orchid::flows {

struct CallLeft {
  std::string invocation;  // its id
  std::string flow;
  std::uint64_t number = 0;
};

/// The key under which the gateway knows a flow's call.
[[nodiscard]] std::string key_of_call(const std::string& flow, std::uint64_t number);

/// Of the gateway's list of invocations (JSON) those with such a key. Errors: `bad_request`.
[[nodiscard]] Result<std::vector<CallLeft>> parse_calls_left(std::string_view list);

/// Those that have not ended. None: the gateway does not tell.
[[nodiscard]] std::vector<CallLeft> find_calls_left(Client& client);

/// Asks for their ends. What the gateway does not hear runs on.
void cancel_calls(Client& client, const std::vector<CallLeft>& calls);

}  // namespace orchid::flows
