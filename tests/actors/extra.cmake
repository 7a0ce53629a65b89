# Tests that start the program, and one that counts its allocations.
target_link_libraries(actors.client PRIVATE PkgConfig::jansson)
add_dependencies(actors.client dizhu)
