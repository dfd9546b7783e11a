// invocations/invocation_options.h: what callers ask for in header fields. Pure functions.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "http/request.h"
#include "placement/call_device.h"
#include "placement/host.h"

namespace orchid::gateway {

/// RFC 7240. What is not understood is ignored, as the RFC says.
struct Preferences {
  bool respond_async = false;
  std::optional<std::chrono::seconds> wait;
};
[[nodiscard]] Preferences parse_prefer(std::string_view value);

struct InvocationOptions {
  std::chrono::milliseconds deadline;  // from acceptance
  std::chrono::milliseconds wait;      // of the caller; at least `deadline`: to the end
  bool respond_async = false;
  bool at_most_once = false;
  std::optional<placement::HostKind> kind;      // of the host that runs it; nothing: any
  std::optional<placement::CallDevice> device;  // of its worker; nothing: as its function prefers
  std::string cluster{};                        // of its host; empty: any
  std::optional<std::string> idempotency_key;
  std::string data;         // names of data objects, as they came; empty: none
  std::string output_data;  // the name of the data object that its output becomes; empty: none
};
struct InvocationDefaults {
  std::chrono::milliseconds deadline{60'000};
  std::chrono::milliseconds async_deadline{3'600'000};
  std::chrono::milliseconds wait{30'000};
};
/// Errors: `bad_request`.
[[nodiscard]] Result<InvocationOptions> parse_invocation_options(
    const Request& request, const InvocationDefaults& defaults);
/// The signature that the caller expects against the entry's. Errors: `bad_request`, with both.
[[nodiscard]] Result<void> check_signature(std::string_view expected,
                                           const std::optional<std::string>& actual);

}  // namespace orchid::gateway
