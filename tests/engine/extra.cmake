target_link_libraries(engine.positions PRIVATE PkgConfig::jansson)

# The same programs at full length.
foreach(name movegen playouts)
  add_test(NAME engine.${name}.slow COMMAND engine.${name} slow)
  set_tests_properties(engine.${name}.slow PROPERTIES LABELS slow TIMEOUT 900)
endforeach()

# engine.wasm in node against the native program.
if(TARGET engine_wasm AND NODE)
  add_test(NAME engine.wasm COMMAND ${NODE} ${CMAKE_CURRENT_SOURCE_DIR}/engine/test_wasm.mjs ${ENGINE_WASM}
    $<TARGET_FILE:dizhu> ${CMAKE_SOURCE_DIR})
  set_tests_properties(engine.wasm PROPERTIES LABELS fast TIMEOUT 300)
else()
  message(STATUS "     engine.wasm is not tested: clang, wasm-ld or node is missing")
endif()

# These run the real program.
target_link_libraries(engine.commands PRIVATE PkgConfig::jansson)
add_dependencies(engine.commands dizhu)

# Counts what the engine allocates.
target_link_options(engine.allocation PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
