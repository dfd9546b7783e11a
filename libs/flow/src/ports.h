// ports.h: the ports of a node and their types, as they follow from the functions that it calls.
#pragma once
#include <functional>
#include <optional>

#include "fields.h"
#include "flow/document.h"
#include "flow/plan.h"

namespace orchid::flow {

/// The type of a function that a document names; nothing: a fault has been told.
using FunctionTypes = std::function<std::optional<FunctionType>(const Word& function)>;

/// The node with its calls, its ports (without sources) and what it gives. Nothing: faults have
/// been told, and its ports are not known. Not for nodes that are flows.
[[nodiscard]] std::optional<PlannedNode> shape_of(const Node& node, const FunctionTypes& types,
                                                  FaultList& faults);

}  // namespace orchid::flow
