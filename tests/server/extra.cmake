# Tests that start the program, and those whose threads TSan looks at.
foreach(test serve attack durable)
  add_dependencies(server.${test} dizhu-serve)
  set_tests_properties(server.${test} PROPERTIES LABELS e2e TIMEOUT 900)
endforeach()
foreach(test bots store lobby)
  set_tests_properties(server.${test} PROPERTIES LABELS "fast;thread" TIMEOUT 900)
endforeach()
set_tests_properties(server.hidden PROPERTIES TIMEOUT 900)
