#include "flows/template_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <ranges>
#include <utility>

#include "flow_run/flow_templates.h"
#include "flows/client_if_any.h"
#include "foundation/files.h"
#include "terminal/documents.h"

namespace orchid::cli {
namespace {

using Templates = std::map<std::string, TemplateText>;

/// ORCHID_FLOW_TEMPLATES has folders between colons.
std::vector<std::filesystem::path> users_folders(const std::string& own) {
  std::vector<std::filesystem::path> folders;
  if (!own.empty()) folders.emplace_back(own);
  const char* listed = std::getenv("ORCHID_FLOW_TEMPLATES");
  for (const auto part : std::views::split(std::string_view(listed == nullptr ? "" : listed), ':'))
    if (!part.empty()) folders.emplace_back(std::string_view(part));
  return folders;
}

void tell(Shell& shell, const std::string& note) {
  if (!shell.json) shell.note(note);
}

void add_folders(Templates& templates, Shell& shell,
                 const std::vector<std::filesystem::path>& folders) {
  for (const flow::FlowTemplate& one : flow::find_templates(folders)) {
    const auto text = read_input_file(one.file.string());
    if (text)
      templates.try_emplace(one.name, TemplateText{.name = one.name,
                                                   .summary = one.summary,
                                                   .text = std::string(as_text(*text))});
    else
      tell(shell, "a template is left out: " + text.error().message);
  }
}

void add_the_gateways(Templates& templates, Client& client) {
  const Document told = Document::parse(client.get("/v1/flows/templates"));
  for (const Document& one : told.at("templates")) {
    const auto name = one.at("name").get<std::string>();
    templates.try_emplace(name, TemplateText{.name = name,
                                             .summary = one.at("summary").get<std::string>(),
                                             .text = one.at("text").get<std::string>()});
  }
}

/// Whether a gateway has told of its own. To begin a flow needs none.
bool add_the_gateways_if_any(Templates& templates, Shell& shell) try {
  auto client = client_if_any(shell);
  if (client) add_the_gateways(templates, *client);
  return client.has_value();
} catch (const Error& error) {
  tell(shell, "the gateway does not tell its templates: " + std::string(error.message()));
  return false;
}

}  // namespace

std::vector<TemplateText> known_templates(Shell& shell, const std::string& own) {
  Templates templates;
  add_folders(templates, shell, users_folders(own));
  if (!add_the_gateways_if_any(templates, shell))
    add_folders(templates, shell, flow::own_template_folders());
  std::vector<TemplateText> sorted;
  for (TemplateText& one : templates | std::views::values) sorted.push_back(std::move(one));
  return sorted;
}

Result<TemplateText> find_template(const std::vector<TemplateText>& templates,
                                   const std::string& name) {
  const auto found = std::ranges::find(templates, name, &TemplateText::name);
  if (found != templates.end()) return *found;
  const auto names = templates | std::views::transform(&TemplateText::name);
  return fail(ErrorCode::not_found,
              fmt::format("there is no template '{}'; there are: {}", name,
                          templates.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace orchid::cli
