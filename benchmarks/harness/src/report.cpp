#include "harness/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace orchid::bench {

namespace {

/// Four significant digits, without an exponent for the sizes that occur.
std::string number(double value) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  const int digits = static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(4 - digits, 0, 6));
}

std::string_view word_for(Verdict verdict) {
  switch (verdict) {
    case Verdict::met:
      return "met";
    case Verdict::missed:
      return "MISSED";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::measured:
      return "";
  }
  return "";
}

constexpr std::size_t columns = 10;
using Cells = std::array<std::string, columns>;

Cells cells_of(const Row& row) {
  Cells cells{row.row, row.unit, number(row.value.p50), number(row.value.p99)};
  if (row.baseline) {
    cells[4] = number(row.baseline_value.p50);
    cells[5] = number(row.baseline_value.p99);
  }
  if (row.ratio) cells[6] = number(*row.ratio);
  cells[7] = fmt::format("[{}, {}]", number(row.interval.low), number(row.interval.high));
  if (row.target) cells[8] = row.target->text();
  cells[9] = word_for(row.verdict);
  return cells;
}

}  // namespace

bool Target::met_by(const Interval& interval) const {
  return direction == Direction::at_most ? interval.low <= bound : interval.high >= bound;
}

std::string Target::text() const {
  return fmt::format("{} {}", direction == Direction::at_most ? "<=" : ">=", bound);
}

std::string table_of(const std::vector<Row>& rows) {
  std::vector<Cells> lines{{"row", "unit", "p50", "p99", "base p50", "base p99", "ratio",
                            "95 % interval", "target", ""}};
  for (const Row& row : rows) lines.push_back(cells_of(row));
  std::array<std::size_t, columns> widths{};
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Cells& line : lines) {
    // Names to the left, numbers to the right.
    std::string out = fmt::format("{:<{}}  {:<{}}", line[0], widths[0], line[1], widths[1]);
    for (std::size_t i = 2; i < 9; ++i) out += fmt::format("  {:>{}}", line[i], widths[i]);
    out += "  " + line[9];
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  }
  for (const Row& row : rows) {
    if (!row.baseline) continue;
    text += fmt::format("baseline of {}: {}; {}{}{}\n", row.row, row.baseline->what,
                        row.baseline->environment, row.baseline->environment.empty() ? "" : " ",
                        row.baseline->command);
  }
  return text;
}

std::string json_of(const std::vector<Row>& rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json out;
    out["benchmark"] = row.benchmark;
    out["row"] = row.row;
    out["unit"] = row.unit;
    out["p50"] = row.value.p50;
    out["p99"] = row.value.p99;
    if (row.baseline) {
      out["baseline"] = {{"what", row.baseline->what},
                         {"command", row.baseline->command},
                         {"environment", row.baseline->environment},
                         {"p50", row.baseline_value.p50},
                         {"p99", row.baseline_value.p99}};
    } else {
      out["baseline"] = nullptr;
    }
    if (row.ratio) {
      out["ratio"] = *row.ratio;
    } else {
      out["ratio"] = nullptr;
    }
    out["interval"] = {row.interval.low, row.interval.high};
    if (row.target) {
      out["target"] = row.target->text();
      out["met"] = row.verdict == Verdict::met;
    } else {
      out["target"] = nullptr;
      out["met"] = nullptr;
    }
    out["inconclusive"] = row.verdict == Verdict::inconclusive;
    all.push_back(std::move(out));
  }
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int exit_status_of(const std::vector<Row>& rows) {
  const auto any = [&](Verdict verdict) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Row& row) { return row.verdict == verdict; });
  };
  if (any(Verdict::inconclusive)) return 2;
  return any(Verdict::missed) ? 1 : 0;
}

}  // namespace orchid::bench
