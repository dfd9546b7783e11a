#include "reports/utilisation_book.h"

#include <algorithm>

namespace orchid::gateway {

void UtilisationBook::add(const UtilisationSample& sample) {
  samples_.push_back(sample);
  while (samples_.size() > most_) samples_.pop_front();
}

std::deque<UtilisationSample> UtilisationBook::since(std::int64_t at) const {
  const auto first = std::ranges::find_if(
      samples_, [at](const UtilisationSample& sample) { return sample.at > at; });
  return {first, samples_.end()};
}

}  // namespace orchid::gateway
