#include "flow_run/flow_calls.h"

#include <utility>

namespace orchid::flow {

MadeCalls make_calls(Client& client, const Plan& plan, const CallsOptions& options,
                     std::shared_ptr<FlowInbox> inbox) {
  if (!options.by_gateway) {
    try {
      return {.calls = calls_on_lease(client, plan, options, inbox), .on_lease = true};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
    }
  }
  return {.calls = calls_by_gateway(client, plan, options, std::move(inbox)), .on_lease = false};
}

}  // namespace orchid::flow
