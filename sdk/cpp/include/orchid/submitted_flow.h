// orchid/submitted_flow.h: a flow that Orchid runs by itself, whoever comes and goes meanwhile.
//
//   orchid::SubmittedFlow flow = client.submit_flow({.document = text, .inputs = {{"n", "5"}}});
//   if (flow.wait(std::chrono::hours(1)).state == "done") std::cout << flow.outputs();
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace orchid {

namespace sdk {
class Session;
}

struct FlowSubmission {
  std::string document;  // YAML or JSON, as `orchid::Flow::json` gives it, too
  std::string file{};    // what faults call the document; other files lie beside it
  /// Documents of flows that are nodes: file, text.
  std::vector<std::pair<std::string, std::string>> files{};
  std::vector<std::pair<std::string, std::string>> inputs{};  // name, value as JSON
  /// Name, value in the bytes in which functions take it (docs/PROTOCOL.md §7).
  std::vector<std::pair<std::string, std::vector<std::byte>>> encoded_inputs{};
  /// Of two submissions with one key only the first makes a flow; made up when empty.
  std::string idempotency_key{};
};

struct FlowStatus {
  std::string id;         // "fl-…"
  std::string name;       // as its document has it
  std::string state;      // "running", "suspended", "done", "failed", "cancelled"
  std::string message;    // why it is suspended or has failed
  std::string submitted;  // as the gateway writes times
  std::string ended;      // the same; empty: it has not
  std::uint64_t nodes = 0;
  std::uint64_t nodes_done = 0;
  std::string json;  // the gateway's whole answer; of a list its part
  [[nodiscard]] bool has_ended() const {
    return state == "done" || state == "failed" || state == "cancelled";
  }
};

/// What has happened: "node" (state and progress of one), "state" (of the flow), "attempt" (a call
/// of a node has failed), "end" (the flow has ended). `data` is a JSON document.
struct FlowEvent {
  std::string name;
  std::string data;
};

/// A handle. A cheap value; any thread. All members throw `orchid::Error`.
class SubmittedFlow {
 public:
  [[nodiscard]] const std::string& id() const { return id_; }
  /// In `json` with all of its nodes.
  [[nodiscard]] FlowStatus status() const;
  /// The same without its nodes, for those who ask often.
  [[nodiscard]] FlowStatus progress() const;
  /// Waits until it has ended or `timeout` has passed, and says how it stands then, without
  /// its nodes.
  [[nodiscard]] FlowStatus wait(std::chrono::milliseconds timeout) const;
  /// By name, as JSON. Error `conflict`: it has not come to its end.
  [[nodiscard]] std::string outputs() const;
  /// What happened so far, a line each.
  [[nodiscard]] std::string log() const;
  /// Tells what has happened and what happens, until the flow has ended or `take` says false. Of
  /// what a node went through meanwhile it hears the newest state.
  void watch(const std::function<bool(const FlowEvent&)>& take) const;
  /// Error `conflict`: it has ended.
  FlowStatus cancel() const;
  /// A flow that failed or was cancelled goes on from there. Error `conflict`: another one.
  FlowStatus retry() const;
  /// A flow that is suspended goes on. Error `conflict`: it is not.
  FlowStatus resume() const;
  /// With all that is known of it; one that runs is cancelled.
  void remove() const;

 private:
  friend class Client;
  SubmittedFlow(std::shared_ptr<sdk::Session> session, std::string id)
      : session_(std::move(session)), id_(std::move(id)) {}
  FlowStatus order(const char* what) const;
  std::shared_ptr<sdk::Session> session_;  // shared: a handle may outlive its client
  std::string id_;
};

}  // namespace orchid
