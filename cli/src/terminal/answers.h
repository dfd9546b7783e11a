// terminal/answers.h: reads what the gateway answers, field by field.
#pragma once
#include <string>
#include <utility>

#include "foundation/json_document.h"

namespace orchid::cli {

/// An answer of the gateway's. What is missing reads as nothing, since gateways differ in age.
class Answer {
 public:
  explicit Answer(const std::string& text) : document_(text) {}
  [[nodiscard]] JsonObject root() const { return document_.root().optional(); }
  /// To be called when all has been read, and before it is shown. Throws orchid::Error when it is
  /// no such document.
  void check() const;

 private:
  JsonDocument document_;
};

}  // namespace orchid::cli
