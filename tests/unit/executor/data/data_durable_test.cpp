// Objects that are kept as files: what an executor says of them, and what the next one has.
#include "data/data_durable.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>

#include "data_book_parts.h"
#include "data_pages.h"
#include "durable_host.h"
#include "foundation/files.h"
#include "protocol/control_messages.h"
#include "protocol/digest.h"
#include "scratch_folder.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

TEST_CASE("a durable object is sealed when its file is whole, and the next executor has it") {
  const tests::Scratch directory;
  DataId kept;
  {
    DurableHost host(directory.path());
    kept = host.make('a', "climate");
    CHECK(files_in(directory.path()) == 1);
    host.make('b', "", /*durable=*/false);
    CHECK(host.data.book().digest_of(kept) == digest_of(as_bytes(std::string(durable_size, 'a'))));
    host.data.end();  // the grant ends: what is in files stays
    host.settle();
  }
  DurableHost next(directory.path());
  const auto held = next.data.introduce();
  REQUIRE(held.size() == 1);
  CHECK(held[0].data == kept);
  CHECK(held[0].terms.name == "climate");
  CHECK(held[0].terms.durable);
  CHECK(held[0].order == 9);
  CHECK(next.data.book().used() == 0_B);  // until somebody wants it
  CHECK(next.data.book().durable_used() == ByteCount{durable_size});
  CHECK(next.first_of(kept) == 'a');
  CHECK(next.data.book().used() == ByteCount{durable_size});
  next.data.obey(DropData{kept});
  next.settle();
  CHECK(files_in(directory.path()) == 0);
  CHECK(next.data.book().durable_used() == 0_B);
}

TEST_CASE("a file keeps its object's place until it is gone, and what is too large is left") {
  DataBook book({.budget = 100_B, .per_tenant = 50_B, .most_objects = 1, .durable = 100_B});
  MakeData first = room_request(40, "first");
  first.terms.durable = true;
  static_cast<void>(sealed_in(book, first, book_start));
  book.keep_file(first.data);
  CHECK(book.drop(first.data));
  CHECK(book.used() == 0_B);  // at once
  CHECK(book.durable_used() == 40_B);
  CHECK(code_of_book(book.make(room_request(10), book_start)) == ErrorCode::no_data_memory);
  CHECK(code_of_book(book.make(first, book_start)) == ErrorCode::conflict);
  book.file_gone(first.data);
  book.file_gone(first.data);
  CHECK(book.durable_used() == 0_B);
  const DataHeld large{.data = make_data_id(), .terms = room_request(101).terms};
  CHECK(code_of_book(book.adopt(large, book_start)) == ErrorCode::no_data_memory);
  // A tenant may have less now: it is there, and whoever wants it is told.
  const DataHeld held{.data = make_data_id(), .terms = room_request(60).terms};
  REQUIRE(book.adopt(held, book_start).has_value());
  CHECK(code_of_book(book.begin_return(held.data, book_start)) == ErrorCode::quota);
  CHECK(book.drop(held.data));
  book.file_gone(held.data);
  CHECK(book.make(room_request(10), book_start).has_value());
}

TEST_CASE("memory of what has a file is given to others at no cost, and it comes back") {
  const tests::Scratch directory;
  DurableHost host(directory.path());
  const DataId first = host.make('a', "first");
  const DataId second = host.make('b', "");
  const DataId third = host.make('c', "third");
  CHECK(host.data.book().used() == ByteCount{2 * durable_size});
  CHECK(host.data.book().on_disk() == 0_B);  // not charged for it twice
  CHECK(host.first_of(first) == 'a');
  CHECK(host.first_of(second) == 'b');
  CHECK(host.first_of(third) == 'c');
  host.data.obey(SpareData{third});  // a copy elsewhere may go, and the file does not
  static_cast<void>(host.await<DataKept>());
  host.settle();
  CHECK(pages_held() <= host.data.book().used().value);
}

