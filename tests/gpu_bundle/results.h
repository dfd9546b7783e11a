// results.h: what the checks have found: one table for people, and the same as JSON.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"

namespace orchid::gpu_check {

enum class Verdict : std::uint8_t {
  met,
  missed,
  reported,       // a figure without a target
  not_available,  // this machine does not let it be checked
};

/// What a figure has as its target that is only reported.
constexpr const char* no_target = "none";

struct Row {
  std::string check;
  std::string figure;
  std::string target;
  Verdict verdict = Verdict::missed;
  std::string note = {};  // a line for people: why, or what else belongs to it
};

/// What the figures are of.
struct Subject {
  std::string model;
  std::string driver;
  std::string architecture;
  unsigned cores = 0;
};

class Results {
 public:
  void add(Row row);
  void add(std::string check, std::string target, const Failure& failure);
  /// What stands on this machine's way to a check.
  void not_available(std::string check, std::string target, std::string why);
  void set_subject(Subject subject) { subject_ = std::move(subject); }

  /// To standard output.
  void print() const;
  [[nodiscard]] Result<void> write_json(const std::filesystem::path& file) const;
  /// 0: all targets are met, 1: one is missed, 2: nothing could be checked, 3: what could be
  /// checked is met, and some targets could not.
  [[nodiscard]] int exit_status() const;

 private:
  [[nodiscard]] std::size_t count(Verdict verdict) const;

  Subject subject_;
  std::vector<Row> rows_;
};

}  // namespace orchid::gpu_check
