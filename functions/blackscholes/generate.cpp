// blackscholes/generate.cpp: makes a file of options from a seed, the same on every machine:
// generate SEED COUNT FILE
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "files.h"
#include "kernel.h"

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014). std::uniform_real_distribution may differ between standard
/// libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double between(double low, double high) {
    return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: blackscholes-generate SEED COUNT FILE\n");
    return 2;
  }
  Random random{std::strtoull(argv[1], nullptr, 10)};
  std::vector<blackscholes::Option> options(std::strtoull(argv[2], nullptr, 10));
  for (auto& option : options) {
    // The ranges of PARSEC's input sets, without options so far out of the money that the price is
    // only the polynomial's error.
    option.spot = random.between(10, 100);
    option.strike = option.spot * random.between(0.8, 1.2);
    option.rate = random.between(0.0125, 0.1);
    option.volatility = random.between(0.2, 0.65);
    option.time = random.between(0.25, 1.0);
    option.type =
        (random.next() & 1) != 0 ? blackscholes::OptionType::put : blackscholes::OptionType::call;
    option.reserved = 0;
  }
  blackscholes::write_span(argv[3], options);
}
