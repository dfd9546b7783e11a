#include "results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/files.h"
#include "foundation/json_document.h"

namespace orchid::gpu_check {
namespace {

constexpr int met_all = 0;
constexpr int missed_some = 1;
constexpr int nothing_checked = 2;
constexpr int some_unchecked = 3;
constexpr unsigned readable_by_all = 0644;

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::met:
      return "met";
    case Verdict::missed:
      return "missed";
    case Verdict::reported:
      return "reported";
    case Verdict::not_available:
      return "not available";
  }
  return "missed";
}

}  // namespace

void Results::add(Row row) {
  fmt::print(stderr, "  {}: {}\n", row.check, to_string(row.verdict));
  rows_.push_back(std::move(row));
}

void Results::add(std::string check, std::string target, const Failure& failure) {
  add({.check = std::move(check),
       .figure = "none",
       .target = std::move(target),
       .verdict = Verdict::missed,
       .note = failure.message});
}

void Results::not_available(std::string check, std::string target, std::string why) {
  add({.check = std::move(check),
       .figure = "none",
       .target = std::move(target),
       .verdict = Verdict::not_available,
       .note = std::move(why)});
}

std::size_t Results::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(rows_, verdict, &Row::verdict));
}

int Results::exit_status() const {
  if (count(Verdict::missed) != 0) return missed_some;
  if (count(Verdict::met) == 0) return nothing_checked;
  const bool all_checked = std::ranges::none_of(rows_, [](const Row& row) {
    return row.verdict == Verdict::not_available && row.target != no_target;
  });
  return all_checked ? met_all : some_unchecked;
}

void Results::print() const {
  std::size_t check = 0;
  std::size_t figure = 0;
  std::size_t target = 0;
  for (const Row& row : rows_) {
    check = std::max(check, row.check.size());
    figure = std::max(figure, row.figure.size());
    target = std::max(target, row.target.size());
  }
  if (!subject_.model.empty())
    fmt::print("{} ({}), driver for {}, {} cores\n\n", subject_.model, subject_.architecture,
               subject_.driver, subject_.cores);
  // Widths are of bytes: the few signs that have two or three stand in targets, before the last
  // column.
  fmt::print("{:{}}  {:{}}  {:{}}  {}\n", "check", check, "figure", figure, "target", target,
             "verdict");
  for (const Row& row : rows_) {
    fmt::print("{:{}}  {:{}}  {:{}}  {}\n", row.check, check, row.figure, figure, row.target,
               target, to_string(row.verdict));
    if (!row.note.empty()) fmt::print("    {}\n", row.note);
  }
  fmt::print("\n{} met, {} missed, {} reported, {} not available\n", count(Verdict::met),
             count(Verdict::missed), count(Verdict::reported), count(Verdict::not_available));
}

Result<void> Results::write_json(const std::filesystem::path& file) const {
  nlohmann::json checks = nlohmann::json::array();
  for (const Row& row : rows_)
    checks.push_back({{"check", row.check},
                      {"figure", row.figure},
                      {"target", row.target},
                      {"verdict", to_string(row.verdict)},
                      {"note", row.note}});
  const nlohmann::json all{{"orchid", ORCHID_VERSION},   {"model", subject_.model},
                           {"driver", subject_.driver},  {"architecture", subject_.architecture},
                           {"cores", subject_.cores},    {"exit_status", exit_status()},
                           {"checks", std::move(checks)}};
  return write_file_atomically(file, as_bytes(dump_json(all) + "\n"), readable_by_all);
}

}  // namespace orchid::gpu_check
