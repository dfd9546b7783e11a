#include "flow/kept_variants.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "flow/devices.h"

namespace orchid::flow {
namespace {

using KeptJson = nlohmann::json;

std::unexpected<Failure> no_variants(const std::string& why) {
  return fail(ErrorCode::bad_request, "what was learned of variants cannot be read: " + why);
}

bool fits(const KeptVariants& kept) {
  return !kept.functions.empty() && std::isfinite(kept.piece_seconds) && kept.piece_seconds >= 0 &&
         kept.functions.size() <= most_variants + 1 && kept.all.size() == kept.functions.size() &&
         std::ranges::all_of(kept.all, [](const KeptVariants::One& one) {
           return std::isfinite(one.relative) && one.relative >= 0;
         });
}

KeptVariants kept_of(const KeptJson& json) {
  KeptVariants kept{.functions = json.at("functions").get<std::vector<std::string>>(),
                    .piece_seconds = json.at("piece_seconds").get<double>(),
                    .all = {}};
  const auto device = json.at("device").get<std::string>();
  const auto relative = json.at("relative").get<std::vector<double>>();
  const auto calls = json.at("calls").get<std::vector<std::uint64_t>>();
  for (const Device known : {Device::any, Device::cores, Device::gpu})
    if (to_string(known) == device) kept.device = known;
  if (to_string(kept.device) != device || relative.size() != calls.size()) return {};
  for (std::size_t i = 0; i < calls.size(); ++i)
    kept.all.push_back({.relative = relative[i], .calls = calls[i]});
  return kept;
}

}  // namespace

std::string to_json(const std::vector<KeptVariants>& kept) {
  KeptJson list = KeptJson::array();
  for (const KeptVariants& one : kept) {
    KeptJson relative = KeptJson::array();
    KeptJson calls = KeptJson::array();
    for (const KeptVariants::One& variant : one.all) {
      relative.push_back(variant.relative);
      calls.push_back(variant.calls);
    }
    list.push_back({{"functions", one.functions},
                    {"device", to_string(one.device)},
                    {"piece_seconds", one.piece_seconds},
                    {"relative", relative},
                    {"calls", calls}});
  }
  return KeptJson{{"variants", list}}.dump(-1, ' ', false, KeptJson::error_handler_t::replace) +
         "\n";
}

Result<std::vector<KeptVariants>> parse_kept_variants(std::string_view text) {
  try {
    std::vector<KeptVariants> all;
    const KeptJson json = KeptJson::parse(text);
    for (const KeptJson& one : json.at("variants")) {
      all.push_back(kept_of(one));
      if (!fits(all.back()) || all.size() > most_kept_variants)
        return no_variants("an entry is damaged, or there are too many");
    }
    return all;
  } catch (const KeptJson::exception& error) {
    return no_variants(error.what());
  }
}

std::vector<KeptVariants> with_learned(std::vector<KeptVariants> kept,
                                       std::vector<KeptVariants> learned) {
  std::erase_if(kept, [&](const KeptVariants& old) {
    return std::ranges::any_of(learned, [&](const KeptVariants& one) {
      return one.device == old.device && one.functions == old.functions;
    });
  });
  std::ranges::move(kept, std::back_inserter(learned));
  if (learned.size() > most_kept_variants) learned.resize(most_kept_variants);
  return learned;
}

}  // namespace orchid::flow
