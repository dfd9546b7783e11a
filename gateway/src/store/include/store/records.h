// store/records.h: what the store keeps, as plain values. Times are milliseconds since 1970, so
// that they survive a restart.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calls/call.h"
#include "foundation/units.h"
#include "placement/call_device.h"
#include "protocol/outcome.h"
#include "tenants/token_book.h"

namespace orchid::gateway {

using UnixMillis = std::int64_t;

/// Larger payloads are spool files, not values in the database.
constexpr ByteCount largest_inline_payload = 64_KiB;

/// What a function's owner may change without a new version of it.
struct StoredOptions {
  unsigned concurrency = 0;  // calls at once; 0: no limit
  std::string needs;         // placement/shape_text.h; empty: one core
};

struct VersionRecord {
  uid_t tenant = 0;
  std::string function;
  std::string digest;
  std::string manifest;  // JSON
  UnixMillis created = 0;
  bool deleted = false;            // kept only for the calls that still need it
  bool with_its_function = false;  // deleted; then `needs` are those that that had
  unsigned concurrency = 0;        // these two are the function's: StoredOptions
  std::string needs;
  std::vector<std::byte> module;  // filled when the store is loaded
};

enum class StoredState : std::uint8_t { queued = 0, started = 1, done = 2 };

struct InvocationRecord {
  std::string id;
  uid_t tenant = 0;
  std::string function;
  std::string digest;
  std::string entry;
  std::optional<std::string> idempotency_key;
  /// With a key: what it was used for. As it comes, the function as the caller wrote it; in the
  /// store, the digest of that and of the input, or nothing if an older gateway wrote it.
  std::string request;
  bool at_most_once = false;
  std::optional<placement::HostKind> kind;      // of the host that runs it; nothing: any
  std::optional<placement::CallDevice> device;  // of its worker; nothing: as its function prefers
  std::string cluster;                          // of its host; empty: any
  std::string data;  // ids of the data objects that it is given, with commas; empty: none
  /// The name of the data object that its output becomes, once it has "ID NAME@VERSION"; empty:
  /// it is answered.
  std::string output_data;
  UnixMillis accepted = 0;
  UnixMillis deadline = 0;
  StoredState state = StoredState::queued;
  unsigned attempts = 0;
  std::optional<Outcome> outcome;
  std::string message;
  std::string node;
  LeaseId
      lease;  // of the worker that ran it; epoch 0: it reached none, or an older gateway wrote it
  std::optional<UnixMillis> finished;
  CallTimings timings;
  std::uint64_t output_size = 0;
  std::uint64_t log_dropped = 0;
};

/// How an invocation ended. `record` has the id and all fields from `attempts` on.
struct FinishedInvocation {
  InvocationRecord record;
  Payload output;
  std::string log;
};

struct InsertedInvocation {
  /// True: the tenant has used this idempotency key before, and `record` is the invocation it made
  /// then.
  bool existed = false;
  /// Of one that existed: it was made by the same function with the same input.
  bool same_request = true;
  InvocationRecord record;
};

enum class PayloadKind : std::uint8_t { input = 0, output = 1, log = 2 };

struct InvocationFilter {
  uid_t tenant = 0;
  std::size_t limit = 100;
  std::optional<bool> finished;
  std::string key_begins;  // the idempotency key; empty: any, or none
};

struct AuditRecord {
  UnixMillis at = 0;
  uid_t tenant = 0;
  std::string action;
  std::string subject;
  std::string detail;
};

/// What a starting gateway finds.
struct StartUpState {
  std::uint64_t epoch = 1;  // counts the starts on this state directory
  std::string identity;     // random, made with it
  std::vector<TokenRecord> tokens;
  std::vector<VersionRecord> versions;       // oldest first
  std::vector<InvocationRecord> unfinished;  // oldest first
};

}  // namespace orchid::gateway
