// A fuzzer's bytes as the stream of a backup: what is read of it is an error, or files that come in order and
// are, written again, read as the same. Link with -fsanitize=fuzzer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "backup/backup_stream.h"

namespace hailstone {
namespace {

class BytesInput final : public Input {
 public:
  explicit BytesInput(std::string_view bytes) : left_(bytes) {}
  Result<size_t> read(char* to, size_t size) override {
    const size_t now = left_.copy(to, size);
    left_.remove_prefix(now);
    return now;
  }
  const std::string& name() const override { return name_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }

 private:
  std::string_view left_;
  const std::string name_ = "fuzz";
};

/// Files in memory.
class MemoryTarget final : public FileTarget {
 public:
  Result<std::unique_ptr<TargetFile>> create(const std::string& path) override {
    class File final : public TargetFile {
     public:
      File(const std::string& path, std::string& to) : TargetFile(path), to_(to) {}

     private:
      Status write(std::string_view bytes) override {
        to_ += bytes;
        return {};
      }
      Result<std::optional<uint64_t>> close() override { return std::nullopt; }
      std::string& to_;
    };
    return std::make_unique<File>(path, files[path]);
  }
  Status sync() override { return {}; }
  std::map<std::string, std::string> files;
};

/// Nothing: it is damaged.
std::optional<std::map<std::string, std::string>> files_of(std::string_view stream) {
  BytesInput input(stream);
  StreamReader reader(input);
  MemoryTarget target;
  StreamedFiles files(target, "", [&](const std::string& path) -> Status {
    target.files.erase(path);
    return {};
  });
  while (true) {
    const auto piece = reader.next();
    if (!piece) return std::nullopt;
    if (!*piece) break;
    if (!files.take(**piece)) return std::nullopt;
  }
  std::map<std::string, std::string> whole;
  for (const auto& [path, facts] : files.ended()) {
    whole[path] = target.files[path];
    if (whole[path].size() == facts.bytes) continue;
    std::fprintf(stderr, "backup stream fuzz: a file is not what was told of it\n");
    std::abort();
  }
  return whole;
}

}  // namespace
}  // namespace hailstone

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone;
  const auto files = files_of({reinterpret_cast<const char*>(data), size});
  if (!files) return 0;
  std::string stream;
  StreamTarget target([&](std::string_view bytes) -> Status {
    stream += bytes;
    return {};
  });
  for (const auto& [path, bytes] : *files) {
    const auto file = target.create(path);
    if (!file || !(*file)->append(bytes) || !(*file)->finish()) std::abort();
  }
  if (files_of(stream) == files) return 0;
  std::fprintf(stderr, "backup stream fuzz: what is written is not what was read\n");
  std::abort();
}
