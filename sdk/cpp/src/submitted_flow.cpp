#include "orchid/submitted_flow.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "api/documents.h"
#include "api/event_reader.h"
#include "api/session.h"
#include "foundation/base64.h"
#include "foundation/files.h"
#include "foundation/json_document.h"
#include "foundation/percent_encoding.h"
#include "foundation/random.h"
#include "orchid/client.h"

namespace orchid {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds longest_flow_poll{30'000};
constexpr milliseconds flow_patience{15'000};
constexpr milliseconds flow_pause{200};

std::string flow_path(const std::string& id) { return "/v1/flows/" + percent_encode(id); }

bool refuses_nodes_word(const Error& error) {
  constexpr int bad_request = 400;
  return error.http_status() == bad_request &&
         error.message().find("query parameter 'nodes'") != std::string::npos;
}

/// What `ask` gives when it is told to leave out nodes, of which there may be very many. A gateway
/// from before this word refuses it, and is asked for all of it, from then on at once.
template <typename Ask>
auto briefly(sdk::Session& session, Ask ask) {
  if (session.asks_briefly()) {
    try {
      return ask("nodes=none");
    } catch (const Error& error) {
      if (!refuses_nodes_word(error)) throw;
    }
    session.ask_at_length();
  }
  return ask("");
}

std::string with_query(const std::string& target, const std::string& query) {
  if (query.empty()) return target;
  return target + (target.find('?') == std::string::npos ? "?" : "&") + query;
}

/// The process that runs the flow is being started again; and so may be the gateway, if it has
/// answered before.
bool may_come_back(const Error& error, bool has_answered) {
  return error.kind() == ErrorKind::unreachable && (has_answered || error.http_status() != 0);
}

/// What `ask` gives. It is asked again while what would answer is being started again.
template <typename Ask>
auto patiently(Ask ask, bool has_answered = false) {
  const auto give_up = Steady::now() + flow_patience;
  while (true) {
    try {
      return ask();
    } catch (const Error& error) {
      if (!may_come_back(error, has_answered) || Steady::now() >= give_up) throw;
    }
    std::this_thread::sleep_for(flow_pause);
  }
}

std::string document_of(const FlowSubmission& flow) {
  nlohmann::ordered_json document{{"document", flow.document}};
  if (!flow.file.empty()) document["file"] = flow.file;
  for (const auto& [file, text] : flow.files) document["files"][file] = text;
  for (const auto& [name, json] : flow.inputs) {
    auto value = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded())
      throw Error({.kind = ErrorKind::bad_request,
                   .message = "the value of input '" + name + "' is no JSON",
                   .hint = "write a text as \"text\""});
    document["inputs"][name] = std::move(value);
  }
  for (const auto& [name, bytes] : flow.encoded_inputs)
    document["encoded_inputs"][name] = to_base64(bytes);
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// Ends an exchange from within.
struct EnoughSeen {};

}  // namespace

SubmittedFlow Client::submit_flow(const FlowSubmission& flow) {
  const std::string body = document_of(flow);
  const std::string key =
      flow.idempotency_key.empty() ? "sdk-" + random_hex(16) : flow.idempotency_key;
  // With its key it may be sent again.
  const sdk::HttpResponse response = briefly(*session_, [&](const std::string& query) {
    return patiently([&] {
      return session_->request(
          {.method = "POST",
           .target = with_query("/v1/flows", query),
           .headers = {"Content-Type: application/json", "Idempotency-Key: " + key},
           .body = as_bytes(body),
           .timeout = sdk::Session::longest_answer});
    });
  });
  return {session_, sdk::parse_flow(response.text()).id};
}

SubmittedFlow Client::submitted_flow(std::string id) const { return {session_, std::move(id)}; }

std::vector<FlowStatus> Client::submitted_flows() {
  return sdk::parse_flows(patiently([&] { return session_->get("/v1/flows"); }).text());
}

FlowStatus SubmittedFlow::status() const {
  return sdk::parse_flow(patiently([&] { return session_->get(flow_path(id_)); }).text());
}

FlowStatus SubmittedFlow::progress() const {
  return sdk::parse_flow(briefly(*session_, [&](const std::string& query) {
                           return patiently(
                               [&] { return session_->get(with_query(flow_path(id_), query)); });
                         }).text());
}

FlowStatus SubmittedFlow::wait(milliseconds timeout) const {
  const auto end = Steady::now() + timeout;
  for (bool has_answered = false;; has_answered = true) {
    const auto left = std::chrono::ceil<milliseconds>(end - Steady::now());
    const auto poll = std::clamp(left, milliseconds(0), longest_flow_poll);
    const std::string wait = "wait=" + std::to_string(poll.count()) + "ms";
    FlowStatus status = sdk::parse_flow(
        briefly(*session_, [&](const std::string& query) {
          const std::string target = with_query(with_query(flow_path(id_), wait), query);
          return patiently(
              [&] { return session_->get(target, poll + sdk::Session::default_timeout); },
              has_answered);
        }).text());
    if (status.has_ended() || poll >= left) return status;
  }
}

std::string SubmittedFlow::outputs() const {
  return std::string(patiently([&] {
                       return session_->get(flow_path(id_) + "/outputs",
                                            sdk::Session::longest_answer);
                     }).text());
}

std::string SubmittedFlow::log() const {
  return std::string(patiently([&] { return session_->get(flow_path(id_) + "/logs"); }).text());
}

void SubmittedFlow::watch(const std::function<bool(const FlowEvent&)>& take) const {
  std::string known;  // the last event's id
  bool has_answered = false;
  bool has_ended = false;
  std::optional<Steady::time_point> lost;  // since when nobody has answered
  while (!has_ended) {
    sdk::EventReader reader([&](const sdk::ServerEvent& event) {
      if (!event.id.empty()) known = event.id;
      has_ended = event.name == "end";
      if (!take({.name = event.name, .data = event.data})) throw EnoughSeen{};
    });
    sdk::HttpRequest request{.target = flow_path(id_) + "/events",
                             .timeout = milliseconds(0),
                             .take_stream = [&](std::span<const std::byte> bytes) {
                               has_answered = true;
                               lost.reset();
                               reader.add(bytes);
                             }};
    if (!known.empty()) request.headers.push_back("Last-Event-ID: " + known);
    try {
      if (session_->request(request).status == 204) return;  // all of it is known
    } catch (const EnoughSeen&) {
      return;
    } catch (const Error& error) {
      if (!lost) lost = Steady::now();
      if (!may_come_back(error, has_answered) || Steady::now() - *lost > flow_patience) throw;
    }
    // The gateway, or what runs the flow, has ended in between.
    if (!has_ended) std::this_thread::sleep_for(flow_pause);
  }
}

FlowStatus SubmittedFlow::order(const char* what) const {
  return sdk::parse_flow(
      session_->request({.method = "POST", .target = flow_path(id_) + "/" + what}).text());
}

FlowStatus SubmittedFlow::cancel() const { return order("cancel"); }
FlowStatus SubmittedFlow::retry() const { return order("retry"); }
FlowStatus SubmittedFlow::resume() const { return order("resume"); }

void SubmittedFlow::remove() const {
  (void)session_->request({.method = "DELETE", .target = flow_path(id_)});
}

}  // namespace orchid
