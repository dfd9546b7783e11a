#include "calls/repeated_calls.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace orchid::cli {
namespace {

bool every_call_would_meet(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::unreachable:
    case ErrorKind::unauthenticated:
    case ErrorKind::denied:
    case ErrorKind::not_found:
    case ErrorKind::bad_configuration:
    case ErrorKind::bad_request:
    case ErrorKind::too_large:
      return true;
    default:
      return false;
  }
}

/// What one thread has seen; owned by it until it ends.
struct Tally {
  std::vector<CallTiming> timings;
  std::size_t failed = 0;
  std::optional<Reply> first;
  std::optional<Error> first_failure;
};

}  // namespace

RepeatResult repeat_call(Client& client, std::span<const std::byte> input,
                         const RepeatOptions& options) {
  std::atomic<std::size_t> taken{0};
  std::atomic<bool> hopeless{false};
  std::vector<Tally> tallies(std::clamp<std::size_t>(options.concurrency, 1, options.count));
  const auto work = [&](Tally& tally) {
    while (!hopeless && taken.fetch_add(1) < options.count) {
      try {
        Reply reply = client.invoke(options.function, input, options.call);
        tally.timings.push_back(reply.timing);
        if (!tally.first) tally.first = std::move(reply);
      } catch (const Error& error) {
        ++tally.failed;
        if (!tally.first_failure) tally.first_failure = error;
        if (every_call_would_meet(error.kind())) hopeless = true;
      }
    }
  };

  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < tallies.size(); ++i)
      threads.emplace_back(work, std::ref(tallies[i]));
    work(tallies[0]);
  }
  const auto elapsed = std::chrono::steady_clock::now() - start;

  RepeatResult result;
  std::vector<CallTiming> timings;
  std::size_t failed = 0;
  for (Tally& tally : tallies) {
    timings.insert(timings.end(), tally.timings.begin(), tally.timings.end());
    failed += tally.failed;
    if (!result.first && tally.first) result.first = std::move(tally.first);
    if (!result.first_failure && tally.first_failure)
      result.first_failure = std::move(tally.first_failure);
  }
  result.statistics = summarise(timings, failed, elapsed);
  return result;
}

}  // namespace orchid::cli
