// specialise: filters a signal with code that is made for the filter that it sees.
//
// A filter of K taps is y[i] = c[0] x[i] + ... + c[K-1] x[i+K-1]. A compiler that does not know K
// can neither unroll the sum nor keep the taps in registers. The first call with a filter makes a
// module in which K and the taps are constants; it, and those that follow, go on there.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "orchid/function.hpp"

namespace {

constexpr std::uint32_t most_taps = 32;
using Taps = double[most_taps];

struct Head {
  std::uint32_t taps;     // 1 to most_taps; after the head come so many numbers
  std::uint32_t samples;  // behind these
  std::uint32_t passes;   // over the signal, each over what the one before has made
  std::uint32_t zero;
};

}  // namespace

ORCHID_CONSTANT(std::uint32_t, tap_count, 0);  // 0: nobody has said it
ORCHID_CONSTANT(Taps, tap_values, {});

namespace {

/// What a call wants, as its input says.
struct Wish {
  Head head{};
  std::array<double, most_taps> taps{};
  std::vector<double> signal;
};

bool read(const void* input, std::size_t size, Wish& wish) {
  if (size < sizeof(Head)) return false;
  std::memcpy(&wish.head, input, sizeof(Head));
  const Head& head = wish.head;
  const std::size_t numbers = std::size_t{head.taps} + head.samples;
  if (head.taps == 0 || head.taps > most_taps || head.samples < head.taps ||
      size != sizeof(Head) + numbers * sizeof(double))
    return false;
  const auto* bytes = static_cast<const std::byte*>(input) + sizeof(Head);
  std::memcpy(wish.taps.data(), bytes, head.taps * sizeof(double));
  wish.signal.resize(head.samples);
  std::memcpy(wish.signal.data(), bytes + head.taps * sizeof(double),
              head.samples * sizeof(double));
  return true;
}

/// The sums are in the order of the taps in each case, so both give the same bits. In both entries,
/// so that one of them gets the constants.
[[gnu::always_inline]] inline void filter(std::span<const double> taps,
                                          std::span<const double> from, std::span<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < taps.size(); ++k) sum += taps[k] * from[i + k];
    to[i] = sum;
  }
}

/// The last samples are as they were: there is nothing behind the signal.
[[gnu::always_inline]] inline std::int32_t run(orchid_call* call, const void* input,
                                               std::size_t size, std::uint32_t tap_count,
                                               const double* tap_values) {
  Wish wish;
  if (!read(input, size, wish)) return ORCHID_BAD_ARGUMENTS;
  const std::span taps = tap_count != 0 ? std::span(tap_values, tap_count)
                                        : std::span<const double>(wish.taps.data(), wish.head.taps);
  std::vector<double> other(wish.signal);
  std::vector<double>* from = &wish.signal;
  std::vector<double>* to = &other;
  for (std::uint32_t pass = 0; pass < wish.head.passes; ++pass) {
    filter(taps, *from, std::span(*to).first(to->size() - taps.size() + 1));
    std::swap(from, to);
  }
  void* output = orchid_output(call, from->size() * sizeof(double));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, from->data(), from->size() * sizeof(double));
  return ORCHID_OK;
}

/// The module that was made last, and for what.
struct Made {
  std::uint32_t taps = 0;
  std::array<double, most_taps> values{};
  std::string digest;
};
Made last;

}  // namespace

/// Input: u32 taps, samples, passes, 0; the taps, and the samples, as f64. Output: the samples.
ORCHID_ENTRY(filter_plain) { return run(call, input, input_size, 0, nullptr); }

/// The same, with what is known of the filter when this is compiled.
ORCHID_ENTRY(filter_known) {
  return run(call, input, input_size, orchid_constant_tap_count, orchid_constant_tap_values);
}

/// The same: makes filter_known for the filter, and goes on there.
ORCHID_ENTRY(filter_made) {
  orchid::Call running(call);
  Wish wish;
  if (!read(input, input_size, wish)) return ORCHID_BAD_ARGUMENTS;
  if (last.digest.empty() || last.taps != wish.head.taps || last.values != wish.taps) {
    const std::array constants{
        orchid_constant{"tap_count", &wish.head.taps, sizeof(wish.head.taps)},
        orchid_constant{"tap_values", wish.taps.data(), sizeof(wish.taps)}};
    auto digest = running.specialise(constants);
    if (!digest) return ORCHID_ERROR;  // the call's error says why
    last = {.taps = wish.head.taps, .values = wish.taps, .digest = std::move(*digest)};
  }
  return running.forward(running.member(), {static_cast<const std::byte*>(input), input_size},
                         (last.digest + ".filter_known").c_str())
             ? ORCHID_OK
             : ORCHID_ERROR;
}
