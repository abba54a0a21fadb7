// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <xxhash.h>

#include <memory>

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/base/json.h"
#include "engine/data/corpus.h"
#include "engine/data/corpus_meter.h"

namespace athanor {

namespace {

/// Anew when the same files and settings are made into other documents than before.
constexpr int kRecipe = 2;
/// Of files up to this the content is always read.
constexpr std::int64_t kAlwaysRead_bytes = 64 << 20;
constexpr std::size_t kChunk_bytes = 1 << 20;

class Hash {
 public:
  Hash() : state_(XXH3_createState(), &XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void add(std::string_view bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::string text() const { return checksum_text(XXH3_64bits_digest(state_.get())); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

class Fingerprint {
 public:
  Fingerprint(const Corpus& corpus, Json& remembered, const CancelToken& cancel,
              const CorpusCallback& progress)
      : remembered_(remembered),
        meter_("Looking at the files", corpus.disk_bytes(), cancel, progress),
        chunk_(kChunk_bytes, '\0') {
    const CorpusOptions& options = corpus.options();
    add(fmt::format("{} {} {} {}", kRecipe, static_cast<int>(options.read.invalid_utf8),
                    static_cast<int>(options.duplicates),
                    options.duplicates == Duplicates::remove_near ? options.similarity : 0));
    for (const Corpus::Part& part : corpus.parts()) {
      const CorpusSource& source = part.source;
      add(fmt::format("{} {} {} {} {}", source.weight, source.text.size(), source.text,
                      static_cast<int>(source.boundary),
                      source.boundary == Boundary::separator ? source.separator : ""));
      for (const SourceFile& file : part.files)
        add(fmt::format("{} {}", static_cast<int>(file.kind), hash_of(file)));
    }
  }

  std::string text() const { return all_.text(); }

 private:
  void add(const std::string& line) { all_.add(line + "\n"); }

  std::string hash_of(const SourceFile& file) {
    const std::string key =
        fmt::format("{} {} {}", file.path.string(), file.disk_bytes, file.modified_ns);
    const bool large = file.disk_bytes > kAlwaysRead_bytes;
    if (const auto found = remembered_.find(key);
        large && found != remembered_.end() && found->is_string()) {
      done_bytes_ += file.disk_bytes;
      return found->get<std::string>();
    }
    Hash hash;
    InputFile input(file.path);
    while (const std::size_t got = input.read(chunk_)) {
      hash.add(std::string_view(chunk_).substr(0, got));
      done_bytes_ += static_cast<std::int64_t>(got);
      meter_.update(done_bytes_, {});
    }
    if (large) remembered_[key] = hash.text();
    return hash.text();
  }

  Json& remembered_;
  CorpusMeter meter_;
  Hash all_;
  std::string chunk_;
  std::int64_t done_bytes_ = 0;
};

}  // namespace

std::string corpus_fingerprint(const Corpus& corpus, Json& remembered, const CancelToken& cancel,
                               const CorpusCallback& progress) {
  if (!remembered.is_object()) remembered = Json::object();
  return Fingerprint(corpus, remembered, cancel, progress).text();
}

}  // namespace athanor
