# Tests of whole runs, one binary a source, named e2e.file. They start the programs.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/e2e/test_*.c)
foreach(source ${sources})
  get_filename_component(stem ${source} NAME_WE)
  string(REGEX REPLACE "^test_" "" file ${stem})
  add_executable(e2e.${file} ${source})
  target_compile_definitions(e2e.${file} PRIVATE PROGRAM_DIR="${CMAKE_BINARY_DIR}"
    SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(e2e.${file} PRIVATE learner PkgConfig::cmocka)
  add_dependencies(e2e.${file} dizhu dizhu-learn)
  set_target_properties(e2e.${file} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME e2e.${file} COMMAND e2e.${file})
  set_tests_properties(e2e.${file} PROPERTIES LABELS e2e TIMEOUT 900)
endforeach()
foreach(file bench arena)
  target_link_libraries(e2e.${file} PRIVATE PkgConfig::jansson)
endforeach()
set_tests_properties(e2e.soak e2e.bench PROPERTIES LABELS slow)

# Ten kills of each kind, at other moments.
add_test(NAME e2e.ranks_long COMMAND e2e.ranks)
set_tests_properties(e2e.ranks_long PROPERTIES LABELS slow TIMEOUT 3600 ENVIRONMENT "DIZHU_KILLS=10")
