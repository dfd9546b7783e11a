// orchid/run_flow.h: a program runs a flow by itself (docs/guide/flows.md). Link Orchid::sdk_flow.
//
//   orchid::Client client;
//   orchid::Flow flow("sums");                          // or the text of a document
//   …
//   const auto result = orchid::run_flow(client, flow, orchid::FlowInputs().set("n", 5U));
//   if (result.outcome() == orchid::FlowOutcome::done)
//     std::cout << result.get<double>("best");
//
// The flow ends with the program, unless what it has reached is kept (FlowRunOptions::keep).
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchid/client.h"
#include "orchid/flow.h"
#include "orchid/typed_function.h"
#include "orchid/values.h"

namespace orchid {

/// One value, as functions take and give it, and its type as documents have it.
struct FlowValue {
  std::string name;
  std::string type;  // "span<f64>"; "bytes"
  std::vector<std::byte> bytes;
};

/// The values of a flow's inputs. A value; a name that is set again has the last value.
class FlowInputs {
 public:
  template <values::Value T>
  FlowInputs& set(std::string_view name, const T& value) {
    const std::string_view type = values::signature_of<void(T)>();  // "void(T)"
    return add({.name = std::string(name),
                .type = std::string(type.substr(5, type.size() - 6)),
                .bytes = values::encode_all(value)});
  }
  /// As `orchid flow run --input NAME=VALUE` takes it: JSON, and of an input that is a text the
  /// text itself.
  FlowInputs& set_text(std::string_view name, std::string_view text);
  /// For an input of type "bytes".
  FlowInputs& set_bytes(std::string_view name, std::span<const std::byte> bytes);

  struct Given {
    FlowValue value;
    bool is_text = false;  // its bytes are a text, and its type is not known
  };
  [[nodiscard]] const std::vector<Given>& given() const { return given_; }

 private:
  FlowInputs& add(FlowValue value, bool is_text = false);
  std::vector<Given> given_;
};

enum class FlowNodeState : std::uint8_t { waiting, running, done, failed, cancelled };
[[nodiscard]] std::string_view to_string(FlowNodeState state);

struct FlowNodeStatus {
  std::string name;  // "outer/inner" for a node of a flow that was a node
  FlowNodeState state = FlowNodeState::waiting;
  std::uint64_t done = 0;  // pieces, groups or steps
  std::uint64_t total = 0;
};

/// An attempt of a call that failed.
struct FlowFailure {
  std::string node;
  std::string part;  // of the node: "piece 17 of 26", "step 3"; empty: all of it
  unsigned attempt = 1;
  std::string outcome;  // "function_crashed"
  std::string message;
  bool again = false;  // another attempt follows
};

/// Everything is called on the thread that runs the flow, and holds it up meanwhile. What it throws
/// cancels the calls and is passed on.
struct FlowRunOptions {
  unsigned workers = 8;                      // of the lease, at most
  std::chrono::milliseconds within{10'000};  // so long it may take to get the first of them
  std::uint32_t calls_at_once = 0;           // 0: as many as the workers are good for
  bool by_gateway = false;         // as `Client::invoke` calls; else on a lease, where that can be
  std::filesystem::path folder{};  // where the files of nodes that are flows lie; empty: the
                                   // current one
  std::stop_token stop{};          // cancels the flow
  std::function<void(const FlowNodeStatus& node)> node_changed{};
  std::function<void(const FlowFailure& failure)> attempt_failed{};
  /// Several times a second, with all nodes. False cancels the flow.
  std::function<bool(const std::vector<FlowNodeStatus>& nodes)> watch{};
  /// What has been reached, every `keep_every` and at an end that is not `done`. From such a
  /// `state` a later run goes on, also after this process was killed.
  std::function<void(const std::string& state)> keep{};
  std::chrono::milliseconds keep_every{60'000};
  std::string state{};  // from where it goes on; then no inputs are given
  /// A file that keeps what the optimiser `grid` has learned of variants, for the next run; it may
  /// be lost, and flows may share it. Empty: nothing is kept.
  std::filesystem::path variants{};
};

enum class FlowOutcome : std::uint8_t { done, failed, cancelled };
[[nodiscard]] std::string_view to_string(FlowOutcome outcome);

/// How a flow has ended. A value.
class FlowResult {
 public:
  struct Parts {
    FlowOutcome outcome = FlowOutcome::done;
    std::optional<FlowFailure> failure;
    std::vector<FlowNodeStatus> nodes;
    std::vector<FlowValue> outputs;
    std::string state;
  };
  explicit FlowResult(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] FlowOutcome outcome() const { return parts_.outcome; }
  /// What it failed of.
  [[nodiscard]] const std::optional<FlowFailure>& failure() const { return parts_.failure; }
  [[nodiscard]] const std::vector<FlowNodeStatus>& nodes() const { return parts_.nodes; }
  /// None unless it is done.
  [[nodiscard]] const std::vector<FlowValue>& outputs() const { return parts_.outputs; }
  /// From where a run goes on; empty if it is done.
  [[nodiscard]] const std::string& state() const { return parts_.state; }

  /// An output. Throws `orchid::Error`: what the flow failed of, `not_found`, or
  /// `signature_mismatch`.
  template <values::Value T>
  [[nodiscard]] T get(std::string_view name) const {
    const std::string_view type = values::signature_of<void(T)>();
    Reply reply{.output = output(name, type.substr(5, type.size() - 6)).bytes,
                .invocation = {},
                .timing = {}};
    return decode_reply<T>(reply, std::string(name));
  }
  /// The same as JSON text.
  [[nodiscard]] std::string json(std::string_view name) const;
  /// The same as it is; `type` empty: of any type.
  [[nodiscard]] const FlowValue& output(std::string_view name, std::string_view type = {}) const;

 private:
  Parts parts_;
};

/// Checks the flow against the deployed functions, runs it, and returns when it has ended; the
/// client may be used meanwhile. Throws `orchid::Error`: `bad_request` with all that is wrong with
/// the document or the inputs, before anything runs; and if no workers are to be had.
[[nodiscard]] FlowResult run_flow(Client& client, std::string_view document,
                                  const FlowInputs& inputs, const FlowRunOptions& options = {});
[[nodiscard]] FlowResult run_flow(Client& client, const Flow& flow, const FlowInputs& inputs,
                                  const FlowRunOptions& options = {});

}  // namespace orchid
