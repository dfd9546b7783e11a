// functions/insitu: a simulation whose fields are looked at while it goes on:
// insitu-heat FLOW SIDE STEPS EVERY [LOOKS]
//
// Heat spreads in a square of SIDE × SIDE cells. Every EVERY steps the field becomes a data object,
// and the flow in the file FLOW looks at it. The simulation waits for nobody: when it has LOOKS
// looks under way (4 if nothing is said), or nobody takes one, it goes on without. At the end it
// waits for those that are under way. What they say comes in the order of the steps.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "orchid/client.h"

namespace {

constexpr std::uint64_t usual_looks = 4;
constexpr std::chrono::minutes last_wait{5};

class Plate {
 public:
  /// Cold, and hot in a corner.
  explicit Plate(std::size_t side) : side_(side), cells_(side * side), next_(cells_) {
    for (std::size_t y = 0; y < side / 4; ++y)
      std::fill_n(cells_.begin() + static_cast<std::ptrdiff_t>(y * side), side / 4, 1.0);
  }
  /// Each cell exchanges heat with its neighbours; nothing leaves the plate.
  void step() {
    constexpr double part = 0.2;
    for (std::size_t y = 0; y < side_; ++y)
      for (std::size_t x = 0; x < side_; ++x) {
        const double own = at(x, y);
        const double around = (x > 0 ? at(x - 1, y) : own) + (x + 1 < side_ ? at(x + 1, y) : own) +
                              (y > 0 ? at(x, y - 1) : own) + (y + 1 < side_ ? at(x, y + 1) : own);
        next_[y * side_ + x] = own + part * (around - 4 * own);
      }
    std::swap(cells_, next_);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(cells_));
  }

 private:
  [[nodiscard]] double at(std::size_t x, std::size_t y) const { return cells_[y * side_ + x]; }
  std::size_t side_;
  std::vector<double> cells_;
  std::vector<double> next_;
};

/// Looks at fields; used by one thread at a time.
class Looks {
 public:
  struct Options {
    std::string document;
    std::size_t side = 0;
    std::uint64_t most = usual_looks;  // under way
  };
  explicit Looks(Options options) : options_(std::move(options)) {}

  /// Begins one, if there is room for it, and takes what has ended.
  void look(std::uint64_t step, const Plate& plate) {
    take_ended();
    if (under_way() >= options_.most)
      return leave_out(step, std::to_string(options_.most) + " looks are under way");
    try {
      const std::span<const std::byte> bytes = plate.bytes();
      const orchid::DataInfo field = client_.write_data(
          "", bytes.size(),
          [&](std::span<std::byte> room) { std::ranges::copy(bytes, room.begin()); });
      looks_.push_back(
          {.step = step,
           .field = field.id,
           .flow = client_.submit_flow({.document = options_.document,
                                        .inputs = {{"field", '"' + field.id + '"'},
                                                   {"columns", std::to_string(options_.side)}}})});
    } catch (const orchid::Error& error) {
      leave_out(step, error.what());
    }
  }
  /// Of all that are under way.
  void finish() {
    const auto end = std::chrono::steady_clock::now() + last_wait;
    for (take_ended(); !looks_.empty() && std::chrono::steady_clock::now() < end; take_ended())
      wait_for_first();
    for (const Look& look : looks_)
      if (look.said) tell(look);
    std::printf("%" PRIu64 " looks, %" PRIu64 " left out\n", taken_, left_out_ + under_way());
  }

 private:
  struct Look {
    std::uint64_t step;
    std::string field;
    orchid::SubmittedFlow flow;
    std::optional<std::string> said{};  // once it has ended
    bool is_removed = false;            // with its field
  };
  [[nodiscard]] std::uint64_t under_way() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(looks_, [](const Look& look) { return !look.said; }));
  }
  void leave_out(std::uint64_t step, const std::string& why) {
    ++left_out_;
    std::fprintf(stderr, "step %" PRIu64 " is not looked at: %s\n", step, why.c_str());
  }
  void wait_for_first() {
    constexpr std::chrono::seconds at_a_time{10};
    try {
      (void)looks_.front().flow.wait(at_a_time);
    } catch (const orchid::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());  // the gateway is away: it may come again
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
  void take_ended() {
    for (Look& look : looks_) {
      if (!look.said) ask(look);
      if (look.said && !look.is_removed) remove(look);
    }
    for (; !looks_.empty() && looks_.front().is_removed; looks_.pop_front()) tell(looks_.front());
    std::fflush(stdout);
  }
  static void tell(const Look& look) {
    std::printf("step %" PRIu64 ": %s\n", look.step, look.said->c_str());
  }
  void ask(Look& look) {
    try {
      const orchid::FlowStatus status = look.flow.status();
      if (!status.has_ended()) return;
      look.said = status.state == "done" ? look.flow.outputs() : status.message;
      (status.state == "done" ? taken_ : left_out_) += 1;
    } catch (const orchid::Error& error) {
      std::fprintf(stderr, "step %" PRIu64 ": %s\n", look.step, error.what());
      if (error.kind() != orchid::ErrorKind::not_found) return;
      look.said = error.message();  // somebody has deleted the flow
      ++left_out_;
    }
  }
  /// What cannot be removed now is tried again at the next look.
  void remove(Look& look) {
    const auto remove_one = [&](const auto& remove_it) {
      try {
        remove_it();
      } catch (const orchid::Error& error) {
        if (error.kind() == orchid::ErrorKind::not_found) return true;  // somebody else has
        std::fprintf(stderr, "step %" PRIu64 ": %s\n", look.step, error.what());
        return false;
      }
      return true;
    };
    look.is_removed = remove_one([&] { look.flow.remove(); }) &&
                      remove_one([&] { client_.remove_data(look.field); });
  }

  Options options_;
  orchid::Client client_;
  std::deque<Look> looks_;  // by their steps
  std::uint64_t taken_ = 0;
  std::uint64_t left_out_ = 0;
};

struct Simulation {
  std::uint64_t side = 0;
  std::uint64_t steps = 0;
  std::uint64_t every = 0;
  std::uint64_t looks = usual_looks;
};

int simulate(const char* file, const Simulation& wanted) {
  std::ifstream document(file);
  if (!document) {
    std::fprintf(stderr, "%s cannot be read\n", file);
    return 2;
  }
  Plate plate(wanted.side);
  Looks looks({.document = std::string(std::istreambuf_iterator<char>(document), {}),
               .side = wanted.side,
               .most = wanted.looks});
  for (std::uint64_t step = 1; step <= wanted.steps; ++step) {
    plate.step();
    if (step % wanted.every == 0) looks.look(step, plate);
  }
  looks.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::uint64_t largest_side = 1 << 15;
  const auto number = [&](int at) { return at < argc ? std::strtoull(argv[at], nullptr, 10) : 0; };
  const Simulation wanted{.side = number(2),
                          .steps = number(3),
                          .every = number(4),
                          .looks = argc == 6 ? number(5) : usual_looks};
  if (argc < 5 || argc > 6 || wanted.side < 4 || wanted.side > largest_side || wanted.steps == 0 ||
      wanted.every == 0 || wanted.looks == 0) {
    std::fprintf(stderr,
                 "insitu-heat FLOW SIDE STEPS EVERY [LOOKS], with a side of 4 to 32768 cells\n");
    return 2;
  }
  try {
    return simulate(argv[1], wanted);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "insitu-heat: %s\n", error.what());
    return 1;
  }
}
