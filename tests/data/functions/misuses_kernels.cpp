// Kernels for cores alone: what they tell of their threads, and how they end badly there. Module of
// several entries.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "orchid/kernel.hpp"

namespace {

/// So long an item takes, about: long enough for others to come.
void work() {
  for (volatile int i = 0; i < 20'000;) i = i + 1;
}
bool is_entry_thread() { return ::gettid() == ::getpid(); }

}  // namespace

struct ThreadArgs {
  int32_t* threads;
  std::atomic<bool>* others_came;  // a thread of the team has run an item; null: nobody asks
  uint64_t patient_from;           // this item and those behind it wait for that, for some seconds
};
ORCHID_KERNEL(note_thread, ThreadArgs) {
  work();
  args.threads[item] = ::gettid();
  if (args.others_came == nullptr) return;
  if (!is_entry_thread()) args.others_came->store(true);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (item >= args.patient_from && !args.others_came->load() &&
         std::chrono::steady_clock::now() < give_up)
    std::this_thread::yield();
}
// Expected: who has run each item: all threads of the team some, however busy the machine is.
std::vector<std::int32_t> threads_of_items(orchid::Call& call, std::uint64_t items) {
  std::vector<std::int32_t> threads(items);
  std::atomic<bool> others_came = orchid_core_count(call.handle()) == 1;
  if (!orchid::launch(call, note_thread, items, {threads.data(), &others_came, items / 2}))
    return {};
  return threads;
}
ORCHID_FUNCTION(threads_of_items)

struct NoArgs {
  int32_t what;
};
enum : int32_t { reads_outside, throws_out, exits, loops, recurses };

__attribute__((noinline)) int deep(int depth) {
  volatile char frame[1024];
  frame[depth % 1024] = 1;
  return depth > 1'000'000 ? frame[0] : deep(depth + 1) + frame[0];
}

/// Fails on a thread of the team, where there is one.
ORCHID_KERNEL(misbehave, NoArgs) {
  work();
  if (is_entry_thread() && item < 1000) return;
  switch (args.what) {
    case reads_outside:
      (void)*reinterpret_cast<volatile int*>(item % 8 * 4 + 64);
      break;
    case throws_out:
      throw 1;
    case exits:
      std::exit(7);
    case loops:
      for (volatile bool endless = true; endless;) {
      }
      break;
    case recurses:
      (void)deep(0);
      break;
    default:
      break;
  }
}
// Input: one of the above. Expected: an end of the worker, by a thread of the team.
ORCHID_ENTRY(misbehaves) {
  NoArgs args{};
  if (input_size != 1) return ORCHID_BAD_ARGUMENTS;
  args.what = *static_cast<const char*>(input) - '0';
  return orchid_launch(call, &misbehave, &args, sizeof args, 200'000);
}

// Expected: limit_exceeded, and the next call has all the memory again.
ORCHID_ENTRY(takes_all_device_memory) {
  std::size_t taken = 0;
  constexpr std::size_t block = std::size_t{16} << 20;
  while (orchid_device_alloc(call, block) != nullptr) taken += block;
  const std::string text = std::to_string(taken);
  orchid_log(call, text.data(), text.size());
  return ORCHID_ERROR;
}

// Input: how many items, in decimal. Expected: ok for 0, an error for too many.
ORCHID_ENTRY(launches_items) {
  const std::string text(static_cast<const char*>(input), input_size);
  const ThreadArgs args{nullptr, nullptr, 0};
  return orchid_launch(call, &note_thread, &args, sizeof args,
                       std::strtoull(text.c_str(), nullptr, 10));
}

// Expected: ok, and a new worker for the next call.
ORCHID_ENTRY(leaves_thread_beside_team) {
  std::vector<std::int32_t> threads(5000);
  const ThreadArgs args{threads.data(), nullptr, 0};
  const auto status = orchid_launch(call, &note_thread, &args, sizeof args, threads.size());
  std::thread([] {
    for (;;) {
      asm volatile("");
    }
  }).detach();
  return status;
}
