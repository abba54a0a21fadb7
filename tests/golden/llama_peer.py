# SPDX-License-Identifier: GPL-3.0-or-later
"""A GGUF file computed by llama.cpp, through the plain functions of llama-cpp-python."""
import llama_cpp
import numpy


class LlamaPeer:
    def __init__(self, path, context=512, threads=1):
        llama_cpp.llama_log_set(self._quiet, None)
        llama_cpp.llama_backend_init()
        model_options = llama_cpp.llama_model_default_params()
        # Of the processor's special units only those that every machine has.
        model_options.use_extra_bufts = False
        model_options.n_gpu_layers = 0
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), model_options)
        if not self.model:
            raise RuntimeError(f"llama.cpp does not load {path}")
        self.vocabulary = llama_cpp.llama_model_get_vocab(self.model)
        self.size = llama_cpp.llama_vocab_n_tokens(self.vocabulary)
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = context
        options.n_threads = options.n_threads_batch = threads
        options.type_k = options.type_v = 0  # F32, as here
        options.flash_attn_type = 0
        self.context = llama_cpp.llama_init_from_model(self.model, options)

    @staticmethod
    @llama_cpp.llama_log_callback
    def _quiet(level, text, data):
        pass

    def tokenize(self, text, begin=False):
        data = text.encode()
        room = (llama_cpp.llama_token * (len(data) + 8))()
        count = llama_cpp.llama_tokenize(self.vocabulary, data, len(data), room, len(room), begin, False)
        return list(room[:count])

    def chat_template(self):
        text = llama_cpp.llama_model_chat_template(self.model, None)
        return text.decode() if text else ""

    def _decode(self, tokens):
        batch = (llama_cpp.llama_token * len(tokens))(*tokens)
        if llama_cpp.llama_decode(self.context, llama_cpp.llama_batch_get_one(batch, len(tokens))) != 0:
            raise RuntimeError("llama.cpp cannot decode")
        logits = llama_cpp.llama_get_logits_ith(self.context, -1)
        return numpy.ctypeslib.as_array(logits, (self.size,)).copy()

    def _restart(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def logits(self, tokens):
        """After each token."""
        self._restart()
        return numpy.stack([self._decode([token]) for token in tokens])

    def greedy(self, tokens, count):
        """The tokens that follow, and by how much each was ahead of the second."""
        self._restart()
        logits = None
        for token in tokens:
            logits = self._decode([token])
        made, leads = [], []
        for _ in range(count):
            best = numpy.sort(logits)[-2:]
            made.append(int(logits.argmax()))
            leads.append(float(best[1] - best[0]))
            logits = self._decode(made[-1:])
        return made, leads
