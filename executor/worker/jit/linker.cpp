#include "jit/linker.h"

#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/JITLink/x86_64.h>
#include <llvm/ExecutionEngine/Orc/Shared/MemoryFlags.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "foundation/numbers.h"

// libgcc's unwinder: takes a whole .eh_frame section that ends with a zero length.
extern "C" void __register_frame(void* section);
extern "C" void __deregister_frame(void* section);

namespace orchid::executor {
namespace {

namespace jl = llvm::jitlink;
using llvm::orc::ExecutorAddr;

struct NamedRange {
  std::uintptr_t start = 0;
  std::uintptr_t size = 0;
  std::string name;
};

/// What the passes learn while the code is being linked.
struct LinkedParts {
  std::vector<NamedRange> functions;  // sorted by start
  std::map<std::string, void*, std::less<>> defined;
  std::set<std::string, std::less<>> needed;
  std::vector<std::pair<std::string, ExecutorAddr>>
      initialisers;  // section name, address of a function pointer
  void* eh_frame = nullptr;
};

class JitLinkedModule final : public LinkedModule {
 public:
  JitLinkedModule(LinkedParts parts, std::vector<Entry> entries, jl::JITLinkMemoryManager& memory,
                  jl::JITLinkMemoryManager::FinalizedAlloc allocation)
      : parts_(std::move(parts)),
        entries_(std::move(entries)),
        memory_(memory),
        allocation_(std::move(allocation)) {
    if (parts_.eh_frame != nullptr) __register_frame(parts_.eh_frame);
  }
  JitLinkedModule(const JitLinkedModule&) = delete;
  JitLinkedModule& operator=(const JitLinkedModule&) = delete;
  ~JitLinkedModule() override {
    if (parts_.eh_frame != nullptr) __deregister_frame(parts_.eh_frame);
    llvm::consumeError(memory_.deallocate(std::move(allocation_)));
  }

  std::span<const Entry> entries() const override { return entries_; }
  bool exports(std::string_view prefix) const override {
    const auto first = parts_.defined.lower_bound(prefix);
    return first != parts_.defined.end() && first->first.starts_with(prefix);
  }
  bool needs(std::string_view name) const override { return parts_.needed.contains(name); }

  void initialise() override {
    // .init_array.N by number, then .init_array: the order of the C++ runtime.
    std::ranges::stable_sort(parts_.initialisers, [](const auto& a, const auto& b) {
      return priority(a.first) < priority(b.first);
    });
    for (const auto& [section, slot] : parts_.initialisers) (*slot.toPtr<void (**)()>())();
    parts_.initialisers.clear();
  }

  bool has_initialisers() const override { return !parts_.initialisers.empty(); }

  const char* function_at(std::uintptr_t address, std::uintptr_t& distance) const override {
    const auto after = std::ranges::upper_bound(parts_.functions, address, {}, &NamedRange::start);
    if (after == parts_.functions.begin()) return nullptr;
    const NamedRange& candidate = *std::prev(after);
    distance = address - candidate.start;
    return distance < std::max<std::uintptr_t>(candidate.size, 1) ? candidate.name.c_str()
                                                                  : nullptr;
  }

 private:
  static int priority(std::string_view section) {
    const std::size_t dot = section.rfind('.');
    if (dot == 0 || dot == std::string_view::npos) return 65536;
    return leading_number<int>(section.substr(dot + 1)).value_or(0);
  }
  LinkedParts parts_;
  std::vector<Entry> entries_;
  jl::JITLinkMemoryManager& memory_;
  jl::JITLinkMemoryManager::FinalizedAlloc allocation_;
};

/// One link. JITLink calls back on the calling thread, since its memory manager works in this
/// process.
class LinkContext final : public jl::JITLinkContext {
 public:
  LinkContext(jl::JITLinkMemoryManager& memory, const SymbolResolver& resolve, LinkedParts& parts,
              std::optional<jl::JITLinkMemoryManager::FinalizedAlloc>& allocation,
              std::string& failure)
      : jl::JITLinkContext(nullptr),
        memory_(memory),
        resolve_(resolve),
        parts_(parts),
        allocation_(allocation),
        failure_(failure) {}

  jl::JITLinkMemoryManager& getMemoryManager() override { return memory_; }
  void notifyFailed(llvm::Error error) override {
    if (failure_.empty())
      failure_ = llvm::toString(std::move(error));
    else
      llvm::consumeError(std::move(error));
  }

