# Tests that start the program, and one that counts its allocations.
foreach(test client commands botzone judge external arena export)
  target_link_libraries(actors.${test} PRIVATE PkgConfig::jansson)
  add_dependencies(actors.${test} dizhu)
endforeach()
foreach(function malloc calloc realloc aligned_alloc posix_memalign free)
  target_link_options(actors.no_alloc PRIVATE -Wl,--wrap=${function})
endforeach()
target_sources(actors.export PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/actors/export_side.c)
set_tests_properties(actors.botzone actors.export actors.external actors.arena actors.search PROPERTIES
  TIMEOUT 900)
# Their long forms: 10,000 games between judge and bot in both modes, 1,000 of the exported bot.
add_test(NAME actors.botzone_long COMMAND actors.botzone)
set_tests_properties(actors.botzone_long PROPERTIES LABELS slow TIMEOUT 1800 ENVIRONMENT DIZHU_GAMES=10000)
add_test(NAME actors.export_long COMMAND actors.export)
set_tests_properties(actors.export_long PROPERTIES LABELS slow TIMEOUT 3600 ENVIRONMENT DIZHU_GAMES=1000)
