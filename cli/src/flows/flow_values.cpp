#include "flows/flow_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "flow_run/flow_data.h"
#include "foundation/files.h"
#include "module/npy.h"
#include "module/typed_values.h"

namespace orchid::cli {
namespace {

Result<flow::Bytes> value_of_file(const flow::PortType& type, const std::string& file) {
  auto content = read_input_file(file);
  if (!content) return fail(std::move(content.error()));
  if (type.is_bytes) return std::move(*content);
  if (!file.ends_with(".npy")) return flow::value_of_text(type, as_text(*content));
  const auto array = module::read_npy(*content);
  if (!array) return fail(array.error());
  const std::vector<module::Argument> arguments{*array};
  return module::encode_arguments({.result = {}, .arguments = {type.type}}, arguments);
}

Result<flow::Value> value_of(const flow::PlannedInput& input, const std::string& text) {
  auto value = text.starts_with('@') ? value_of_file(input.type, text.substr(1))
                                     : flow::value_of_text(input.type, text);
  if (!value)
    return fail(
        std::move(value.error())
            .while_doing(fmt::format("input '{}' ({})", input.name, flow::to_string(input.type))));
  return std::make_shared<const flow::Bytes>(std::move(*value));
}

}  // namespace

std::vector<std::string> with_data_ids(Client& client, const flow::Plan& plan,
                                       std::vector<std::string> given) {
  for (std::string& one : given)
    for (const flow::PlannedInput& input : plan.inputs)
      if (const std::string head = input.name + "="; input.type.is_data() && one.starts_with(head))
        one = head + flow::data_id_of(client, one.substr(head.size()));
  return given;
}

Result<std::vector<flow::Value>> known_values(const flow::Plan& plan,
                                              const std::vector<std::string>& given) {
  std::map<std::string, std::string> texts;
  for (const std::string& one : given) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos)
      return fail(ErrorCode::bad_request,
                  "--input takes NAME=VALUE or NAME=@FILE, not '" + one + "'");
    const std::string name = one.substr(0, equals);
    if (std::ranges::find(plan.inputs, name, &flow::PlannedInput::name) == plan.inputs.end())
      return fail(ErrorCode::bad_request,
                  fmt::format("flow '{}' has no input '{}'", plan.name, name));
    if (!texts.emplace(name, one.substr(equals + 1)).second)
      return fail(ErrorCode::bad_request, "input '" + name + "' is given twice");
  }
  std::vector<flow::Value> values;
  for (const flow::PlannedInput& input : plan.inputs) {
    const auto text = texts.find(input.name);
    auto value = text == texts.end() ? Result<flow::Value>() : value_of(input, text->second);
    if (!value) return fail(std::move(value.error()));
    values.push_back(std::move(*value));
  }
  return values;
}

Result<std::vector<flow::Value>> input_values(const flow::Plan& plan,
                                              const std::vector<std::string>& given) {
  auto values = known_values(plan, given);
  if (!values) return values;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < values->size(); ++i)
    if ((*values)[i] == nullptr)
      missing.push_back(
          fmt::format("--input {}={}", plan.inputs[i].name, to_string(plan.inputs[i].type)));
  if (!missing.empty())
    return fail(ErrorCode::bad_request,
                fmt::format("flow '{}' needs values of all its inputs; add {}", plan.name,
                            fmt::join(missing, " ")));
  return values;
}

Result<Document> outputs_of(const flow::Plan& plan, const flow::Engine& engine) {
  Document outputs = Document::object();
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const auto json = flow::json_of_value(plan.outputs[i].type, *engine.output(i));
    if (!json) return fail(json.error());
    outputs[plan.outputs[i].name] = Document::parse(*json);
  }
  return outputs;
}

Result<Document> write_outputs(const flow::Plan& plan, const flow::Engine& engine,
                               const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(system_failure(ErrorCode::system, "making the folder " + folder, error.value()));
  Document files = Document::object();
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const flow::PlannedOutput& output = plan.outputs[i];
    const flow::Value value = engine.output(i);
    std::filesystem::path file = std::filesystem::path(folder) / output.name;
    std::string json;
    std::span<const std::byte> bytes = *value;
    if (!output.type.is_text()) {
      auto text = flow::json_of_value(output.type, *value);
      if (!text) return fail(std::move(text.error()));
      json = std::move(*text) + "\n";
      bytes = as_bytes(json);
      file += ".json";
    } else if (!output.type.is_bytes) {
      bytes =
          bytes.subspan(sizeof(std::uint64_t), flow::count_of(bytes));  // also if it is no UTF-8
    }
    if (const auto written = write_output_file(file.string(), bytes); !written)
      return fail(written.error());
    files[output.name] = file.string();
  }
  return files;
}

}  // namespace orchid::cli
