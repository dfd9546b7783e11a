#include "terminal/documents.h"

namespace orchid::cli {

void print_document(Shell& shell, const Document& document) {
  shell.print_line(document.dump(-1, ' ', false, Document::error_handler_t::replace));
}

void report_document(Shell& shell, const Document& document) {
  shell.note(document.dump(-1, ' ', false, Document::error_handler_t::replace));
}

void print_answer(Shell& shell, const std::string& text) {
  print_document(shell, Document::parse(text));
}

void for_each_name(Shell& shell, const std::vector<std::string>& names, const std::string& list,
                   const std::function<Document(const std::string& name)>& work) {
  Document documents = Document::array();
  const auto print = [&] {
    if (!shell.json || documents.empty()) return;
    print_document(shell, names.size() == 1 ? documents.front() : Document({{list, documents}}));
  };
  try {
    for (const std::string& name : names) documents.push_back(work(name));
  } catch (...) {
    print();
    throw;
  }
  print();
}

}  // namespace orchid::cli
