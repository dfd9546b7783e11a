// site/slot_book.h: user ids that belong to nobody, one for each grant at a time. No I/O.
//
// What an executor compiled stays in its slot's folder, so a grant gets the slot that the last one
// of the same kind had. When a slot comes to somebody else, its folder is emptied first: the
// code was made by a compiler that had read its owner's bitcode, and is nobody else's business.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/control_messages.h"

namespace orchid::site {

/// For whom a slot was used: one user, or everybody.
struct SlotUse {
  uid_t owner = 0;
  GrantUsers users = GrantUsers::owner;
  /// What may be kept from one to the other.
  [[nodiscard]] bool fits(const SlotUse& other) const {
    return users == other.users && (users == GrantUsers::everybody || owner == other.owner);
  }
};

/// Owned by the service's thread.
class SlotBook {
 public:
  struct Taken {
    std::uint32_t number = 0;
    bool is_clean = false;            // what lies in its folder is of the same use
    std::optional<SlotUse> before{};  // how it was used last
  };
  /// `before`: how each slot was used last, as far as is known; its size is the number of slots.
  explicit SlotBook(std::vector<std::optional<SlotUse>> before);
  /// Nothing: all are in use.
  [[nodiscard]] std::optional<Taken> take(const SlotUse& use);
  void give_back(std::uint32_t number);
  /// It has not been used.
  void put_back(const Taken& slot);
  /// What lies in its folder is of no known use.
  void forget_use(std::uint32_t number) { slots_.at(number).last.reset(); }
  [[nodiscard]] std::size_t in_use() const;

 private:
  struct Slot {
    std::optional<SlotUse> last;
    bool is_taken = false;
    std::uint64_t given_back = 0;  // the higher, the later
  };
  std::vector<Slot> slots_;
  std::uint64_t count_ = 0;
};

}  // namespace orchid::site
