#include "ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "shaping.h"

namespace orchid::flow {
namespace {

using module::Scalar;
using module::TypeKind;

bool is_truth(const PortType& type) {
  return !type.is_bytes && type.type.kind == TypeKind::scalar &&
         type.type.scalar == Scalar::boolean;
}

}  // namespace

std::optional<PlannedNode> Shaping::run() {
  find_functions();
  if (!good_) return std::nullopt;
  switch (node_.kind) {
    case NodeKind::call:
      shape_call();
      break;
    case NodeKind::map:
      shape_map();
      break;
    case NodeKind::reduce:
      shape_reduce();
      break;
    case NodeKind::iterate:
      shape_iterate();
      break;
    case NodeKind::condition:
      shape_condition();
      break;
    case NodeKind::master:
      shape_master();
      break;
    case NodeKind::divide:
      shape_divide();
      break;
    case NodeKind::flow:
      return std::nullopt;
  }
  if (good_) check_that_ports_are_used();
  if (good_) add_variants();
  if (!good_) return std::nullopt;
  return std::move(planned_);
}

/// All that cannot be found is told at once.
void Shaping::find_functions() {
  for (const Step* step : {&node_.function, &node_.partition, &node_.each, &node_.merge,
                           &node_.if_true, &node_.if_false, &node_.until})
    if (step->exists()) (void)type_of(*step);
}

void Shaping::fault(Place place, std::string message) {
  good_ = false;
  faults_.add(place, std::move(message));
}

std::optional<FunctionType> Shaping::type_of(const Step& step) {
  if (!step.exists()) {
    good_ = false;  // a fault of the document, and told there
    return std::nullopt;
  }
  auto type = types_(step.function);
  good_ = good_ && type.has_value();
  if (type && type->result.is_step() &&
      (node_.kind != NodeKind::iterate || &step != &node_.function))
    fault(step.function.place,
          fmt::format("'{}' is a step function, {}: it is called in batches, by a node of kind "
                      "iterate, as its 'function'",
                      step.function.text, type->signature));
  return type;
}

/// `count` if the node does not name its ports: they are called 1, 2, …
void Shaping::make_ports(std::size_t count) {
  if (node_.takes.empty()) {
    for (std::size_t i = 1; i <= count; ++i)
      planned_.ports.push_back({.name = std::to_string(i), .type = {}, .source = {}});
  }
  for (const Word& name : node_.takes)
    planned_.ports.push_back({.name = name.text, .type = {}, .source = {}});
  known_.assign(planned_.ports.size(), false);
}

void Shaping::set_type(std::uint32_t port, const PortType& type, Place place) {
  PlannedPort& one = planned_.ports[port];
  if (known_[port] && one.type != type)
    fault(place, fmt::format("port '{}' of node '{}' would be {} for one function and {} for "
                             "another; give each a port of its own",
                             one.name, node_.name.text, to_string(one.type), to_string(type)));
  one.type = type;
  known_[port] = true;
}

/// The function's arguments from `skipped` on are the ports `numbers`.
PlannedCall Shaping::bind(const Step& step, const FunctionType& type, std::size_t skipped,
                          const std::vector<std::uint32_t>& numbers) {
  PlannedCall call{.function = step.function.text,
                   .signature = type.signature,
                   .ports = numbers,
                   .result = type.result};
  if (type.arguments.size() != skipped + numbers.size()) {
    fault(step.function.place,
          fmt::format("'{}' takes {} value{}, and node '{}' gives it {}: {}; say in 'takes' which "
                      "ports it takes",
                      step.function.text, type.arguments.size(),
                      type.arguments.size() == 1 ? "" : "s", node_.name.text,
                      skipped + numbers.size(),
                      type.signature.empty() ? std::string(untyped) : type.signature));
    return call;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    set_type(numbers[i], type.arguments[skipped + i], step.function.place);
  return call;
}

std::vector<std::uint32_t> Shaping::ports_from(std::uint32_t first) const {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = first; i < planned_.ports.size(); ++i) numbers.push_back(i);
  return numbers;
}

std::vector<std::uint32_t> Shaping::named(const Step& step) {
  std::vector<std::uint32_t> numbers;
  for (const Word& name : step.takes) {
    const auto port = std::ranges::find(planned_.ports, name.text, &PlannedPort::name);
    if (port == planned_.ports.end())
      fault(name.place, fmt::format("node '{}' has no port '{}'; name it in the node's 'takes'",
                                    node_.name.text, name.text));
    else
      numbers.push_back(static_cast<std::uint32_t>(port - planned_.ports.begin()));
  }
  return numbers;
}

void Shaping::expect(bool holds, const Step& step, const FunctionType& type,
                     std::string_view wanted) {
  if (!holds)
    fault(step.function.place,
          fmt::format("'{}' is {}; in node '{}' it must be {}", step.function.text,
                      type.signature.empty() ? std::string(untyped) : type.signature,
                      node_.name.text, wanted));
}

void Shaping::shape_call() {
  const auto type = type_of(node_.function);
  if (!type) return;
  make_ports(type->arguments.size());
  planned_.main = bind(node_.function, *type, 0, ports_from(0));
  planned_.gives = type->result;
}

void Shaping::shape_map() {
  const auto each = type_of(node_.each);
  const auto partition = node_.partition.exists() ? type_of(node_.partition) : std::nullopt;
  if (!good_) return;
  make_ports(partition ? partition->arguments.size() : each->arguments.size());
  if ((planned_.ports.empty() && !partition) || each->arguments.empty()) {
    expect(false, node_.each, *each, "a function whose first value is a piece");
    return;
  }
  std::vector<std::uint32_t> shared = ports_from(1);
  if (partition) {
    shared = ports_from(0);
    const auto taken = node_.partition.says_takes ? named(node_.partition) : shared;
    if (!good_) return;
    planned_.partition = bind(node_.partition, *partition, 0, taken);
    expect(partition->result.is_span(), node_.partition, *partition,
           "one that gives a span, whose elements are the pieces");
    planned_.pieces = partition->result;
    std::erase_if(shared, [&](std::uint32_t port) { return std::ranges::count(taken, port) != 0; });
  }
  if (node_.each.says_takes) shared = named(node_.each);
  if (!good_) return;
  const PortType& first = each->arguments[0];
  planned_.in_runs = first.is_span();
  if (!partition) {
    expect(first.is_element() || first.is_span(), node_.each, *each,
           "one whose first value is an element of a span, a scalar or a struct, or a span of "
           "them");
    if (!good_) return;
    planned_.pieces = first.is_span() ? first : span_of(first);
    set_type(0, planned_.pieces, node_.each.function.place);
  }
  expect(first == planned_.pieces || first == element_of(planned_.pieces), node_.each, *each,
         fmt::format("one whose first value is a piece, {}, or a span of pieces, {}",
                     to_string(element_of(planned_.pieces)), to_string(planned_.pieces)));
  planned_.main = bind(node_.each, *each, 1, shared);
  shape_end_of_map(*each);
}

/// What many calls give is gathered: values, and not objects that lie somewhere.
void Shaping::expect_value(const Step& step, const FunctionType& type) {
  expect(!type.result.is_data(), step, type,
         "one that gives a value: results of many calls are gathered, and data objects are not");
}

void Shaping::shape_end_of_map(const FunctionType& each) {
  expect_value(node_.each, each);
  planned_.gives = node_.ends == Until::never ? gathered(each.result) : each.result;
  shape_until(each.result);
  if (!node_.merge.exists()) return;
  if (node_.ends != Until::never)
    fault(node_.merge.function.place,
          fmt::format("node '{}' has 'until' and 'merge': a map that ends early gives the one "
                      "result that ended it; take 'merge' away",
                      node_.name.text));
  const auto merge = type_of(node_.merge);
  if (!merge) return;
  const PortType all = gathered(each.result);
  expect(merge->arguments.size() == 1 && merge->arguments[0] == all, node_.merge, *merge,
         fmt::format("one that takes the results of all pieces together, {}", to_string(all)));
  planned_.merge = {.function = node_.merge.function.text,
                    .signature = merge->signature,
                    .ports = {},
                    .result = merge->result};
  planned_.gives = merge->result;
}

void Shaping::shape_until(const PortType& result) {
  if (node_.ends == Until::found && result.is_nothing())
    fault(node_.name.place, fmt::format("node '{}' has 'until: found', but its function gives "
                                        "nothing; let it give what it has found",
                                        node_.name.text));
  if (node_.ends != Until::function) return;
  const auto until = type_of(node_.until);
  if (!until) return;
  expect(until->arguments.size() == 1 && until->arguments[0] == result && is_truth(until->result),
         node_.until, *until, fmt::format("bool({})", to_string(result)));
  planned_.until = {.function = node_.until.function.text,
                    .signature = until->signature,
                    .ports = {},
                    .result = until->result};
}

void Shaping::shape_reduce() {
  const auto type = type_of(node_.function);
  if (!type) return;
  expect(!type->arguments.empty() && type->arguments[0].is_span() &&
             type->result == element_of(type->arguments[0]),
         node_.function, *type, "one that makes one element of a span of such, as f64(span<f64>)");
  if (!good_) return;
  make_ports(type->arguments.size());
  planned_.main = bind(node_.function, *type, 0, ports_from(0));
  planned_.main.ports = ports_from(1);
  planned_.pieces = type->arguments[0];
  planned_.gives = type->result;
}

void Shaping::shape_condition() {
  const auto yes = type_of(node_.if_true);
  const auto no = type_of(node_.if_false);
  if (!yes || !no) return;
  make_ports(1 + yes->arguments.size());
  if (planned_.ports.empty()) return;
  PortType truth;
  truth.type.kind = TypeKind::scalar;
  truth.type.scalar = Scalar::boolean;
  set_type(0, truth, node_.name.place);
  planned_.main = bind(node_.if_true, *yes, 0, ports_from(1));
  planned_.if_false = bind(node_.if_false, *no, 0, ports_from(1));
  expect(yes->result == no->result, node_.if_false, *no,
         fmt::format("one that gives {}, as 'then' does", to_string(yes->result)));
  planned_.gives = yes->result;
}

void Shaping::check_that_ports_are_used() {
  for (std::size_t i = 0; i < known_.size(); ++i)
    if (!known_[i])
      fault(node_.takes.empty() ? node_.name.place : node_.takes[i].place,
            fmt::format("no function of node '{}' takes port '{}'; take it away, or name it in "
                        "the 'takes' of a function",
                        node_.name.text, planned_.ports[i].name));
}

void Shaping::add_variants() {
  for (const Word& variant : node_.variants) {
    const auto type = types_(variant);
    if (!type) {
      good_ = false;
      continue;
    }
    if (type->signature != planned_.main.signature) {
      const auto shown = [](const std::string& signature) {
        return signature.empty() ? std::string(untyped) : signature;
      };
      fault(variant.place,
            fmt::format("'{}' is {}, and '{}', whose variant it would be, is {}; variants of a "
                        "function have its signature",
                        variant.text, shown(type->signature), planned_.main.function,
                        shown(planned_.main.signature)));
    }
    PlannedCall& call = planned_.variants.emplace_back(planned_.main);
    call.function = variant.text;
  }
}

std::optional<PlannedNode> shape_of(const Node& node, const FunctionTypes& types,
                                    FaultList& faults) {
  return Shaping(node, types, faults).run();
}

}  // namespace orchid::flow
