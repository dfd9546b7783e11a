// data/copy_plan.h: where copies of data objects should be. Pure functions over plain data.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/data_object.h"
#include "foundation/clock.h"
#include "foundation/units.h"

namespace orchid::gateway {

/// An executor that keeps data for the object's tenant, as far as copies are concerned.
struct CopyPlace {
  DataHolder holder;
  std::string machine;   // two executors of one are lost together
  bool receives = true;  // connected, and it copies data
  bool stays = true;     // not taken for gone, and its grant does not end soon
  ByteCount free;        // of its memory for data, as far as the gateway has given it away
  MonotonicTime ends = MonotonicTime::max();
};

/// How far bytes have to go from one executor to another; the nearest is the least.
enum class Distance : std::uint8_t {
  machine,    // both are on it
  cluster,    // of one batch system
  elsewhere,  // as far as the gateway knows
};
[[nodiscard]] Distance distance_between(const Executor& left, const Executor& right);

/// On how many machines the object is, or is about to be, that are not about to go.
[[nodiscard]] std::size_t lasting_copies(const DataObject& object,
                                         std::span<const CopyPlace> places);

/// Where one more copy of it should go: none when it has as many as are wanted, or there is no
/// place for it. One whose last copies are about to go with their grants is to be somewhere that
/// stays. `besides`: not there.
[[nodiscard]] std::optional<DataHolder> place_for_copy(const DataObject& object,
                                                       std::span<const CopyPlace> places,
                                                       const std::set<ExecutorId>& besides = {});

/// Where a call with these objects should run: the executor with most of their bytes, then with
/// most of them. `besides`: not there.
[[nodiscard]] std::optional<DataHolder> best_for_call(std::span<const DataObject* const> objects,
                                                      const std::set<ExecutorId>& besides = {});
/// Those that it has not.
[[nodiscard]] std::vector<const DataObject*> missing_at(const ExecutorId& executor,
                                                        std::span<const DataObject* const> objects);

}  // namespace orchid::gateway
