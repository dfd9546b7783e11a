#include "flow_run/flow_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "flow_run/flow_data.h"
#include "protocol/digest.h"

namespace orchid::flow {

bool is_at_most_once(const RetryPolicy& policy) {
  const auto names = [&policy](const char* outcome) {
    return std::ranges::find(policy.outcomes, outcome) != policy.outcomes.end();
  };
  return policy.attempts == 1 || !names("worker_lost") || !names("evicted");
}

std::string new_flow_key() {
  std::random_device device;
  std::string key = "flow-";
  for (int word = 0; word < 4; ++word) key += fmt::format("{:08x}", device());
  return key;
}

std::string idempotency_key(std::string_view key, const StartCall& call, std::string_view exact) {
  constexpr std::size_t of_digest = 16;
  const std::size_t at = exact.find('@');
  const WorkId& work = call.work;
  Bytes given = call.input;
  for (const DataId& data : call.data)
    given.insert(given.end(), data.bytes.begin(), data.bytes.end());
  const std::string digest = digest_of(given);
  return fmt::format("{}-{}-{}-{}-{}-{}{}-{}-{}-{}-{}", key, work.node, work.stage, work.generation,
                     work.step, work.index, work.judges ? "u" : "", work.round, call.attempt,
                     at == std::string_view::npos ? "" : exact.substr(at + 1, of_digest),
                     digest.substr(digest.find(':') + 1, of_digest));
}

MadeCalls make_calls(Client& client, const Plan& plan, const CallsOptions& options,
                     std::shared_ptr<FlowInbox> inbox) {
  if (!options.by_gateway && !moves_data(plan) && !has_constraints(plan)) {
    try {
      return {.calls = calls_on_lease(client, plan, options, inbox), .on_lease = true};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
    }
  }
  return {.calls = calls_by_gateway(client, plan, options, std::move(inbox)), .on_lease = false};
}

}  // namespace orchid::flow
