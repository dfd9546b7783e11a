// shaping.h: how the ports of one node and their types follow from its functions' signatures.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ports.h"

namespace orchid::flow {

/// A builder, used once. What it is given outlives it.
class Shaping {
 public:
  Shaping(const Node& node, const FunctionTypes& types, FaultList& faults)
      : node_(node), types_(types), faults_(faults) {
    planned_.name = node.name.text;
    planned_.kind = node.kind;
    planned_.ends = node.ends;
    planned_.fan = node.fan;
    planned_.times = node.times;
    planned_.window = node.window;
    planned_.deadline = node.deadline;
    planned_.retry = node.retry;
    planned_.constraints = node.constraints;
  }

  /// Nothing: faults have been told.
  [[nodiscard]] std::optional<PlannedNode> run();

 private:
  void find_functions();
  void fault(Place place, std::string message);
  std::optional<FunctionType> type_of(const Step& step);
  /// `count` if the node does not name its ports: they are called 1, 2, …
  void make_ports(std::size_t count);
  void set_type(std::uint32_t port, const PortType& type, Place place);
  /// The function's arguments from `skipped` on are the ports `numbers`.
  PlannedCall bind(const Step& step, const FunctionType& type, std::size_t skipped,
                   const std::vector<std::uint32_t>& numbers);
  [[nodiscard]] std::vector<std::uint32_t> ports_from(std::uint32_t first) const;
  std::vector<std::uint32_t> named(const Step& step);
  void expect(bool holds, const Step& step, const FunctionType& type, std::string_view wanted);
  void shape_call();
  void shape_map();
  /// What many calls give is gathered: values, and not objects that lie somewhere.
  void expect_value(const Step& step, const FunctionType& type);
  void shape_end_of_map(const FunctionType& each);
  void shape_until(const PortType& result);
  void shape_reduce();
  void shape_iterate();
  void shape_steps(const FunctionType& type);
  [[nodiscard]] bool is_about_steps(const FunctionType& type);
  void shape_condition();
  /// The ports behind the first that a function takes; all of them unless it says which.
  std::vector<std::uint32_t> shared_by(const Step& step);
  [[nodiscard]] static PlannedCall plain_call(const Step& step, const FunctionType& type);
  /// The state is at the first port: hand_out(S, …) gives work, each(W, …) does a piece of it, and
  /// gather(S, R) gives the next state.
  void shape_master();
  /// The whole problem is at the first port: divide(P) gives smaller ones, or none where solve(P,
  /// …) is to be called; combine makes one result of those of a problem's parts.
  void shape_divide();
  void check_that_ports_are_used();
  /// They have the signature of the function in whose place they are called.
  void add_variants();

  const Node& node_;
  const FunctionTypes& types_;
  FaultList& faults_;
  PlannedNode planned_;
  std::vector<bool> known_;  // of each port, whether its type is
  bool good_ = true;
};

}  // namespace orchid::flow
