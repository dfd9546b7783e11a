// flow_requests.cpp: what the gateway asks, and the answers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "flow_book.h"
#include "foundation/log.h"
#include "foundation/random.h"
#include "protocol/digest.h"

namespace orchid::flows {
namespace {

constexpr std::size_t id_bytes = 8;

Failure conflict(const std::string& message) { return {ErrorCode::conflict, message}; }

Failure unknown(const std::string& flow) {
  return {ErrorCode::not_found,
          fmt::format("there is no flow '{}': it was deleted, or has ended too long ago; 'orchid "
                      "flow list' shows yours",
                      flow)};
}

}  // namespace

Failure FlowBook::cannot_go_on(const std::string& flow, const Entry& entry) {
  return conflict(
      fmt::format("flow {} is {}: only a flow that failed or was cancelled is tried again", flow,
                  state_of(entry)));
}

FlowBook::Entry* FlowBook::find(const std::string& id) {
  const auto found = flows_.find(id);
  return found == flows_.end() ? nullptr : &found->second;
}

void FlowBook::refuse(const FlowRequest& request, Failure failure) {
  parts_.answer({.number = request.number, .failure = std::move(failure)}, {});
}

void FlowBook::answer_document(const FlowRequest& request, const Entry& entry, bool is_new) {
  parts_.answer(
      {.number = request.number, .failure = {}, .is_new = is_new, .content = FlowContent::json},
      request.brief ? brief_of(entry) : document_of(entry));
}

void FlowBook::handle(Asked asked) {
  const FlowRequest& request = asked.request;
  if (request.ask == FlowAsk::submit) return submit(std::move(asked));
  if (request.ask == FlowAsk::list) return list(request);
  if (request.ask == FlowAsk::check) return parts_.check(std::move(asked));
  if (request.ask == FlowAsk::templates)
    return parts_.answer({.number = request.number, .failure = {}, .content = FlowContent::json},
                         parts_.templates);
  Entry* entry = find(request.flow);
  if (entry == nullptr) return refuse(request, unknown(request.flow));
  switch (request.ask) {
    case FlowAsk::show:
      return show(request, *entry);
    case FlowAsk::outputs:
      return outputs(request, *entry);
    case FlowAsk::log:
      return log(request, *entry);
    case FlowAsk::news:
      return news(request, *entry);
    case FlowAsk::cancel:
      return cancel(request, *entry);
    case FlowAsk::retry:
      return retry(request, *entry);
    case FlowAsk::resume:
      return resume(request, *entry);
    case FlowAsk::remove:
      return remove(request, *entry);
    case FlowAsk::submit:
    case FlowAsk::list:
    case FlowAsk::check:
    case FlowAsk::templates:
      break;
  }
}

/// A key stands for one flow, as long as that is known.
void FlowBook::submit(Asked asked) {
  const FlowRequest& request = asked.request;
  const auto same_key = std::ranges::find_if(flows_, [&](const auto& item) {
    return !request.key.empty() && item.second.record.key == request.key;
  });
  if (same_key != flows_.end()) {
    if (same_key->second.record.digest != digest_of(asked.content))
      return refuse(request, conflict(fmt::format(
                                 "Idempotency-Key '{}' was used for flow {}, which is another one: "
                                 "take a new key",
                                 request.key, same_key->first)));
    return answer_document(request, same_key->second);
  }
  const auto going = static_cast<std::size_t>(
      std::ranges::count_if(flows_, [](const auto& item) { return !has_ended(item.second); }));
  if (going >= options_.most_flows)
    return refuse(request, {ErrorCode::quota,
                            fmt::format("{} flows of yours have not ended, and a user may have no "
                                        "more: wait for one, or cancel one",
                                        going)});
  parts_.check(std::move(asked));
}

void FlowBook::handle(Checked checked) {
  const FlowRequest& request = checked.request;
  if (request.ask == FlowAsk::retry) return go_on(std::move(checked));
  if (!checked.result) return refuse(request, std::move(checked.result.error()));
  // The same one may have come while it was checked.
  if (!request.key.empty() && std::ranges::any_of(flows_, [&](const auto& item) {
        return item.second.record.key == request.key;
      }))
    return submit({.request = request, .content = std::move(checked.content)});
  auto run = FlowRun::create(std::move(checked.result->ready));
  if (run) (*run)->set_kept(learned_);
  if (!run) return refuse(request, std::move(run.error()));
  FlowRecord record{.id = "fl-" + random_hex(id_bytes),
                    .key = request.key,
                    .digest = digest_of(checked.content),
                    .name = checked.result->name,
                    .submitted = wall(),
                    .functions = to_json(checked.result->functions),
                    .body = std::move(checked.content),
                    .plan = std::move(checked.result->plan),
                    .done = std::nullopt};
  if (auto kept = parts_.journal.insert(record); !kept)
    return refuse(request, std::move(kept.error()));
  record.body = {};
  record.plan = {};
  const std::string id = record.id;
  Entry& entry = flows_[id];
  entry.record = std::move(record);
  entry.run = std::move(*run);
  entry.since = parts_.clock.now();
  log::info("event=flow_submitted flow={} nodes={}", id, entry.run->plan().nodes.size());
  if (auto begun = tell(entry, flow::Tick{}); !begun) suspend(entry, begun.error().message);
  if (entry.run->outcome() == flow::FlowOutcome::done) finish(entry);
  answer_document(request, entry, /*is_new=*/true);
}

void FlowBook::show(const FlowRequest& request, Entry& entry) {
  if (request.wait.count() == 0 || has_ended(entry)) return answer_document(request, entry);
  waiting_.push_back({.request = request, .until = parts_.clock.now() + request.wait});
}

void FlowBook::news(const FlowRequest& request, Entry& entry) {
  std::string text = news_of(entry, request.since);
  const bool last = has_ended(entry);
  if (request.wait.count() > 0 && !last && text.empty()) {
    waiting_.push_back({.request = request, .until = parts_.clock.now() + request.wait});
    return;
  }
  parts_.answer({.number = request.number,
                 .failure = {},
                 .content = FlowContent::events,
                 .next = sequence_of(entry),
                 .last = last},
                text);
}

/// Those whose flow has changed, or has gone, and those who have waited for long enough.
void FlowBook::answer_waiting() {
  const MonotonicTime now = parts_.clock.now();
  std::vector<Waiting> due;
  std::erase_if(waiting_, [&](const Waiting& one) {
    const Entry* entry = find(one.request.flow);
    const bool is_news = one.request.ask == FlowAsk::news;
    const bool is_due = entry == nullptr || has_ended(*entry) || now >= one.until ||
                        (is_news && sequence_of(*entry) != one.request.since);
    if (is_due) due.push_back(one);
    return is_due;
  });
  for (Waiting& one : due) {
    one.request.wait = {};
    handle(Asked{.request = std::move(one.request), .content = {}});
  }
}

void FlowBook::outputs(const FlowRequest& request, Entry& entry) {
  if (!entry.record.done)
    return refuse(request, conflict(fmt::format("flow {} is {}: it has outputs when it is done",
                                                request.flow, state_of(entry))));
  auto text = parts_.journal.outputs(request.flow);
  if (!text) return refuse(request, std::move(text.error()));
  if (text->size() > largest_flow_answer.value)
    return refuse(request, {ErrorCode::too_large,
                            "the outputs are larger than " + to_string(largest_flow_answer)});
  parts_.answer({.number = request.number, .failure = {}, .content = FlowContent::json}, *text);
}

void FlowBook::log(const FlowRequest& request, Entry& entry) {
  std::string text;
  if (entry.record.done) text = entry.record.done->log;
  if (entry.run) text = entry.run->log();
  const FlowContent content = text.empty() ? FlowContent::nothing : FlowContent::text;
  parts_.answer({.number = request.number, .failure = {}, .content = content}, text);
}

void FlowBook::cancel(const FlowRequest& request, Entry& entry) {
  if (has_ended(entry) || !entry.run)
    return refuse(request,
                  conflict(fmt::format("flow {} is {} already", request.flow, state_of(entry))));
  if (auto told = tell(entry, flow::Cancel{}); !told)
    return refuse(request, std::move(told.error()));
  entry.suspended.clear();
  answer_document(request, entry);
}

/// Functions are looked for as for a new flow: one that was mended is called in its new version.
void FlowBook::retry(const FlowRequest& request, Entry& entry) {
  if (!entry.run || !has_ended(entry)) return refuse(request, cannot_go_on(request.flow, entry));
  auto body = parts_.journal.body(request.flow);
  if (!body) return refuse(request, std::move(body.error()));
  parts_.check({.request = request, .content = std::move(*body)});
}

/// Something may have happened while the functions were looked for.
void FlowBook::go_on(Checked checked) {
  const FlowRequest& request = checked.request;
  Entry* entry = find(request.flow);
  if (entry == nullptr) return refuse(request, unknown(request.flow));
  if (!entry->run || !has_ended(*entry)) return refuse(request, cannot_go_on(request.flow, *entry));
  if (!checked.result) return refuse(request, std::move(checked.result.error()));
  flow::Plan& plan = checked.result->ready.plan;
  if (plan.fingerprint != entry->run->plan().fingerprint)
    return refuse(request, conflict(fmt::format("functions of flow {} take or give other types now "
                                                "than when it was submitted: submit it anew",
                                                request.flow)));
  const JournalEvent stamp = stamped(*entry, flow::GoOn{});
  const std::string functions = to_json(checked.result->functions);
  auto kept = parts_.journal.append(
      {.flow = request.flow, .sequence = entry->run->events(), .event = &stamp},
      FunctionChange{.functions = functions, .plan = checked.result->plan});
  if (!kept) return refuse(request, std::move(kept.error()));
  entry->record.functions = functions;
  entry->run->call_as(std::move(plan.exact));
  apply(*entry, stamp);
  answer_document(request, *entry);
}

void FlowBook::resume(const FlowRequest& request, Entry& entry) {
  if (entry.suspended.empty())
    return refuse(request, conflict(fmt::format("flow {} is {}: only a flow that is suspended is "
                                                "resumed",
                                                request.flow, state_of(entry))));
  if (auto restored = restore(entry); !restored) entry.suspended = restored.error().message;
  answer_document(request, entry);
}

void FlowBook::remove(const FlowRequest& request, Entry& /*entry*/) {
  if (auto gone = forget(request.flow); !gone) return refuse(request, std::move(gone.error()));
  parts_.answer({.number = request.number, .failure = {}}, {});
}

}  // namespace orchid::flows
