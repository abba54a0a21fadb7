# athanor_embed_text(output file header function)
# Writes a C++ file that defines `std::string_view function()` of `header` as the text of
# resources/<file>, anew when that changes.
function(athanor_embed_text output file header function)
  set(path ${PROJECT_SOURCE_DIR}/resources/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} content)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
#include "@header@"

namespace athanor {

std::string_view @function@() {
  return R"text(@content@)text";
}

}  // namespace athanor
]])
endfunction()
