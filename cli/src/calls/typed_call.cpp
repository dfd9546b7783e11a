#include "calls/typed_call.h"

#include <algorithm>
#include <utility>

#include "module/npy.h"
#include "module/signature.h"
#include "module/typed_values.h"
#include "protocol/names.h"
#include "terminal/shell.h"

namespace orchid::cli {
namespace {

Result<module::Signature> parsed(const std::string& signature) {
  auto result = module::parse_signature(signature);
  if (!result)
    return fail(std::move(result.error()).while_doing("reading the function's signature"));
  return result;
}

}  // namespace

Result<FoundEntry> find_entry(Client& client, const std::string& text) {
  const auto reference = parse_function_reference(text);
  if (!reference) return fail(reference.error());
  const std::string version =
      reference->version_prefix.empty() ? "" : "@" + reference->version_prefix;
  FunctionInfo info = client.describe(reference->function + version);
  std::string names;
  for (const EntryInfo& entry : info.entries) {
    names += (names.empty() ? "" : ", ") + info.name + "." + entry.name;
    const bool wanted =
        reference->entry.empty() ? info.entries.size() == 1 : entry.name == reference->entry;
    if (!wanted) continue;
    std::string signature = entry.signature;
    return FoundEntry{.function = std::move(info), .signature = std::move(signature)};
  }
  if (reference->entry.empty())
    return fail(ErrorCode::bad_request, "'" + text + "' has several entries; name one: " + names);
  return fail(ErrorCode::not_found,
              "there is no entry '" + reference->entry + "'; there are: " + names);
}

Result<std::string> find_signature(Client& client, const std::string& text) {
  auto entry = find_entry(client, text);
  if (!entry) return fail(std::move(entry.error()));
  if (entry->signature.empty())
    return fail(ErrorCode::bad_request,
                "'" + text + "' takes raw bytes; give them with --in or on standard input");
  return std::move(entry->signature);
}

Result<std::vector<std::byte>> encode_json_arguments(const std::string& text,
                                                     const std::string& json) {
  const auto signature = parsed(text);
  if (!signature) return fail(signature.error());
  return module::encode_arguments(*signature, json);
}

Result<std::vector<std::byte>> encode_npy_arguments(const std::string& text,
                                                    const std::vector<std::string>& files) {
  const auto signature = parsed(text);
  if (!signature) return fail(signature.error());
  std::vector<std::vector<std::byte>> contents;
  contents.reserve(files.size());  // the arrays borrow from them
  std::vector<module::Argument> arguments;
  for (const std::string& file : files) {
    auto content = read_input_file(file);
    if (!content) return fail(std::move(content.error()));
    contents.push_back(std::move(*content));
    auto array = module::read_npy(contents.back());
    if (!array) return fail(std::move(array.error()).while_doing(file));
    arguments.emplace_back(*array);
  }
  return module::encode_arguments(*signature, arguments);
}

Result<std::string> decode_output(const std::string& text, const std::vector<std::byte>& output) {
  const auto signature = parsed(text);
  if (!signature) return fail(signature.error());
  return module::decode_result(*signature, output);
}

}  // namespace orchid::cli
