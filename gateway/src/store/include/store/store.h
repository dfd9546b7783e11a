// store/store.h: the durable state of the gateway: functions, tokens, asynchronous invocations,
// audit.
//
// One SQLite file and a spool of large payloads. A thread of its own owns both. Requests that wait
// together become one transaction, so that a sync to disk is shared by all of them; each is a
// savepoint, so that one that fails spoils no other.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "database/database.h"
#include "foundation/result.h"
#include "foundation/task.h"
#include "foundation/unique_fd.h"
#include "store/records.h"
#include "store/spool.h"

namespace orchid::gateway {

/// Called once, on the store's thread, when the request is durable or has failed.
template <typename T>
using Completion = std::function<void(Result<T>)>;

/// A completion that runs on another thread.
template <typename T, typename F>
[[nodiscard]] Completion<T> on_thread(Poster poster, F function) {
  return [poster = std::move(poster), function = std::move(function)](Result<T> result) mutable {
    poster([function = std::move(function), result = std::move(result)]() mutable {
      function(std::move(result));
    });
  };
}

/// `load`, `add_token` and `withdraw_token` belong to the thread that opened it, before `start`.
/// All other requests: any thread.
class Store {
 public:
  /// Takes the directory's lock. Errors: `conflict` (another gateway), `bad_configuration`,
  /// `denied`, `system`.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(const std::filesystem::path& directory);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  /// Stops if need be.
  ~Store();

  [[nodiscard]] Result<StartUpState> load();
  [[nodiscard]] Result<void> add_token(const TokenRecord& token, UnixMillis created);
  [[nodiscard]] Result<void> withdraw_token(const TokenRecord& token, UnixMillis at);
  void start();
  /// Finishes what waits; the completions of later requests are never called.
  void stop();
  /// At this many waiting requests new asynchronous calls are refused by those who make them.
  [[nodiscard]] std::size_t waiting() const;

  /// Versions in `replaced` are dropped with the same stroke.
  void put_version(VersionRecord version, Payload module, std::vector<std::string> replaced,
                   AuditRecord audit, Completion<void> done);
  void set_options(uid_t tenant, std::string function, StoredOptions options, AuditRecord audit,
                   Completion<void> done);
  void delete_function(uid_t tenant, std::string function, AuditRecord audit,
                       Completion<void> done);
  void insert(InvocationRecord record, Payload input, Completion<InsertedInvocation> done);
  /// That it waits, or has started.
  void mark(const InvocationRecord& unfinished, Completion<void> done);
  void finish(FinishedInvocation finished, Completion<void> done);
  void find(uid_t tenant, std::string id, Completion<std::optional<InvocationRecord>> done);
  void list(InvocationFilter filter, Completion<std::vector<InvocationRecord>> done);
  void read_payload(std::string id, PayloadKind kind, Completion<std::vector<std::byte>> done);
  /// Forgets invocations that ended before `before`, a bounded number at a time; says how many.
  void forget_finished(UnixMillis before, Completion<std::size_t> done);

 private:
  struct Job {
    virtual ~Job() = default;
    virtual Result<void> run(Store& store) = 0;            // inside the transaction
    virtual void finish(const Result<void>& outcome) = 0;  // after it
  };
  template <typename T, typename Work>
  struct TypedJob;

  Store(UniqueFd lock, std::unique_ptr<Database> database, Spool spool);
  template <typename T, typename Work>
  void submit(Work work, Completion<T> done);
  void work();
  void run_batch(std::vector<std::unique_ptr<Job>> batch);
  [[nodiscard]] Result<void> run_in_transaction(std::vector<std::unique_ptr<Job>>& batch,
                                                std::vector<Result<void>>& outcomes);
  [[nodiscard]] Result<std::size_t> forget(UnixMillis before);
  [[nodiscard]] Result<void> drop_versions_deleted_long_before(UnixMillis now);
  [[nodiscard]] bool is_spool_file_used(const std::string& digest);

  UniqueFd lock_;
  std::unique_ptr<Database> database_;
  Spool spool_;
  std::vector<std::string> unused_;  // spool files to remove once the transaction is durable
  mutable std::mutex mutex_;         // guards the two below, nothing else
  std::vector<std::unique_ptr<Job>> inbox_;
  bool stopping_ = false;
  std::condition_variable something_came_;
  Poster wake_;  // once for requests that come together
  std::jthread thread_;
};

}  // namespace orchid::gateway
