#include "flow/fault.h"

#include <algorithm>
#include <tuple>

namespace orchid::flow {
namespace {

auto place_in_order(const Fault& fault) {
  return std::tie(fault.file, fault.place.line, fault.place.column, fault.message);
}

}  // namespace

std::string to_string(const Fault& fault) {
  std::string text = fault.file.empty() ? "flow" : fault.file;
  if (fault.place.line != 0)
    text += ":" + std::to_string(fault.place.line) + ":" + std::to_string(fault.place.column);
  return text + ": " + fault.message;
}

void sort(std::vector<Fault>& faults) {
  std::ranges::stable_sort(faults, {}, place_in_order);
  const auto same = std::ranges::unique(faults, [](const Fault& a, const Fault& b) {
    return place_in_order(a) == place_in_order(b);
  });
  faults.erase(same.begin(), same.end());
}

}  // namespace orchid::flow
