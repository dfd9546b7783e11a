// terminal/documents.h: what --json prints: one JSON document, whatever a command is asked about.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "terminal/shell.h"

namespace orchid::cli {

/// Its keys stay in the order in which they were added.
using Document = nlohmann::ordered_json;

/// On one line; bytes that are no UTF-8 are replaced.
void print_document(Shell& shell, const Document& document);
/// To standard error: that of a failure which has more to say than `Shell::report` does.
void report_document(Shell& shell, const Document& document);
/// A document of the gateway, on one line. Throws nlohmann's exceptions when it is none.
void print_answer(Shell& shell, const std::string& text);

/// Does `work` for each of `names`. With --json the documents that it gives become one: that of the
/// only name, or {"LIST": [one for each]}. What `work` throws is passed on, after the documents of
/// the names before.
void for_each_name(Shell& shell, const std::vector<std::string>& names, const std::string& list,
                   const std::function<Document(const std::string& name)>& work);

}  // namespace orchid::cli
