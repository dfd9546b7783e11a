// flow/fault.h: what is wrong with a flow's document, and where.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace orchid::flow {

/// In a document's text, counted from 1; 0: it was not read from a text.
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// A text of a document, and where it stands.
struct Word {
  std::string text;
  Place place;
};

/// `message` says what is wrong and what to do.
struct Fault {
  std::string file;  // empty: the document that was given
  Place place;
  std::string message;
};
/// "idw.yaml:7:3: there is no …"
[[nodiscard]] std::string to_string(const Fault& fault);

/// Faults in the order in which they stand, each once.
void sort(std::vector<Fault>& faults);

}  // namespace orchid::flow
