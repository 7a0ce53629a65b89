# Tests that start the program, and those whose threads TSan looks at.
if(TARGET server)
  foreach(test ${SERVER_PROGRAM_TESTS})
    add_dependencies(server.${test} dizhu-serve)
    set_tests_properties(server.${test} PROPERTIES LABELS e2e)
  endforeach()
endif()
