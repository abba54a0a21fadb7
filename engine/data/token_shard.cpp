// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/token_shard.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>

#include "engine/base/checksum.h"
#include "engine/base/error.h"

namespace athanor {

namespace {

static_assert(std::endian::native == std::endian::little, "shards are mapped as they lie on disk");

constexpr char kMagic[8] = {'A', 'T', 'H', 'S', 'H', 'A', 'R', 'D'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPending_bytes = 1 << 20;
constexpr std::size_t kChecked_bytes = 16 << 20;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t token_bytes;
  std::int64_t tokens;
  std::int64_t documents;
  std::int32_t vocabulary_size;
  std::uint32_t reserved;
  std::uint64_t tokenizer_fingerprint;
  std::uint64_t payload_checksum;
  std::uint64_t header_checksum;  ///< of all that precedes it
};
static_assert(sizeof(Header) == 64);

class ShardHash {
 public:
  ShardHash() : state_(XXH3_createState(), &XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  std::uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

std::uint64_t header_checksum(const Header& header) {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_checksum)));
}

int token_bytes_for(std::int32_t vocabulary_size) {
  return vocabulary_size <= 65536 ? 2 : 4;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorKind::damaged,
              path.string() + " is not a usable token file: " + what + ". Prepare the text again.");
}

Header read_header(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  Header header;
  if (bytes.size() < sizeof(header)) {
    refuse(path, fmt::format("it has {} bytes, less than its header", bytes.size()));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    refuse(path, "it does not begin with ATHSHARD");
  }
  if (header.version != kVersion) {
    refuse(path, fmt::format("its version is {}, this program reads {}", header.version, kVersion));
  }
  if (header.header_checksum != header_checksum(header)) {
    refuse(path, "its header's checksum is wrong");
  }
  return header;
}

void check_header(const Header& header, std::size_t file_bytes, const std::filesystem::path& path) {
  if (header.vocabulary_size <= 0) {
    refuse(path, fmt::format("its vocabulary size is {}", header.vocabulary_size));
  }
  if (static_cast<int>(header.token_bytes) != token_bytes_for(header.vocabulary_size)) {
    refuse(path, fmt::format("{} bytes a token do not fit its vocabulary of {}", header.token_bytes,
                             header.vocabulary_size));
  }
  if (header.reserved != 0) refuse(path, "its reserved field is not zero");
  if (header.documents < 0 || header.tokens < header.documents) {
    refuse(path,
           fmt::format("it counts {} tokens in {} documents", header.tokens, header.documents));
  }
  const std::uint64_t payload_bytes = file_bytes - sizeof(Header);
  if (payload_bytes % header.token_bytes != 0 ||
      payload_bytes / header.token_bytes != static_cast<std::uint64_t>(header.tokens)) {
    refuse(path, fmt::format("it should hold {} tokens, but has {} bytes for them", header.tokens,
                             payload_bytes));
  }
}

template <class Id>
void widen(const std::byte* from, std::span<std::int32_t> out) {
  for (std::size_t index = 0; index < out.size(); ++index) {
    Id id;
    std::memcpy(&id, from + index * sizeof(Id), sizeof(Id));
    out[index] = static_cast<std::int32_t>(id);
  }
}

template <class Id>
void check_ids(std::span<const std::byte> ids, std::int64_t first, std::int32_t vocabulary_size,
               const std::filesystem::path& path) {
  for (std::size_t at = 0; at < ids.size(); at += sizeof(Id)) {
    Id id;
    std::memcpy(&id, ids.data() + at, sizeof(Id));
    if (id >= static_cast<std::uint32_t>(vocabulary_size)) {
      refuse(path,
             fmt::format("token {} has the number {}, beyond its vocabulary of {}",
                         first + static_cast<std::int64_t>(at / sizeof(Id)), id, vocabulary_size));
    }
  }
}

/// Checks ids and checksum piece by piece, and gives each piece's memory back.
void check_payload(const MappedFile& file, const Header& header,
                   const std::filesystem::path& path) {
  ShardHash hash;
  const std::span<const std::byte> payload = file.bytes().subspan(sizeof(Header));
  for (std::size_t at = 0; at < payload.size(); at += kChecked_bytes) {
    hash.add(payload.subspan(at, std::min(kChecked_bytes, payload.size() - at)));
    file.release();
  }
  if (hash.digest() != header.payload_checksum) {
    refuse(path, "its content's checksum is wrong, so it was changed or the disk is failing");
  }
  for (std::size_t at = 0; at < payload.size(); at += kChecked_bytes) {
    const auto ids = payload.subspan(at, std::min(kChecked_bytes, payload.size() - at));
    const auto first = static_cast<std::int64_t>(at / header.token_bytes);
    if (header.token_bytes == 2) {
      check_ids<std::uint16_t>(ids, first, header.vocabulary_size, path);
    } else {
      check_ids<std::uint32_t>(ids, first, header.vocabulary_size, path);
    }
    file.release();
  }
}

}  // namespace

