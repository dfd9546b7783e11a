// ptx_folder.h: where the bundle's PTX for a card lies.
#pragma once
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace orchid::gpu_check {

/// The number in "sm_90"; nothing: it is no name of an architecture.
[[nodiscard]] inline std::optional<unsigned> generation_of(std::string_view architecture) {
  unsigned number = 0;
  if (!architecture.starts_with("sm_")) return std::nullopt;
  const char* const end = architecture.data() + architecture.size();
  const auto [stop, error] = std::from_chars(architecture.data() + 3, end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// Of the folders sm_75, sm_80, … in `ptx`, the newest that is not newer than the card; nothing:
/// the card is older than all. A driver compiles what is for an older card.
[[nodiscard]] inline std::optional<std::filesystem::path> find_ptx_folder(
    const std::filesystem::path& ptx, std::string_view card) {
  const auto wanted = generation_of(card);
  std::optional<std::filesystem::path> best;
  unsigned best_generation = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(ptx, error)) {
    const auto generation = generation_of(entry.path().filename().string());
    if (!generation || !wanted || *generation > *wanted || *generation <= best_generation) continue;
    best = entry.path();
    best_generation = *generation;
  }
  return best;
}

}  // namespace orchid::gpu_check
