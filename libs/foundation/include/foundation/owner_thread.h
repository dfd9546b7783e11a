// foundation/owner_thread.h: states, and in debug builds checks, which thread owns an object.
#pragma once
#include <cassert>
#include <thread>

namespace orchid {

/// A member of an object with one owner. The owner is the thread that constructs it, or the one
/// that calls `adopt`.
class OwnerThread {
 public:
  void adopt() { owner_ = std::this_thread::get_id(); }
  void assert_current() const {
    assert(owner_ == std::this_thread::get_id() &&
           "called from a thread that does not own this object");
  }

 private:
  std::thread::id owner_ = std::this_thread::get_id();
};

}  // namespace orchid
