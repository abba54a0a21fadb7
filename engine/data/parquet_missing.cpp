// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/error.h"
#include "engine/data/record_formats.h"

namespace athanor {

std::unique_ptr<RecordReader> open_parquet(const SourceFile& file, ReadingLog&) {
  throw Error(
      ErrorKind::unsupported,
      file.path.string() +
          " is a Parquet file, and this program was built without Apache Arrow, which reads "
          "them. Install libarrow-dev and libparquet-dev (https://arrow.apache.org/install) "
          "and build again, or convert the file to .jsonl.");
}

}  // namespace athanor
