# How every target of the project is compiled, and the two functions that declare one.

option(ATHANOR_GUI "Build the window" ON)
option(ATHANOR_TESTS "Build the tests" ON)
option(ATHANOR_BENCH "Build the benchmarks" ON)
option(ATHANOR_FUZZ "Build the fuzz harnesses (needs clang)" OFF)
set(ATHANOR_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
# Where the program looks for its plug-ins besides where they are installed.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(THREADS_PREFER_PTHREAD_FLAG ON)

find_program(ATHANOR_CCACHE ccache)
if(ATHANOR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ATHANOR_CCACHE})
endif()

add_library(athanor_options INTERFACE)
target_include_directories(athanor_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(athanor_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  # Designated initialisers leave out what keeps its default.
  -Wno-missing-field-initializers
  # The same sums on every machine: no fused multiply-add where the source does not ask for one.
  -ffp-contract=off>)
if(ATHANOR_SANITIZE)
  target_compile_options(athanor_options INTERFACE
    -fsanitize=${ATHANOR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(athanor_options INTERFACE -fsanitize=${ATHANOR_SANITIZE})
  target_compile_definitions(athanor_options INTERFACE ATHANOR_SANITIZED=1)
endif()

# athanor_library(name SOURCES file... [DEPENDS target...] [PRIVATE_DEPENDS target...])
# One folder of the project as a static library; DEPENDS is what its public headers use.
function(athanor_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC athanor_options ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
endfunction()

# athanor_in_plugins(target...): libraries that a plug-in, loaded at run time, is linked with as well.
function(athanor_in_plugins)
  foreach(target ${ARGV})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    # Nothing replaces their functions at run time, so that calls within a file stay direct.
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endforeach()
endfunction()

# Tests whose program starts threads of its own: only these, and the windows', are made for ThreadSanitizer.
set(ATHANOR_THREADED_TESTS
  test_base test_batch_loader test_checkpoint test_cli test_cli_killed test_cuda_chat test_cuda_recording test_devices
  test_durability test_emulation test_fine_tuning test_generation test_lora_session test_lora_training test_model
  test_offload test_operations test_planner test_run_store test_saving test_session test_session_corpus
  test_session_tokenizer test_session_troubles test_store_processes test_structure test_tokenize test_tokenizer
  test_trainer)

# athanor_test(name SOURCES file... [DEPENDS target...] [TIMEOUT seconds] [LABELS label...])
# One Qt Test program; it finds the project's own files through ATHANOR_SOURCE_DIR. Whatever the machine has, it
# sees no graphics card but those that it pretends: what is tested on a real one unsets ATHANOR_CUDA_DRIVER.
function(athanor_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPENDS;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(ATHANOR_SANITIZE)
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
  endif()
  math(EXPR function_timeout_ms "1000 * ${arg_TIMEOUT}")
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES AUTOMOC ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE athanor_options athanor_test_support Qt6::Test ${arg_DEPENDS})
  # What a test itself computes is little; compiling it is most of its cost.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(ATHANOR_SANITIZE STREQUAL "thread" AND NOT name IN_LIST ATHANOR_THREADED_TESTS AND NOT arg_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
    ENVIRONMENT "QT_QPA_PLATFORM=offscreen;QT_NO_GLIB=1;QTEST_FUNCTION_TIMEOUT=${function_timeout_ms};ATHANOR_SOURCE_DIR=${PROJECT_SOURCE_DIR};LC_ALL=C.UTF-8;ATHANOR_CUDA_DRIVER=none;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp halt_on_error=1;ASAN_OPTIONS=detect_leaks=1;LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp;UBSAN_OPTIONS=print_stacktrace=1")
endfunction()
