# athanor_embed_presets(output id...)
# Writes a C++ file that holds resources/presets/<id>.json in the order given, anew when one changes.
function(athanor_embed_presets output)
  set(entries "")
  foreach(id IN LISTS ARGN)
    set(file ${PROJECT_SOURCE_DIR}/resources/presets/${id}.json)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    string(APPEND entries "      {\"${id}\", R\"preset(${content})preset\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
#include <vector>

#include "engine/session/preset_files.h"

namespace athanor {

std::span<const PresetFile> preset_files() {
  static const std::vector<PresetFile> files = {
@entries@  };
  return files;
}

}  // namespace athanor
]])
endfunction()
