// function_table.h: the types of the functions that a document names: as deployed, and as it says.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fields.h"
#include "flow/checker.h"
#include "flow/document.h"

namespace orchid::flow {

/// Asks once for each function. What it is given outlives it.
class FunctionTable {
 public:
  FunctionTable(const Document& document, const Surroundings& surroundings, FaultList& faults);
  /// Nothing: a fault at this place says why.
  [[nodiscard]] std::optional<FunctionType> type_of(const Word& function);

 private:
  struct Entry {
    std::optional<FunctionType> type;
    std::string trouble;
  };
  Entry look_up(const std::string& function);
  /// As deployed, which must be what the document says.
  Entry compare(const std::string& function, const FunctionType& deployed, const Word* declared);

  const Document& document_;
  const Surroundings& surroundings_;
  FaultList& faults_;
  std::map<std::string_view, const Word*> declared_;  // the document's
  std::map<std::string, Entry> entries_;
};

/// What is known of the functions that were asked for, by reference, for those who call them.
void keep_known(const std::map<std::string, KnownFunction>& known, Plan& plan);

}  // namespace orchid::flow
