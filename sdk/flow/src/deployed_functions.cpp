#include "flow_run/deployed_functions.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "foundation/files.h"
#include "protocol/names.h"

namespace orchid::flow {
namespace {

constexpr ByteCount largest_document{std::uint64_t{1} << 26};

KnownFunction missing(std::string message) {
  return {.state = KnownFunction::State::missing, .message = std::move(message)};
}

std::string names_of(const FunctionInfo& info) {
  std::string names;
  for (const EntryInfo& entry : info.entries)
    names += (names.empty() ? "" : ", ") + info.name + "." + entry.name;
  return names;
}

std::string exact_reference(const FunctionInfo& info, const EntryInfo& entry) {
  return info.name + "." + entry.name + "@" + info.version.substr(info.version.find(':') + 1);
}

/// The document `file`, which a node of the document `beside` names.
Result<Surroundings::Opened> open_beside(const std::string& file, const std::string& beside) {
  const auto path =
      (std::filesystem::path(beside).parent_path() / file).lexically_normal().string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return fail(ErrorCode::not_found, "there is no file '" + path + "'");
  auto text = read_file(path, largest_document);
  if (!text) return fail(std::move(text.error()));
  return Surroundings::Opened{.file = path, .text = std::string(as_text(*text))};
}

}  // namespace

KnownFunction DeployedFunctions::find(const std::string& text) {
  if (client_ == nullptr) return {};
  const auto reference = parse_function_reference(text);
  if (!reference) return missing(reference.error().message);
  try {
    const FunctionInfo info = client_->describe(
        reference->function +
        (reference->version_prefix.empty() ? "" : "@" + reference->version_prefix));
    if (reference->entry.empty() && info.entries.size() != 1)
      return missing("'" + text + "' has several entries; name one: " + names_of(info));
    const auto entry = reference->entry.empty()
                           ? info.entries.begin()
                           : std::ranges::find(info.entries, reference->entry, &EntryInfo::name);
    if (entry == info.entries.end())
      return missing("there is no entry '" + reference->entry + "'; there are: " + names_of(info));
    if (!info.needs.empty()) needs_.emplace(text, info.needs);
    return {.state = KnownFunction::State::known,
            .signature = entry->signature,
            .exact = exact_reference(info, *entry),
            .message = {}};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found && error.kind() != ErrorKind::bad_request) throw;
    return missing(error.message() + "; deploy it with `orchid deploy`");
  }
}

bool DeployedFunctions::may_keep_files() {
  if (client_ == nullptr) return true;
  const auto document = nlohmann::json::parse(client_->get("/v1/hosts"), nullptr, false);
  if (!document.is_object() || !document.value("hosts", nlohmann::json()).is_array()) return true;
  bool is_any = false;
  for (const auto& host : document["hosts"])
    for (const auto& executor : host.value("executors", nlohmann::json::array())) {
      if (executor.value("state", "") != "connected" || !executor.contains("keeps_data")) continue;
      if (executor.value("keeps_data", false)) return true;
      is_any = true;
    }
  return !is_any;
}

Checked check_flow(const Document& document, DeployedFunctions& functions,
                   std::map<std::string, std::string>* opened) {
  return check(document,
               {.function = [&](const std::string& reference) { return functions.find(reference); },
                .open =
                    [opened](const std::string& file, const std::string& beside) {
                      auto found = open_beside(file, beside);
                      if (found && opened != nullptr) opened->emplace(found->file, found->text);
                      return found;
                    },
                .keeps_files = [&] { return functions.may_keep_files(); }});
}

}  // namespace orchid::flow
