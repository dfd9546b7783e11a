// commands/data.cpp: orchid data: immutable bytes that stay on the hosts, for functions that are
// given them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls/call_watch.h"
#include "commands/commands.h"
#include "foundation/amounts.h"
#include "foundation/duplicate.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "protocol/limits.h"
#include "terminal/documents.h"
#include "terminal/output_file.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

/// How far a transfer is, on a terminal; taken away at its end.
class TransferBar {
 public:
  TransferBar(Shell& shell, std::string what, std::uint64_t size)
      : shell_(shell), what_(std::move(what)), size_(size) {}
  TransferBar(const TransferBar&) = delete;
  TransferBar& operator=(const TransferBar&) = delete;
  ~TransferBar() { shell_.show_passing_line(""); }

  void moved(std::size_t bytes) {
    constexpr std::chrono::milliseconds draw_again{100};
    done_ += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (!shell_.err_is_terminal || now < next_ || size_ == 0) return;
    next_ = now + draw_again;
    shell_.show_passing_line(progress_bar(static_cast<double>(done_) / static_cast<double>(size_)) +
                             "  " + to_string(ByteCount{done_}) + " of " +
                             to_string(ByteCount{size_}) + "  " + what_);
  }

 private:
  Shell& shell_;
  std::string what_;
  std::uint64_t size_;
  std::uint64_t done_ = 0;
  std::chrono::steady_clock::time_point next_{};
};

struct PutArguments {
  std::vector<std::string> words;  // NAME FILE, or FILE of one without a name
  std::string size;
  std::string expires;
  std::string if_match;
  std::uint32_t copies = 1;
  bool unnamed = false;
  bool only_new = false;
  bool durable = false;

  [[nodiscard]] std::string name() const { return unnamed ? "" : words.front(); }
  [[nodiscard]] std::string file() const {
    const std::size_t at = unnamed ? 0 : 1;
    return words.size() > at ? words[at] : "-";
  }
};

struct InputFile {
  UniqueFd file;
  std::uint64_t size = 0;
};

/// A pipe does not tell how much will come, and the room is made before the first byte.
Result<InputFile> open_data_input(const std::string& path, const std::string& stated) {
  InputFile input;
  if (path == "-") {
    auto standard = duplicate(STDIN_FILENO);
    if (!standard) return fail(std::move(standard.error()).while_doing("standard input"));
    input.file = std::move(*standard);
  } else {
    input.file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (!input.file)
    return fail(system_failure(errno == ENOENT ? ErrorCode::not_found : ErrorCode::system,
                               "open " + path, errno));
  struct stat status{};
  if (::fstat(input.file.get(), &status) != 0) return fail_errno("look at " + path);
  const off_t at = S_ISREG(status.st_mode) ? ::lseek(input.file.get(), 0, SEEK_CUR) : -1;
  if (!stated.empty()) {
    const auto size = parse_byte_count(stated);
    if (!size) return fail(size.error());
    input.size = size->value;
  } else if (at >= 0 && status.st_size >= at) {
    input.size = static_cast<std::uint64_t>(status.st_size - at);
  } else {
    return fail(ErrorCode::bad_request,
                "how much will come is not known: say it with --size, or write it to a file first");
  }
  return input;
}

DataReader reader_of(const InputFile& input, const std::string& path, TransferBar& bar) {
  return [&input, path, &bar](std::span<std::byte> room) {
    ssize_t count = -1;
    do count = ::read(input.file.get(), room.data(), room.size());
    while (count < 0 && errno == EINTR);
    if (count < 0)
      throw Error({.kind = ErrorKind::system,
                   .message = system_failure(ErrorCode::system, "read " + path, errno).message});
    if (count == 0)
      throw Error({.kind = ErrorKind::bad_request,
                   .message = path + " ended before its size",
                   .hint = "nothing was kept; put it again when it is not being written to"});
    bar.moved(static_cast<std::size_t>(count));
    return static_cast<std::size_t>(count);
  };
}

ExitStatus run_put_data(Shell& shell, const PutArguments& arguments) {
  DataOptions options{.if_match = arguments.if_match,
                      .only_new = arguments.only_new,
                      .copies = arguments.copies,
                      .durable = arguments.durable};
  if (arguments.unnamed && arguments.words.size() > 1)
    return shell.report_usage("with --unnamed there is a file alone, and no name");
  if (!arguments.expires.empty()) {
    const auto time = parse_duration(arguments.expires);
    if (!time) return shell.report(time.error());
    options.expires_in = std::chrono::ceil<std::chrono::seconds>(*time);
    if (options.expires_in.count() == 0)
      return shell.report_usage("to expire in 0 leaves no time; give more, such as 10min");
  }
  const std::string path = arguments.file();
  const auto input = open_data_input(path, arguments.size);
  if (!input) return shell.report(input.error());
  Client client = shell.client();
  DataInfo made;
  {
    TransferBar bar(shell, arguments.unnamed ? path : arguments.name(), input->size);
    made = client.put_data(arguments.name(), input->size, reader_of(*input, path, bar), options);
  }
  if (shell.json)
    print_answer(shell, made.json);
  else
    shell.print_line(made.label());
  return ExitStatus::ok;
}

ExitStatus run_get_data(Shell& shell, const std::string& reference, const std::string& out) {
  if (shell.json && out == "-")
    return shell.report_usage("with --json the bytes need a file of their own: give --out FILE");
  Client client = shell.client();
  // The version that is there now, though a newer one may come meanwhile.
  const DataInfo data = client.describe_data(reference);
  auto file = OutputFile::open(out);
  if (!file) return shell.report(file.error());
  std::optional<Failure> failed;
  struct Stop {};
  try {
    TransferBar bar(shell, data.label(), data.size);
    client.get_data(data.id, [&](std::span<const std::byte> bytes) {
      if (auto written = file->write(bytes); !written) {
        failed = std::move(written.error());
        throw Stop{};
      }
      bar.moved(bytes.size());
    });
  } catch (const Stop&) {
    return shell.report(*failed);
  }
  if (auto finished = file->finish(); !finished) return shell.report(finished.error());
  if (shell.json) print_answer(shell, data.json);
  return ExitStatus::ok;
}

std::string names_of_hosts(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& one : texts) text += (text.empty() ? "" : ",") + one;
  return text.empty() ? "-" : text;
}

