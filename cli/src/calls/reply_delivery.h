// calls/reply_delivery.h: where the output of a call goes, and what --json says about it.
#pragma once
#include <string>

#include "foundation/result.h"
#include "orchid/invocation.h"
#include "terminal/shell.h"

namespace orchid::cli {

struct DeliveryOptions {
  std::string file = "-";  // for the output; "-": standard output
  std::string signature;   // of a typed entry: its output is shown as JSON; empty: as it is
};

/// Without --json the output, and nothing else. With it one document: `id`, `timings_ms`, and the
/// output as `output` (text, or a typed entry's value), as `output_base64` (bytes that are no
/// UTF-8), or the name of the file that has it as `output_file`. Errors: those of writing,
/// `bad_request` (the output is not of the signature's type).
[[nodiscard]] Result<void> deliver_reply(Shell& shell, const Reply& reply,
                                         const DeliveryOptions& options);

}  // namespace orchid::cli
