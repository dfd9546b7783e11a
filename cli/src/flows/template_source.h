// flows/template_source.h: the templates that a user can start a flow from.
#pragma once
#include <string>
#include <vector>

#include "foundation/result.h"
#include "terminal/shell.h"

namespace orchid::cli {

struct TemplateText {
  std::string name;
  std::string summary;
  std::string text;
};

/// Sorted by name; of two with one name the first of: `own`, a folder (empty: none), the folders of
/// ORCHID_FLOW_TEMPLATES, the gateway's, which has its site's and Orchid's, and, where none tells
/// of any, Orchid's as they lie on this machine. A file that cannot be read is left out, and that
/// is noted.
[[nodiscard]] std::vector<TemplateText> known_templates(Shell& shell, const std::string& own);

/// Errors: `not_found`, with the names that there are.
[[nodiscard]] Result<TemplateText> find_template(const std::vector<TemplateText>& templates,
                                                 const std::string& name);

}  // namespace orchid::cli
