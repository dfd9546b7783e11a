// kvstore: look-ups in records that are spread over the members of a crew, by code that goes to the
// record: it runs there a filter that whoever asks has brought along.
//
// A record lies at member key % members + 1, in its memory.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "orchid/function.hpp"
#include "record.h"

namespace {

using kvstore::Count;
using kvstore::Filter;
using kvstore::Lookup;
using kvstore::Record;

/// The records of one member. It lives as long as the process, and is made by the first call; a
/// real one would read it from a data object.
class Shard {
 public:
  void hold(std::uint64_t records, std::uint32_t member, std::uint32_t members) {
    if (records == records_) return;
    here_.clear();
    for (std::uint64_t key = member - 1; key < records; key += members)
      here_.push_back({.key = key, .value = std::sqrt(static_cast<double>(key))});
    records_ = records;
  }
  [[nodiscard]] const Record& at(std::uint64_t key, std::uint32_t members) const {
    return here_[key / members];
  }
  [[nodiscard]] std::span<const Record> all() const { return here_; }

 private:
  std::uint64_t records_ = 0;
  std::vector<Record> here_;
};

Shard shard;

enum class Verdict : std::uint8_t { no, yes, failed };

/// In this worker: the record does not move.
Verdict passes(orchid::Call& call, const Filter& filter, const Record& record) {
  if (filter.front() == '\0') return Verdict::yes;
  const auto answer = call.invoke(filter.data(), std::as_bytes(std::span(&record, 1)));
  if (!answer) return Verdict::failed;  // the call's error says why
  return answer->size() == 1 && answer->front() == std::byte{1} ? Verdict::yes : Verdict::no;
}

std::int32_t refuse(orchid_call* call, std::string_view why) {
  orchid_error(call, why.data(), why.size());
  return ORCHID_ERROR;
}

template <typename T>
std::int32_t answer(orchid_call* call, const T& value) {
  void* output = orchid_output(call, sizeof(value));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &value, sizeof(value));
  return ORCHID_OK;
}

/// The input as it was asked, and the shard as it should be. False: it is refused.
template <typename Asked>
bool begin(orchid::Call& call, const void* input, std::size_t size, Asked& asked) {
  if (size != sizeof(asked)) return false;
  std::memcpy(&asked, input, sizeof(asked));
  if (asked.filter.back() != '\0' || call.member_count() == 0) return false;
  shard.hold(asked.records, call.member(), call.member_count());
  return true;
}

constexpr std::string_view how_to_call =
    "kvstore takes a Lookup or a Count of record.h, in a crew: call it through Client::crew";

}  // namespace

/// Input: a Lookup. Output: the Record with that key if the filter lets it pass, else nothing.
ORCHID_ENTRY(kv_get) {
  orchid::Call running(call);
  Lookup asked{};
  if (!begin(running, input, input_size, asked)) return refuse(call, how_to_call);
  if (asked.key >= asked.records) return ORCHID_OK;
  const std::uint32_t members = running.member_count();
  const auto owner = static_cast<std::uint32_t>(asked.key % members + 1);
  if (owner != running.member())
    return running.forward(owner, std::as_bytes(std::span(&asked, 1))) ? ORCHID_OK : ORCHID_ERROR;
  const Record& record = shard.at(asked.key, members);
  switch (passes(running, asked.filter, record)) {
    case Verdict::yes:
      return answer(call, record);
    case Verdict::no:
      return ORCHID_OK;
    case Verdict::failed:
      break;
  }
  return ORCHID_ERROR;
}

/// Input: a Count, with `left` one less than the members. Output: u64, how many records of the
/// whole store the filter lets pass, and u64, how often the call moved.
ORCHID_ENTRY(kv_count) {
  orchid::Call running(call);
  Count asked{};
  if (!begin(running, input, input_size, asked)) return refuse(call, how_to_call);
  for (const Record& record : shard.all()) {
    const Verdict verdict = passes(running, asked.filter, record);
    if (verdict == Verdict::failed) return ORCHID_ERROR;
    if (verdict == Verdict::yes) ++asked.found;
  }
  if (asked.left == 0) {
    const std::uint64_t result[] = {asked.found, asked.moves};
    return answer(call, result);
  }
  --asked.left;
  ++asked.moves;
  const std::uint32_t next = running.member() % running.member_count() + 1;
  return running.forward(next, std::as_bytes(std::span(&asked, 1))) ? ORCHID_OK : ORCHID_ERROR;
}
