#include "module/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orchid::module {

using Json = nlohmann::json;

std::optional<std::uint16_t> Manifest::entry_index(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      entries, name, {}, [](const Entry& e) -> std::string_view { return e.name; });
  if (found == entries.end() || found->name != name) return std::nullopt;
  return static_cast<std::uint16_t>(found - entries.begin());
}

std::string to_json(const Manifest& manifest) {
  Json entries = Json::array();
  for (const Entry& e : manifest.entries)
    entries.push_back({{"name", e.name}, {"signature", e.signature ? Json(*e.signature) : Json()}});
  Json targets = Json::array();
  for (const Target& t : manifest.targets)
    targets.push_back(
        {{"triple", t.triple}, {"arch", t.arch}, {"kind", t.kind}, {"size", t.size.value}});
  return Json{{"abi", manifest.abi},         {"digest", manifest.digest},
              {"size", manifest.size.value}, {"entries", entries},
              {"targets", targets},          {"undefined", manifest.undefined},
              {"effects", manifest.effects}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);  // symbols are any bytes
}

Result<Manifest> parse_manifest(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    Manifest manifest;
    manifest.abi = json.at("abi");
    manifest.digest = json.at("digest");
    manifest.size = ByteCount{json.at("size").get<std::uint64_t>()};
    for (const Json& e : json.at("entries")) {
      Entry entry{.name = e.at("name"), .signature = std::nullopt};
      if (!e.at("signature").is_null()) entry.signature = e.at("signature").get<std::string>();
      manifest.entries.push_back(std::move(entry));
    }
    for (const Json& t : json.at("targets"))
      manifest.targets.push_back({t.at("triple"), t.at("arch"), t.at("kind"),
                                  ByteCount{t.at("size").get<std::uint64_t>()}});
    manifest.undefined = json.at("undefined").get<std::vector<std::string>>();
    manifest.effects = json.at("effects").get<std::vector<std::string>>();
    if (!std::ranges::is_sorted(manifest.entries, {}, &Entry::name))
      return fail(ErrorCode::bad_request, "the manifest's entries are not sorted");
    return manifest;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::bad_request, std::string("not a manifest: ") + error.what());
  }
}

}  // namespace orchid::module
