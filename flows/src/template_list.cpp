#include "template_list.h"

#include <nlohmann/json.hpp>

#include "flow_run.h"
#include "flow_run/flow_templates.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/units.h"

namespace orchid::flows {
namespace {

constexpr ByteCount largest_template = 1_MiB;

}  // namespace

std::string template_list(const std::vector<std::filesystem::path>& folders) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const flow::FlowTemplate& one : flow::find_templates(folders)) {
    const auto text = read_file(one.file, largest_template);
    if (!text) {
      log::warn("event=template_left_out file={} reason=\"{}\"", one.file.string(),
                text.error().message);
      continue;
    }
    list.push_back({{"name", one.name}, {"summary", one.summary}, {"text", as_text(*text)}});
  }
  return dump_text(Json{{"templates", std::move(list)}}) + "\n";
}

}  // namespace orchid::flows
