#include "utilisation/swf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace orchid::utilisation {
namespace {

constexpr std::size_t fields = 18;
// Their places, counted from 0.
constexpr std::size_t submit_time = 1;
constexpr std::size_t run_time = 3;
constexpr std::size_t processors_allocated = 4;
constexpr std::size_t processors_requested = 7;
constexpr std::size_t time_requested = 8;

constexpr double most_seconds = 1e10;  // three centuries: what lies beyond is no time

std::string_view next_word(std::string_view& line) {
  const auto begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return line = {};
  const auto end = std::min(line.find_first_of(" \t\r", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  if (std::isnan(value) || value < -1 || value > most_seconds) return std::nullopt;
  return value;
}

SimTime seconds_of(double seconds) { return SimTime(std::llround(seconds * 1000)); }

struct Header {
  std::uint32_t nodes = 0;
  std::uint32_t processors = 0;
};

/// "; MaxNodes: 128", and nothing else.
void read_comment(std::string_view line, Header& header) {
  line.remove_prefix(1);
  const std::string_view name = next_word(line);
  const auto value = number_of(next_word(line));
  if (!value || *value < 1 || *value > 1e8) return;
  if (name == "MaxNodes:") header.nodes = static_cast<std::uint32_t>(*value);
  if (name == "MaxProcs:") header.processors = static_cast<std::uint32_t>(*value);
}

Result<std::optional<TraceJob>> read_job(std::string_view line, std::size_t line_number) {
  std::array<double, fields> values{};
  for (std::size_t i = 0; i < fields; ++i) {
    const std::string_view word = next_word(line);
    if (word.empty())
      return fail(ErrorCode::bad_request,
                  fmt::format("line {}: {} numbers where a job has {}", line_number, i, fields));
    const auto value = number_of(word);
    if (!value)
      return fail(ErrorCode::bad_request,
                  fmt::format("line {}: '{}' is not a number of -1 or more", line_number, word));
    values[i] = *value;
  }
  if (!next_word(line).empty())
    return fail(ErrorCode::bad_request,
                fmt::format("line {}: more than {} numbers", line_number, fields));
  const double cores = values[processors_requested] > 0 ? values[processors_requested]
                                                        : values[processors_allocated];
  if (cores < 1 || cores > 1e8 || values[run_time] <= 0 || values[submit_time] < 0)
    return std::nullopt;
  const SimTime runtime = seconds_of(values[run_time]);
  return TraceJob{.submitted = seconds_of(values[submit_time]),
                  .cores = static_cast<std::uint32_t>(cores),
                  .runtime = runtime,
                  .limit = values[time_requested] > 0
                               ? seconds_of(values[time_requested])
                               : std::chrono::ceil<std::chrono::minutes>(runtime)};
}

}  // namespace

Result<SwfTrace> parse_swf(std::string_view text) {
  SwfTrace read;
  Header header;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) continue;
    if (line.front() == ';') {
      read_comment(line, header);
      continue;
    }
    auto job = read_job(line, line_number);
    if (!job) return fail(std::move(job.error()));
    if (*job)
      read.trace.jobs.push_back(**job);
    else
      ++read.skipped;
  }
  auto& jobs = read.trace.jobs;
  if (jobs.empty()) return fail(ErrorCode::bad_request, "the trace has no job that ran");
  std::ranges::stable_sort(jobs, {}, &TraceJob::submitted);
  const SimTime first = jobs.front().submitted;
  std::uint64_t number = 0;  // the file's own may repeat
  for (TraceJob& job : jobs) {
    job.id = ++number;
    job.submitted -= first;
  }
  read.trace.end = jobs.back().submitted;
  if (header.nodes != 0 && header.processors != 0 && header.processors % header.nodes == 0)
    read.shape =
        ClusterShape{.nodes = header.nodes, .cores_per_node = header.processors / header.nodes};
  return read;
}

}  // namespace orchid::utilisation
