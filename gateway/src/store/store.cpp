#include "store/store.h"

#include <chrono>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>

#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/posts_together.h"
#include "protocol/digest.h"
#include "protocol/limits.h"
#include "store/function_rows.h"
#include "store/invocation_rows.h"
#include "store/schema.h"
#include "store/state_lock.h"
#include "store/token_rows.h"

namespace orchid::gateway {
namespace {
constexpr std::chrono::milliseconds keep_deleted_for{60'000};

/// What an idempotency key stands for.
std::string digest_of_request(const std::string& reference, std::span<const std::byte> input) {
  return digest_of(as_bytes(reference + "\n" + digest_of(input)));
}

bool is_same_request(const InvocationRecord& earlier, const InvocationRecord& now) {
  // An older gateway kept only the function's name.
  return earlier.request.empty() ? earlier.function == now.function
                                 : earlier.request == now.request;
}

AuditRecord of_token(const TokenRecord& token, const char* action, UnixMillis at) {
  return {
      .at = at, .tenant = token.tenant.uid, .action = action, .subject = token.label, .detail = ""};
}
}  // namespace

template <typename T, typename Work>
struct Store::TypedJob final : Job {
  TypedJob(Work w, Completion<T> d) : work(std::move(w)), done(std::move(d)) {}
  Result<void> run(Store& store) override {
    result = work(store);
    if (!result) return fail(result.error());
    return {};
  }
  void finish(const Result<void>& outcome) override {
    if (!done) return;
    if (outcome) {
      done(std::move(result));
    } else {
      done(fail(outcome.error()));
    }
  }
  Work work;
  Completion<T> done;
  Result<T> result = fail(ErrorCode::internal, "the store did not run the request");
};

Result<std::unique_ptr<Store>> Store::open(const std::filesystem::path& directory) {
  if (auto made = make_private_directory(directory); !made) return fail(std::move(made.error()));
  auto lock = lock_state_directory(directory);
  if (!lock) return fail(std::move(lock.error()));
  auto database = Database::open(directory / "orchid.db");
  if (!database) return fail(std::move(database.error()));
  if (auto prepared = prepare_schema(**database); !prepared)
    return fail(std::move(prepared.error()).while_doing((directory / "orchid.db").string()));
  auto spool = Spool::open(directory / "spool");
  if (!spool) return fail(std::move(spool.error()));
  return std::unique_ptr<Store>(
      new Store(std::move(*lock), std::move(*database), std::move(*spool)));
}

Store::Store(UniqueFd lock, std::unique_ptr<Database> database, Spool spool)
    : lock_(std::move(lock)),
      database_(std::move(database)),
      spool_(std::move(spool)),
      wake_(PostsTogether::together([this](const Task&) { something_came_.notify_one(); })) {}

Store::~Store() { stop(); }

Result<StartUpState> Store::load() {
  StartUpState state;
  auto epoch = advance_counter(*database_, "epoch");
  if (!epoch) return fail(std::move(epoch.error()));
  state.epoch = *epoch;
  auto identity = read_identity(*database_);
  if (!identity) return fail(std::move(identity.error()));
  state.identity = std::move(*identity);
  auto tokens = read_tokens(*database_);
  if (!tokens) return fail(std::move(tokens.error()));
  state.tokens = std::move(*tokens);
  if (auto dropped = drop_deleted_versions(*database_, std::numeric_limits<UnixMillis>::max());
      !dropped)
    return fail(std::move(dropped.error()));
  spool_.sweep([this](const std::string& digest) { return is_spool_file_used(digest); });
  auto versions = read_versions(*database_);
  if (!versions) return fail(std::move(versions.error()));
  for (VersionRecord& version : *versions) {
    auto module = spool_.get(version.digest, limits::module_size);
    if (!module) {
      log::error("event=module_lost function={} version={} reason=\"{}\"", version.function,
                 version.digest, module.error().message);
      continue;
    }
    version.module = std::move(*module);
    state.versions.push_back(std::move(version));
  }
  auto unfinished = unfinished_invocations(*database_);
  if (!unfinished) return fail(std::move(unfinished.error()));
  state.unfinished = std::move(*unfinished);
  return state;
}

bool Store::is_spool_file_used(const std::string& digest) {
  return is_payload_used(*database_, digest).value_or(true) ||
         is_module_used(*database_, digest).value_or(true);
}

Result<void> Store::add_token(const TokenRecord& token, UnixMillis created) {
  if (auto inserted = insert_token(*database_, token, created); !inserted) return inserted;
  return insert_audit(*database_, of_token(token, "token_made", created));
}

Result<void> Store::withdraw_token(const TokenRecord& token, UnixMillis at) {
  if (auto deleted = delete_token(*database_, token.hash); !deleted) return deleted;
  return insert_audit(*database_, of_token(token, "token_withdrawn", at));
}

void Store::start() {
  thread_ = std::jthread([this] { work(); });
}

void Store::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  something_came_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::size_t Store::waiting() const {
  const std::lock_guard guard(mutex_);
  return inbox_.size();
}

template <typename T, typename Work>
void Store::submit(Work work, Completion<T> done) {
  auto job = std::make_unique<TypedJob<T, Work>>(std::move(work), std::move(done));
  {
    const std::lock_guard guard(mutex_);
    inbox_.push_back(std::move(job));
  }
  wake_([] {});
}

void Store::work() {
  while (true) {
    std::vector<std::unique_ptr<Job>> batch;
    {
      std::unique_lock guard(mutex_);
      something_came_.wait(guard, [this] { return stopping_ || !inbox_.empty(); });
      if (inbox_.empty()) return;
      batch.swap(inbox_);
    }
    run_batch(std::move(batch));
  }
}

Result<void> Store::run_in_transaction(std::vector<std::unique_ptr<Job>>& batch,
                                       std::vector<Result<void>>& outcomes) {
  if (auto begun = database_->execute("BEGIN IMMEDIATE"); !begun) return begun;
  for (const auto& job : batch) {
    if (auto saved = database_->execute("SAVEPOINT job"); !saved) return saved;
    outcomes.push_back(job->run(*this));
    if (!outcomes.back())
      if (auto undone = database_->execute("ROLLBACK TO job"); !undone) return undone;
    if (auto released = database_->execute("RELEASE job"); !released) return released;
  }
  return database_->execute("COMMIT");
}

void Store::run_batch(std::vector<std::unique_ptr<Job>> batch) {
  std::vector<Result<void>> outcomes;
  outcomes.reserve(batch.size());
  auto committed = run_in_transaction(batch, outcomes);
  if (committed) {
    for (const std::string& digest : unused_) {
      // A later request of the batch may have named the same content again. When in doubt a file
      // stays.
      if (!is_spool_file_used(digest)) spool_.remove(digest);
    }
  } else {
    log::error("event=store_failed reason=\"{}\"", committed.error().message);
    if (auto undone = database_->execute("ROLLBACK"); !undone)
      log::warn("event=store_rollback_failed reason=\"{}\"", undone.error().message);
  }
  unused_.clear();
  const PostsTogether posts;
  for (std::size_t i = 0; i < batch.size(); ++i)
    batch[i]->finish(committed ? outcomes[i] : committed);
}

void Store::put_version(VersionRecord version, Payload module, std::vector<std::string> replaced,
                        AuditRecord audit, Completion<void> done) {
  submit<void>(
      [version = std::move(version), module = std::move(module), replaced = std::move(replaced),
       audit = std::move(audit)](Store& store) -> Result<void> {
        // The file first: a row never names what is not on the disk.
        auto digest = store.spool_.put(module.bytes);
        if (!digest) return fail(std::move(digest.error()));
        if (auto written = write_version(*store.database_, version); !written) return written;
        for (const std::string& old : replaced) {
          auto marked = mark_version_deleted(*store.database_, version.tenant, version.function,
                                             old, version.created);
          if (!marked) return marked;
        }
        if (auto dropped = store.drop_versions_deleted_long_before(version.created); !dropped)
          return dropped;
        return insert_audit(*store.database_, audit);
      },
      std::move(done));
}

void Store::delete_function(uid_t tenant, std::string function, AuditRecord audit,
                            Completion<void> done) {
  submit<void>(
      [tenant, function = std::move(function),
       audit = std::move(audit)](Store& store) -> Result<void> {
        auto marked = mark_function_deleted(*store.database_, tenant, function, audit.at);
        if (!marked) return marked;
        if (auto dropped = store.drop_versions_deleted_long_before(audit.at); !dropped)
          return dropped;
        return insert_audit(*store.database_, audit);
      },
      std::move(done));
}

void Store::set_options(uid_t tenant, std::string function, StoredOptions options,
                        AuditRecord audit, Completion<void> done) {
  submit<void>(
      [tenant, function = std::move(function), options = std::move(options),
       audit = std::move(audit)](Store& store) -> Result<void> {
        auto written = write_options(*store.database_, tenant, function, options);
        if (!written) return written;
        return insert_audit(*store.database_, audit);
      },
      std::move(done));
}

/// Not at once: a call that was accepted just before may not have its row yet.
Result<void> Store::drop_versions_deleted_long_before(UnixMillis now) {
  auto dropped = drop_deleted_versions(*database_, now - keep_deleted_for.count());
  if (!dropped) return fail(std::move(dropped.error()));
  unused_.insert(unused_.end(), dropped->begin(), dropped->end());
  return {};
}

void Store::insert(InvocationRecord record, Payload input, Completion<InsertedInvocation> done) {
  submit<InsertedInvocation>(
      [record = std::move(record),
       input = std::move(input)](Store& store) -> Result<InsertedInvocation> {
        InvocationRecord row = record;
        row.request = record.idempotency_key ? digest_of_request(record.request, input.bytes) : "";
        if (row.idempotency_key) {
          auto earlier = find_by_key(*store.database_, row.tenant, *row.idempotency_key);
          if (!earlier) return fail(std::move(earlier.error()));
          if (*earlier)
            return InsertedInvocation{.existed = true,
                                      .same_request = is_same_request(**earlier, row),
                                      .record = std::move(**earlier)};
        }
        if (auto inserted = insert_invocation(*store.database_, row); !inserted)
          return fail(std::move(inserted.error()));
        auto written =
            write_payload(*store.database_, store.spool_, row.id, PayloadKind::input, input.bytes);
        if (!written) return fail(std::move(written.error()));
        return InsertedInvocation{.existed = false, .record = std::move(row)};
      },
      std::move(done));
}

void Store::mark(const InvocationRecord& unfinished, Completion<void> done) {
  submit<void>([id = unfinished.id, state = unfinished.state, attempts = unfinished.attempts](
                   Store& store) { return mark_unfinished(*store.database_, id, state, attempts); },
               std::move(done));
}

void Store::finish(FinishedInvocation finished, Completion<void> done) {
  submit<void>(
      [finished = std::move(finished)](Store& store) -> Result<void> {
        const std::string& id = finished.record.id;
        if (auto marked = mark_finished(*store.database_, finished.record); !marked) return marked;
        // The input is needed no more.
        auto unused = drop_payload(*store.database_, id, PayloadKind::input);
        if (!unused) return fail(std::move(unused.error()));
        if (*unused) store.unused_.push_back(std::move(**unused));
        auto written = write_payload(*store.database_, store.spool_, id, PayloadKind::output,
                                     finished.output.bytes);
        if (!written) return written;
        return write_payload(*store.database_, store.spool_, id, PayloadKind::log,
                             as_bytes(finished.log));
      },
      std::move(done));
}

void Store::find(uid_t tenant, std::string id, Completion<std::optional<InvocationRecord>> done) {
  submit<std::optional<InvocationRecord>>(
      [tenant, id = std::move(id)](Store& store) {
        return find_invocation(*store.database_, tenant, id);
      },
      std::move(done));
}

void Store::list(InvocationFilter filter, Completion<std::vector<InvocationRecord>> done) {
  submit<std::vector<InvocationRecord>>(
      [filter](Store& store) { return list_invocations(*store.database_, filter); },
      std::move(done));
}

void Store::read_payload(std::string id, PayloadKind kind,
                         Completion<std::vector<std::byte>> done) {
  submit<std::vector<std::byte>>(
      [id = std::move(id), kind](Store& store) {
        return gateway::read_payload(*store.database_, store.spool_, id, kind);
      },
      std::move(done));
}

Result<std::size_t> Store::forget(UnixMillis before) {
  // Few at a time: others wait for the same transaction.
  constexpr std::size_t at_once = 500;
  auto ids = finished_before(*database_, before, at_once);
  if (!ids) return fail(std::move(ids.error()));
  for (const std::string& id : *ids) {
    for (const PayloadKind kind : {PayloadKind::input, PayloadKind::output, PayloadKind::log}) {
      auto unused = drop_payload(*database_, id, kind);
      if (!unused) return fail(std::move(unused.error()));
      if (*unused) unused_.push_back(std::move(**unused));
    }
    if (auto dropped = drop_invocation(*database_, id); !dropped)
      return fail(std::move(dropped.error()));
  }
  return ids->size();
}

void Store::forget_finished(UnixMillis before, Completion<std::size_t> done) {
  submit<std::size_t>([before](Store& store) { return store.forget(before); }, std::move(done));
}

}  // namespace orchid::gateway
