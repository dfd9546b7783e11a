#include "jit/bitcode.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBufferRef.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <map>
#include <optional>

#include "foundation/files.h"
#include "foundation/numbers.h"
#include "jit/diagnostics.h"
#include "protocol/effects.h"

namespace orchid::executor {
namespace {

using module::Container;
using module::Image;
using module::ImageKind;

llvm::MemoryBufferRef as_buffer(const Image& image) {
  const std::string_view text = as_text(image.bytes);
  return {llvm::StringRef(text.data(), text.size()), "module"};
}

/// "LLVM 22.1.2 (rust-1.95.0-stable)" from the producer string "LLVM22.1.2-rust-1.95.0-stable";
/// others as they are.
struct Producer {
  std::string name;
  unsigned major = 0;  // 0: not LLVM's own numbering
};

std::optional<Producer> producer_of(const Image& image) {
  auto text = llvm::getBitcodeProducerString(as_buffer(image));
  if (!text) {
    llvm::consumeError(text.takeError());
    return std::nullopt;
  }
  constexpr std::string_view prefix = "LLVM";
  const std::string_view whole = *text;
  if (!whole.starts_with(prefix)) return Producer{.name = std::string(whole)};
  const std::string_view rest = whole.substr(prefix.size());
  Producer producer;
  producer.major = leading_number<unsigned>(rest).value_or(0);
  const std::size_t dash = rest.find('-');
  producer.name = "LLVM " + std::string(rest.substr(0, dash));
  if (dash != std::string_view::npos)
    producer.name += " (" + std::string(rest.substr(dash + 1)) + ")";
  return producer;
}

/// A newer LLVM's bitcode may parse and still mean something else, so its version alone decides.
Result<void> check_producer(const Image& image) {
  const auto producer = producer_of(image);
  if (!producer || producer->major <= LLVM_VERSION_MAJOR) return {};
  return reject(
      fmt::format("the module was made by {}; this Orchid reads up to LLVM {}: build it with an "
                  "older compiler, such as "
                  "clang-19 (`orchid build`)",
                  producer->name, LLVM_VERSION_STRING));
}

/// As `orchid build --target` has it.
std::string target_name(std::string_view triple) {
  std::string name = module::architecture_of(triple);
  return name == "x86_64" ? "x86-64" : name;
}

std::string describe_targets(const Container& container) {
  std::string text;
  for (const Image& image : container.images)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", target_name(image.triple),
                        to_string(image.kind));
  return text;
}

bool is_known_target(std::string_view triple) {
  return llvm::Triple(llvm::StringRef(triple.data(), triple.size())).getArch() !=
         llvm::Triple::UnknownArch;
}

/// The target that the bitcode itself names; empty when it names none or cannot be read.
std::string inner_triple(const Image& image) {
  auto triple = llvm::getBitcodeTargetTriple(as_buffer(image));
  if (triple) return *triple;
  llvm::consumeError(triple.takeError());
  return {};
}

/// Of a container, against what its bitcode says.
std::vector<std::string> check_triple(const Container& container, std::size_t number,
                                      const std::string& inner) {
  std::vector<std::string> problems;
  const Image& image = container.images[number];
  if (image.kind == ImageKind::bitcode && !container.plain &&
      module::architecture_of(inner) != module::architecture_of(image.triple))
    problems.push_back(fmt::format("image {} says that it is for '{}', its bitcode is for '{}'",
                                   number + 1, image.triple, inner));
  if (!is_known_target(image.triple))
    problems.push_back(fmt::format("the target '{}' is unknown; use one such as {}", image.triple,
                                   llvm::Triple::normalize(llvm::sys::getProcessTriple())));
  return problems;
}

std::string no_image_for(std::span<const HostTarget> processors, const Container& container) {
  std::vector<std::string> names;
  for (const HostTarget& processor : processors)
    names.push_back(target_name(processor.triple.str()));
  return fmt::format(
      "no image for {}; the module has {}: {}build it with --target {} too",
      fmt::join(names, " or "), describe_targets(container),
      names.size() > 1 ? "functions start on cores, whatever runs their kernels; " : "",
      names.front());
}

Result<std::size_t> pick_image(Container& container, std::span<const HostTarget> processors) {
  std::vector<std::string> problems;
  std::map<std::string, std::size_t> bitcode;  // by architecture
  for (std::size_t i = 0; i < container.images.size(); ++i) {
    Image& image = container.images[i];
    std::string inner;
    if (image.kind == ImageKind::bitcode) {
      if (auto checked = check_producer(image); !checked) return fail(std::move(checked.error()));
      inner = inner_triple(image);
      if (container.plain) image.triple = inner;
    }
    if (image.triple.empty())
      return i;  // damaged, or names no target: the parser and later checks tell
    for (std::string& problem : check_triple(container, i, inner))
      problems.push_back(std::move(problem));
    const std::string architecture = module::architecture_of(image.triple);
    if (image.kind == ImageKind::bitcode && !bitcode.emplace(architecture, i).second)
      problems.push_back(fmt::format("the module has two bitcode images for {}", architecture));
  }
  if (!problems.empty()) return reject(join(problems));
  for (const HostTarget& processor : processors)
    if (const auto found = bitcode.find(processor.architecture); found != bitcode.end())
      return found->second;
  return reject(no_image_for(processors, container));
}

}  // namespace

