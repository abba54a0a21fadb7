// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <array>
#include <limits>

#include "engine/infer/generator.h"
#include "tests/engine/backend/cuda/emulated_card.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace {

std::filesystem::path save_initial_weights(const QTemporaryDir& folder, const ModelConfig& model) {
  const ParameterTable table(model);
  std::vector<std::vector<float>> values;
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    const Parameter& parameter = table.all()[i];
    values.push_back(initial_values(parameter, static_cast<int>(i), 3));
    tensors.push_back(
        {parameter.name,
         {reinterpret_cast<std::byte*>(values.back().data()), DType::f32, parameter.shape}});
  }
  const std::filesystem::path path = folder.filePath("weights.safetensors").toStdString();
  write_safetensors(path, tensors);
  return path;
}

}  // namespace

/// Writing on an emulated card: a prompt of more rows than are multiplied with codes, then row by
/// row.
class TestCudaChat : public QObject {
  Q_OBJECT

 private slots:
  void fewer_bits_write_with_less_memory();
};

void TestCudaChat::fewer_bits_write_with_less_memory() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(
      "ThreadSanitizer keeps a fiber for each CUDA thread; it judges every kernel in other tests");
#endif
  const TinyData data;
  // Cards have kernels for heads of 16 elements and more.
  ModelConfig model = tiny_model();
  model.heads = 2;
  model.kv_heads = 1;
  const QTemporaryDir folder;
  const SafetensorsFile file = SafetensorsFile::open(save_initial_weights(folder, model));
  cuda::EmulatedCard card;
  const std::string prompt = "Anna found a small boat";
  QVERIFY(data.tokenizer.encode(prompt).size() > 8);
  std::int64_t least_bytes = std::numeric_limits<std::int64_t>::max();
  for (const WeightFormat format :
       {WeightFormat::as_saved, WeightFormat::q8_0, WeightFormat::q4_0}) {
    Generator generator(model, file, data.tokenizer, *card.backend, format);
    QVERIFY(generator.allocated_bytes() < least_bytes);
    least_bytes = generator.allocated_bytes();
    std::array<std::string, 2> texts;
    for (std::string& text : texts) {
      text = generator
                 .generate(prompt, {.seed = 4, .max_tokens = 6}, CancelToken(),
                           [](const std::string&) {})
                 .text;
    }
    QCOMPARE(texts[1], texts[0]);
    QVERIFY(!texts[0].empty());
  }
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCudaChat)
#include "test_cuda_chat.moc"
