// flow_under_test.h: flows over functions that are known here, and a platform that runs them in
// this thread.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "flow/checker.h"
#include "flow/document.h"
#include "flow/engine.h"

namespace orchid::flow {

/// A value of a type, as bytes.
[[nodiscard]] Value value(const std::string& type, const std::string& json);
/// A value as JSON.
[[nodiscard]] std::string text_of(const PortType& type, const Value& value);

/// The faults of a document, each as one line; the document's own word counts for functions.
[[nodiscard]] std::vector<std::string> faults_of(const std::string& text);
/// The plan of a document without faults.
[[nodiscard]] Plan plan_of(const std::string& text);

/// The `functions:` of a document that uses them.
[[nodiscard]] std::string functions_section();
/// A document with maps, of which one ends early, a reduce and an iterate; `n` gives the pieces.
[[nodiscard]] std::string four_kinds();
/// A document whose node `steps` calls the step function `walk` with a number as its state, in
/// batches of a second.
[[nodiscard]] std::string batches_of_steps();
/// What a batch of it gives that has made so many steps, and is not the last.
[[nodiscard]] Answered answer_of_batch(const StartCall& call, std::uint64_t steps);

/// Runs the calls of an engine, in an order that `random` chooses; what else happens is up to the
/// test.
class Platform {
 public:
  explicit Platform(const Plan& plan) : plan_(&plan) {}

  /// Takes the engine's actions. Checks what must hold of any: no node ends twice, none changes
  /// after its end.
  void take(std::vector<Action> actions);
  /// One of the open calls, with its answer.
  [[nodiscard]] Answered answer(std::mt19937_64& random);
  [[nodiscard]] const std::vector<StartCall>& open() const { return open_; }
  /// One of the open calls ends without an answer.
  [[nodiscard]] CallId lose(std::size_t number);
  /// Forgets the open calls, as a driver that ends; those after it are of a new run.
  void restart(const Engine& engine);

  std::vector<AttemptFailed> failures;
  std::vector<StopCall> stopped;
  std::map<std::uint32_t, NodeState> states;
  std::map<std::string, unsigned> calls;  // of each function
  std::size_t most_open = 0;
  unsigned ends = 0;
  std::optional<Time> wake;

 private:
  const Plan* plan_;
  std::vector<StartCall> open_;
};

/// The answer to a call.
[[nodiscard]] Answered answer_to(const StartCall& call);

/// Runs a flow without any trouble to its end; its outputs as JSON.
[[nodiscard]] std::map<std::string, std::string> outputs_of(const Plan& plan,
                                                            const std::vector<Value>& inputs);
[[nodiscard]] std::map<std::string, std::string> outputs_of(const Plan& plan, const Engine& engine);

}  // namespace orchid::flow