  void lookup(const LookupMap& symbols,
              std::unique_ptr<jl::JITLinkAsyncLookupContinuation> found) override {
    jl::AsyncLookupResult result;
    std::string missing;
    for (const auto& [name, flags] : symbols) {
      void* address = resolve_(std::string_view(name.data(), name.size()));
      if (address == nullptr && flags != jl::SymbolLookupFlags::WeaklyReferencedSymbol) {
        missing += (missing.empty() ? "" : ", ") + name.str();
        continue;
      }
      parts_.needed.emplace(name.data(), name.size());
      result[name] = {ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    if (missing.empty()) return found->run(std::move(result));
    failure_ = "undefined symbols: " + missing;
    found->run(llvm::make_error<llvm::StringError>(failure_, llvm::inconvertibleErrorCode()));
  }

  llvm::Error notifyResolved(jl::LinkGraph& graph) override {
    for (jl::Symbol* symbol : graph.defined_symbols()) {
      if (!symbol->hasName()) continue;
      if (symbol->getScope() != jl::Scope::Local)
        parts_.defined[symbol->getName().str()] = symbol->getAddress().toPtr<void*>();
      if (symbol->isCallable())
        parts_.functions.push_back(
            {symbol->getAddress().getValue(), symbol->getSize(), symbol->getName().str()});
    }
    std::ranges::sort(parts_.functions, {}, &NamedRange::start);
    return llvm::Error::success();
  }

  void notifyFinalized(jl::JITLinkMemoryManager::FinalizedAlloc allocation) override {
    allocation_ = std::move(allocation);
  }

  jl::LinkGraphPassFunction getMarkLivePass(const llvm::Triple&) const override {
    return jl::markAllSymbolsLive;
  }

  llvm::Error modifyPassConfig(jl::LinkGraph& graph, jl::PassConfiguration& passes) override {
    passes.PrePrunePasses.push_back([](jl::LinkGraph& fresh) {
      keep_initialisers(fresh);
      return llvm::Error::success();
    });
    if (graph.getTargetTriple().getArch() == llvm::Triple::x86_64)
      passes.PreFixupPasses.insert(passes.PreFixupPasses.begin(), keep_calls_to_low_addresses);
    passes.PostFixupPasses.push_back([this](jl::LinkGraph& linked) {
      for (jl::Section& section : linked.sections()) note_section(section);
      return llvm::Error::success();
    });
    passes.PostFixupPasses.push_back(jl::createEHFrameRecorderPass(
        graph.getTargetTriple(), [this](ExecutorAddr address, std::size_t size) {
          if (address && size != 0) parts_.eh_frame = address.toPtr<void*>();
        }));
    return llvm::Error::success();
  }

 private:
  /// No symbol points at the tables of initialisers, so pruning would drop them.
  static void keep_initialisers(jl::LinkGraph& graph) {
    for (jl::Section& section : graph.sections()) {
      if (!section.getName().starts_with(".init_array")) continue;
      for (jl::Block* block : section.blocks())
        graph.addAnonymousSymbol(*block, 0, block->getSize(), false, true);
    }
  }

  /// LLVM 19 makes `call *callee@GOTPCREL(%rip)` a direct call when the callee lies in the lowest
  /// 4 GiB, and writes its address where the distance to it belongs (llvm-project issue 190968). So
  /// these calls stay as they are.
  static llvm::Error keep_calls_to_low_addresses(jl::LinkGraph& graph) {
    for (jl::Block* block : graph.blocks())
      for (jl::Edge& edge : block->edges()) {
        if (edge.getKind() != jl::x86_64::PCRel32GOTLoadRelaxable || !edge.getTarget().isDefined())
          continue;
        const jl::Block& slot = edge.getTarget().getBlock();
        if (slot.edges_size() != 1) continue;
        if (slot.edges().begin()->getTarget().getAddress().getValue() >> 32 == 0)
          edge.setKind(jl::x86_64::PCRel32);
      }
    return llvm::Error::success();
  }

  void note_section(jl::Section& section) {
    if (!section.getName().starts_with(".init_array")) return;
    std::vector<jl::Block*> blocks(section.blocks().begin(), section.blocks().end());
    std::ranges::sort(blocks, {}, [](const jl::Block* b) { return b->getAddress().getValue(); });
    for (const jl::Block* block : blocks)
      for (std::uint64_t at = 0; at + sizeof(void*) <= block->getSize(); at += sizeof(void*))
        parts_.initialisers.emplace_back(section.getName().str(), block->getAddress() + at);
  }

  jl::JITLinkMemoryManager& memory_;
  const SymbolResolver& resolve_;
  LinkedParts& parts_;
  std::optional<jl::JITLinkMemoryManager::FinalizedAlloc>& allocation_;
  std::string& failure_;
};

/// One for the process; made before the first link, lives for ever, since modules that outlive
/// main's objects point to it.
jl::JITLinkMemoryManager& memory_manager() {
  static auto* manager = new std::unique_ptr<jl::InProcessMemoryManager>(
      llvm::cantFail(jl::InProcessMemoryManager::Create()));
  return **manager;
}

}  // namespace

void prepare_linker() { (void)memory_manager(); }

Result<std::unique_ptr<LinkedModule>> link(std::span<const std::byte> code,
                                           std::string_view entry_prefix,
                                           const SymbolResolver& resolve) {
  const llvm::MemoryBufferRef buffer({reinterpret_cast<const char*>(code.data()), code.size()},
                                     "module");
  auto graph = jl::createLinkGraphFromObject(buffer);
  if (!graph)
    return fail(ErrorCode::module_rejected,
                "the compiled code cannot be read: " + llvm::toString(graph.takeError()));
  LinkedParts parts;
  std::optional<jl::JITLinkMemoryManager::FinalizedAlloc> allocation;
  std::string failure;
  jl::link(std::move(*graph),
           std::make_unique<LinkContext>(memory_manager(), resolve, parts, allocation, failure));
  if (!allocation)
    return fail(ErrorCode::module_rejected,
                failure.empty() ? "the compiled code cannot be linked" : failure);
  std::vector<LinkedModule::Entry> entries;
  for (auto at = parts.defined.lower_bound(entry_prefix);
       at != parts.defined.end() && at->first.starts_with(entry_prefix); ++at)
    entries.push_back({at->first.substr(entry_prefix.size()), at->second});
  if (entries.empty()) return fail(ErrorCode::module_rejected, "the compiled code has no entry");
  return std::make_unique<JitLinkedModule>(std::move(parts), std::move(entries), memory_manager(),
                                           std::move(*allocation));
}

}  // namespace orchid::executor
