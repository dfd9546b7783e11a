// flow_journal.h: what is on disk of a tenant's flows: what was submitted, and each event that the
// engine was told since, before it was told. Whoever tells an engine the same events in the same
// order has the same engine, with the same calls open under the same numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "database/database.h"
#include "flow/engine.h"
#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid::flows {

/// Milliseconds since 1970.
using UnixMillis = std::int64_t;

/// What is left of a flow that has come to its end.
struct DoneFlow {
  UnixMillis at = 0;
  std::string summary;  // its document, JSON
  std::string log;
};

struct FlowRecord {
  std::string id;
  std::string key;     // idempotency; empty: none
  std::string digest;  // of `body`
  std::string name;
  UnixMillis submitted = 0;
  std::string functions;        // those that it calls, as they were (flow_submission.h)
  std::vector<std::byte> body;  // as it was submitted; read one by one
  std::vector<std::byte> plan;  // what became of it (flow/plan_bytes.h); the same
  std::optional<DoneFlow> done;
};

struct JournalEvent {
  flow::Event event;
  flow::Time at{};  // since the flow's submission, not counting when nobody ran it
  UnixMillis wall = 0;
};
/// What a flow calls from then on.
struct FunctionChange {
  std::string functions;            // as a FlowRecord's
  std::span<const std::byte> plan;  // the same; empty: it is made from the body when it is needed
};
struct JournalEntry {
  std::string flow;
  std::uint64_t sequence = 0;  // of the flow's events, from 0
  const JournalEvent* event = nullptr;
};

/// Owned by one thread at a time. When a write fails (`disk_full`, also when the file would be
/// larger than it may be; `system`), nothing of it has been written.
class FlowJournal {
 public:
  struct Options {
    std::filesystem::path file;
    ByteCount most{4ULL << 30};
  };
  /// Errors: also `bad_configuration`, a file that is damaged or of a newer program.
  [[nodiscard]] static Result<std::unique_ptr<FlowJournal>> open(const Options& options);

  [[nodiscard]] Result<void> insert(const FlowRecord& flow);
  /// All of them, or none.
  [[nodiscard]] Result<void> append(std::span<const JournalEntry> entries);
  /// The same of one, from which on the flow calls functions in these versions; its plan with them
  /// takes the place of the one before.
  [[nodiscard]] Result<void> append(const JournalEntry& entry, const FunctionChange& change);
  /// Its events are not needed any more, and go. `outputs`: JSON.
  [[nodiscard]] Result<void> finish(const std::string& flow, const DoneFlow& done,
                                    std::string_view outputs);
  [[nodiscard]] Result<void> remove(const std::string& flow);

  /// What flows have learned of variants (flow/kept_variants.h), JSON; empty: nothing yet.
  [[nodiscard]] Result<std::string> learned();
  [[nodiscard]] Result<void> keep_learned(std::string_view json);

  /// Without their bodies and plans, oldest first.
  [[nodiscard]] Result<std::vector<FlowRecord>> flows();
  [[nodiscard]] Result<std::vector<std::byte>> body(const std::string& flow);
  /// Of the functions that the flow calls now. Empty: it is not there, or cannot be read.
  [[nodiscard]] std::vector<std::byte> plan(const FlowRecord& flow);
  /// In order.
  [[nodiscard]] Result<std::vector<JournalEvent>> events(const std::string& flow);
  /// Of a flow that is done.
  [[nodiscard]] Result<std::string> outputs(const std::string& flow);

 private:
  explicit FlowJournal(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  [[nodiscard]] Result<void> prepare(ByteCount most);
  template <typename Work>
  [[nodiscard]] Result<void> in_transaction(Work work);
  [[nodiscard]] Result<void> append_one(const JournalEntry& entry);
  [[nodiscard]] Result<void> prepare_later_tables();
  [[nodiscard]] Result<void> insert(const FlowRecord& flow, std::span<const std::byte> plan);
  [[nodiscard]] Result<void> forget_plan(const std::string& flow);
  [[nodiscard]] Result<void> keep_plan(const std::string& flow, const FunctionChange& what);
  /// With the plan, or without it where there is no room for that.
  template <typename Work>
  [[nodiscard]] Result<void> with_plan(std::span<const std::byte> plan, const Work& work);

  std::unique_ptr<Database> database_;
  bool has_plans_ = false;  // there is a table of them
  bool has_learned_ = false;
};

}  // namespace orchid::flows
