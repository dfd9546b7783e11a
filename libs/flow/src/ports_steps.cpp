// The ports of nodes of kind `iterate`, whose function makes one step, or many in a batch.
#include <fmt/format.h>

#include <chrono>

#include "shaping.h"

namespace orchid::flow {
namespace {

/// Of a batch, where nobody says.
constexpr std::chrono::seconds usual_budget{1};

/// "struct<16,8:u64@0,u64@8>", as orchid/step.h has it.
bool is_budget(const PortType& type) {
  using module::Scalar;
  const module::Structure& structure = type.type.structure;
  return !type.is_bytes && type.type.kind == module::TypeKind::structure && structure.size == 16 &&
         structure.fields.size() == 2 && structure.fields[0].type == Scalar::u64 &&
         structure.fields[1].type == Scalar::u64 && structure.fields[1].offset == 8;
}

}  // namespace

void Shaping::shape_iterate() {
  const auto type = type_of(node_.function);
  if (!type) return;
  if (type->result.is_step()) return shape_steps(*type);
  if (node_.budget.count() != 0 || node_.steps != 0)
    fault(node_.function.function.place,
          fmt::format("'{}' is no step function, which gives step<…>: take 'budget' and 'steps' of "
                      "node '{}' away, and say 'times'",
                      node_.function.function.text, node_.name.text));
  expect(!type->arguments.empty() && type->arguments[0] == type->result, node_.function, *type,
         "one that gives what its first value is: the next state");
  if (!is_about_steps(*type)) return;
  make_ports(type->arguments.size());
  planned_.main = bind(node_.function, *type, 0, ports_from(0));
  planned_.main.ports = ports_from(1);
  planned_.gives = type->result;
  shape_until(type->result);
}

/// step<S>(budget, S, …): the engine gives the budget, and what is at the first port is the state.
void Shaping::shape_steps(const FunctionType& type) {
  const PortType state = state_of(type.result);
  expect(
      type.arguments.size() >= 2 && is_budget(type.arguments[0]) && type.arguments[1] == state,
      node_.function, type,
      fmt::format("one that takes a budget and the state, step<{0}>(struct<16,8:u64@0,u64@8>,{0})",
                  to_string(state)));
  if (node_.ends != Until::never)
    fault(
        node_.name.place,
        fmt::format("node '{}' has 'until', and '{}' is a step function, which says by itself when "
                    "it is done; take 'until' away",
                    node_.name.text, node_.function.function.text));
  if (!is_about_steps(type)) return;
  make_ports(type.arguments.size() - 1);
  planned_.main = bind(node_.function, type, 1, ports_from(0));
  planned_.main.ports = ports_from(1);
  planned_.gives = state;
  planned_.is_step = true;
  planned_.budget = node_.budget.count() == 0 && node_.steps == 0
                        ? std::chrono::nanoseconds(usual_budget)
                        : node_.budget;
  planned_.steps = node_.steps;
  if (planned_.times == 0) planned_.times = no_bound;
}

/// What is left to check of both.
bool Shaping::is_about_steps(const FunctionType& type) {
  planned_.durable = node_.durable;
  planned_.keeps_value = node_.durable != 0;
  if (node_.durable != 0 && !type.result.is_data())
    fault(node_.name.place,
          fmt::format("the state of node '{}' is {}, a value, which is kept with the flow: "
                      "'durable' is for states that are data objects; take it away",
                      node_.name.text,
                      to_string(type.result.is_step() ? state_of(type.result) : type.result)));
  return good_;
}

}  // namespace orchid::flow
