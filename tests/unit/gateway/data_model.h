// data_model.h: executors that have data objects, as a test of the gateway's books takes them to
// be.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/data_catalogue.h"
#include "foundation/clock.h"
#include "hosts/host_book.h"
#include "protocol/data_messages.h"

namespace orchid::gateway {

struct ModelObject {
  DataTerms terms;
  bool is_sealed = false;
  bool was_published = false;
  MonotonicTime sealed{};
  std::uint64_t order = 0;
};

/// That somebody still writes, or whose seal is under way.
struct ModelRoom {
  enum class Stage : std::uint8_t {
    written,  // the gateway has not asked for the seal
    asked,    // the executor has not heard of it
    sealed,   // the gateway has not heard of it
  };
  ExecutorId where;
  std::string if_match;
  Stage stage = Stage::written;
};

/// An executor process: it does what it is told, some time later.
struct ModelExecutor {
  ExecutorId id;
  std::map<DataId, ModelObject> objects{};
  std::vector<DataId> to_drop{};  // on the way to it
  bool is_known = true;           // to the gateway that is there now
};

}  // namespace orchid::gateway
