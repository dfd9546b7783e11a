#include "transport/payload_rooms.h"

#include <algorithm>
#include <cstring>

#include "foundation/units.h"

namespace orchid::transport {
namespace {

std::uint64_t length_for(std::size_t size) {
  return align_to_line(std::max<std::uint64_t>(size, 1));
}

}  // namespace

Result<std::uint64_t> InputRooms::allocate(std::size_t size) {
  if (size > slab_.size())
    return fail(ErrorCode::too_large,
                "an input of " + to_string(ByteCount{size}) + " does not fit into the lane");
  const auto room = rooms_.make(length_for(size));
  if (!room) return fail(ErrorCode::no_capacity, "the lane's room for inputs is full");
  return *room;
}

std::uint64_t InputRooms::find(std::span<const std::byte> room) const {
  if (room.data() < slab_.data() || room.data() >= slab_.data() + slab_.size()) return none;
  const auto found = rooms_.at(static_cast<std::uint64_t>(room.data() - slab_.data()));
  return found && room.size() <= rooms_.length_of(*found) ? *found : none;
}

void OutputRooms::begin() {
  if (output_) rooms_.free(*output_);
  output_.reset();
}

bool OutputRooms::place(std::size_t size, const std::byte* old, std::size_t keep) {
  if (size > slab_.size() || is_full()) return false;
  const std::uint64_t length = length_for(size);
  if (output_ && rooms_.resize(*output_, length)) return true;
  const std::byte* from = output_ ? data() : old;
  const auto room = output_ ? rooms_.remake(*output_, length) : rooms_.make(length);
  if (!room) return false;
  output_ = room;
  if (keep != 0) std::memmove(data(), from, std::min(keep, size));
  return true;
}

void OutputRooms::publish(std::size_t size, std::uint64_t number) {
  (void)rooms_.resize(*output_, length_for(size));  // it is not longer than what was placed
  used_ += rooms_.length_of(*output_);
  published_[next_++ % ring_entries] = {*output_, number};
  output_.reset();
}

std::optional<std::uint64_t> OutputRooms::oldest() const {
  if (first_ == next_) return std::nullopt;
  return published_[first_ % ring_entries].number;
}

void OutputRooms::free_oldest() {
  const SlabRooms::Room room = published_[first_++ % ring_entries].room;
  used_ -= rooms_.length_of(room);
  rooms_.free(room);
}

}  // namespace orchid::transport
