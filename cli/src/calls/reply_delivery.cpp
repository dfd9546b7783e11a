#include "calls/reply_delivery.h"

#include <chrono>

#include "calls/call_statistics.h"
#include "calls/typed_call.h"
#include "foundation/base64.h"
#include "foundation/files.h"
#include "terminal/documents.h"

namespace orchid::cli {
namespace {

double milliseconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

/// As the gateway describes an invocation; what only this process can see, and the total, where it
/// saw the whole call.
Document timings_of(const CallTiming& timing) {
  const bool whole = timing.total.count() > 0;
  Document timings = Document::object();
  for (const CallPart& part : call_parts)
    if (whole || part.told_by_gateway) timings[part.name] = milliseconds(timing.*part.duration);
  if (whole) timings["total"] = milliseconds(timing.total);
  return timings;
}

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(Document(text).dump());
    return true;
  } catch (const Document::exception&) {
    return false;
  }
}

void add_output(Document& document, std::string_view output) {
  if (is_utf8(output)) {
    document["output"] = output;
  } else {
    document["output_base64"] = to_base64(as_bytes(output));
  }
}

}  // namespace

Result<void> deliver_reply(Shell& shell, const Reply& reply, const DeliveryOptions& options) {
  std::string value;  // JSON
  if (!options.signature.empty()) {
    auto decoded = decode_output(options.signature, reply.output);
    if (!decoded) return fail(std::move(decoded.error()));
    value = std::move(*decoded);
  }
  const bool to_file = options.file != "-";
  if (!shell.json && !to_file && shell.out_is_terminal) {
    shell.print(value.empty() ? reply.text() : value + "\n");
    return {};
  }
  if (!shell.json || to_file) {
    const std::string line = value + "\n";
    const auto written =
        write_output_file(options.file, value.empty() ? reply.output : as_bytes(line));
    if (!written || !shell.json) return written;
  }
  Document document{{"id", reply.invocation}, {"timings_ms", timings_of(reply.timing)}};
  if (to_file) {
    document["output_file"] = options.file;
  } else if (!value.empty()) {
    document["output"] = Document::parse(value);
  } else {
    add_output(document, reply.text());
  }
  print_document(shell, document);
  return {};
}

}  // namespace orchid::cli
