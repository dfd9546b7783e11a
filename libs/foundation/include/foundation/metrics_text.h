// foundation/metrics_text.h: what Prometheus reads at /metrics (its text format, version 0.0.4).
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace orchid {

enum class MetricKind : std::uint8_t { counter, gauge, histogram };

/// A value. Each metric is described once, with its samples beneath; whoever has metrics adds them
/// to the text that it is given. Names and descriptions are the code's own, a label's value may be
/// any text.
class MetricsText {
 public:
  struct Label {
    std::string_view name;
    std::string_view value;
  };
  using Labels = std::initializer_list<Label>;
  /// `counts` has one more than `bounds`: what was above the last.
  struct Histogram {
    std::span<const double> bounds;  // ascending, each included
    std::span<const std::uint64_t> counts;
    double sum = 0;
  };

  /// The samples that follow are of this metric. No name comes twice.
  void describe(MetricKind kind, std::string_view name, std::string_view help);
  void sample(std::uint64_t value, Labels labels = {});
  void sample(double value, Labels labels);

  /// Metrics with one sample.
  void counter(std::string_view name, std::string_view help, std::uint64_t value);
  void gauge(std::string_view name, std::string_view help, std::uint64_t value);
  void histogram(std::string_view name, std::string_view help, const Histogram& values);

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void add(std::string_view suffix, Labels labels, std::string_view value);

  std::string text_;
  std::string name_;  // of the metric that samples are of
};

}  // namespace orchid
