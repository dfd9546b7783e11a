#include "invocations/invocation_finder.h"

#include "invocations/invocation_id.h"

namespace orchid::gateway {

const CallsPort* InvocationFinder::home(const std::string& id) const {
  const auto number = parse_invocation_id(id);
  if (!number) return nullptr;
  const InvocationHome home = home_of(*number);
  return home == control_home || home > parts_.threads.size() ? nullptr : &parts_.threads[home - 1];
}

void InvocationFinder::find(uid_t tenant, const std::string& id, ViewWait wait,
                            const ViewDone& done) const {
  const auto number = parse_invocation_id(id);
  if (!number) return done(std::optional<InvocationView>{});
  ViewDone back = [here = parts_.here, done](Result<std::optional<InvocationView>> view) {
    here([done, view = std::move(view)]() mutable { done(std::move(view)); });
  };
  auto ask_control = [&async = parts_.async, control = parts_.control, tenant, id, wait, back] {
    control([&async, tenant, id, wait, back] { async.wait(tenant, id, wait, back); });
  };
  const CallsPort* port = home(id);
  if (port == nullptr) return ask_control();
  // A synchronous call is with its thread, until it outlives its caller.
  port->post([calls = port->calls, tenant, number, wait, back, ask_control] {
    calls->wait(tenant, *number, wait,
                [back, ask_control](Result<std::optional<InvocationView>> view) {
                  if (view && !*view) return ask_control();
                  back(std::move(view));
                });
  });
}

}  // namespace orchid::gateway
