#include "transport/payload_rings.h"

#include <algorithm>
#include <cstring>

#include "foundation/units.h"

namespace orchid::transport {

Result<std::uint64_t> PieceRing::allocate(std::size_t size) {
  const std::uint64_t capacity = slab_.size();
  if (size > capacity)
    return fail(ErrorCode::too_large,
                "an input of " + to_string(ByteCount{size}) + " does not fit into the lane");
  const std::uint64_t length = align_to_line(std::max<std::uint64_t>(size, 1));
  if (empty()) head_ = 0;  // stay on the pages that are warm
  const std::uint64_t tail = empty() ? 0 : pieces_[first_ % limit].position;
  std::uint64_t position = head_;
  if (position % capacity + length > capacity)
    position = (position / capacity + 1) * capacity;  // no piece wraps around
  if (next_ - first_ == limit || position + length - tail > capacity)
    return fail(ErrorCode::no_capacity, "the lane's room for inputs is full");
  pieces_[next_ % limit] = {position, position + length, false};
  head_ = position + length;
  return next_++;
}

std::uint64_t PieceRing::find(std::span<const std::byte> room) const {
  if (room.data() < slab_.data() || room.data() >= slab_.data() + slab_.size()) return none;
  const auto offset = static_cast<std::uint64_t>(room.data() - slab_.data());
  for (std::uint64_t i = next_; i-- > first_;) {
    const Piece& piece = pieces_[i % limit];
    if (!piece.free && piece.position % slab_.size() == offset &&
        room.size() <= piece.end - piece.position)
      return i;
  }
  return none;
}

void PieceRing::free(std::uint64_t piece) {
  pieces_[piece % limit].free = true;
  while (first_ != next_ && pieces_[first_ % limit].free) ++first_;
}

bool OutputRing::fits(std::uint64_t position, std::size_t size) const {
  const std::uint64_t capacity = slab_.size();
  const std::uint64_t length = std::max<std::uint64_t>(size, 1);  // as `publish` takes it
  return position % capacity + length <= capacity && position + length - tail_ <= capacity;
}

/// Where it is, at the head, or at the start of the slab; nothing if it is full.
std::optional<std::uint64_t> OutputRing::find_position(std::size_t size) const {
  const std::uint64_t position = placed_ ? position_ : head_;
  if (fits(position, size)) return position;
  const std::uint64_t wrapped = (position / slab_.size() + 1) * slab_.size();
  if (fits(wrapped, size)) return wrapped;
  return std::nullopt;
}

bool OutputRing::place(std::size_t size, const std::byte* old, std::size_t keep) {
  if (size > slab_.size() || is_full()) return false;
  if (first_ == next_ && !placed_) head_ = tail_ = 0;  // stay on the pages that are warm
  const std::byte* from = placed_ ? data() : old;
  auto position = find_position(size);
  if (!position && first_ == next_) {
    tail_ = 0;  // nothing but this output is here
    position = 0;
  }
  if (!position) return false;
  std::byte* fresh = slab_.data() + *position % slab_.size();
  if (keep != 0 && fresh != from) std::memmove(fresh, from, std::min(keep, size));
  position_ = *position;
  placed_ = true;
  return true;
}

void OutputRing::publish(std::size_t size, std::uint64_t number) {
  head_ = position_ + align_to_line(std::max<std::uint64_t>(size, 1));
  published_[next_++ % ring_entries] = {head_, number};
  placed_ = false;
}

std::optional<std::uint64_t> OutputRing::oldest() const {
  if (first_ == next_) return std::nullopt;
  return published_[first_ % ring_entries].number;
}

void OutputRing::free_oldest() { tail_ = published_[first_++ % ring_entries].end; }

}  // namespace orchid::transport
