#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "checks.h"
#include "foundation/units.h"
#include "problems.h"

namespace orchid::gpu_check {
namespace {

constexpr const char* stop_check = "a call with a long launch is stopped, until that is answered";
constexpr const char* stop_target = "<= 50 ms";
constexpr std::chrono::milliseconds longest_stop{50};
constexpr const char* kill_check =
    "a device process whose kernel never ends is killed, until reaped";
constexpr const char* kill_target = "<= 150 ms";
constexpr std::chrono::milliseconds longest_kill{150};
constexpr const char* lane_check = "words of a tenant that the next lane of its process finds";
constexpr const char* process_check = "words of a tenant that a program after its process finds";
constexpr const char* again_check = "the next device process, until ready";
constexpr const char* no_words = "0";

/// Each is done so often, and the slowest counts.
constexpr int rounds = 12;
/// In the first round the pieces of a launch grow to their full length, and a card reaches its
/// clock rate.
constexpr std::chrono::milliseconds first_run{500};
/// Some pieces of full length, of 8 ms.
constexpr std::chrono::milliseconds later_run{60};
/// Makes the rounds end at different points of a piece.
constexpr std::chrono::milliseconds phase{3};

/// Far more than a card does in the time.
constexpr std::uint64_t endless_items = std::uint64_t{1} << 40;
constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

constexpr KernelName turn{checks_module, "turn_word", 0};
constexpr KernelName fill{checks_module, "fill_words", 0};
constexpr KernelName find{checks_module, FindLaunch::kernel, FindLaunch::group_size};
constexpr KernelName endless{checks_module, "never_ends", 1};

double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::uint64_t whole_granules(std::uint64_t bytes) {
  return bytes / FindLaunch::granule * FindLaunch::granule;
}

struct Memory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// As much as can be had, beginning with nine tenths of the card's, or with what is wanted.
Result<Memory> allocate_much(DeviceUnderCheck& device, std::uint64_t wanted) {
  for (std::uint64_t bytes = whole_granules(wanted); bytes != 0;
       bytes = whole_granules(bytes / 8 * 7)) {
    const auto address = device.allocate(bytes);
    if (address) return Memory{*address, bytes};
    if (address.error().code != ErrorCode::too_large) return fail(address.error());
  }
  return fail(ErrorCode::too_large, "there is no free memory on the card");
}

Result<void> fill_memory(DeviceUnderCheck& device, const Memory& memory) {
  if (auto done = device.launch(fill, one_address(memory.address), memory.bytes / word_bytes);
      !done)
    return done;
  return device.wait();
}

/// How many of its words are those that a tenant leaves.
Result<std::uint64_t> count_words(DeviceUnderCheck& device, const Memory& memory) {
  const auto found = device.allocate(FindLaunch::found_bytes);
  if (!found) return fail(found.error());
  if (auto done = device.launch(find, find_arguments(memory.address, memory.bytes, *found),
                                FindLaunch::items);
      !done)
    return fail(std::move(done.error()));
  const auto counts = device.read(*found, FindLaunch::found_bytes);
  if (!counts) return fail(counts.error());
  if (auto freed = device.free(*found); !freed) return fail(std::move(freed.error()));
  return sum_of_found(*counts);
}

/// What was looked at of the memory that a tenant had filled.
struct Search {
  std::uint64_t words = 0;  // that were found
  std::uint64_t bytes = 0;
  std::uint64_t of_tenant = 0;  // bytes
};

Row words_row(const char* check, const Search& search) {
  const std::string bytes = to_string(ByteCount{search.bytes});
  Row row{.check = check,
          .figure = fmt::format("{} in {}", search.words, bytes),
          .target = no_words,
          .verdict = search.words == 0 ? Verdict::met : Verdict::missed};
  // Nothing found in a small part says nothing.
  if (search.words == 0 && search.bytes < search.of_tenant / 10 * 9) {
    row.verdict = Verdict::not_available;
    row.note = fmt::format(
        "only {} of the tenant's {} could be looked at; does somebody else use the card?", bytes,
        to_string(ByteCount{search.of_tenant}));
  }
  return row;
}

std::chrono::milliseconds run_of(int round) {
  return (round == 0 ? first_run : later_run) + round * phase;
}

Row slowest_row(const char* check, const char* target, std::chrono::nanoseconds time,
                std::chrono::nanoseconds longest) {
  return {.check = check,
          .figure = fmt::format("{:.1f} ms (slowest of {})", ms(time), rounds),
          .target = target,
          .verdict = time <= longest ? Verdict::met : Verdict::missed};
}

Result<std::chrono::nanoseconds> time_to_stop(DeviceUnderCheck& device, int round) {
  const auto word = device.allocate(word_bytes);
  if (!word) return fail(word.error());
  if (auto done = device.launch(turn, one_address(*word), endless_items); !done)
    return fail(std::move(done.error()));
  if (auto running = device.see_running(); !running) return fail(std::move(running.error()));
  // Before that the card may have nothing yet that has to end.
  if (auto begun = device.see_progress(); !begun) return fail(std::move(begun.error()));
  if (auto run = device.let_run(run_of(round)); !run) return fail(std::move(run.error()));
  const auto begin = std::chrono::steady_clock::now();
  if (auto told = device.stop_call(); !told) return fail(std::move(told.error()));
  const auto answer = device.receive();
  const auto time = std::chrono::steady_clock::now() - begin;
  if (!answer) return fail(answer.error());
  if (answer->status != executor::DeviceStatus::stopped)
    return fail(ErrorCode::internal, "the launch has ended before it was stopped");
  if (const auto ended = device.end_call(); !ended) return fail(ended.error());
  return time;
}

/// Bytes of a tenant, and of those that the next lane got and has filled again.
struct Passed {
  std::uint64_t of_tenant = 0;
  std::uint64_t filled = 0;
};

/// A tenant fills the memory; what the next lane sees there.
Result<Passed> pass_memory_on(const Bundle& bundle, DeviceUnderCheck& device, Results& results) {
  const auto memory = allocate_much(device, device.ready().memory / 10 * 9);
  if (!memory) return fail(memory.error());
  if (auto filled = fill_memory(device, *memory); !filled) return fail(std::move(filled.error()));
  const auto left = count_words(device, *memory);
  if (!left) return fail(left.error());
  if (*left != memory->bytes / word_bytes)
    return fail(ErrorCode::internal, "a tenant's words are not all in its own memory");
  if (auto ended = device.end_lane(); !ended) return fail(std::move(ended.error()));
  if (auto ready = begin_checks(bundle, device, small_slab); !ready)
    return fail(std::move(ready.error()));
  const auto again = allocate_much(device, memory->bytes);
  if (!again) return fail(again.error());
  const auto seen = count_words(device, *again);
  if (!seen) return fail(seen.error());
  if (auto filled = fill_memory(device, *again); !filled) return fail(std::move(filled.error()));
  results.add(
      words_row(lane_check, {.words = *seen, .bytes = again->bytes, .of_tenant = memory->bytes}));
  return Passed{.of_tenant = memory->bytes, .filled = again->bytes};
}

/// The kernel is one piece, of which the driver tells nothing before it ends.
Result<std::chrono::nanoseconds> kill_in_a_kernel(DeviceUnderCheck& device, int round) {
  const auto word = device.allocate(word_bytes);
  if (!word) return fail(word.error());
  // 0, so that it never ends, also on a card whose memory is not cleared.
  std::ranges::fill(device.input().first(word_bytes), std::byte{});
  if (auto written = device.write_input(*word, word_bytes); !written)
    return fail(std::move(written.error()));
  if (auto done = device.launch(endless, one_address(*word), 1); !done)
    return fail(std::move(done.error()));
  if (auto running = device.see_running(); !running) return fail(std::move(running.error()));
  if (auto run = device.let_run(run_of(round)); !run) return fail(std::move(run.error()));
  return device.kill();
}

/// What a program that does not clear memory finds of a tenant whose process has ended.
void check_after_process(const Bundle& bundle, const Passed& passed, Results& results) {
  const auto bare = run_bare(bundle, {"find", std::to_string(passed.filled)});
  if (!bare) return results.not_available(process_check, no_words, bare.error().message);
  const auto bytes = bare->number("find_bytes");
  if (!bytes) return results.not_available(process_check, no_words, bytes.error().message);
  const auto words = bare->number("find_words");
  if (!words) return results.not_available(process_check, no_words, words.error().message);
  results.add(words_row(process_check, {.words = static_cast<std::uint64_t>(*words),
                                        .bytes = static_cast<std::uint64_t>(*bytes),
                                        .of_tenant = passed.of_tenant}));
}

Result<std::chrono::nanoseconds> kill_another(const Bundle& bundle, int round) {
  const auto device = start_ready(bundle, small_slab);
  if (!device) return fail(device.error());
  return kill_in_a_kernel(**device, round);
}

/// The rounds after the first, each with a process of its own. Returns the slowest of all.
Result<std::chrono::nanoseconds> kill_again(const Bundle& bundle, std::chrono::nanoseconds first) {
  auto slowest = first;
  for (int round = 1; round < rounds; ++round) {
    const auto killed = kill_another(bundle, round);
    if (!killed) return killed;
    slowest = std::max(slowest, *killed);
  }
  return slowest;
}

}  // namespace

void check_stop(DeviceUnderCheck& device, Results& results) {
  std::chrono::nanoseconds slowest{0};
  for (int round = 0; round < rounds; ++round) {
    const auto time = time_to_stop(device, round);
    if (!time) return results.add(stop_check, stop_target, time.error());
    slowest = std::max(slowest, *time);
  }
  results.add(slowest_row(stop_check, stop_target, slowest, longest_stop));
}

void check_next_tenant(const Bundle& bundle, std::unique_ptr<DeviceUnderCheck> device,
                       Results& results) {
  const auto memory = pass_memory_on(bundle, *device, results);
  if (!memory) {
    results.add(lane_check, no_words, memory.error());
    device.reset();  // what has failed may have ended it
  }
  const auto killed = device ? kill_in_a_kernel(*device, 0) : kill_another(bundle, 0);
  device.reset();
  if (memory)
    check_after_process(bundle, *memory, results);
  else
    results.not_available(process_check, no_words, "no tenant has filled the memory");

  auto next = start_ready(bundle, small_slab);
  if (next)
    results.add({.check = again_check,
                 .figure = fmt::format("{:.0f} ms", ms((*next)->start_time())),
                 .target = no_target,
                 .verdict = Verdict::reported});
  else
    results.add(again_check, no_target, next.error());
  if (next) next->reset();

  const auto slowest = killed ? kill_again(bundle, *killed) : killed;
  if (slowest)
    results.add(slowest_row(kill_check, kill_target, *slowest, longest_kill));
  else
    results.add(kill_check, kill_target, slowest.error());
}

}  // namespace orchid::gpu_check
