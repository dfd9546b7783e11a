// setting.h: one setting of the gateway: its name, and how its text becomes a field.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/amounts.h"
#include "foundation/log.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "tenants/token_book.h"

namespace orchid::gateway {

using Apply = std::function<Result<void>(const std::string& value)>;

struct Setting {
  std::string name;  // as in the file
  std::string help;
  Apply apply;
};

[[nodiscard]] std::unexpected<Failure> wrong(const std::string& value, const std::string& expected);
[[nodiscard]] std::unexpected<Failure> wrong(Failure read);

/// Each writes to its field, which outlives it. Errors: `bad_configuration`.
template <typename Number>
[[nodiscard]] Apply number(Number& field, Number least, Number most) {
  return [&field, least, most](const std::string& value) -> Result<void> {
    auto parsed = parse_whole_number(
        value, {static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(most)});
    if (!parsed) return wrong(std::move(parsed.error()));
    field = static_cast<Number>(*parsed);
    return {};
  };
}

/// From 10 ms on.
[[nodiscard]] Apply duration(std::chrono::milliseconds& field,
                             std::chrono::milliseconds most = std::chrono::hours(1));
[[nodiscard]] Apply size(ByteCount& field, ByteCount least);
/// Any. The field has nothing until it is set.
[[nodiscard]] Apply size(std::optional<ByteCount>& field);
[[nodiscard]] Apply text(std::string& field);
[[nodiscard]] Apply truth(bool& field);
[[nodiscard]] Apply path(std::filesystem::path& field);
/// With commas in between.
[[nodiscard]] Apply list(std::vector<std::string>& field);
[[nodiscard]] Apply log_level(LogLevel& field);
[[nodiscard]] Apply socket_users(SocketUsers& field);

}  // namespace orchid::gateway
