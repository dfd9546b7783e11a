// calls/output_keeper.h: outputs of calls that are to be kept as data objects.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

#include "calls/call.h"
#include "foundation/result.h"

namespace orchid::gateway {

struct OutputToKeep {
  uid_t tenant = 0;
  std::string name;  // of which it is to be the next version
  Payload bytes;
};

/// What an output has become.
struct KeptOutput {
  std::string id;
  std::string label;     // "NAME@VERSION"
  std::string document;  // that describes it, JSON
};

/// Of one HTTP thread, on which `done` is called, once, at once or later. Errors: those of data
/// that is put; nothing is there then.
using OutputKeeper = std::function<void(OutputToKeep, std::function<void(Result<KeptOutput>)>)>;

}  // namespace orchid::gateway
