// database/database.h: an SQLite file and its statements. Nothing outside this library sees SQLite.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "foundation/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace orchid {

class Database;

/// A prepared statement in use: bind the parameters in order, then `step` until it says false.
/// Resets itself at the end of its life; the database keeps it prepared. Bound text and blobs are
/// copied.
class Statement {
 public:
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& bind(std::int64_t value);
  Statement& bind(std::string_view text);
  Statement& bind(std::span<const std::byte> blob);
  Statement& bind_null();
  Statement& bind_optional(const std::optional<std::string>& text);
  Statement& bind_optional(const std::optional<std::int64_t>& value);

  /// True: a row is there. False: done. Errors: `disk_full`, `conflict` (a unique value exists),
  /// `system`.
  [[nodiscard]] Result<bool> step();
  /// For statements without rows.
  [[nodiscard]] Result<void> run();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::vector<std::byte> blob(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}
  Database* database_;
  sqlite3_stmt* statement_;
  int next_ = 1;
};

/// Owned by one thread at a time.
class Database {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(const std::filesystem::path& file);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// Runs SQL without parameters or rows.
  [[nodiscard]] Result<void> execute(const char* sql);
  /// `sql` must be a literal: it is the key under which the prepared statement is kept.
  [[nodiscard]] Statement prepare(const char* sql);
  /// Rows that the last statement changed.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] Failure failure(int code, std::string_view step) const;

 private:
  explicit Database(sqlite3* connection) : connection_(connection) {}
  sqlite3* connection_;
  std::unordered_map<const char*, sqlite3_stmt*> statements_;
};

}  // namespace orchid
