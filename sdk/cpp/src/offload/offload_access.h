// offload/offload_access.h: makes an OffloadPool out of what is behind it.
#pragma once
#include <memory>

#include "offload/offload_crew.h"

namespace orchid::sdk {

struct OffloadAccess {
  static OffloadPool pool(unsigned local_threads, std::unique_ptr<WorkerSource> source) {
    return OffloadPool(std::make_unique<OffloadCrew>(local_threads, std::move(source)));
  }
};

}  // namespace orchid::sdk
