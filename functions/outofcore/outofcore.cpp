// functions/outofcore: sorts more numbers than its worker has memory for, in leased memory of
// another host.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "external_sort.h"
#include "orchid/function.hpp"
#include "orchid/leased_memory.hpp"

namespace {

/// The way to the lease; says how far it is.
class Lease {
 public:
  Lease(orchid::Call& call, orchid::LeasedMemory memory, std::uint64_t to_move)
      : call_(call), memory_(memory), to_move_(to_move) {}
  bool put(std::uint64_t offset, std::span<const std::byte> bytes) {
    return memory_.put(offset, bytes) && go_on(bytes.size());
  }
  bool get(std::uint64_t offset, std::span<std::byte> bytes) {
    return memory_.get(offset, bytes) && go_on(bytes.size());
  }

 private:
  bool go_on(std::size_t bytes) {
    moved_ += bytes;
    call_.progress(static_cast<double>(moved_) / static_cast<double>(to_move_));
    return !call_.should_stop();
  }
  orchid::Call& call_;
  orchid::LeasedMemory memory_;
  std::uint64_t to_move_;
  std::uint64_t moved_ = 0;
};

}  // namespace

/// Sorts `count` numbers, which `seed` stands for, with `memory` bytes here; the result lies in the
/// second half of the lease. Its digest.
std::optional<std::uint64_t> outofcore(orchid::Call& call, std::string_view lease,
                                       std::uint64_t count, std::uint64_t seed,
                                       std::uint64_t memory) {
  const outofcore_sort::Job job{.count = count, .seed = seed, .memory = memory};
  auto leased = orchid::LeasedMemory::open(call, std::string(lease));
  if (!leased) return std::nullopt;
  if (count > leased->size() / 16) {
    const std::string why = "the lease has " + std::to_string(leased->size()) +
                            " bytes, and 16 are needed for each number";
    orchid_error(call.handle(), why.data(), why.size());
    return std::nullopt;
  }
  // Each number is put, got, and put again.
  Lease store(call, *leased, 3 * outofcore_sort::bytes_of(count) + 1);
  return outofcore_sort::ExternalSort(store, job).run();
}
ORCHID_FUNCTION(outofcore)
