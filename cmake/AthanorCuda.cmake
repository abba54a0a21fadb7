# athanor_emulated_kernels(name SOURCES file.cu... [DEPENDS target...])
# Kernels compiled as host C++ into a static library that runs them on the CPU. To be called from a
# folder that does not also compile the same files for a card: a file's language is its folder's.
function(athanor_emulated_kernels name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  # Kernels read registers' and shared memory's bits as other types, as on a card.
  set_source_files_properties(${arg_SOURCES} PROPERTIES
    LANGUAGE CXX COMPILE_OPTIONS "-fno-strict-aliasing;-Wno-unknown-pragmas")
  athanor_library(${name} SOURCES ${arg_SOURCES} DEPENDS athanor_cuda_emulation ${arg_DEPENDS})
endfunction()
