#include "database/database.h"

#include <sqlite3.h>

#include <utility>

namespace orchid {

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& file) {
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(file.c_str(), &connection, flags, nullptr);
  std::unique_ptr<Database> database(new Database(connection));
  if (code != SQLITE_OK) return fail(database->failure(code, "open " + file.string()));
  sqlite3_extended_result_codes(connection, 1);
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(connection_);
}

Failure Database::failure(int code, std::string_view step) const {
  const char* text = connection_ != nullptr ? sqlite3_errmsg(connection_) : sqlite3_errstr(code);
  Failure failure{ErrorCode::system, std::string(step) + ": " + text};
  if ((code & 0xff) == SQLITE_FULL) {
    failure.code = ErrorCode::disk_full;
    failure.message += "; free some space on the state directory's file system";
  } else if ((code & 0xff) == SQLITE_CONSTRAINT) {
    failure.code = ErrorCode::conflict;
  } else if ((code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT) {
    failure.code = ErrorCode::bad_configuration;
    failure.message += "; restore the file from a backup, or move it away to start empty";
  }
  return failure;
}

Result<void> Database::execute(const char* sql) {
  const int code = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(failure(code, sql));
  return {};
}

Statement Database::prepare(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr)
    sqlite3_prepare_v3(connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  // A statement that could not be prepared stays null; its first step reports why.
  return {*this, statement};
}

std::int64_t Database::changes() const { return sqlite3_changes64(connection_); }

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      next_(other.next_) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_, next_++, value);
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text64(statement_, next_++, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(std::span<const std::byte> blob) {
  if (blob.empty()) {
    sqlite3_bind_zeroblob(statement_, next_++, 0);
  } else {
    sqlite3_bind_blob64(statement_, next_++, blob.data(), blob.size(), SQLITE_TRANSIENT);
  }
  return *this;
}

Statement& Statement::bind_null() {
  sqlite3_bind_null(statement_, next_++);
  return *this;
}

Statement& Statement::bind_optional(const std::optional<std::string>& text) {
  return text ? bind(std::string_view(*text)) : bind_null();
}

Statement& Statement::bind_optional(const std::optional<std::int64_t>& value) {
  return value ? bind(*value) : bind_null();
}

Result<bool> Statement::step() {
  if (statement_ == nullptr) return fail(database_->failure(SQLITE_ERROR, "prepare a statement"));
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail(database_->failure(code, "store"));
}

Result<void> Statement::run() {
  auto stepped = step();
  if (!stepped) return fail(std::move(stepped.error()));
  return {};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::vector<std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, data + sqlite3_column_bytes(statement_, column)};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

}  // namespace orchid
