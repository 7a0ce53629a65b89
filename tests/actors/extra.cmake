# Tests that start the program, and one that counts its allocations.
foreach(test client commands botzone judge external)
  target_link_libraries(actors.${test} PRIVATE PkgConfig::jansson)
  add_dependencies(actors.${test} dizhu)
endforeach()
foreach(function malloc calloc realloc aligned_alloc posix_memalign free)
  target_link_options(actors.no_alloc PRIVATE -Wl,--wrap=${function})
endforeach()
