#include "api/function_reference.h"

#include <algorithm>

namespace orchid::sdk {
namespace {

std::string list_entries(const FunctionInfo& info) {
  std::string text;
  for (const EntryInfo& entry : info.entries) text += (text.empty() ? "" : ", ") + entry.name;
  return text;
}

}  // namespace

Reference split_reference(std::string_view name) {
  Reference reference;
  const auto at = name.find('@');
  if (at != std::string_view::npos) reference.version = name.substr(at);
  const std::string_view head = name.substr(0, at);
  const auto dot = head.find('.');
  if (dot != std::string_view::npos) reference.entry = head.substr(dot + 1);
  reference.function = std::string(head.substr(0, dot)) + reference.version;
  return reference;
}

const EntryInfo& find_entry(const FunctionInfo& info, const Reference& reference) {
  if (reference.entry.empty() && info.entries.size() == 1) return info.entries.front();
  const auto found = std::ranges::find(info.entries, reference.entry, &EntryInfo::name);
  if (found != info.entries.end()) return *found;
  throw Error({.kind = ErrorKind::not_found,
               .message = reference.entry.empty()
                              ? "the function has several entries"
                              : "the function has no entry '" + reference.entry + "'",
               .hint = "name one as " + info.name + ".ENTRY; there are: " + list_entries(info),
               .function = info.name});
}

void check_signature(const FunctionInfo& info, const EntryInfo& entry, std::string_view wanted) {
  if (entry.signature != wanted)
    throw Error({.kind = ErrorKind::signature_mismatch,
                 .message = "the program calls it as " + std::string(wanted) + ", but it is " +
                            (entry.signature.empty() ? "an entry for raw bytes" : entry.signature),
                 .hint = entry.signature.empty()
                             ? "call it with Client::invoke, or define it with ORCHID_FUNCTION"
                             : "change the types in function<...>, or deploy the matching version",
                 .function = info.name + "." + entry.name});
}

}  // namespace orchid::sdk