TokenShard::TokenShard(MappedFile file, Info info, int token_bytes)
    : file_(std::move(file)), info_(info), token_bytes_(token_bytes) {}

TokenShard TokenShard::open(const std::filesystem::path& path) {
  MappedFile file(path);
  const Header header = read_header(file.bytes(), path);
  check_header(header, file.bytes().size(), path);
  check_payload(file, header, path);
  return {std::move(file),
          {.tokens = header.tokens,
           .documents = header.documents,
           .vocabulary_size = header.vocabulary_size,
           .tokenizer_fingerprint = header.tokenizer_fingerprint,
           .payload_checksum = header.payload_checksum},
          static_cast<int>(header.token_bytes)};
}

std::int32_t TokenShard::token(std::int64_t index) const {
  std::int32_t id = 0;
  read(index, {&id, 1});
  return id;
}

void TokenShard::read(std::int64_t first, std::span<std::int32_t> out) const {
  if (first < 0 || first > info_.tokens ||
      static_cast<std::int64_t>(out.size()) > info_.tokens - first) {
    throw Error(ErrorKind::internal, "Tokens beyond the end of a token file were asked for.");
  }
  const std::byte* const from = file_.bytes().data() + sizeof(Header) + first * token_bytes_;
  if (token_bytes_ == 2) {
    widen<std::uint16_t>(from, out);
  } else {
    widen<std::uint32_t>(from, out);
  }
}

struct TokenShardWriter::HashState : ShardHash {};

TokenShardWriter::TokenShardWriter(const std::filesystem::path& path, std::int32_t vocabulary_size,
                                   std::uint64_t tokenizer_fingerprint)
    : file_(path),
      info_{.vocabulary_size = vocabulary_size, .tokenizer_fingerprint = tokenizer_fingerprint},
      token_bytes_(token_bytes_for(vocabulary_size)),
      hash_(std::make_unique<HashState>()) {
  pending_.reserve(kPending_bytes);
  const Header unfinished{};
  file_.write(std::as_bytes(std::span(&unfinished, 1)));
}

TokenShardWriter::~TokenShardWriter() = default;

void TokenShardWriter::add_part(std::span<const std::int32_t> ids) {
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= info_.vocabulary_size) {
      throw Error(ErrorKind::internal, fmt::format("Token {} is outside the vocabulary of {}.", id,
                                                   info_.vocabulary_size));
    }
    append(std::as_bytes(std::span(&id, 1)).first(static_cast<std::size_t>(token_bytes_)));
  }
  info_.tokens += static_cast<std::int64_t>(ids.size());
}

void TokenShardWriter::add_document(std::span<const std::int32_t> ids) {
  add_part(ids);
  ++info_.documents;
}

void TokenShardWriter::append(std::span<const std::byte> bytes) {
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  if (pending_.size() >= kPending_bytes) flush();
}

void TokenShardWriter::repeat(std::int64_t first, std::int64_t tokens) {
  flush();
  std::vector<std::byte> copied;
  const auto bytes_at = [&](std::int64_t token) {
    return static_cast<std::int64_t>(sizeof(Header)) + token * token_bytes_;
  };
  for (std::int64_t done = 0; done < tokens;) {
    const std::int64_t count =
        std::min<std::int64_t>(tokens - done, static_cast<std::int64_t>(kPending_bytes) / 4);
    copied.resize(static_cast<std::size_t>(count * token_bytes_));
    file_.read_at(bytes_at(first + done), copied);
    append(copied);
    done += count;
  }
  info_.tokens += tokens;
  ++info_.documents;
}

void TokenShardWriter::flush() {
  hash_->add(pending_);
  file_.write(pending_);
  pending_.clear();
}

TokenShard::Info TokenShardWriter::finish() {
  flush();
  info_.payload_checksum = hash_->digest();
  Header header{.magic = {},
                .version = kVersion,
                .token_bytes = static_cast<std::uint32_t>(token_bytes_),
                .tokens = info_.tokens,
                .documents = info_.documents,
                .vocabulary_size = info_.vocabulary_size,
                .reserved = 0,
                .tokenizer_fingerprint = info_.tokenizer_fingerprint,
                .payload_checksum = info_.payload_checksum,
                .header_checksum = 0};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.header_checksum = header_checksum(header);
  file_.write_at(0, std::as_bytes(std::span(&header, 1)));
  file_.commit();
  return info_;
}

}  // namespace athanor
