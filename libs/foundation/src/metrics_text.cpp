#include "foundation/metrics_text.h"

#include <fmt/format.h>

#include <cassert>
#include <iterator>

namespace orchid {
namespace {

std::string_view to_string(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter:
      return "counter";
    case MetricKind::gauge:
      return "gauge";
    case MetricKind::histogram:
      return "histogram";
  }
  return "untyped";
}

void add_escaped(std::string& text, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
  }
}

}  // namespace

void MetricsText::describe(MetricKind kind, std::string_view name, std::string_view help) {
  assert(text_.find(fmt::format("# TYPE {} ", name)) == std::string::npos &&
         "each metric is one folder's");
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                 to_string(kind));
}

void MetricsText::add(std::string_view suffix, Labels labels, std::string_view value) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const Label& label : labels) {
    text_ += before;
    text_.append(label.name).append("=\"");
    add_escaped(text_, label.value);
    text_ += '"';
    before = ',';
  }
  text_.append(labels.size() == 0 ? " " : "} ").append(value) += '\n';
}

void MetricsText::sample(std::uint64_t value, Labels labels) {
  add("", labels, fmt::format("{}", value));
}

void MetricsText::sample(double value, Labels labels) { add("", labels, fmt::format("{}", value)); }

void MetricsText::counter(std::string_view name, std::string_view help, std::uint64_t value) {
  describe(MetricKind::counter, name, help);
  sample(value);
}

void MetricsText::gauge(std::string_view name, std::string_view help, std::uint64_t value) {
  describe(MetricKind::gauge, name, help);
  sample(value);
}

void MetricsText::histogram(std::string_view name, std::string_view help, const Histogram& values) {
  assert(values.counts.size() == values.bounds.size() + 1);
  describe(MetricKind::histogram, name, help);
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < values.counts.size(); ++i) {
    cumulative += values.counts[i];
    const std::string bound =
        i < values.bounds.size() ? fmt::format("{:g}", values.bounds[i]) : "+Inf";
    add("_bucket", {{"le", bound}}, fmt::format("{}", cumulative));
  }
  add("_sum", {}, fmt::format("{:.6f}", values.sum));
  add("_count", {}, fmt::format("{}", cumulative));
}

}  // namespace orchid
