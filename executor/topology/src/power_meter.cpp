#include "topology/power_meter.h"

#include <string>
#include <system_error>

#include "foundation/files.h"
#include "foundation/numbers.h"

namespace orchid::executor {
namespace {

std::optional<std::uint64_t> read_number(const std::filesystem::path& path) {
  const auto content = read_file(path, 4_KiB);
  if (!content) return std::nullopt;
  return leading_number<std::uint64_t>(as_text(*content));
}

/// "intel-rapl:0", which AMD's processors have as well, and no part of one ("intel-rapl:0:1").
bool is_package(const std::filesystem::path& path) {
  const std::string name = path.filename();
  return name.starts_with("intel-rapl:") && name.find(':') == name.rfind(':');
}

}  // namespace

std::map<std::filesystem::path, PowerMeter::Package> PowerMeter::read() const {
  std::map<std::filesystem::path, Package> packages;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(counters_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!is_package(entry->path())) continue;
    const auto energy = read_number(entry->path() / "energy_uj");
    const auto range = read_number(entry->path() / "max_energy_range_uj");
    if (energy && range) packages[entry->path()] = {.microjoules = *energy, .range = *range};
  }
  return packages;
}

bool PowerMeter::look(MonotonicTime now) {
  if (now - looked_ < interval) return false;
  const auto packages = read();
  const auto before = std::exchange(last_, packages);
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - looked_);
  looked_ = now;
  milliwatts_.reset();
  if (packages.empty() || packages.size() != before.size()) return false;
  std::uint64_t microjoules = 0;
  for (const auto& [path, package] : packages) {
    const auto old = before.find(path);
    if (old == before.end()) return false;
    microjoules += package.microjoules - old->second.microjoules;
    if (package.microjoules < old->second.microjoules) microjoules += package.range;
  }
  milliwatts_ = microjoules / static_cast<std::uint64_t>(passed.count());
  return true;
}

}  // namespace orchid::executor