ExitStatus run_list_data(Shell& shell) {
  Client client = shell.client();
  if (shell.json) {
    print_answer(shell, client.get("/v1/data"));
    return ExitStatus::ok;
  }
  Table table({"data", "size", "state", "hosts", "created", "expires", "id"});
  for (const DataInfo& data : client.list_data())
    table.add({data.label(), to_string(ByteCount{data.size}), data.state,
               names_of_hosts(data.hosts), data.created,
               data.expires.empty() ? "never" : data.expires, data.id});
  if (table.empty())
    shell.note("there is no data; 'orchid data put NAME FILE' makes some");
  else
    shell.print(table.text());
  return ExitStatus::ok;
}

ExitStatus run_describe_data(Shell& shell, const std::string& reference, bool digest) {
  Client client = shell.client();
  const DataInfo data = digest ? client.digest_data(reference) : client.describe_data(reference);
  if (shell.json) {
    print_answer(shell, data.json);
    return ExitStatus::ok;
  }
  Table table({"data", data.label()});
  table.add({"id", data.id});
  table.add(
      {"size", to_string(ByteCount{data.size}) + " (" + std::to_string(data.size) + " bytes)"});
  table.add({"state", data.state});
  if (!data.digest.empty()) table.add({"digest", data.digest});
  table.add({"hosts", names_of_hosts(data.hosts)});
  if (!data.arriving_at.empty()) table.add({"being copied to", names_of_hosts(data.arriving_at)});
  table.add({"copies wanted", "at least " + std::to_string(data.copies_wanted)});
  if (data.durable) table.add({"durable", "kept as a file"});
  table.add({"created", data.created});
  table.add({"expires", data.expires.empty() ? "never" : data.expires});
  shell.print(table.text());
  return ExitStatus::ok;
}

ExitStatus run_copy_data(Shell& shell, const std::string& reference, const CopyOptions& options) {
  if (options.host.empty() && options.copies == 0)
    return shell.report_usage(
        "say where to with --to HOST, or how many are to be kept with --copies N");
  const DataInfo data = shell.client().copy_data(reference, options);
  if (shell.json)
    print_answer(shell, data.json);
  else if (data.arriving_at.empty())
    shell.print_line(data.label() + " is on " + names_of_hosts(data.hosts));
  else
    shell.print_line(data.label() + " is being copied to " + names_of_hosts(data.arriving_at));
  return ExitStatus::ok;
}

ExitStatus run_keep_data(Shell& shell, const std::string& reference, const std::string& life) {
  std::chrono::seconds at_least{0};
  if (!life.empty()) {
    const auto time = parse_duration(life);
    if (!time) return shell.report(time.error());
    at_least = std::chrono::ceil<std::chrono::seconds>(*time);
  }
  const DataInfo data = shell.client().keep_data(reference, at_least);
  if (shell.json)
    print_answer(shell, data.json);
  else
    shell.print_line(data.label() + " is kept as a file");
  return ExitStatus::ok;
}

ExitStatus run_delete_data(Shell& shell, const std::vector<std::string>& references) {
  Client client = shell.client();
  for_each_name(shell, references, "data", [&](const std::string& reference) {
    client.remove_data(reference);
    if (!shell.json) shell.print_line("deleted " + reference);
    return Document{{"data", reference}, {"deleted", true}};
  });
  return ExitStatus::ok;
}

