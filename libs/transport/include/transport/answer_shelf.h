// transport/answer_shelf.h: what children of a call have answered, where it outlives the members of
// a crew: in memory that a member and its client share, and that no message uses (decision 0051).
//
// One end writes and the other one reads. Of a member's shelf the client reads when the member has
// ended; what the client writes is never written over.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace orchid::transport {

class AnswerShelf {
 public:
  /// `memory`: zeros at first; may be empty, and then nothing is kept.
  explicit AnswerShelf(std::span<std::byte> memory) : memory_(memory) {}

  enum class WhenFull : std::uint8_t { stop, forget_oldest };
  /// False: there is no room.
  bool put(std::uint64_t request_id, std::uint64_t key, std::span<const std::byte> answer,
           WhenFull when_full);

  using Reader = std::function<void(std::uint64_t request_id, std::uint64_t key,
                                    std::span<const std::byte> answer)>;
  /// All that is there. What makes no sense ends it: nothing behind it is read.
  static void read(std::span<const std::byte> memory, const Reader& reader);
  /// Bytes that are in use: more than before, if something was put that forgets nothing.
  [[nodiscard]] static std::size_t filled(std::span<const std::byte> memory);

 private:
  static constexpr std::size_t halves = 2;  // the older one is forgotten as a whole
  std::span<std::byte> memory_;
  std::size_t half_ = 0;
};

}  // namespace orchid::transport
