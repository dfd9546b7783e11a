// chase: follows a chain through a table that is spread over the members of a crew.
//
// Entry i of the table names another entry. For `chase` it lies at member i % members + 1, in its
// memory; for `chase_data` in part i % parts, a data object. A call that comes to an entry of
// another member or part goes on there: the chain's place moves, and not the table.
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

/// Of `chase_data`.
struct Spread {
  std::uint32_t entries;   // of the whole table
  std::uint32_t at;        // the entry to look at
  std::uint32_t left;      // steps to go
  std::uint32_t moves;     // from part to part so far
  std::uint32_t parts;     // of the table
  std::uint32_t come_for;  // the part that the call has gone to, and one more; 0: to none yet
  char index[40];          // id of the object that has the parts' ids, with zeros behind it
};
constexpr std::size_t id_size = ORCHID_DATA_ID_SIZE;

/// What `chase_part` is to make.
struct Wanted {
  std::uint32_t entries;
  std::uint32_t part;
  std::uint32_t parts;
  std::uint32_t zero;
};

std::int32_t say_end(orchid_call* call, std::uint32_t at, std::uint32_t moves) {
  void* output = orchid_output(call, 2 * sizeof(std::uint32_t));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &at, sizeof(at));
  std::memcpy(static_cast<std::byte*>(output) + sizeof(at), &moves, sizeof(moves));
  return ORCHID_OK;
}

/// Seals the room, and answers with the object's id as text.
std::int32_t seal_and_say(orchid_call* call, void* room, std::uint64_t size) {
  char id[id_size];
  if (const std::int32_t status = orchid_data_seal(call, room, size, nullptr, id);
      status != ORCHID_OK)
    return status;
  void* output = orchid_output(call, id_size);
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, id, id_size);
  return ORCHID_OK;
}

/// Null: it cannot be opened, and the call's error says why.
const char* open_index(orchid_call* call, const Spread& chase) {
  const void* bytes = nullptr;
  std::uint64_t size = 0;
  if (chase.index[sizeof(chase.index) - 1] != '\0' ||
      orchid_data_open(call, chase.index, &bytes, &size) != ORCHID_OK ||
      size < std::uint64_t{chase.parts} * id_size)
    return nullptr;
  return static_cast<const char*>(bytes);
}

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
  return say_end(call, chase.at, chase.moves);
}

/// Makes a part of the table as a data object, on the host where it runs. Input: a Wanted. Output:
/// the object's id as text, with a zero behind it.
ORCHID_ENTRY(chase_part) {
  Wanted wanted{};
  if (input_size != sizeof(wanted)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&wanted, input, sizeof(wanted));
  if (wanted.part >= wanted.parts || wanted.part >= wanted.entries) return ORCHID_BAD_ARGUMENTS;
  const std::uint64_t rows = (wanted.entries - wanted.part - 1) / wanted.parts + 1;
  void* room = nullptr;
  if (const std::int32_t status = orchid_data_create(call, rows * sizeof(std::uint32_t), &room);
      status != ORCHID_OK)
    return status;
  auto* row = static_cast<std::uint32_t*>(room);
  for (std::uint64_t i = wanted.part; i < wanted.entries; i += wanted.parts)
    *row++ = made_up(static_cast<std::uint32_t>(i), wanted.entries);
  return seal_and_say(call, room, rows * sizeof(std::uint32_t));
}

/// Makes the object that names the parts. Input: their ids, as chase_part gives them. Output: its
/// id likewise.
ORCHID_ENTRY(chase_index) {
  void* room = nullptr;
  if (input_size == 0 || input_size % id_size != 0) return ORCHID_BAD_ARGUMENTS;
  if (const std::int32_t status = orchid_data_create(call, input_size, &room); status != ORCHID_OK)
    return status;
  std::memcpy(room, input, input_size);
  return seal_and_say(call, room, input_size);
}

/// Input: a Spread. Output: as that of `chase`, with the moves from part to part.
ORCHID_ENTRY(chase_data) {
  orchid::Call running(call);
  Spread chase{};
  if (input_size != sizeof(chase)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&chase, input, sizeof(chase));
  if (chase.parts == 0 || chase.at >= chase.entries) return ORCHID_BAD_ARGUMENTS;
  const char* const index = open_index(call, chase);
  if (index == nullptr) return ORCHID_ERROR;
  const auto part_of = [&](std::uint32_t entry) { return entry % chase.parts; };
  if (chase.left > 0 && chase.come_for == part_of(chase.at) + 1) {
    const void* bytes = nullptr;
    std::uint64_t size = 0;
    const char* const id = index + part_of(chase.at) * id_size;
    if (const std::int32_t status = orchid_data_open(call, id, &bytes, &size); status != ORCHID_OK)
      return status;
    const auto* rows = static_cast<const std::uint32_t*>(bytes);
    while (chase.left > 0 && chase.come_for == part_of(chase.at) + 1) {
      const std::uint32_t row = chase.at / chase.parts;
      if (row >= size / sizeof(*rows) || rows[row] >= chase.entries) return ORCHID_ERROR;
      chase.at = rows[row];
      --chase.left;
    }
  }
  if (chase.left == 0) return say_end(call, chase.at, chase.moves);
  if (chase.come_for != 0) ++chase.moves;
  chase.come_for = part_of(chase.at) + 1;
  return running.forward_to_data(index + part_of(chase.at) * id_size,
                                 std::as_bytes(std::span(&chase, 1)))
             ? ORCHID_OK
             : ORCHID_ERROR;
}
