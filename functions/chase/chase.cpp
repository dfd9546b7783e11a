// chase: follows a chain through a table that is spread over the members of a crew.
//
// Entry i of the table names another entry, and lies at member i % members + 1, in its memory. A
// call that comes to an entry of another member goes on there: the chain's place moves, and not the
// table.
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "orchid/function.hpp"

namespace {

struct Chase {
  std::uint32_t entries;  // of the whole table
  std::uint32_t at;       // the entry to look at
  std::uint32_t left;     // steps to go
  std::uint32_t moves;    // to other members so far
};

/// What the table says of entry `i`: any function of it would do.
std::uint32_t made_up(std::uint32_t i, std::uint32_t entries) {
  std::uint64_t mixed = i + 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::uint32_t>((mixed ^ (mixed >> 31)) % entries);
}

/// The entries of one member. It lives as long as the process, and is made by the first call.
class Part {
 public:
  void hold(std::uint32_t entries, std::uint32_t member, std::uint32_t members) {
    if (entries == entries_) return;
    here_.clear();
    for (std::uint32_t i = member - 1; i < entries; i += members)
      here_.push_back(made_up(i, entries));
    entries_ = entries;
  }
  [[nodiscard]] std::uint32_t next(std::uint32_t i, std::uint32_t members) const {
    return here_[i / members];
  }

 private:
  std::uint32_t entries_ = 0;
  std::vector<std::uint32_t> here_;
};

Part part;

}  // namespace

/// Input: four u32, as in Chase. Output: the entry where the chain is after its steps, and how
/// often it moved to another member, as two u32.
ORCHID_ENTRY(chase) {
  orchid::Call running(call);
  Chase chase{};
  if (input_size != sizeof(chase)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&chase, input, sizeof(chase));
  if (chase.entries == 0 || chase.at >= chase.entries) return ORCHID_BAD_ARGUMENTS;
  const std::uint32_t members = running.member_count();
  if (members == 0) {
    constexpr std::string_view why = "chase runs in a crew: call it through Client::crew";
    orchid_error(call, why.data(), why.size());
    return ORCHID_ERROR;
  }
  const auto is_here = [&] { return chase.at % members + 1 == running.member(); };
  part.hold(chase.entries, running.member(), members);
  while (chase.left > 0 && is_here()) {
    chase.at = part.next(chase.at, members);
    --chase.left;
  }
  if (chase.left > 0) {
    ++chase.moves;
    const auto input_there = std::as_bytes(std::span(&chase, 1));
    return running.forward(chase.at % members + 1, input_there) ? ORCHID_OK : ORCHID_ERROR;
  }
  void* output = orchid_output(call, 2 * sizeof(std::uint32_t));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &chase.at, sizeof(chase.at));
  std::memcpy(static_cast<std::byte*>(output) + sizeof(chase.at), &chase.moves,
              sizeof(chase.moves));
  return ORCHID_OK;
}
