#include "module/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/json_document.h"
#include "protocol/limits.h"

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
  Json kernels = Json::array();
  for (const Kernel& k : manifest.kernels)
    kernels.push_back({{"name", k.name},
                       {"args_size", k.args_size},
                       {"args_alignment", k.args_alignment},
                       {"group_size", k.group_size},
                       {"local_bytes", k.local_bytes},
                       {"on_cores", k.on_cores}});
  return dump_json({{"abi", manifest.abi},
                    {"digest", manifest.digest},
                    {"size", manifest.size.value},
                    {"entries", entries},
                    {"targets", targets},
                    {"kernels", kernels},
                    {"undefined", manifest.undefined},  // symbols are any bytes
                    {"effects", manifest.effects}});
}

namespace {

void read_kernels(const JsonObject& o, std::vector<Kernel>& kernels) {
  for (const JsonObject& k : o.objects("kernels"))
    kernels.push_back({.name = k.text("name"),
                       .args_size = k.number<std::uint32_t>("args_size"),
                       .args_alignment = k.number<std::uint32_t>("args_alignment"),
                       .group_size = k.number<std::uint32_t>("group_size"),
                       .local_bytes = k.number<std::uint32_t>("local_bytes"),
                       .on_cores = !k.has("on_cores") || k.flag("on_cores")});
  if (kernels.size() > limits::kernels_per_module)
    o.fault("kernels", "are more than " + std::to_string(limits::kernels_per_module));
  if (!std::ranges::is_sorted(kernels, {}, &Kernel::name))
    o.fault("kernels", "are not sorted by name");
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text) {
  const JsonDocument document(text, {.subject = "the manifest"});
  const JsonObject o = document.root();
  Manifest manifest;
  manifest.abi = o.number<decltype(manifest.abi)>("abi");
  manifest.digest = o.text("digest");
  manifest.size = ByteCount{o.number<std::uint64_t>("size")};
  for (const JsonObject& e : o.objects("entries")) {
    Entry& entry = manifest.entries.emplace_back(Entry{.name = e.text("name"), .signature = {}});
    if (e.has("signature")) entry.signature = e.text("signature");
  }
  for (const JsonObject& t : o.objects("targets"))
    manifest.targets.push_back({t.text("triple"), t.text("arch"), t.text("kind"),
                                ByteCount{t.number<std::uint64_t>("size")}});
  if (o.has("kernels")) read_kernels(o, manifest.kernels);
  manifest.undefined = o.texts("undefined");
  manifest.effects = o.texts("effects");
  if (!std::ranges::is_sorted(manifest.entries, {}, &Entry::name))
    o.fault("entries", "are not sorted by name");
  return document.finish(std::move(manifest));
}

}  // namespace orchid::module
