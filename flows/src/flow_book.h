// flow_book.h: all flows of a tenant: what is asked of them, and what becomes of their calls.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrivals.h"
#include "call_maker.h"
#include "flow/variants.h"
#include "flow_journal.h"
#include "flow_run.h"
#include "foundation/clock.h"

namespace orchid::flows {

/// Belongs to one thread, which brings what arrives. An event is on disk before it counts, and a
/// flow before its submission is answered.
class FlowBook {
 public:
  struct Parts {
    FlowJournal& journal;
    FlowCaller& calls;
    const Clock& clock;
    /// With its content.
    std::function<void(FlowAnswer, std::string_view)> answer;
    /// Checks a submission elsewhere; it arrives as `Checked`. A document alone (`FlowAsk::check`)
    /// is answered there.
    std::function<void(Asked)> check;
    std::string templates{};  // JSON: what flows may begin from
    /// Looks at hosts elsewhere; arrives as `HostsSeen`, whatever comes of it. Empty: nobody knows
    /// of hosts.
    std::function<void()> look_at_hosts{};
    /// The same of objects of a flow, by its id; arrives as `ObjectsSeen`.
    std::function<void(std::string, std::vector<DataId>)> look_at_objects{};
    /// Looks elsewhere for calls that the process before this one has left; arrives as
    /// `CallsFound`. Then those that no flow wants are cancelled elsewhere.
    std::function<void()> find_calls{};
    std::function<void(std::vector<CallLeft>)> cancel_calls{};
  };
  struct Options {
    std::size_t most_flows = 100;                        // that have not ended
    std::chrono::milliseconds keep{7 * 24 * 3'600'000};  // those that have
  };
  FlowBook(Parts parts, Options options) : parts_(std::move(parts)), options_(options) {}

  /// What is on disk goes on. Errors: those of reading.
  [[nodiscard]] Result<void> restore();
  /// False: the gateway has gone.
  [[nodiscard]] bool take(std::vector<Arrival> arrivals);
  /// What has become due; then tells who waits.
  void look_around();
  /// Until the next look is due.
  [[nodiscard]] std::chrono::nanoseconds patience() const;

 private:
  struct Entry {
    FlowRecord record;
    std::unique_ptr<FlowRun> run;        // null: it is done, or cannot be read
    std::string suspended;               // why; empty: it is not
    std::string brief;                   // of a flow that is done: its summary without nodes
    bool looks_at_objects = false;       // an answer is to come
    MonotonicTime look_at_objects_at{};  // not before
    flow::Time base{};                   // of the engine's time, at `since`
    MonotonicTime since{};
  };
  struct Waiting {
    FlowRequest request;
    MonotonicTime until;
  };

  // Events: flow_book.cpp.
  [[nodiscard]] Result<void> restore(Entry& entry);
  [[nodiscard]] Result<ReadyFlow> read(const FlowRecord& record);
  [[nodiscard]] JournalEvent stamped(const Entry& entry, flow::Event event) const;
  [[nodiscard]] Result<void> tell(Entry& entry, flow::Event event);
  void take_ends(std::vector<CallEnded> ends);
  void tune(Entry& entry);
  [[nodiscard]] bool knows_hosts(const FlowRun& run);
  void see_hosts(const HostsSeen& seen);
  [[nodiscard]] bool is_to_look_at_objects(const Entry& entry) const;
  void want_objects(Entry& entry);
  void see_objects(ObjectsSeen seen);
  void see_calls(CallsFound found);
  [[nodiscard]] bool wants(const CallLeft& call);
  void apply(Entry& entry, const JournalEvent& event);
  void start_calls(Entry& entry, const std::vector<std::uint64_t>& numbers);
  void suspend(Entry& entry, const std::string& why);
  void finish(Entry& entry);
  void read_learned();
  void keep_learned(std::vector<flow::KeptVariants> learned);
  [[nodiscard]] Result<void> forget(const std::string& id);
  void forget_old();

  // Requests: flow_requests.cpp.
  void handle(Asked asked);
  void submit(Asked asked);
  void handle(Checked checked);
  void go_on(Checked checked);
  void list(const FlowRequest& request);
  void show(const FlowRequest& request, Entry& entry);
  void outputs(const FlowRequest& request, Entry& entry);
  void log(const FlowRequest& request, Entry& entry);
  void news(const FlowRequest& request, Entry& entry);
  void cancel(const FlowRequest& request, Entry& entry);
  void retry(const FlowRequest& request, Entry& entry);
  void resume(const FlowRequest& request, Entry& entry);
  void remove(const FlowRequest& request, Entry& entry);
  void answer_waiting();
  void refuse(const FlowRequest& request, Failure failure);
  void answer_document(const FlowRequest& request, const Entry& entry, bool is_new = false);
  [[nodiscard]] static Failure cannot_go_on(const std::string& flow, const Entry& entry);
  [[nodiscard]] Entry* find(const std::string& id);

  // Documents: flow_documents.cpp.
  [[nodiscard]] static std::string state_of(const Entry& entry);
  [[nodiscard]] static bool has_ended(const Entry& entry);
  [[nodiscard]] static std::uint64_t sequence_of(const Entry& entry);
  [[nodiscard]] static nlohmann::ordered_json summary_of(const Entry& entry);
  [[nodiscard]] static std::string document_of(const Entry& entry);
  /// The same without nodes.
  [[nodiscard]] static std::string brief_of(const Entry& entry);
  [[nodiscard]] static std::string without_nodes(const DoneFlow& done);
  /// Server-sent events; empty: nothing is new.
  [[nodiscard]] static std::string news_of(const Entry& entry, std::uint64_t since);

  [[nodiscard]] UnixMillis wall() const;

  Parts parts_;
  Options options_;
  std::map<std::string, Entry> flows_;  // by id
  std::vector<Waiting> waiting_;
  std::vector<flow::KeptVariants> learned_;  // by flows that are done
  MonotonicTime next_cleaning_{};
  bool looks_at_hosts_ = false;              // an answer is to come
  std::optional<MonotonicTime> hosts_seen_;  // when that was
};

}  // namespace orchid::flows
