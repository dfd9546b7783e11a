#include "function_table.h"

#include <fmt/format.h>

#include "protocol/names.h"

namespace orchid::flow {
namespace {

std::string shown(const FunctionType& type) {
  return type.signature.empty() ? std::string(untyped) : type.signature;
}

}  // namespace

FunctionTable::FunctionTable(const Document& document, const Surroundings& surroundings,
                             FaultList& faults)
    : document_(document), surroundings_(surroundings), faults_(faults) {
  for (const auto& [function, signature] : document.functions) {
    declared_.emplace(function.text, &signature);
    if (const auto type = parse_function_type(signature.text); !type)
      faults_.add(signature.place, type.error().message);
  }
}

std::optional<FunctionType> FunctionTable::type_of(const Word& function) {
  if (function.text == "?") {
    faults_.add(function.place,
                "the function is left open; write a function's name instead of '?'");
    return std::nullopt;
  }
  auto entry = entries_.find(function.text);
  if (entry == entries_.end())
    entry = entries_.emplace(function.text, look_up(function.text)).first;
  if (!entry->second.trouble.empty()) faults_.add(function.place, entry->second.trouble);
  return entry->second.type;
}

FunctionTable::Entry FunctionTable::look_up(const std::string& function) {
  if (const auto reference = parse_function_reference(function); !reference)
    return {.type = std::nullopt, .trouble = reference.error().message};
  const auto line = declared_.find(function);
  const Word* declared = line == declared_.end() ? nullptr : line->second;
  const KnownFunction known =
      surroundings_.function ? surroundings_.function(function) : KnownFunction{};
  if (known.state == KnownFunction::State::missing)
    return {.type = std::nullopt, .trouble = known.message};
  if (known.state == KnownFunction::State::known) {
    const auto type = parse_function_type(known.signature);
    if (!type) return {.type = std::nullopt, .trouble = type.error().message};
    return compare(function, *type, declared);
  }
  if (declared == nullptr)
    return {.type = std::nullopt,
            .trouble = fmt::format("nothing is known of function '{}'; give its signature under "
                                   "'functions', or check where an Orchid runs that has it",
                                   function)};
  const auto type = parse_function_type(declared->text);
  if (!type) return {};  // told where it is declared
  return {.type = *type, .trouble = {}};
}

FunctionTable::Entry FunctionTable::compare(const std::string& function,
                                            const FunctionType& deployed, const Word* declared) {
  if (declared != nullptr) {
    const auto own = parse_function_type(declared->text);
    if (own && own->signature != deployed.signature)
      faults_.add(declared->place,
                  fmt::format("'{}' is deployed as {}; change this line, or deploy the function "
                              "that the flow was written for",
                              function, shown(deployed)));
  }
  return {.type = deployed, .trouble = {}};
}

void keep_known(const std::map<std::string, KnownFunction>& known, Plan& plan) {
  for (const auto& [reference, function] : known) {
    if (!function.exact.empty()) plan.exact.emplace(reference, function.exact);
    if (!function.needs.empty()) plan.needs.emplace(reference, function.needs);
  }
  find_choices_of_devices(plan);
  find_choices_of_variants(plan);
}

}  // namespace orchid::flow
