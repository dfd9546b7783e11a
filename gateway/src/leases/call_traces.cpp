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
constexpr std::size_t longest_traced_entry = 128;  // as entries are: see protocol/names.h
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
         .entry = step.text("entry", longest_traced_entry),
         .run = read_time(step, "run_ns")});
  call.log = o.text("log", longest_traced_log);
  return call;
}

std::size_t size_of(const TracedCall& call) {
  std::size_t size = sizeof(call) + call.function.size() + call.outcome.size() +
                     call.message.size() + call.log.size();
  for (const TracedStep& step : call.path) size += sizeof(step) + step.entry.size();
  return size;
}

}  // namespace

void CallTraces::add(uid_t tenant, LeaseId lease, std::vector<TracedCall> calls,
                     MonotonicTime now) {
  OfTenant& own = tenants_[tenant];
  const auto found = std::ranges::find(own.leases, lease, &OfLease::lease);
  if (found != own.leases.end()) {
    own.leases.splice(own.leases.end(), own.leases, found);
  } else {
    if (own.leases.size() == most_leases) {
      for (const TracedCall& call : own.leases.front().calls) own.bytes -= size_of(call);
      own.leases.pop_front();
    }
    own.leases.push_back({.lease = lease, .calls = {}});
  }
  OfLease& last = own.leases.back();
  for (TracedCall& call : calls) {
    if (last.calls.size() == most_calls) forget_first(own, last);
    call.told = now;
    own.bytes += size_of(call);
    last.calls.push_back(std::move(call));
  }
  std::erase_if(own.leases, [](const OfLease& one) { return one.calls.empty(); });
  while (own.bytes > most_bytes) forget_oldest(own);
}

void CallTraces::forget_oldest(OfTenant& own) {
  const auto oldest = std::ranges::min_element(
      own.leases, {}, [](const OfLease& one) { return one.calls.front().told; });
  forget_first(own, *oldest);
  if (oldest->calls.empty()) own.leases.erase(oldest);
}

void CallTraces::forget_first(OfTenant& own, OfLease& lease) {
  own.bytes -= size_of(lease.calls.front());
  lease.calls.pop_front();
}

std::optional<std::vector<TracedCall>> CallTraces::find(uid_t tenant, LeaseId lease) const {
  const auto own = tenants_.find(tenant);
  if (own == tenants_.end()) return std::nullopt;
  const auto found = std::ranges::find(own->second.leases, lease, &OfLease::lease);
  if (found == own->second.leases.end()) return std::nullopt;
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