void add_put(CLI::App& data, Shell& shell) {
  auto* command = add_command(
      data, shell, "put", "Make a data object from a file; a new version where the name is taken",
      "  orchid data put climate climate.bin\n"
      "  orchid data put climate < climate.bin\n"
      "  tar c input | orchid data put input - --size 10MiB   # of a pipe the size is needed\n"
      "  id=$(orchid data put --unnamed x.bin)");
  auto arguments = std::make_shared<PutArguments>();
  command
      ->add_option("NAME FILE", arguments->words,
                   "its name, and the file (default and '-': standard input)")
      ->required()
      ->expected(1, 2);
  command->add_flag("--unnamed", arguments->unnamed, "give it no name: its id is printed");
  command->add_option("--size", arguments->size, "of what comes from a pipe, such as 10MiB");
  command->add_option("--expires-in", arguments->expires,
                      "how long it lives, such as '1h 30m' (default: until it is deleted; without "
                      "a name as the site says)");
  command->add_option("--if-match", arguments->if_match,
                      "only when the newest version has this id");
  command->add_flag("--new", arguments->only_new, "only when the name is not taken");
  command->add_flag("--durable", arguments->durable,
                    "its executor keeps it as a file, too, and the next one there has it again");
  command
      ->add_option("--copies", arguments->copies,
                   "at least so many are kept, on different hosts (default: 1)")
      ->check(CLI::Range(1U, limits::data_copies));
  command->callback([&shell, arguments] { shell.status = run_put_data(shell, *arguments); });
}

void add_get(CLI::App& data, Shell& shell) {
  auto* command = add_command(data, shell, "get", "Fetch the bytes of a data object",
                              "  orchid data get climate --out climate.bin\n"
                              "  orchid data get climate@3 | sha256sum");
  auto reference = std::make_shared<std::string>();
  auto out = std::make_shared<std::string>("-");
  command->add_option("DATA", *reference, "NAME, NAME@VERSION or an id")->required();
  command->add_option("--out,-o", *out,
                      "file, which is there as a whole or not at all (default: standard output)");
  command->callback(
      [&shell, reference, out] { shell.status = run_get_data(shell, *reference, *out); });
}

void add_copy(CLI::App& data, Shell& shell) {
  auto* command = add_command(
      data, shell, "copy", "Have a data object copied to other hosts; does not wait for it",
      "  orchid data copy climate --to n17\n  orchid data copy climate --copies 2");
  auto reference = std::make_shared<std::string>();
  auto options = std::make_shared<CopyOptions>();
  command->add_option("DATA", *reference, "NAME, NAME@VERSION or an id")->required();
  command->add_option("--to", options->host, "a host, as 'orchid hosts' names it");
  command
      ->add_option("--copies", options->copies,
                   "at least so many are kept from now on, on different hosts: when one is lost, "
                   "another is made")
      ->check(CLI::Range(1U, limits::data_copies));
  command->callback(
      [&shell, reference, options] { shell.status = run_copy_data(shell, *reference, *options); });
}

void add_keep(CLI::App& data, Shell& shell) {
  auto* command =
      add_command(data, shell, "keep", "Have a data object kept as a file, as 'put --durable' does",
                  "  orchid data keep climate\n  orchid data keep d-0123… --for 7d");
  auto reference = std::make_shared<std::string>();
  auto life = std::make_shared<std::string>();
  command->add_option("DATA", *reference, "NAME, NAME@VERSION or an id")->required();
  command->add_option("--for", *life, "it lives so long from now at least, such as 7d");
  command->callback(
      [&shell, reference, life] { shell.status = run_keep_data(shell, *reference, *life); });
}

void add_others(CLI::App& data, Shell& shell) {
  auto* list = add_command(data, shell, "list", "List your data objects", "  orchid data list");
  list->alias("ls");
  list->callback([&shell] { shell.status = run_list_data(shell); });

  auto* describe = add_command(data, shell, "describe", "Show where a data object is",
                               "  orchid data describe climate\n"
                               "  orchid data describe climate --digest");
  auto reference = std::make_shared<std::string>();
  describe->add_option("DATA", *reference, "NAME, NAME@VERSION or an id")->required();
  auto digest = std::make_shared<bool>(false);
  describe->add_flag("--digest", *digest,
                     "its SHA-256, too; the first time all its bytes are read for that");
  describe->callback([&shell, reference, digest] {
    shell.status = run_describe_data(shell, *reference, *digest);
  });

  auto* remove = add_command(
      data, shell, "delete", "Remove data objects; calls that run keep theirs",
      "  orchid data delete climate@1\n  orchid data delete climate    # all its versions");
  remove->alias("rm");
  auto references = std::make_shared<std::vector<std::string>>();
  remove->add_option("DATA", *references, "NAME, NAME@VERSION or ids")->required();
  remove->callback([&shell, references] { shell.status = run_delete_data(shell, *references); });
}

}  // namespace

void add_data(CLI::App& app, Shell& shell) {
  auto* data = app.add_subcommand(
      "data", "Keep data where functions run: put, get, list, describe, copy, delete");
  data->footer(
      "examples:\n  orchid data put climate climate.bin\n"
      "  orchid invoke mean --data climate\n  orchid data list");
  data->require_subcommand(1);
  add_put(*data, shell);
  add_get(*data, shell);
  add_copy(*data, shell);
  add_keep(*data, shell);
  add_others(*data, shell);
}

}  // namespace orchid::cli
