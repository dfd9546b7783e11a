// The ports of nodes whose calls lead to further calls: `master` and `divide`.
#include <fmt/format.h>

#include <algorithm>

#include "shaping.h"

namespace orchid::flow {

/// The ports behind the first that a function takes; all of them unless it says which.
std::vector<std::uint32_t> Shaping::shared_by(const Step& step) {
  return step.says_takes ? named(step) : ports_from(1);
}

PlannedCall Shaping::plain_call(const Step& step, const FunctionType& type) {
  return {.function = step.function.text,
          .signature = type.signature,
          .ports = {},
          .result = type.result};
}

/// The state is at the first port: hand_out(S, …) gives work, each(W, …) does a piece of it, and
/// gather(S, R) gives the next state.
void Shaping::shape_master() {
  const auto hand_out = type_of(node_.partition);
  const auto each = type_of(node_.each);
  const auto gather = type_of(node_.merge);
  if (!good_) return;
  expect(gather->arguments.size() == 2 && gather->arguments[0] == gather->result, node_.merge,
         *gather, "one that takes a state and a result, and gives the next state");
  expect_value(node_.merge, *gather);
  expect_value(node_.each, *each);
  expect(hand_out->result.is_span() && !hand_out->arguments.empty(), node_.partition, *hand_out,
         "one that takes the state, and gives a span of work");
  if (!good_) return;
  expect(hand_out->arguments[0] == gather->result, node_.partition, *hand_out,
         fmt::format("one whose first value is the state, {}", to_string(gather->result)));
  expect(!each->arguments.empty() && each->arguments[0] == element_of(hand_out->result), node_.each,
         *each,
         fmt::format("one whose first value is a piece of work, {}",
                     to_string(element_of(hand_out->result))));
  expect(
      gather->arguments[1] == each->result, node_.merge, *gather,
      fmt::format("one whose second value is the result of a piece, {}", to_string(each->result)));
  if (!good_) return;
  make_ports(std::max(hand_out->arguments.size(), each->arguments.size()));
  set_type(0, gather->result, node_.partition.function.place);
  const auto of_each = shared_by(node_.each);
  const auto of_hand_out = shared_by(node_.partition);
  if (!good_) return;
  planned_.partition = bind(node_.partition, *hand_out, 1, of_hand_out);
  planned_.main = bind(node_.each, *each, 1, of_each);
  planned_.merge = plain_call(node_.merge, *gather);
  planned_.pieces = hand_out->result;
  planned_.gives = gather->result;
}

/// The whole problem is at the first port: divide(P) gives smaller ones, or none where solve(P,
/// …) is to be called; combine makes one result of those of a problem's parts.
void Shaping::shape_divide() {
  const auto divide = type_of(node_.partition);
  const auto solve = type_of(node_.each);
  const auto combine = type_of(node_.merge);
  if (!good_) return;
  expect(divide->result.is_span() && divide->arguments.size() == 1 &&
             divide->arguments[0] == element_of(divide->result),
         node_.partition, *divide,
         "one that gives a span of smaller problems of one, as span<u64>(u64)");
  if (!good_) return;
  const PortType& problem = divide->arguments[0];
  expect(!solve->arguments.empty() && solve->arguments[0] == problem, node_.each, *solve,
         fmt::format("one whose first value is a problem, {}", to_string(problem)));
  expect_value(node_.each, *solve);
  const PortType all = gathered(solve->result);
  expect(combine->arguments.size() == 1 && combine->arguments[0] == all &&
             combine->result == solve->result,
         node_.merge, *combine, fmt::format("{}({})", to_string(solve->result), to_string(all)));
  if (!good_) return;
  make_ports(solve->arguments.size());
  set_type(0, problem, node_.partition.function.place);
  const auto of_solve = shared_by(node_.each);
  if (!good_) return;
  planned_.partition = plain_call(node_.partition, *divide);
  planned_.main = bind(node_.each, *solve, 1, of_solve);
  planned_.merge = plain_call(node_.merge, *combine);
  planned_.pieces = divide->result;
  planned_.gives = solve->result;
}

}  // namespace orchid::flow
