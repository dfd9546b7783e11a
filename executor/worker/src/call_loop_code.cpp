// A call whose module its worker does not have, as another member of its crew can send one.
#include <unistd.h>

#include <atomic>
#include <string>

#include "call_loop.h"
#include "protocol/crew.h"

namespace orchid::executor {

/// The call waits for its module, within its time: the agent ends it at its deadline as if it ran.
/// False: it is answered, since nobody has the module.
bool CallLoop::bring_code(transport::LaneRequest& request) {
  if (parts_.modules.find(request.header.slot, request.header.generation) != nullptr) return true;
  ++number_;
  StatusPage& page = parts_.page;
  const std::uint64_t start = ticks_now();
  page.request_id.store(request.header.request_id, std::memory_order_relaxed);
  page.started_ticks.store(start, std::memory_order_relaxed);
  page.deadline_ns.store(request.header.deadline_ns, std::memory_order_relaxed);
  page.refused.store(0, std::memory_order_relaxed);
  page.state.store(pack_state(number_, RunState::running), std::memory_order_release);
  const std::string name = crew::name_of_key(parts_.crew->module_key());
  const auto fetched = parts_.made.fetch(name);
  auto running = pack_state(number_, RunState::running);
  if (!page.state.compare_exchange_strong(running, pack_state(number_, RunState::idle)))
    while (true) ::pause();  // the agent was first, and is about to kill us
  page.calls.store(number_, std::memory_order_relaxed);
  last_end_ = 0;
  const auto took = parts_.rate.duration(ticks_now() - start);
  if (fetched) {
    parts_.crew->spend(took);
    request = parts_.crew->look_again(request);
    return true;
  }
  fallback_message_ = "the call goes on in the module " + name + ", which member " +
                      std::to_string(parts_.crew->place().member) +
                      " does not have and could not fetch: " + fetched.error().message;
  if (auto sent = parts_.lane.answer(
          {.outcome = Outcome::function_error, .run_time = took, .message = fallback_message_});
      !sent)
    end(LastWords::failed, sent.error().message);
  if (parts_.objects.has_given_up()) end(LastWords::spoiled, "its depot did not answer");
  if (!parts_.made.spoiled().empty()) end(LastWords::spoiled, parts_.made.spoiled());
  return false;
}

}  // namespace orchid::executor
