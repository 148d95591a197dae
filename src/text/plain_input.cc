#include "text/plain_input.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace hailstone {
namespace {

constexpr size_t first_bytes = 4, piece_bytes = size_t{256} << 10;

/// Decompresses what it is given piece by piece.
class Decompressor {
 public:
  virtual ~Decompressor() = default;
  struct Step {
    size_t taken = 0, made = 0;
    bool is_whole = false;  // all that was taken makes whole streams
  };
  /// Nothing: the bytes are not what the compression makes.
  virtual std::optional<Step> step(std::string_view from, char* to, size_t size) = 0;
};

class Gunzip final : public Decompressor {
 public:
  Gunzip() { is_ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }  // the greatest window, and gzip's header
  ~Gunzip() override { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  std::optional<Step> step(std::string_view from, char* to, size_t size) override {
    if (!is_ready_) return std::nullopt;
    // A file may be several streams one after the other.
    if (is_whole_ && inflateReset(&stream_) != Z_OK) return std::nullopt;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
    stream_.avail_in = static_cast<uInt>(from.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, piece_bytes));
    const uInt room = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return std::nullopt;
    is_whole_ = result == Z_STREAM_END;
    return Step{
        .taken = from.size() - stream_.avail_in, .made = room - stream_.avail_out, .is_whole = is_whole_};
  }

 private:
  z_stream stream_{};
  bool is_ready_ = false, is_whole_ = false;
};

class Unzstd final : public Decompressor {
 public:
  Unzstd() : stream_(ZSTD_createDStream()) {}

  std::optional<Step> step(std::string_view from, char* to, size_t size) override {
    if (stream_ == nullptr) return std::nullopt;
    ZSTD_inBuffer in{.src = from.data(), .size = from.size(), .pos = 0};
    ZSTD_outBuffer out{.dst = to, .size = size, .pos = 0};
    const size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
    if (ZSTD_isError(left) != 0) return std::nullopt;
    return Step{.taken = in.pos, .made = out.pos, .is_whole = left == 0};
  }

 private:
  struct Freed {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  const std::unique_ptr<ZSTD_DStream, Freed> stream_;
};

class PlainInput final : public Input {
 public:
  explicit PlainInput(std::unique_ptr<Input> input) : input_(std::move(input)) {}

  /// Reads the first bytes, which tell the compression.
  Status begin() {
    has_begun_ = true;
    pending_.resize(piece_bytes);
    while (end_ < first_bytes) {
      HAILSTONE_ASSIGN(const size_t now, input_->read(pending_.data() + end_, pending_.size() - end_));
      if (now == 0) break;
      end_ += now;
      // So that a pipe is not waited for whose first bytes are not those of a compressed file.
      if (compression_of(pending()).empty() && !may_become_compressed(pending())) break;
    }
    compression_ = compression_of(pending());
    if (compression_ == "gzip") decompressor_ = std::make_unique<Gunzip>();
    if (compression_ == "Zstandard") decompressor_ = std::make_unique<Unzstd>();
    if (compression_.empty() || decompressor_ != nullptr) return {};
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("{} is compressed by {}, which is not read; give it by a pipe: {} FILE | hailstone …",
                    name(), compression_, decompressor_of(compression_)));
  }

  Result<size_t> read(char* to, size_t size) override {
    if (!has_begun_) HAILSTONE_TRY(begin());
    if (decompressor_ != nullptr) return read_decompressed(to, size);
    if (begin_ == end_) return input_->read(to, size);
    const size_t now = std::min(size, end_ - begin_);
    std::memcpy(to, pending_.data() + begin_, now);
    begin_ += now;
    return now;
  }
  const std::string& name() const override { return input_->name(); }
  std::optional<uint64_t> size() const override {
    return decompressor_ != nullptr ? std::nullopt : input_->size();
  }

 private:
  std::string_view pending() const { return {pending_.data() + begin_, end_ - begin_}; }

  static bool may_become_compressed(std::string_view begin) {
    for (const std::string_view magic : {"\x1f\x8b", "\x28\xb5\x2f\xfd",
                                         "\xfd"
                                         "7zX"}) {
      if (magic.starts_with(begin)) return true;
    }
    return false;
  }

  Result<size_t> read_decompressed(char* to, size_t size) {
    for (;;) {
      if (begin_ == end_) {
        begin_ = end_ = 0;
        HAILSTONE_ASSIGN(end_, input_->read(pending_.data(), pending_.size()));
        if (end_ == 0) {
          // What was made and had no room comes without more bytes.
          const auto rest = is_whole_ ? std::nullopt : decompressor_->step({}, to, size);
          if (rest) is_whole_ = rest->is_whole;
          if (rest && rest->made > 0) return rest->made;
          if (is_whole_) return 0;
          return fail(ErrorCode::Io,
                      fmt::format("{} ends within its {} stream; it is not whole", name(), compression_));
        }
      }
      const auto step = decompressor_->step(pending(), to, size);
      if (!step) {
        return fail(ErrorCode::Io, fmt::format("{} is damaged: not what {} writes", name(), compression_));
      }
      begin_ += step->taken;
      is_whole_ = step->is_whole;
      if (step->made > 0) return step->made;
    }
  }

  const std::unique_ptr<Input> input_;
  std::unique_ptr<Decompressor> decompressor_;
  std::string_view compression_;
  std::vector<char> pending_;
  size_t begin_ = 0, end_ = 0;  // of pending_: read, and not given yet
  bool has_begun_ = false, is_whole_ = true;
};

}  // namespace

std::string_view compression_of(std::string_view begin) {
  if (begin.starts_with("\x1f\x8b")) return "gzip";
  if (begin.starts_with("\x28\xb5\x2f\xfd")) return "Zstandard";
  if (begin.starts_with("\xfd"
                        "7zX"))
    return "xz";
  return {};
}

std::string_view decompressor_of(std::string_view compression) {
  return compression == "gzip" ? "zcat" : compression == "Zstandard" ? "zstdcat" : "xzcat";
}

std::unique_ptr<Input> plain_input(std::unique_ptr<Input> input) {
  return std::make_unique<PlainInput>(std::move(input));
}

Result<std::unique_ptr<Input>> open_plain_input(const std::string& path, int interrupt_descriptor) {
  HAILSTONE_ASSIGN(auto file, InputFile::open(path, interrupt_descriptor));
  // A pipe may have nothing for long.
  const bool is_file = file->size().has_value();
  auto input = std::make_unique<PlainInput>(std::move(file));
  if (is_file) HAILSTONE_TRY(input->begin());
  return input;
}

}  // namespace hailstone
