#include "flow_submission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "flow/document.h"
#include "foundation/base64.h"
#include "foundation/files.h"

namespace orchid::flows {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_faults = 50;

std::unexpected<Failure> wrong(std::string message) {
  return fail(ErrorCode::bad_request, std::move(message));
}

/// Errors: `bad_request`. A missing object is an empty one.
Result<void> for_each(const Json& json, const char* key,
                      const std::function<Result<void>(const std::string&, const Json&)>& take) {
  const auto found = json.find(key);
  if (found == json.end()) return {};
  if (!found->is_object()) return wrong(fmt::format("'{}' must be an object", key));
  for (const auto& [name, value] : found->items())
    if (auto taken = take(name, value); !taken) return taken;
  return {};
}

Result<std::string> text_of(const Json& json, const std::string& what) {
  if (!json.is_string()) return wrong(fmt::format("{} must be a text", what));
  return json.get<std::string>();
}

Result<void> read_values(const Json& json, Submission& submission) {
  if (auto read = for_each(json, "files",
                           [&](const std::string& name, const Json& value) -> Result<void> {
                             auto text = text_of(value, "file '" + name + "'");
                             if (!text) return fail(std::move(text.error()));
                             submission.files.emplace(name, std::move(*text));
                             return {};
                           });
      !read)
    return read;
  if (auto read = for_each(json, "inputs",
                           [&](const std::string& name, const Json& value) -> Result<void> {
                             submission.inputs.emplace(name, value.dump());
                             return {};
                           });
      !read)
    return read;
  return for_each(json, "encoded_inputs",
                  [&](const std::string& name, const Json& value) -> Result<void> {
                    auto text = text_of(value, "encoded input '" + name + "'");
                    if (!text) return fail(std::move(text.error()));
                    auto bytes = parse_base64(*text);
                    if (!bytes)
                      return fail(std::move(bytes.error()).while_doing("input '" + name + "'"));
                    submission.encoded_inputs.emplace(name, std::move(*bytes));
                    return {};
                  });
}

Result<flow::Value> value_of(const flow::PlannedInput& input, const Submission& submission) {
  const auto encoded = submission.encoded_inputs.find(input.name);
  if (encoded != submission.encoded_inputs.end())
    return std::make_shared<const flow::Bytes>(encoded->second);  // the engine checks it
  auto value = flow::value_of_json(input.type, submission.inputs.at(input.name));
  if (!value)
    return fail(
        std::move(value.error())
            .while_doing(fmt::format("input '{}' ({})", input.name, flow::to_string(input.type))));
  return std::make_shared<const flow::Bytes>(std::move(*value));
}

/// Errors: `bad_request`, naming all that are missing, or one that the flow does not have.
Result<std::vector<flow::Value>> values_of(const flow::Plan& plan, const Submission& submission) {
  std::vector<std::string> missing;
  std::vector<std::string> names;
  for (const flow::PlannedInput& input : plan.inputs) {
    names.push_back(input.name);
    const bool is_json = submission.inputs.contains(input.name);
    const bool is_encoded = submission.encoded_inputs.contains(input.name);
    if (is_json && is_encoded) return wrong("input '" + input.name + "' is given twice");
    if (!is_json && !is_encoded)
      missing.push_back(fmt::format("{} ({})", input.name, flow::to_string(input.type)));
  }
  const auto check_known = [&](const auto& given) -> Result<void> {
    for (const auto& [name, value] : given)
      if (std::ranges::find(names, name) == names.end())
        return wrong(fmt::format("flow '{}' has no input '{}'", plan.name, name));
    return {};
  };
  if (auto known = check_known(submission.inputs); !known) return fail(std::move(known.error()));
  if (auto known = check_known(submission.encoded_inputs); !known)
    return fail(std::move(known.error()));
  if (!missing.empty())
    return wrong(fmt::format("flow '{}' needs values of all its inputs; add {}", plan.name,
                             fmt::join(missing, ", ")));
  std::vector<flow::Value> values;
  for (const flow::PlannedInput& input : plan.inputs) {
    auto value = value_of(input, submission);
    if (!value) return fail(std::move(value.error()));
    values.push_back(std::move(*value));
  }
  return values;
}

std::unexpected<Failure> faulty(const std::vector<flow::Fault>& faults) {
  std::string text;
  for (std::size_t i = 0; i < std::min(faults.size(), most_faults); ++i)
    text += (i == 0 ? "" : "\n") + flow::to_string(faults[i]);
  if (faults.size() > most_faults)
    text += fmt::format("\nand {} more", faults.size() - most_faults);
  return wrong(std::move(text));
}

}  // namespace

