#include "leases/call_traces.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/files.h"
#include "foundation/json_document.h"
#include "http/json_text.h"
#include "protocol/crew.h"

namespace orchid::gateway {
namespace {

constexpr std::size_t longest_traced_name = 256;
constexpr std::size_t longest_traced_message = 4096;
constexpr std::size_t longest_traced_log = 64 * 1024;  // with a line for each step
constexpr std::int64_t longest_traced_time =
    std::chrono::nanoseconds(std::chrono::hours(1000)).count();
constexpr JsonRules call_rules{.subject = "the body",
                               .unknown_key = "is not known here: see /openapi.yaml"};

std::chrono::nanoseconds read_time(const JsonObject& o, const char* key) {
  return std::chrono::nanoseconds(
      o.number<std::int64_t>(key, {.least = 0, .most = longest_traced_time}));
}

TracedCall read_call(const JsonObject& o) {
  TracedCall call{.function = o.text("function", longest_traced_name)};
  call.member = o.number<std::uint32_t>("member", {.most = crew::most_members});
  call.outcome = o.text("outcome", longest_traced_name);
  call.message = o.text("message", longest_traced_message);
  call.took = read_time(o, "took_ns");
  for (const JsonObject& step : o.objects("path", {.most = CallTraces::most_steps}))
    call.path.push_back(
        {.member = step.number<std::uint32_t>("member", {.most = crew::most_members}),
         .entry = step.text("entry", longest_traced_name),
         .run = read_time(step, "run_ns")});
  call.log = o.text("log", longest_traced_log);
  return call;
}

}  // namespace

void CallTraces::add(uid_t tenant, LeaseId lease, std::vector<TracedCall> calls,
                     MonotonicTime now) {
  const auto found = std::ranges::find_if(
      leases_, [&](const OfLease& one) { return one.lease == lease && one.tenant == tenant; });
  if (found == leases_.end()) {
    if (leases_.size() == most_leases) leases_.pop_front();
    leases_.push_back({.tenant = tenant, .lease = lease, .calls = {}});
  } else {
    leases_.splice(leases_.end(), leases_, found);
  }
  std::deque<TracedCall>& kept = leases_.back().calls;
  for (TracedCall& call : calls) {
    if (kept.size() == most_calls) kept.pop_front();
    call.told = now;
    kept.push_back(std::move(call));
  }
}

std::optional<std::vector<TracedCall>> CallTraces::find(uid_t tenant, LeaseId lease) const {
  const auto found = std::ranges::find_if(
      leases_, [&](const OfLease& one) { return one.lease == lease && one.tenant == tenant; });
  if (found == leases_.end()) return std::nullopt;
  return std::vector<TracedCall>(found->calls.begin(), found->calls.end());
}

Result<std::vector<TracedCall>> parse_traced_calls(std::span<const std::byte> body) {
  const JsonDocument document(as_text(body), call_rules);
  const JsonObject o = document.root().optional();
  std::vector<TracedCall> calls;
  for (const JsonObject& call : o.objects("calls", {.least = 1, .most = CallTraces::most_calls}))
    calls.push_back(read_call(call));
  if (calls.empty()) o.fault("calls", "must be a list of 1 to 32 calls");
  return document.finish(std::move(calls));
}

std::string traced_calls_json(const std::vector<TracedCall>& calls, MonotonicTime now) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const TracedCall& call : calls) {
    Json path = Json::array();
    for (const TracedStep& step : call.path)
      path.push_back(
          {{"member", step.member}, {"entry", step.entry}, {"run_ns", step.run.count()}});
    list.push_back(
        {{"function", call.function},
         {"member", call.member},
         {"outcome", call.outcome},
         {"message", call.message},
         {"took_ns", call.took.count()},
         {"age_ms", std::chrono::duration_cast<std::chrono::milliseconds>(now - call.told).count()},
         {"path", std::move(path)},
         {"log", call.log}});
  }
  return json_text({{"calls", std::move(list)}});
}

}  // namespace orchid::gateway
