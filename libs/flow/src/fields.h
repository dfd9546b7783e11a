// fields.h: reads the fields of one map of a document, and keeps what is wrong with them.
#pragma once
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/fault.h"
#include "item.h"

namespace orchid::flow {

/// The faults of one document.
class FaultList {
 public:
  explicit FaultList(std::string file) : file_(std::move(file)) {}
  void add(Place place, std::string message) {
    faults_.push_back({.file = file_, .place = place, .message = std::move(message)});
  }
  [[nodiscard]] std::vector<Fault> take() { return std::move(faults_); }

 private:
  std::string file_;
  std::vector<Fault> faults_;
};

/// Of `item`, which outlives it; it is a fault if that is no map, or has a field twice. What is
/// missing or wrong reads as nothing.
class Fields {
 public:
  Fields(const Item& item, std::string what, FaultList& faults);
  /// Each field that nobody has asked for is a fault.
  void refuse_others();

  [[nodiscard]] const Item* find(std::string_view name);
  /// A fault if it is not there.
  [[nodiscard]] const Item* need(std::string_view name);
  [[nodiscard]] Word word(std::string_view name);
  [[nodiscard]] Word needed_word(std::string_view name);
  [[nodiscard]] std::vector<Word> words(std::string_view name);
  /// `otherwise` if it is not there, or not within the bounds, which is a fault.
  [[nodiscard]] std::uint32_t number(std::string_view name, std::uint32_t least, std::uint32_t most,
                                     std::uint32_t otherwise);
  [[nodiscard]] std::chrono::nanoseconds duration(std::string_view name,
                                                  std::chrono::nanoseconds otherwise);
  /// False if it is not there.
  [[nodiscard]] bool flag(std::string_view name);
  /// The fields of a map whose values are texts.
  [[nodiscard]] std::vector<std::pair<Word, Word>> pairs(std::string_view name);
  [[nodiscard]] Place place() const { return item_.place; }

 private:
  const Item& item_;
  std::string what_;
  FaultList& faults_;
  std::set<std::string, std::less<>> asked_;
};

/// Whether it can be the name of something in a flow.
[[nodiscard]] bool is_name(std::string_view text);

/// A text, or a fault that says what `what` must be.
[[nodiscard]] Word word_of(const Item& item, std::string_view what, FaultList& faults);

}  // namespace orchid::flow
