#include "neighbour_watch.h"

#include <stdexcept>
#include <utility>

namespace orchid::tests {
namespace {

constexpr int numbers = 16;
constexpr std::chrono::milliseconds between_calls{3};  // a neighbour, not a load
constexpr std::size_t room = 4096;                     // as neighbour.cpp has it

/// What the neighbour wrote. The rest of its room may show an earlier answer of the worker.
std::string_view written(std::string_view output) { return output.substr(0, output.find('\n')); }

}  // namespace

NeighbourWatch::NeighbourWatch(Client& client, unsigned threads)
    : client_(client), callers_(threads) {
  for (int number = 0; number < numbers; ++number)
    answers_.emplace_back(written(client_.invoke("neighbour", std::to_string(number)).text()));
  // One that is known from elsewhere, so that a neighbour that was wrong from the start is seen.
  constexpr std::string_view first_words = "4.278543038";
  if (!answers_.front().starts_with(first_words))
    throw std::runtime_error("the neighbour's first answer is " + answers_.front());
  for (Caller& caller : callers_)
    threads_.emplace_back(
        [this, &caller](const std::stop_token& stop) { call_until_stopped(stop, caller); });
}

void NeighbourWatch::call_until_stopped(const std::stop_token& stop, Caller& caller) {
  for (int number = 0; !stop.stop_requested(); number = (number + 1) % numbers) {
    caller.calling = true;
    if (!paused_) call_once(number);
    caller.calling = false;
    ++caller.ended;
    std::this_thread::sleep_for(between_calls);
  }
}

void NeighbourWatch::call_once(int number) {
  const auto start = std::chrono::steady_clock::now();
  std::string wrong;
  try {
    const Reply reply = client_.invoke("neighbour", std::to_string(number));
    const std::string_view output = reply.text();
    if (written(output) != answers_[static_cast<std::size_t>(number)])
      wrong = "answered " + std::string(written(output)) + " in place of " +
              answers_[static_cast<std::size_t>(number)];
    else if (output.size() != room)
      wrong = "answered " + std::to_string(output.size()) + " bytes";
  } catch (const Error& error) {
    wrong = error.what();
  }
  const auto took = std::chrono::steady_clock::now() - start;
  const std::scoped_lock lock(mutex_);
  seen_.calls.push_back(std::chrono::duration_cast<std::chrono::microseconds>(took));
  if (!wrong.empty()) seen_.wrong.push_back(std::move(wrong));
}

NeighbourWatch::Seen NeighbourWatch::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(seen_, {});
}

bool NeighbourWatch::wait_for_more(unsigned calls, std::chrono::seconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (const Caller& caller : callers_) {
    const std::uint64_t wanted = caller.ended + calls + 1;  // the one that runs began before
    while (caller.ended < wanted) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return true;
}

void NeighbourWatch::pause(bool paused) {
  paused_ = paused;
  if (paused)
    for (const Caller& caller : callers_)
      while (caller.calling) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace orchid::tests
