# Tests that start the program, and one that counts its allocations.
foreach(test client commands botzone judge)
  target_link_libraries(actors.${test} PRIVATE PkgConfig::jansson)
  add_dependencies(actors.${test} dizhu)
endforeach()
foreach(function malloc calloc realloc aligned_alloc posix_memalign free)
  target_link_options(actors.no_alloc PRIVATE -Wl,--wrap=${function})
endforeach()
# The round trip between judge and bot, at length.
add_test(NAME actors.botzone_long COMMAND actors.botzone)
set_tests_properties(actors.botzone_long PROPERTIES LABELS slow TIMEOUT 1800 ENVIRONMENT DIZHU_GAMES=10000)
