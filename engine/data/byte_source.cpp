// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/byte_source.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/input_file.h"

namespace athanor {

namespace {

constexpr std::size_t kChunk_bytes = 32 << 10;
constexpr std::string_view kGzipMagic = "\x1F\x8B";
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";

/// A file's bytes as they are on disk, in chunks of which any part may be left for later.
class Chunks {
 public:
  explicit Chunks(const std::filesystem::path& path) : file_(path), chunk_(kChunk_bytes, '\0') {
    fill();
  }

  /// What was read and not used yet; empty only at the end.
  std::string_view rest() {
    if (begin_ == end_) fill();
    return std::string_view(chunk_).substr(begin_, end_ - begin_);
  }
  void use(std::size_t bytes) {
    begin_ += bytes;
    used_ += static_cast<std::int64_t>(bytes);
  }
  /// Bytes of the file that were used.
  std::int64_t used() const { return used_; }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void fill() {
    begin_ = 0;
    end_ = file_.read(chunk_);
  }

  InputFile file_;
  std::string chunk_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t used_ = 0;
};

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<Chunks> chunks) : chunks_(std::move(chunks)) {}

  std::size_t read(std::span<char> out) override {
    const std::string_view rest = chunks_->rest();
    const std::size_t bytes = std::min(rest.size(), out.size());
    std::memcpy(out.data(), rest.data(), bytes);
    chunks_->use(bytes);
    return bytes;
  }
  std::int64_t disk_bytes() const override { return chunks_->used(); }

 private:
  std::unique_ptr<Chunks> chunks_;
};

/// What packed files have in common: one member after the other, each of which must be whole.
class PackedSource : public ByteSource {
 public:
  PackedSource(std::unique_ptr<Chunks> chunks, const char* format)
      : chunks_(std::move(chunks)), format_(format) {}

  std::size_t read(std::span<char> out) override {
    while (true) {
      const std::string_view in = chunks_->rest();
      if (in.empty() && between_members_) return 0;
      if (between_members_ && !begins_member(in)) {
        // Some programs fill up the last block of a tape or disk.
        if (!only_zeros()) refuse("has something else after its packed data");
        return 0;
      }
      between_members_ = false;
      const Step step = unpack(in, out);
      chunks_->use(step.used);
      unpacked_ += static_cast<std::int64_t>(step.made);
      between_members_ = step.ended;
      if (step.made > 0) return step.made;
      if (in.empty() && !step.ended) refuse("ends in the middle");
    }
  }
  std::int64_t disk_bytes() const override { return chunks_->used(); }

 protected:
  struct Step {
    std::size_t used;
    std::size_t made;
    bool ended;  ///< a member
  };
  virtual Step unpack(std::string_view in, std::span<char> out) = 0;
  virtual bool begins_member(std::string_view in) const = 0;

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::damaged,
                fmt::format("{} {}: its {} data were good for {} bytes of text. Copy or download "
                            "the file again.",
                            chunks_->path().string(), what, format_, unpacked_));
  }

 private:
  bool only_zeros() {
    for (std::string_view rest = chunks_->rest(); !rest.empty(); rest = chunks_->rest()) {
      if (rest.find_first_not_of('\0') != std::string_view::npos) return false;
      chunks_->use(rest.size());
    }
    return true;
  }

  std::unique_ptr<Chunks> chunks_;
  const char* format_;
  std::int64_t unpacked_ = 0;
  bool between_members_ = true;
};

class GzipSource : public PackedSource {
 public:
  explicit GzipSource(std::unique_ptr<Chunks> chunks) : PackedSource(std::move(chunks), "gzip") {
    constexpr int kGzipWindow = 15 + 16;
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

 private:
  bool begins_member(std::string_view in) const override {
    return in.front() == kGzipMagic.front();
  }

  Step unpack(std::string_view in, std::span<char> out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    const auto room = static_cast<uInt>(std::min<std::size_t>(out.size(), 1 << 30));
    stream_.avail_out = room;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) refuse("is damaged");
    if (result == Z_STREAM_END) inflateReset(&stream_);
    return {in.size() - stream_.avail_in, room - stream_.avail_out, result == Z_STREAM_END};
  }

  z_stream stream_{};
};

class ZstdSource : public PackedSource {
 public:
  explicit ZstdSource(std::unique_ptr<Chunks> chunks)
      : PackedSource(std::move(chunks), "Zstandard"), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

 private:
  bool begins_member(std::string_view in) const override {
    // A frame, or one to be skipped (0x184D2A50 … 0x184D2A5F).
    return in.front() == kZstdMagic.front() || (in.front() & '\xF0') == '\x50';
  }

  Step unpack(std::string_view in, std::span<char> out) override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream_, &output, &input);
    if (ZSTD_isError(result) != 0) {
      refuse(std::string("is damaged (") + ZSTD_getErrorName(result) + ")");
    }
    return {input.pos, output.pos, result == 0};
  }

  ZSTD_DStream* stream_;
};

}  // namespace

std::unique_ptr<ByteSource> ByteSource::open(const std::filesystem::path& path) {
  auto chunks = std::make_unique<Chunks>(path);
  const std::string_view head = chunks->rest();
  if (head.starts_with(kGzipMagic)) return std::make_unique<GzipSource>(std::move(chunks));
  if (head.starts_with(kZstdMagic)) return std::make_unique<ZstdSource>(std::move(chunks));
  return std::make_unique<PlainSource>(std::move(chunks));
}

}  // namespace athanor