Result<Submission> parse_submission(std::span<const std::byte> body) {
  const Json json = Json::parse(as_text(body), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return wrong("a flow is submitted as a JSON object with a 'document'; see /openapi.yaml");
  Submission submission;
  for (const auto& [name, value] : json.items())
    if (name != "document" && name != "file" && name != "files" && name != "inputs" &&
        name != "encoded_inputs")
      return wrong(fmt::format("there is no field '{}'; see /openapi.yaml", name));
  if (!json.contains("document")) return wrong("'document' is missing");
  auto document = text_of(json["document"], "'document'");
  if (!document) return fail(std::move(document.error()));
  submission.document = std::move(*document);
  if (json.contains("file")) {
    auto file = text_of(json["file"], "'file'");
    if (!file) return fail(std::move(file.error()));
    submission.file = std::move(*file);
  }
  if (auto read = read_values(json, submission); !read) return fail(std::move(read.error()));
  return submission;
}

std::string to_json(const KnownVersions& functions) {
  Json json = Json::object();
  for (const auto& [name, known] : functions) {
    json[name] = {known.signature, known.exact};
    if (!known.needs.empty()) json[name].push_back(known.needs);
  }
  return json.dump();
}

Result<KnownVersions> parse_known_versions(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return wrong("the functions of a flow are no JSON object");
  KnownVersions functions;
  for (const auto& [name, value] : json.items()) {
    const auto is_text = [](const Json& one) { return one.is_string(); };
    if (!value.is_array() || value.size() < 2 || value.size() > 3 ||
        !std::ranges::all_of(value, is_text))
      return wrong(fmt::format("function '{}' has no signature and version", name));
    functions[name] = {.signature = value[0].get<std::string>(),
                       .exact = value[1].get<std::string>(),
                       .needs = value.size() == 3 ? value[2].get<std::string>() : std::string()};
  }
  return functions;
}

FindFunction finder_of(const KnownVersions& functions) {
  return [&functions](const std::string& name) -> flow::KnownFunction {
    using State = flow::KnownFunction::State;
    const auto found = functions.find(name);
    if (found == functions.end())
      return {.state = State::missing, .message = "it was not known when the flow was submitted"};
    return {.state = State::known,
            .signature = found->second.signature,
            .exact = found->second.exact,
            .needs = found->second.needs,
            .message = {}};
  };
}

flow::Surroundings surroundings_of(const Submission& submission, const FindFunction& find) {
  using Opened = flow::Surroundings::Opened;
  return {
      .function = find,
      .open = [&submission](const std::string& file, const std::string& beside) -> Result<Opened> {
        const std::string path =
            (std::filesystem::path(beside).parent_path() / file).lexically_normal().string();
        const auto found = submission.files.find(path);
        if (found == submission.files.end())
          return fail(ErrorCode::not_found, "file '" + path + "' was not sent along");
        return Opened{.file = path, .text = found->second};
      }};
}

Result<ReadyFlow> make_ready(const Submission& submission, const FindFunction& find) {
  const flow::Parsed parsed = flow::parse_document(submission.document, submission.file);
  if (!parsed.faults.empty()) return faulty(parsed.faults);
  flow::Checked checked = flow::check(parsed.document, surroundings_of(submission, find));
  if (!checked.faults.empty()) return faulty(checked.faults);
  auto inputs = values_of(checked.plan, submission);
  if (!inputs) return fail(std::move(inputs.error()));
  return ReadyFlow{.plan = std::move(checked.plan), .inputs = std::move(*inputs)};
}

}  // namespace orchid::flows
