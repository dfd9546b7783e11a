// commands/invoke.cpp: orchid invoke: calls a function. Bytes in, bytes out, and nothing else on
// standard output.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "calls/call_watch.h"
#include "calls/repeated_calls.h"
#include "calls/reply_delivery.h"
#include "calls/typed_call.h"
#include "commands/commands.h"
#include "foundation/amounts.h"
#include "foundation/files.h"
#include "foundation/json_document.h"
#include "terminal/documents.h"

namespace orchid::cli {
namespace {

struct InvokeArguments {
  std::string function;
  std::string in = "-";
  std::string out = "-";
  std::string arguments;  // JSON
  std::vector<std::string> npy;
  bool raw = false;
  bool async = false;
  bool stats = false;
  bool time = false;
  std::string deadline;
  std::string idempotency_key;
  std::string host_kind;
  std::string cluster;
  std::vector<std::string> data;
  std::string output_data;
  std::size_t repeat = 1;
  std::size_t concurrency = 1;
  [[nodiscard]] bool is_typed() const { return !arguments.empty() || !npy.empty(); }
};

/// The input as bytes, and the signature when it was given as typed arguments.
struct Input {
  std::vector<std::byte> bytes;
  std::string signature;
};

Result<Input> make_input(Client& client, const InvokeArguments& arguments) {
  if (!arguments.is_typed()) {
    auto bytes = read_input_file(arguments.in);
    if (!bytes) return fail(std::move(bytes.error()));
    return Input{.bytes = std::move(*bytes), .signature = ""};
  }
  auto signature = find_signature(client, arguments.function);
  if (!signature) return fail(std::move(signature.error()));
  auto bytes = arguments.npy.empty() ? encode_json_arguments(*signature, arguments.arguments)
                                     : encode_npy_arguments(*signature, arguments.npy);
  if (!bytes) return fail(std::move(bytes.error()));
  return Input{.bytes = std::move(*bytes), .signature = std::move(*signature)};
}

ExitStatus submit(Shell& shell, Client& client, const InvokeArguments& arguments,
                  const Input& input, const InvokeOptions& options) {
  const Invocation invocation = client.submit(arguments.function, input.bytes, options);
  if (shell.json) {
    print_document(shell, {{"id", invocation.id()}});
  } else {
    shell.print_line(invocation.id());
  }
  return ExitStatus::ok;
}

void print_costs(Shell& shell, const InvokeArguments& arguments, const RepeatResult& result) {
  if (arguments.stats) {
    std::string text = shell.json ? to_json(result.statistics) : to_table(result.statistics);
    while (text.ends_with('\n')) text.pop_back();
    shell.note(text);
  } else if (arguments.time && result.first && !shell.json) {  // the document has it
    shell.note(describe_timing(result.first->timing) + " " + result.first->invocation);
  }
}

/// The reply is the document of the object that the output has become.
Result<void> tell_data(Shell& shell, const Reply& reply) {
  const std::string_view text = as_text(reply.output);
  if (shell.json) {
    print_answer(shell, std::string(text));
    return {};
  }
  JsonDocument document(text, {.subject = "the gateway's answer"});
  const JsonObject o = document.root();
  const std::string label =
      o.text("name") + "@" + std::to_string(o.number<std::uint64_t>("version"));
  if (auto read = document.finish(); !read) return read;
  shell.print_line(label);
  return {};
}

ExitStatus run_invoke(Shell& shell, const InvokeArguments& arguments) {
  InvokeOptions options{.idempotency_key = arguments.idempotency_key,
                        .host_kind = arguments.host_kind,
                        .cluster = arguments.cluster,
                        .data = arguments.data,
                        .output_data = arguments.output_data};
  if (!arguments.deadline.empty()) {
    const auto deadline = parse_duration(arguments.deadline);
    if (!deadline) return shell.report(deadline.error());
    if (deadline->count() == 0)
      return shell.report_usage("a deadline of 0 leaves no time; give more, such as 30s");
    options.deadline = *deadline;
  }
  Client client = shell.client();
  const auto input = make_input(client, arguments);
  if (!input) return shell.report(input.error());
  options.signature = input->signature;
  if (arguments.async) return submit(shell, client, arguments, *input, options);

  CallWatch watch(shell);
  if (arguments.repeat == 1 && shell.err_is_terminal)
    options.watch = [&watch](const InvocationStatus& status) { return watch.look(status); };
  const RepeatResult result = repeat_call(client, input->bytes,
                                          {.function = arguments.function,
                                           .count = arguments.repeat,
                                           .concurrency = arguments.concurrency,
                                           .call = options});
  if (result.first && !arguments.output_data.empty()) {
    if (const auto told = tell_data(shell, *result.first); !told) return shell.report(told.error());
  } else if (result.first) {
    if (const auto delivered = deliver_reply(
            shell, *result.first,
            {.file = arguments.out, .signature = arguments.raw ? "" : input->signature});
        !delivered)
      return shell.report(delivered.error());
  }
  print_costs(shell, arguments, result);
  if (result.first_failure) return shell.report(*result.first_failure);
  return ExitStatus::ok;
}

}  // namespace

void add_invoke(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "invoke", "Call a function; its output goes to standard output unchanged",
      "  orchid invoke wordcount < text\n"
      "  orchid invoke saxpy --in x.bin --out y.bin --deadline 30s\n"
      "  orchid invoke dot --args '[[1,2,3],[4,5,6]]'\n"
      "  orchid invoke dot --npy a.npy b.npy\n"
      "  orchid invoke mean --data climate < /dev/null\n"
      "  orchid invoke smooth --output-data smoothed < climate.bin\n"
      "  id=$(orchid invoke wordcount --async < text)\n"
      "  orchid invoke echo --in x --out /dev/null --repeat 1000 --concurrency 4 --stats");
  auto arguments = std::make_shared<InvokeArguments>();
  command->add_option("NAME", arguments->function, "function, function.entry or function@version")
      ->required();
  auto* in = command->add_option("--in,-i", arguments->in,
                                 "file with the input (default: standard input)");
  command->add_option("--out,-o", arguments->out, "file for the output (default: standard output)");
  auto* args =
      command->add_option("--args", arguments->arguments, "typed arguments as one JSON array")
          ->excludes(in);
  command->add_option("--npy", arguments->npy, "typed arguments, a NumPy file for each")
      ->excludes(in)
      ->excludes(args);
  command->add_flag("--raw", arguments->raw,
                    "with typed arguments: the output as bytes, not as JSON");
  auto* async =
      command->add_flag("--async", arguments->async, "do not wait: print the invocation's id");
  command->add_option("--deadline", arguments->deadline,
                      "time for the whole call, such as 500ms, 30s or '1h 5m'");
  command
      ->add_option("--on", arguments->host_kind,
                   "kind of the host that runs it: cpu, gpu or dpu (default: any that the "
                   "function has an image for)")
      ->check(CLI::IsMember({"cpu", "gpu", "dpu"}));
  command->add_option("--cluster", arguments->cluster,
                      "name of the cluster that its host is in (default: any)");
  command->add_option("--data", arguments->data,
                      "data objects that it is given, in this order: NAME, NAME@VERSION or an id; "
                      "it runs where they are");
  command->add_option("--output-data", arguments->output_data,
                      "its output becomes the next version of the data object of this name, which "
                      "is printed in place of the output");
  command
      ->add_option("--idempotency-key", arguments->idempotency_key,
                   "with --async: the same key never starts a second call")
      ->needs(async);
  command
      ->add_option("--repeat", arguments->repeat,
                   "how many times to call; only the first output is written")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
      ->excludes(async);
  command->add_option("--concurrency", arguments->concurrency, "how many calls run at once")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1024}))
      ->excludes(async);
  command->add_flag("--stats", arguments->stats, "print the costs of the calls to standard error")
      ->excludes(async);
  command
      ->add_flag("--time", arguments->time,
                 "print to standard error where the first call's time went: connect, send, queue, "
                 "place, compile, link, run, wait, receive")
      ->excludes(async);
  command->callback([&shell, arguments] { shell.status = run_invoke(shell, *arguments); });
}

}  // namespace orchid::cli
