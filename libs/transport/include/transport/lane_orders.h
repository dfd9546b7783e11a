// transport/lane_orders.h: in which order the ends of a local lane let each other see what they
// write, for processors that may see it in another one (aarch64). What each order keeps apart is
// said here; tests/unit/transport/lane_orders_test.cpp tries all orders that such a processor may
// take, with these values and with each of them weakened.
//
// What has no value here needs none: the progress of a call is one word that says whose it is, and
// nothing else is read because of it.
#pragma once
#include <atomic>

namespace orchid::transport {

struct LaneOrders {
  /// An entry's sequence is stored last. Release: its header, its payload and what lies in the slab
  /// are there for whoever sees it. It also keeps the reading of a request before its answer, after
  /// which the client uses the request's entry and its piece of the slab again.
  std::memory_order publish = std::memory_order_release;
  /// Acquire: header and payload are not read before the sequence.
  std::memory_order see_published = std::memory_order_acquire;
  /// The mark that an answer has been read. Release: it has been, when the worker sees the mark and
  /// writes the next output to that place.
  std::memory_order release_answer = std::memory_order_release;
  /// Acquire: the place is not written to before the mark is seen.
  std::memory_order see_released = std::memory_order_acquire;
  /// Between an entry and the look whether its reader sleeps, and between a reader's word that it
  /// sleeps and its last look at the entry. Each writes one word and reads the other's, and only
  /// this order keeps both from missing both. So the words themselves need none.
  std::memory_order fence_before_look = std::memory_order_seq_cst;
};
inline constexpr LaneOrders lane_orders{};

}  // namespace orchid::transport