Result<std::unique_ptr<llvm::Module>> parse_image(const Image& image, llvm::LLVMContext& context) {
  auto parsed = llvm::parseBitcodeFile(as_buffer(image), context);
  if (!parsed) {
    const auto producer = producer_of(image);
    return reject(
        fmt::format("the bitcode cannot be read: {} (made by {}; this Orchid reads up to LLVM {}); "
                    "build the module again",
                    llvm::toString(parsed.takeError()),
                    producer ? producer->name : "an unknown compiler", LLVM_VERSION_STRING));
  }
  std::string faults;
  llvm::raw_string_ostream stream(faults);
  bool broken_debug_info = false;
  if (llvm::verifyModule(**parsed, &stream, &broken_debug_info))
    return reject("the bitcode is not valid LLVM IR: " + join({stream.str()}));
  if (broken_debug_info) llvm::StripDebugInfo(**parsed);
  return std::move(*parsed);
}

Result<ReadModule> read_module(std::span<const std::byte> bytes,
                               std::span<const HostTarget> processors, llvm::LLVMContext& context) {
  auto container = module::read_container(bytes);
  if (!container) return fail(std::move(container.error()));
  ReadModule result{.container = std::move(*container), .image = 0, .code = nullptr};
  const auto picked = pick_image(result.container, processors);
  if (!picked) return fail(picked.error());
  result.image = *picked;
  auto code = parse_image(result.container.images[*picked], context);
  if (!code) return fail(std::move(code.error()));
  result.code = std::move(*code);
  return result;
}

std::vector<std::string> find_code_problems(const llvm::Module& code, const HostTarget& host) {
  std::vector<std::string> problems;
  if (code.getTargetTriple().empty())
    problems.push_back(
        fmt::format("the module names no target; build it with --target={}", host.triple.str()));
  const llvm::DataLayout native(host.data_layout);
  if (!code.getDataLayoutStr().empty() && code.getDataLayout() != native)
    problems.push_back(fmt::format(
        "the module is for another data layout ('{}', target '{}'); this host's is '{}': build it "
        "with "
        "--target={}",
        code.getDataLayoutStr(), code.getTargetTriple(), host.data_layout, host.triple.str()));
  if (!code.getModuleInlineAsm().empty())
    problems.emplace_back(
        "the module has assembly outside of functions, which is not supported; use C, or asm "
        "inside a function");
  for (const llvm::GlobalIFunc& function : code.ifuncs())
    problems.push_back(
        fmt::format("'{}' is an indirect function (ifunc), which is not supported; the code is "
                    "compiled for the host's "
                    "CPU anyway",
                    function.getName().str()));
  return problems;
}

std::vector<llvm::Function*> entry_functions(llvm::Module& code) {
  std::vector<llvm::Function*> entries;
  for (llvm::Function& function : code)
    if (!function.isDeclarationForLinker() && !function.hasLocalLinkage() &&
        function.getName().starts_with(entry_prefix))
      entries.push_back(&function);
  return entries;
}

std::vector<std::string> declared_effects(const llvm::Module& code) {
  std::vector<std::string> names;
  for (const llvm::GlobalVariable& variable : code.globals())
    if (variable.hasInitializer() && !variable.hasLocalLinkage() &&
        variable.getName().starts_with(llvm::StringRef(effect_prefix)))
      names.push_back(variable.getName().substr(effect_prefix.size()).str());
  std::ranges::sort(names);
  return names;
}

}  // namespace orchid::executor