TEST_CASE("what is sealed is written to a file when that is wanted, and the next executor has it") {
  const tests::Scratch directory;
  DataId kept;
  {
    DurableHost host(directory.path());
    kept = host.make('a', "", /*durable=*/false);
    CHECK(files_in(directory.path()) == 0);
    host.data.obey(FileData{kept, std::chrono::hours(48)});
    host.data.obey(FileData{kept});  // asked twice: one answer
    CHECK(std::get<DataFiled>(host.await<DataFiled, DataNotFiled>()).data == kept);
    CHECK(files_in(directory.path()) == 1);
    CHECK(host.data.book().durable_used() == ByteCount{durable_size});
    host.data.obey(FileData{kept});  // it is one
    CHECK(std::get<DataFiled>(host.await<DataFiled, DataNotFiled>()).data == kept);
    host.data.obey(FileData{make_data_id()});
    CHECK(std::get<DataNotFiled>(host.await<DataFiled, DataNotFiled>()).code ==
          ErrorCode::data_lost);
    host.settle();
  }
  DurableHost next(directory.path());
  const auto held = next.data.introduce();
  REQUIRE(held.size() == 1);
  CHECK(held[0].terms.durable);
  CHECK(next.first_of(kept) == 'a');
  next.data.obey(DropData{kept});
  next.settle();
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("a sealed object that cannot have a file stays what it was") {
  const tests::Scratch directory;
  DurableHost host(directory.path(), /*files=*/1);
  host.make('a', "first");
  const DataId second = host.make('b', "second", /*durable=*/false);
  host.data.obey(FileData{second});
  const auto refused = std::get<DataNotFiled>(host.await<DataFiled, DataNotFiled>());
  CHECK(refused.code == ErrorCode::quota);
  CHECK(host.first_of(second) == 'b');
  CHECK(host.data.book().durable_used() == ByteCount{durable_size});
  // Dropped while it is written: nothing of it is left, and nobody waits.
  const DataId first = host.data.introduce()[0].terms.name == "first"
                           ? host.data.introduce()[0].data
                           : host.data.introduce()[1].data;
  host.data.obey(DropData{first});
  host.settle();
  host.data.obey(FileData{second});
  host.data.obey(DropData{second});
  host.settle();
  CHECK(files_in(directory.path()) == 0);
  CHECK(host.data.book().durable_used() == 0_B);
  host.data.end();
  host.settle();
}

TEST_CASE("what is not to be kept as a file, or does not fit there, is refused before it is sent") {
  const tests::Scratch directory;
  DurableHost host(directory.path(), 1);
  host.make('a', "first");
  host.order("second");
  const auto refused = std::get<DataRefused>(host.await<DataRefused>());
  CHECK(refused.code == ErrorCode::quota);
  CHECK_MESSAGE(refused.message.find("delete durable data") != std::string::npos, refused.message);

  DataBook none = book_of(100);
  MakeData wanted = room_request(10);
  wanted.terms.durable = true;
  CHECK(code_of_book(none.make(wanted, book_start)) == ErrorCode::unsupported);
  wanted.created_ago = 1s;  // a copy has no file, wherever it is
  CHECK(none.make(wanted, book_start).has_value());
}

TEST_CASE("a file that was changed or cut loses its object, and says so") {
  for (const bool cut : {false, true}) {
    CAPTURE(cut);
    const tests::Scratch directory;
    DataId kept;
    {
      DurableHost host(directory.path());
      kept = host.make('a', "climate");
    }
    fs::path file;
    for (const auto& entry : fs::recursive_directory_iterator(directory.path()))
      if (entry.path().extension() == ".data") file = entry.path();
    DurableHost next(directory.path());  // it was good then
    if (cut)
      fs::resize_file(file, 8192);
    else
      std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(9000).put('z');
    const auto read = next.first_of(kept);
    CHECK(code_of_book(read) == ErrorCode::data_lost);
    const auto dropped = std::get<DataDropped>(next.await<DataDropped>());
    CHECK(dropped.data == kept);
    CHECK(dropped.reason == DataEnd::spoiled);
    next.settle();
    CHECK(next.data.introduce().empty());
    CHECK(next.data.book().used() == 0_B);
    CHECK(fs::exists(file.replace_extension(".bad")));
  }
}

TEST_CASE("what is dropped while its file is written leaves none, and is not said to be sealed") {
  const tests::Scratch directory;
  DurableHost host(directory.path());
  const MakeData made = host.order("climate");
  static_cast<void>(host.await<DataMade>());
  host.data.obey(SealData{made.data});
  host.io.restart();
  REQUIRE(host.io.run_one_for(30s) == 1);  // it is sealed, and its file is being written
  host.data.obey(DropData{made.data});
  const auto answer = host.await<DataDropped, DataSealed>();
  CHECK(std::holds_alternative<DataDropped>(answer));
  host.settle();
  host.io.restart();
  host.io.poll();
  host.settle();
  CHECK(host.said.empty());
  CHECK(files_in(directory.path()) == 0);
  CHECK(host.data.book().used() == 0_B);
}

TEST_CASE("a file that cannot be written refuses the object, with the reason") {
  const tests::Scratch directory;
  DurableHost host(directory.path());
  const MakeData made = host.order("climate");
  static_cast<void>(host.await<DataMade>());
  std::ofstream(directory / std::to_string(ada)) << "in the way";
  const auto refused = host.seal(made, 'a');
  REQUIRE(std::holds_alternative<DataRefused>(refused));
  CHECK_MESSAGE(std::get<DataRefused>(refused).message.find("its file could not be written") !=
                    std::string::npos,
                std::get<DataRefused>(refused).message);
  host.settle();
  CHECK_FALSE(host.data.book().contains(made.data));
  CHECK(host.data.book().durable_used() == 0_B);
}

}  // namespace
}  // namespace orchid::executor
