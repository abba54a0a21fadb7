# Where nvcc is found, the plug-in for cards is built; the program and all tests do without.
# ATHANOR_CUDA tells whether. Sanitizers look at the same kernels emulated.
set(ATHANOR_CARD_ARCHITECTURES 80-real 86-real 89-real 90 120 CACHE STRING
  "Compute capabilities that kernels are compiled for; the newest also as PTX, for cards to come")
set(ATHANOR_CUDA OFF)
if(NOT ATHANOR_SANITIZE AND NOT CMAKE_CUDA_COMPILER)
  find_program(ATHANOR_NVCC nvcc HINTS ENV CUDA_PATH /usr/local/cuda/bin)
endif()
if(ATHANOR_NVCC OR CMAKE_CUDA_COMPILER)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${ATHANOR_NVCC})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${ATHANOR_CARD_ARCHITECTURES})
  enable_language(CUDA)
  find_package(CUDAToolkit 13)
  if(CUDAToolkit_FOUND AND TARGET CUDA::cublasLt)
    set(ATHANOR_CUDA ON)
    # The host compiler's own folders must stay where it looks for them.
    list(APPEND CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
    # CMake 3.25 does not know that nvcc has C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    # Philox and the moments' codes are constexpr functions that the card calls too.
    add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--resource-usage>")
    # scripts/check_kernels.py reads the reports.
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/keep_report.sh ${ATHANOR_CCACHE})
  endif()
endif()
if(ATHANOR_CUDA)
  message(STATUS "CUDA ${CUDAToolkit_VERSION} found: the plug-in for NVIDIA cards is built")
else()
  message(STATUS "CUDA 13 not found, or not looked for: the plug-in for NVIDIA cards is left out")
endif()

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
